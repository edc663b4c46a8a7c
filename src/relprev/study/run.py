"""Run a study: cohorts, estimates, checks, findings, disclosure, report.

Every stage is kept when finished, so a run that was stopped at any moment resumes where it was. The
same study on the same data gives the same results, byte for byte (times and dates aside). A stage
runs again when its data, its settings or the code upstream of it change.

Of several conditions each is studied on its own: the codes of one may be features of another. Their
counts are published side by side, so they are disclosed together; each has a report, and one
compares them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol, TypeVar

from relprev.checks.check import CheckResult
from relprev.checks.registry import CHECKS
from relprev.disclosure import shown
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.messages import Message
from relprev.parallel.cluster import require_ready
from relprev.progress import Advance, progress
from relprev.report import StudyFindings, StudyReport, VariableFindings, disclosed, write_report
from relprev.report.analyses import Analysis
from relprev.report.disclosing.reports import disclosed_together
from relprev.report.page.conditions import ConditionsReport, conditions_report
from relprev.report.write import require_formats, write_conditions
from relprev.store.stages import Outcome, Store
from relprev.store.versions import versions
from relprev.study.cohorts.building import build
from relprev.study.cohorts.keeping import PARTS, is_whole, open_cohort, open_strata
from relprev.study.findings import study_findings, variable_findings
from relprev.study.results_folder import (
    FINISHED,
    LOG,
    put_in_place,
    require_replaceable,
    run_log,
    working_folder,
)
from relprev.study.stages.checks import require_blocks, run_check
from relprev.study.stages.kept import Stages
from relprev.study.stages.keys import analysis_key, check_key, cohort_key, estimate_key
from relprev.study.stages.variable import Variable
from relprev.study.study import ConditionsResult, Study, StudyResult

SECONDS = {  # of the stages of a study of 1.4 million visits, four groups
    "cohort": 60.0, "debiased": 60.0, "purple": 15.0, "paper": 60.0, "report": 15.0,
}  # fmt: skip


class Warned(Protocol):
    """A report, of any kind."""

    @property
    def warnings(self) -> Sequence[object]:
        """What was said while the study ran."""


Report = TypeVar("Report", bound=Warned)


def run_study(
    study: Study, out: str | Path | None = None, *, force: bool = False, verbose: bool = True,
    client: Any = None,
) -> StudyResult:  # fmt: skip
    """Run the whole study; see `Study.run`."""
    study = prepared(study, out, force, client)

    def find(stages: Stages) -> StudyReport:
        return disclosed(_found(study, stages, verbose, client), study.disclosure)

    def write(report: StudyReport, folder: Path) -> None:
        write_report(report, folder, study.report.formats)

    bar = progress("Study", *_steps([study], verbose))
    return StudyResult(*published(study, out, force, bar, find, write))


def run_conditions(
    studies: Sequence[Study], out: str | Path | None = None, *, force: bool = False,
    verbose: bool = True, client: Any = None,
) -> ConditionsResult:  # fmt: skip
    """Run a study of several conditions.

    Parameters
    ----------
    studies : sequence of Study
        From `relprev.study.read_studies`: alike but for their conditions.
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
    studies = [prepared(study, out, force, client) for study in studies]
    first = studies[0]

    def find(stages: Stages) -> ConditionsReport:
        found = [_found(one, replace(stages, outcomes={}), verbose, client) for one in studies]
        reports = disclosed_together(found, first.disclosure, _sharing(studies))
        return conditions_report(first.report.title, reports)

    def write(report: ConditionsReport, folder: Path) -> None:
        write_conditions(report, folder, first.report.formats)

    bar = progress("Study", *_steps(studies, verbose))
    return ConditionsResult(*published(first, out, force, bar, find, write))


def _sharing(studies: Sequence[Study]) -> list[tuple[int, int]]:
    """Pairs of conditions that may share codes."""
    sets = [study.cohort.condition for study in studies]
    return [(k, j) for k, j in combinations(range(len(sets)), 2) if sets[k].may_share(sets[j])]


def prepared(study: Study, out: str | Path | None, force: bool, client: Any) -> Study:
    """The study as a cluster can run it; fails if its results could not be kept."""
    require_formats(study.report.formats)  # before hours of work
    if client is not None:
        require_ready(client)
        study = replace(study, compute=replace(study.compute, out_of_core=True))
    if out is not None:
        require_replaceable(Path(out), study.name, force)
    return study


def built_cohorts(study: Study, stages: Stages, verbose: bool) -> Outcome:
    """The first stage: the cohorts of all group variables, kept in the working folder."""
    key, work = cohort_key(study, verbose), stages.store.folder
    building = partial(build, study, work / f"{PARTS}{key}", verbose=verbose)
    return stages("cohort", key, building, is_whole=partial(is_whole, work))


