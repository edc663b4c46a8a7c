"""A study of several conditions: each on its own, disclosure and one report for all of them.

    findings of every condition  →  disclosed together  →  a report each, and one that compares them

Nothing is shared by the estimates: the codes of one condition may be features of another. Counts
of different conditions are published side by side, so they are one system
(`relprev.report.disclosing.together`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from relprev.errors import InvalidInputError
from relprev.progress import progress
from relprev.report.disclosing.reports import disclosed_together
from relprev.report.page.conditions import ConditionsReport, conditions_report
from relprev.report.write import write_conditions
from relprev.study.results_folder import (
    LOG,
    begun,
    finish,
    put_in_place,
    require_replaceable,
    run_log,
    working_folder,
)
from relprev.study.run import found_in, prepared, steps
from relprev.study.study import Study


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


def run_conditions(
    studies: Sequence[Study], out: str | Path | None = None, *, force: bool = False,
    verbose: bool = True, client: Any = None,
) -> ConditionsResult:  # fmt: skip
    """Run a study of several conditions.

    Parameters
    ----------
    studies : sequence of Study
        From `relprev.study.file.read_studies`: alike but for their conditions.
    out : path, optional
        Results folder, which holds one folder per condition. None: nothing is written.
    force : bool
        Replace results of another study.
    verbose : bool
        Show progress on standard error.
    client : distributed.Client, optional
        Run on this Dask cluster.

    Returns
    -------
    ConditionsResult
        What may be shown, and where it was written.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from relprev.codes import CodeSet
    >>> from relprev.study import CheckOptions, EstimateOptions
    >>> from relprev.study.demo import demo_study
    >>> one = replace(demo_study(5_000), estimate=EstimateOptions(methods=("purple",)),
    ...               checks=CheckOptions(run=()))
    >>> wide = CodeSet.of("wider", ["SIMULATED:CONDITION", "SIMULATED:CODE00042"])
    >>> two = replace(one, cohort=replace(one.cohort, condition=wide))
    >>> result = run_conditions([one, two], verbose=False)
    >>> len(result.report.comparisons)  # four groups of each condition
    8
    """
    names = [study.cohort.condition.name for study in studies]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"two conditions have the same name: {', '.join(names)}")
    target = None if out is None else Path(out)
    studies = [prepared(study, target, force, client) for study in studies]
    first = studies[0]
    with working_folder(target) as work, run_log(work / LOG, first.disclosure) as log:
        with progress("Study", *steps(studies, verbose)) as advance:
            found = [found_in(one, work, log, advance, verbose, client) for one in studies]
            reports = disclosed_together(found, first.disclosure, sharing(studies))
            report = conditions_report(first.report.title, reports)
            if target is None:
                return ConditionsResult(report)
            advance("report")
            finished = begun(work)
            write_conditions(report, finished, first.report.formats)
            finish(finished, report.warnings, log)
        require_replaceable(target, first.name, force)
        put_in_place(finished, target, first.name)
    shutil.rmtree(work, ignore_errors=True)
    return ConditionsResult(report, target)


def sharing(studies: Sequence[Study]) -> list[tuple[int, int]]:
    """Pairs of conditions that may share codes."""
    sets = [study.cohort.condition for study in studies]
    return [(k, j) for k, j in combinations(range(len(sets)), 2) if sets[k].may_share(sets[j])]
