"""Run a study: cohorts, estimates, checks, findings, disclosure, report.

Every stage is kept when finished, so a run that was stopped at any moment resumes where it was. The
same study on the same data gives the same results, byte for byte (times and dates aside). A stage
runs again when its data, its settings or the code upstream of it change.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from relprev.checks.registry import CHECKS
from relprev.disclosure import shown
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.messages import Message
from relprev.parallel.cluster import require_ready
from relprev.progress import Advance, progress
from relprev.report import StudyFindings, VariableFindings, disclosed, write_report
from relprev.report.analyses import Analysis
from relprev.report.write import require_formats
from relprev.store.stages import Outcome, Store
from relprev.store.versions import versions
from relprev.study.cohorts.building import build
from relprev.study.cohorts.keeping import PARTS, is_whole, open_cohort, open_strata
from relprev.study.findings import study_findings, variable_findings
from relprev.study.results_folder import (
    LOG,
    begun,
    finish,
    put_in_place,
    require_replaceable,
    run_log,
    working_folder,
)
from relprev.study.stages.checks import check_results, run_check
from relprev.study.stages.kept import Stages
from relprev.study.stages.keys import analysis_key, check_key, cohort_key, estimate_key
from relprev.study.stages.variable import Variable
from relprev.study.study import Study, StudyResult

SECONDS = {  # of the stages of a study of 1.4 million visits, four groups
    "cohort": 60.0, "debiased": 60.0, "purple": 15.0, "paper": 60.0, "report": 15.0,
}  # fmt: skip


def run_study(
    study: Study, out: str | Path | None = None, *, force: bool = False, verbose: bool = True,
    client: Any = None,
) -> StudyResult:  # fmt: skip
    """Run the whole study; see `Study.run`."""
    target = None if out is None else Path(out)
    study = prepared(study, target, force, client)
    with working_folder(target) as work, run_log(work / LOG, study.disclosure) as log:
        with progress("Study", *steps([study], verbose)) as advance:
            found = found_in(study, work, log, advance, verbose, client)
            report = disclosed(found, study.disclosure)
            if target is None:
                return StudyResult(report)
            advance("report")
            finished = begun(work)
            write_report(report, finished, study.report.formats)
            finish(finished, report.warnings, log)
        require_replaceable(target, study.name, force)
        put_in_place(finished, target, study.name)
    shutil.rmtree(work, ignore_errors=True)
    return StudyResult(report, target)


def found_in(
    study: Study, work: Path, log: logging.Logger, advance: Advance, verbose: bool, client: Any
) -> StudyFindings:
    """Everything that a study finds, nothing hidden; stages are kept in the working folder."""
    log.info("study %s, relprev %s", study.name, versions()["relprev"])
    log.info("cohorts %s", "in parts" if study.compute.out_of_core else "in memory")
    stages = Stages(Store(work, log.warning), log, advance)
    cohorts = built_cohorts(study, stages, work, verbose)
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
        checks += check_results(made)
    return variable_findings(study, position, cohorts, estimates, checks, analyses)


def _analyses(
    study: Study, variable: Variable, key: str, stages: Stages, about: Mapping[str, Any]
) -> list[Analysis]:
    """What the study asks for besides the estimates."""
    from relprev.study.stages.analyses import absolute_rates, analyses_of, within_strata

    found: list[Analysis] = []
    if variable.name in study.anchor:
        options = study.anchor[variable.name]
        if options.group not in variable.cohort.group_names:
            words = f"{options.group!r} is not in the cohort; its groups are"
            names = ", ".join(variable.cohort.group_names)
            raise study.error(("anchor", variable.name, "group"), f"{words} {names}")
        made = stages(
            "absolute", analysis_key(key, asdict(options)),
            partial(absolute_rates, variable, options), of=variable.name,
            unless=InvalidInputError, failure=Message("no absolute rates"),
        )  # fmt: skip
        found += analyses_of(made)
    strata = open_strata(stages.store.folder, about["strata"])
    for one in study.cohort.strata:
        settings = {"strata": about["strata"], "name": one.name, "standard": one.standard}
        making = partial(within_strata, variable, strata[one.name], one.name, one.standard)
        made = stages(
            f"strata {one.name}", analysis_key(key, settings), making, of=variable.name,
            unless=InvalidInputError, failure=Message("no estimates within strata"),
        )  # fmt: skip
        found += analyses_of(made)
    return found


def _checks(study: Study) -> tuple[list[str], list[str]]:
    """The requested checks that the study's methods allow, and those they do not."""
    asked = dict.fromkeys(study.checks.run)
    skipped = [name for name in asked if not {*CHECKS[name].needs} <= {*study.estimate.methods}]
    return [name for name in asked if name not in skipped], skipped


def steps(studies: Sequence[Study], verbose: bool) -> tuple[int, bool, list[float]]:
    """Number of steps, whether to show them, and roughly how long each takes."""
    each = [seconds for study in studies for seconds in _steps(study)]
    return len(each) + 1, verbose, [*each, SECONDS["report"]]


def _steps(study: Study) -> list[float]:
    fitted = [SECONDS[name] for name in study.estimate.methods]
    checked = [CHECKS[name].seconds for name in _checks(study)[0]]
    each = (fitted + checked) * len(study.cohort.groups) + [1.0] * len(study.anchor)
    each += [SECONDS["debiased"]] * len(study.cohort.strata) * len(study.cohort.groups)
    return [SECONDS["cohort"], *each]


# -- keys: digests of everything a stage depends on -----------------------------------------


def prepared(study: Study, target: Path | None, force: bool, client: Any) -> Study:
    """The study as a cluster can run it; fails if its results could not be kept."""
    require_formats(study.report.formats)  # before hours of work
    if client is not None:
        require_ready(client)
        study = replace(study, compute=replace(study.compute, out_of_core=True))
    if target is not None:
        require_replaceable(target, study.name, force)
    return study


def built_cohorts(study: Study, stages: Stages, work: Path, verbose: bool) -> Outcome:
    """The first stage: the cohorts of all group variables, kept in the working folder."""
    key = cohort_key(study, verbose)
    building = partial(build, study, work / f"{PARTS}{key}", verbose=verbose)
    return stages("cohort", key, building, is_whole=partial(is_whole, work))


# -- stages ---------------------------------------------------------------------------------