def published(
    study: Study, out: str | Path | None, force: bool, bar: AbstractContextManager[Advance],
    find: Callable[[Stages], Report], write: Callable[[Report, Path], object],
    last_step: str = "report",
) -> tuple[Report, Path | None]:  # fmt: skip
    """What is found with the stages of a run, and the results folder where it is written.

    The folder appears whole, with the log of the run. Without ``out`` nothing is written.
    """
    target = None if out is None else Path(out)
    with working_folder(target) as work, run_log(work / LOG, study.disclosure) as log:
        with bar as advance:
            report = find(Stages(Store(work, log.warning), log, advance))
            if target is None:
                return report, None
            advance(last_step)
            finished = work / FINISHED
            shutil.rmtree(finished, ignore_errors=True)  # left by a run that was stopped
            finished.mkdir()
            write(report, finished)
            for text in report.warnings:
                log.warning("%s", text)
            log.info("results complete")
            shutil.copy(work / LOG, finished / LOG)
        require_replaceable(target, study.name, force)
        put_in_place(finished, target, study.name)
    shutil.rmtree(work, ignore_errors=True)
    return report, target


def _found(study: Study, stages: Stages, verbose: bool, client: Any) -> StudyFindings:
    """Everything that a study finds, nothing hidden."""
    stages.log.info("study %s, relprev %s", study.name, versions()["relprev"])
    stages.log.info("cohorts %s", "in parts" if study.compute.out_of_core else "in memory")
    cohorts = built_cohorts(study, stages, verbose)
    findings = [
        _findings(study, position, cohorts, stages, verbose, client)
        for position in range(len(study.cohort.groups))
    ]
    return study_findings(study, findings, stages.outcomes, _checks(study)[1])


def _findings(
    study: Study, position: int, cohorts: Outcome, stages: Stages, verbose: bool, client: Any
) -> VariableFindings:
    """Estimates and checks of the group variable at a position."""
    from relprev.checks.held_out import SplitFits  # loads estimators, which not all users need

    name = study.cohort.groups[position].name
    about = cohorts.values["variables"][name]
    opened = partial(open_cohort, stages.store.path(about["file"]), client)
    variable = Variable(name, opened, study.estimate, study.inference, study.seed, verbose)
    require_blocks(study, variable)
    key = estimate_key(study, name, about["digest"])
    estimates: dict[str, Outcome] = {}
    failed: list[str] = []
    for method in study.estimate.methods:
        found = stages(
            method, key, partial(variable.estimate, method), of=name, unless=TooFewCasesError,
            failure=Message("no {method} estimate", method=method),
        )  # fmt: skip
        if found.tables:
            estimates[method] = found
        else:
            failed += [shown(message, study.disclosure) for message in found.warnings]
    if not estimates:
        why = f"{'; '.join(failed)}; or take this variable out"
        raise study.error(("groups", position, "column"), why)
    analyses = _analyses(study, variable, key, stages, about) if "debiased" in estimates else []
    checks, fits = [], SplitFits()
    for kind in _checks(study)[0]:
        checking = partial(run_check, variable, kind, study.checks, fits)
        words = Message("the check {check} could not be run", check=kind.replace("_", " "))
        made = stages(
            kind, check_key(study, key), checking, of=name, unless=InvalidInputError, failure=words,
        )  # fmt: skip
        checks += made.results(CheckResult.from_plain)
    return variable_findings(study, position, cohorts, estimates, checks, analyses)


def _analyses(
    study: Study, variable: Variable, key: str, stages: Stages, about: Mapping[str, Any]
) -> list[Analysis]:
    """What the study asks for besides the estimates."""
    from relprev.study.stages.analyses import absolute_rates, crude_rates, within_strata

    found = crude_rates(variable)
    if variable.name in study.anchor:
        options = study.anchor[variable.name]
        made = stages(
            "absolute", analysis_key(key, asdict(options)),
            partial(absolute_rates, variable, options), of=variable.name,
            unless=InvalidInputError, failure=Message("no absolute rates"),
        )  # fmt: skip
        found += made.results(Analysis.from_plain)
    strata = open_strata(stages.store.folder, about["strata"])
    for one in study.cohort.strata:
        settings = {"strata": about["strata"], "name": one.name, "standard": one.standard}
        making = partial(within_strata, variable, strata[one.name], one.name, one.standard)
        made = stages(
            f"strata {one.name}", analysis_key(key, settings), making, of=variable.name,
            unless=InvalidInputError, failure=Message("no estimates within strata"),
        )  # fmt: skip
        found += made.results(Analysis.from_plain)
    return found


def _checks(study: Study) -> tuple[list[str], list[str]]:
    """The requested checks that the study's methods allow, and those they do not."""
    asked = dict.fromkeys(study.checks.run)
    skipped = [name for name in asked if not {*CHECKS[name].needs} <= {*study.estimate.methods}]
    return [name for name in asked if name not in skipped], skipped


def _steps(studies: Sequence[Study], verbose: bool) -> tuple[int, bool, list[float]]:
    """Number of steps, whether to show them, and roughly how long each takes."""
    each = []
    for study in studies:
        fitted = [SECONDS[name] for name in study.estimate.methods]
        checked = [CHECKS[name].seconds for name in _checks(study)[0]]
        strata = [SECONDS["debiased"]] * len(study.cohort.strata)
        variables = (fitted + checked + strata) * len(study.cohort.groups)
        each += [SECONDS["cohort"], *variables, *[1.0] * len(study.anchor)]
    return len(each) + 1, verbose, [*each, SECONDS["report"]]
