"""What a simulation study declares: its replicates, how they are summed up, its options.

Each study is one module that ends in its ``STUDY``; `simulations.__main__` makes a command of it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.store.files import written_whole
from simulations.replicates import Job, Rows, run_all

Summaries = Callable[[pd.DataFrame, Path], Sequence[pd.DataFrame]]


@dataclass(frozen=True)
class Option:
    """An option of one study.

    Parameters
    ----------
    name, help : str
        The name is written as in Python.
    type : function of str
        Gives a value.
    default : object
        A tuple makes it an option that may be repeated.
    only : bool
        Whether there are no values but those of the default.
    passed : bool
        Whether the study's ``replicate`` has it as an argument.
    """

    name: str
    help: str
    type: Callable[[str], Any] = str
    default: Any = None
    only: bool = False
    passed: bool = False

    def add_to(self, parser: ArgumentParser) -> None:
        """Declare it; where it is not given, the value is None."""
        several = isinstance(self.default, tuple)
        default = ", ".join(map(str, self.default)) if several else self.default
        words = "One of" if self.only else "Repeatable; default:" if several else "Default:"
        more = " Repeatable." if self.only else ""
        parser.add_argument(
            self.flag, type=self.type, action="append" if several else "store",
            choices=self.default if self.only else None, metavar=self.name.upper(),
            help=self.help if default is None else f"{self.help} {words} {default}.{more}",
        )  # fmt: skip

    @property
    def flag(self) -> str:
        """As on the command line."""
        return f"--{self.name.replace('_', '-')}"

    def value(self, given: Namespace) -> Any:
        """What was given, or the default."""
        found = getattr(given, self.name)
        return self.default if found is None else found

    def words(self, given: Namespace) -> str:
        """The option as it was given, nothing if it was not; a path is not shown."""
        found = getattr(given, self.name)
        values = found if isinstance(found, list) else [] if found is None else [found]
        shown = ["PATH" if isinstance(value, Path) else value for value in values]
        return "".join(f" {self.flag} {value}" for value in shown)


@dataclass(frozen=True)
class Study:
    """A simulation study.

    Parameters
    ----------
    name, help : str
        Of its command.
    count : int
        Replicates of each scenario, unless told otherwise.
    replicate : function of a job, and of options that are passed
        Rows of one replicate; importable by other processes.
    scenarios : sequence of str, or function from options to them
        What is replicated.
    summaries : function of the table of all replicates and the folder of results
        The tables that the command shows.
    options : tuple of Option
        In addition to those that all studies have.
    """

    name: str
    help: str
    count: int
    replicate: Callable[..., Rows]
    scenarios: Sequence[str] | Callable[[dict[str, Any]], Sequence[str]]
    summaries: Summaries
    options: tuple[Option, ...] = ()

    def jobs(self, replicates: int, **options: Any) -> list[Job]:
        """Every scenario of the first replicate, then every one of the second, and so on."""
        found = self.scenarios(options) if callable(self.scenarios) else self.scenarios
        return [(scenario, number) for number in range(replicates) for scenario in found]

    def run(self, given: Namespace) -> Sequence[pd.DataFrame]:
        """Run what is missing in the file ``given.out``, and sum it up."""
        options = {option.name: option.value(given) for option in self.options}
        passed = {option.name: options[option.name] for option in self.options if option.passed}
        command = "".join(option.words(given) for option in self.options)
        table = run_all(
            partial(self.replicate, **passed), self.jobs(given.replicates, **options), given.out,
            given.processes, f"{self.name}{command} --replicates {given.replicates}",
        )  # fmt: skip
        return self.summaries(table, given.out.parent)


def kept_truths(
    path: Path, names: dict[str, Sequence[str]], means: Callable[[str], Sequence[float]]
) -> pd.DataFrame:
    """Scenario, group and true ratio to the second group, read from the file or computed and kept.

    ``names`` are each scenario's groups, ``means`` gives their true prevalences.
    """
    if not path.is_file():
        rows = []
        for scenario, groups in names.items():
            found = means(scenario)
            rows += [
                {"scenario": scenario, "group": group, "truth": mean / found[1]}
                for group, mean in zip(groups, found, strict=True)
            ]
        with written_whole(path) as temporary:
            pd.DataFrame(rows).to_csv(temporary, index=False)
    return pd.read_csv(path)
