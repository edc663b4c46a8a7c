"""Run an experiment, and write its cells, results, table and figure to one folder.

Experiments on real data with a known truth (`relprev.experiments.truth`) have one row per
comparison with every method in it, and summaries of their own; the others one row per method and
data set.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.experiments import figures, gauss, semisynthetic
from relprev.experiments.engine import run_cells
from relprev.experiments.experiment import Cell, Experiment, compute
from relprev.experiments.methods import METHODS
from relprev.experiments.summary import settings_of, write_summary
from relprev.experiments.truth.run import NAMES as TRUTH
from relprev.experiments.truth.run import run_truth
from relprev.experiments.truth.summary import write_truth_summary
from relprev.messages import Message
from relprev.parallel.threads import available_cores

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (*gauss.EXPERIMENTS, semisynthetic.EXPERIMENT)
}
QUICK = 1  # number of seeds, and of splits


@dataclass(frozen=True)
class Reproduction:
    """Results of an experiment, and where they were written.

    Parameters
    ----------
    results : DataFrame
        One row per cell: settings, method, seed, split, estimate, truth, ratio, CPU seconds,
        notes, package versions and a digest of the source.
    table : DataFrame
        Mean and standard deviation of estimate / truth for each scenario and method; of ``nhanes``
        and ``species``, how near the truth the estimates are.
    folder : Path
        Where the files are.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run("group-gap", folder, quick=True, methods=["observed"], jobs=1)
    ...     print(sorted(file.suffix for file in done.folder.glob("figure.*")))
    ['.pdf', '.png', '.svg']
    """

    results: pd.DataFrame
    table: pd.DataFrame
    folder: Path


def run(
    name: str,
    out: str | Path,
    *,
    quick: bool = False,
    variant: str = "paper",
    data: str = "simulated",
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    splits: int | None = None,
    jobs: int | None = None,
    verbose: bool = False,
) -> Reproduction:
    """Run an experiment of the paper, or one with a known truth, and write it to ``out/name``.

    An interrupted run resumes where it stopped; cells computed by other source code or package
    versions are computed again. The files are ``results.parquet`` and ``.csv``, ``table.csv``
    and ``.md``, and ``figure.svg``, ``.png`` and ``.pdf``. A scenario for which the data hold too
    few cases is named in a warning, and the others go on.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``, or ``"nhanes"`` or ``"species"``.
    out : path
    quick : bool
        Use a small grid, with one data set and one split per scenario.
    variant : "paper" or "published"
        Follow the paper's text, or the authors' code where it differs.
    data : str
        For ``semisynthetic``: ``"simulated"``, ``"nhds:PATH"`` or ``"mimic:PATH"``, where PATH is
        the MIMIC-IV folder that contains ``hosp``. For ``nhanes`` and ``species``: the path of
        their data.
    methods : names of methods, optional
        Default: the experiment's own. ``nhanes`` and ``species`` have those of their plans, and
        neither variants, nor data sets, nor splits.
    seeds, splits : int, optional
        Data sets per scenario, and splits per data set. Default: the experiment's own.
    jobs : int, optional
        Number of processes. Default: all cores. In a script, a run with more than one process
        must be under ``if __name__ == "__main__":``.
    verbose : bool
        Show progress and time left on standard error.

    Returns
    -------
    Reproduction
        Results and the folder they are in.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run("group-gap", folder, quick=True, methods=["observed"], jobs=1)
    >>> list(done.table["group_gap"]), done.table["mean"].between(0.9, 1.1).all()
    ([0.0, 2.0], np.True_)
    """
    if name in TRUTH:
        _check_truth(name, data, variant, methods, seeds, splits)
        results = run_truth(name, Path(out), data, quick=quick, jobs=jobs, verbose=verbose)
        table = write_truth_summary(name, results, Path(out) / name)
        return Reproduction(results, table, Path(out) / name)
    experiment = _experiment(name)
    _check(experiment, variant, methods, seeds=seeds, splits=splits, jobs=jobs)
    if data != "simulated" and experiment is not semisynthetic.EXPERIMENT:
        raise InvalidInputError(
            f"data={data!r} is only for semisynthetic, {' and '.join(TRUTH)}; leave it out, since "
            f"{name} simulates its own data"
        )
    folder, scenarios = Path(out) / name, experiment.scenarios(quick, variant, data)
    source = data if ":" in data else ""
    grid = [
        Cell(name, settings, method, seed, number, source)
        for settings in scenarios
        for seed in range(seeds or (QUICK if quick else experiment.seeds))
        for number in range(splits or (QUICK if quick else experiment.splits))
        for method in methods or experiment.methods_in(variant)
    ]
    results = run_cells(grid, work, folder, jobs=jobs or available_cores(), verbose=verbose)
    _name_left_out(results)
    table = write_summary(results, folder)
    figures.write(experiment, table, folder)
    if experiment.write_extras is not None:
        experiment.write_extras(folder, source or scenarios[0]["data"], variant)
    return Reproduction(results, table, folder)


def _check_truth(name: str, data: str, variant: str, *given: Any) -> None:
    if any(value is not None for value in given) or variant != "paper":
        raise InvalidInputError(
            f"{name} has a plan, which fixes its methods; leave methods, seeds, splits and variant "
            "out"
        )
    if data == "simulated":
        raise InvalidInputError(f"{name} needs data: the path of the files that it is about")


def work(cell: Cell) -> dict[str, Any]:
    """The row of one cell."""
    return compute(cell, EXPERIMENTS[cell.experiment].simulate)


def _name_left_out(results: pd.DataFrame) -> None:
    """Warn about scenarios whose data could not be made; if there are no others, raise."""
    missing = results[results["truth"].isna()]
    if len(missing) == len(results):
        why = results["notes"].iloc[0]
        raise TooFewCasesError(Message("no scenario has data: {why}", why=why))
    names = settings_of(results)
    for scenario in missing[names].drop_duplicates().to_dict("records"):
        where = ", ".join(f"{name} {value}" for name, value in scenario.items())
        said = Message(
            "{where}: too few cases in some or all data sets; results.csv says why under notes",
            where=where,
        )
        warnings.warn(DataWarning(said), stacklevel=3)


def _experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise InvalidInputError(
            f"there is no experiment {name!r}; available: {', '.join((*EXPERIMENTS, *TRUTH))}"
        )
    return EXPERIMENTS[name]


def _check(
    experiment: Experiment, variant: str, methods: Sequence[str] | None, **counts: int | None
) -> None:
    if variant not in experiment.variants:
        offered = " or ".join(repr(name) for name in experiment.variants)
        raise InvalidInputError(f"variant must be {offered} for {experiment.name}, got {variant!r}")
    unknown = [name for name in methods or () if name not in METHODS]
    if unknown:
        raise InvalidInputError(
            f"methods: there is no {', '.join(unknown)}; available: {', '.join(METHODS)}"
        )
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InvalidInputError(f"{name} must be at least 1, got {count}")
