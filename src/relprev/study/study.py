"""A study, from its source to its report, and what running it returns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from relprev.cohort import CohortSpec
from relprev.disclosure.rule import Rule
from relprev.errors import InvalidInputError
from relprev.messages import Message, message_of
from relprev.report import StudyReport
from relprev.settings import KeyPath, located
from relprev.sources.addresses import SHOWN, is_address
from relprev.sources.derived import with_derived
from relprev.sources.source import Source
from relprev.study.file.options import (
    AnchorOptions,
    AtlasOptions,
    CheckOptions,
    ComputeOptions,
    EstimateOptions,
    InferenceOptions,
    ReportOptions,
)
from relprev.study.file.source import SourceOptions

if TYPE_CHECKING:  # it draws
    from relprev.report.page.conditions import ConditionsReport


@dataclass(frozen=True)
class Study:
    """What to study and how: source, cohort, estimates, checks and report.

    Parameters
    ----------
    source : SourceOptions
        Where the data are.
    cohort : CohortSpec
        Condition, groups, visits and features.
    estimate : EstimateOptions
        Methods and comparisons.
    inference : InferenceOptions
        What standard errors account for.
    checks : CheckOptions
        Which checks to run.
    report : ReportOptions
        Wording that the data cannot supply.
    compute : ComputeOptions
        Where cohorts are kept.
    disclosure : Rule
        Which counts are hidden, and how the others are rounded.
    seed : int
        Seeds everything random.
    name : str
        Name of the study file, without its extension.
    file, text : str
        Path and content of the study file, for error messages.
    anchor : mapping of group variable to AnchorOptions
        Outside values, for absolute rates.
    atlas : AtlasOptions
        What the conditions of an atlas are.

    Examples
    --------
    >>> from relprev.codes import CodeSet
    >>> from relprev.cohort import GroupVariable
    >>> study = Study(
    ...     SourceOptions("simulated", {"visits": 5_000, "codes": 60, "prevalence": 0.2}),
    ...     CohortSpec(CodeSet.of("it", ["SIMULATED:CONDITION"]), (GroupVariable("group"),)),
    ...     EstimateOptions(methods=("purple",)), checks=CheckOptions(run=()))
    >>> result = study.run(verbose=False)
    >>> result.table("group")["group"].tolist()
    ['Group A', 'Group B', 'Group C', 'Group D']
    >>> study.open_source().n_visits, study.described()["estimate"]["methods"]
    (5000, ('purple',))
    >>> print(study.error(("estimate", "level"), "must be below 1"))
    the study: estimate.level: must be below 1
    >>> print(study.about(("source",), InvalidInputError("no such file")), study.place(("seed",)))
    the study: source: no such file the study: seed
    """

    source: SourceOptions
    cohort: CohortSpec
    estimate: EstimateOptions = field(default_factory=EstimateOptions)
    inference: InferenceOptions = field(default_factory=InferenceOptions)
    checks: CheckOptions = field(default_factory=CheckOptions)
    report: ReportOptions = field(default_factory=ReportOptions)
    compute: ComputeOptions = field(default_factory=ComputeOptions)
    disclosure: Rule = field(default_factory=Rule)
    seed: int = 0
    name: str = "study"
    file: str = field(default="", compare=False)
    text: str = field(default="", repr=False, compare=False)
    anchor: Mapping[str, AnchorOptions] = field(default_factory=dict)
    atlas: AtlasOptions = field(default_factory=AtlasOptions)

    @staticmethod
    def from_toml(path: str | Path) -> Study:
        """Read a study file; errors name the line of a mistake and its remedy.

        Examples
        --------
        >>> import tempfile
        >>> text = '''
        ... condition = {name = "it", codes = ["SIMULATED:CONDITION"]}
        ... [source]
        ... kind = "simulated"
        ... [[groups]]
        ... column = "group"
        ... '''
        >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        ...     _ = file.write(text)
        ...     file.flush()
        ...     study = Study.from_toml(file.name)
        >>> study.cohort.condition.name, study.estimate.versus
        ('it', 'complement')
        """
        from relprev.study.file.reading import read_study

        return read_study(path)

    def run(
        self, out: str | Path | None = None, *, force: bool = False, verbose: bool = True,
        client: Any = None,
    ) -> StudyResult:  # fmt: skip
        """Run the whole study: read, estimate, check, report.

        Parameters
        ----------
        out : path, optional
            Results folder, written whole or not at all. None: nothing is written.
        force : bool
            Replace results of another study.
        verbose : bool
            Show progress on standard error.
        client : distributed.Client, optional
            Run on this Dask cluster. Its workers must be able to read the folder beside ``out``
            in which cohorts are kept. The results are the same.
        """
        from relprev.study.run import run_study

        return run_study(self, out, force=force, verbose=verbose, client=client)

    def open_source(self) -> Source:
        """Read the data; errors about them name the study file too."""
        try:
            source = self.source.open(self.cohort.features.kinds)
        except InvalidInputError as error:
            raise self.about(("source",), error) from None
        try:
            return with_derived(source, self.cohort.derive)
        except InvalidInputError as error:
            raise self.about(("derive",), error) from None

    def error(self, path: KeyPath, message: str) -> InvalidInputError:
        """The error to raise about the key at ``path``, with file and line."""
        return located(self.text, self.file or "the study", path, message)

    def about(self, path: KeyPath, error: InvalidInputError) -> InvalidInputError:
        """The error to raise in place of one about the data: it also names the key at ``path``.

        It is of the same type, and carries a Message if the first one did.
        """
        message = message_of(error)
        if message is None:
            return self.error(path, _without_addresses(str(error), self.source))
        return type(error)(Message("{where}: {why}", where=self.place(path), why=message))

    def place(self, path: KeyPath) -> str:
        """File, line and key, as errors give them."""
        return str(self.error(path, "")).removesuffix(": ")

    def described(self) -> dict[str, Any]:
        """All settings as plain values for the manifest, without secrets and folder names."""
        cohort = asdict(self.cohort)
        cohort["condition"] = {
            "name": self.cohort.condition.name,
            "codes": [str(pattern) for pattern in self.cohort.condition.patterns],
        }
        tables = ("estimate", "inference", "checks", "report", "compute", "disclosure")
        return {
            "name": self.name, "seed": self.seed, "source": self.source.described(),
            "cohort": cohort, **{name: asdict(getattr(self, name)) for name in tables},
            "anchor": {name: asdict(one) for name, one in self.anchor.items()},
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class StudyResult:
    """What a study found, and where it was written.

    Parameters
    ----------
    report : StudyReport
        What may be shown of the findings.
    folder : Path or None
        Results folder; None if nothing was written.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from relprev.study.demo import demo_study
    >>> small = replace(demo_study(5_000), estimate=EstimateOptions(methods=("purple",)),
    ...                 checks=CheckOptions(run=()))
    >>> result = small.run(verbose=False)
    >>> result
    <StudyResult 'Demonstration: a simulated condition': group>
    >>> result.table("group", method="purple")["group"].tolist()
    ['Group A', 'Group B', 'Group C', 'Group D']
    """

    report: StudyReport
    folder: Path | None = None

    def table(self, variable: str, method: str | None = None) -> pd.DataFrame:
        """Relative prevalences of a group variable, one row per contrast; hidden values missing.

        Parameters
        ----------
        variable : str
            Name of the group variable.
        method : str, optional
            ``"debiased"`` or ``"purple"``. Default: the study's first.
        """
        found = {item.name: item for item in self.report.variables}
        if variable not in found:
            raise InvalidInputError(f"variable={variable!r}: the study has {list(found)}")
        estimates = found[variable].estimates
        method = next(iter(estimates)) if method is None else method
        if method not in estimates:
            raise InvalidInputError(f"method={method!r}: the study has {list(estimates)}")
        return estimates[method].copy()

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __repr__(self) -> str:
        where = f", written to {self.folder}" if self.folder else ""
        names = ", ".join(item.name for item in self.report.variables)
        return f"<StudyResult {self.report.title!r}: {names}{where}>"


@dataclass(frozen=True, repr=False)
class ConditionsResult:
    """What a study of several conditions found, and where it was written.

    Parameters
    ----------
    report : ConditionsReport
        What may be shown of the findings.
    folder : Path or None
        Results folder; None if nothing was written.

    Examples
    --------
    >>> from relprev.report.page.conditions import ConditionsReport
    >>> ConditionsResult(ConditionsReport("Two conditions", ()))
    <ConditionsResult 'Two conditions': >
    """

    report: ConditionsReport
    folder: Path | None = None

    def __repr__(self) -> str:
        names = ", ".join(one.condition for one in self.report.each)
        return f"<ConditionsResult {self.report.title!r}: {names}>"


def _without_addresses(text: str, source: SourceOptions) -> str:
    """The text without the database addresses in the study, or parts of them."""
    for given in _texts(source.arguments.values()):
        if is_address(given):
            address = os.path.expandvars(given)
            secrets = re.findall(r"(?:password|passwd|pwd)\s*=\s*(\S+)|:([^/@\s][^@]*)@", address)
            spellings = {given, address, str(Path(address)), *filter(None, sum(secrets, ()))}
            for spelling in sorted(spellings, key=len, reverse=True):
                text = text.replace(spelling, SHOWN)
    return text


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """All texts among values and lists of them."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _texts(value)
        elif isinstance(value, str):
            yield value
