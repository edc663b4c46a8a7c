"""Run a study: cohort, estimates, checks, report, each kept when finished.

A run that was stopped at any moment goes on where it was. The same study on the same data
gives the same results, byte for byte (times and dates aside).
"""

from __future__ import annotations

import logging
import shutil
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.cohort import Cohort
from relprev.errors import InvalidInputError, RelprevError, RelprevWarning
from relprev.parallel.cluster import require_ready
from relprev.progress import Advance, progress
from relprev.report import StudyReport, VariableFindings, write_report
from relprev.report.output import versions
from relprev.report.suppression import redact
from relprev.study.cohorts import is_kept, keep, open_cohort, study_cohorts
from relprev.study.data import require_columns
from relprev.study.folder import FINISHED, put_in_place, require_replaceable, working_folder
from relprev.study.inspect import groups_table
from relprev.study.options import CheckName, Method
from relprev.study.result import StudyResult
from relprev.study.siblings import sibling_note
from relprev.study.simulated import SimulatedSource
from relprev.study.source import source_words
from relprev.study.store import (
    Outcome,
    Store,
    code_digest,
    digest,
    files_digest,
    timed,
)
from relprev.study.study import Study
from relprev.study.variable import (
    NEEDS,
    Variable,
    check_outcome,
    check_results,
    sampling_words,
    with_options,
)

LOG = "run.log"
KEYS = ["group", "versus"]
SECONDS = {  # of the stages of a study of 1.4 million visits, four groups
    "cohort": 60.0, "debiased": 60.0, "purple": 15.0, "constant_ratio": 3.0, "calibration": 30.0,
    "unconstrained": 65.0, "overlap": 1.0, "leakage": 0.5, "agreement": 0.5, "sensitivity": 70.0,
    "report": 15.0,
}  # fmt: skip


def run_study(
    study: Study, out: str | Path | None = None, *, force: bool = False, verbose: bool = True,
    client: Any = None,
) -> StudyResult:  # fmt: skip
    """Do the whole study; see `Study.run`."""
    target = None if out is None else Path(out)
    if client is not None:
        require_ready(client)
        study = replace(study, compute=replace(study.compute, out_of_core=True))
    if target is not None:
        require_replaceable(target, study.name, force)
    with working_folder(target) as work, _log(work / LOG) as log:
        run = _Run(study, Store(work), log, verbose, client)
        with progress("Study", len(run.steps), verbose, run.steps) as advance:
            report = run.report(advance)
            if target is None:
                return StudyResult(report)
            advance("report")
            _write(report, work / FINISHED, log)
        require_replaceable(target, study.name, force)
        put_in_place(work / FINISHED, target, study.name)
    shutil.rmtree(work, ignore_errors=True)
    return StudyResult(report, target)


def _write(report: StudyReport, finished: Path, log: logging.Logger) -> None:
    """The results, into a folder that is not theirs yet."""
    shutil.rmtree(finished, ignore_errors=True)  # left by a run that was stopped
    finished.mkdir()
    write_report(report, finished)
    log.info("results complete")
    shutil.copy(finished.parent / LOG, finished / LOG)


class _Run:
    """One run: the stages, in order."""

    def __init__(
        self, study: Study, store: Store, log: logging.Logger, verbose: bool, client: Any
    ) -> None:
        self.study, self.store, self.log = study, store, log
        self.verbose, self.client = verbose, client
        self.outcomes: dict[str, Outcome] = {}

    @property
    def steps(self) -> list[float]:
        """How long each step takes, about, for the time left."""
        of_a_variable = [SECONDS[name] for name in (*self.study.estimate.methods, *self._checks())]
        variables = of_a_variable * len(self.study.cohort.groups)
        return [SECONDS["cohort"], *variables, SECONDS["report"]]

    def report(self, advance: Advance) -> StudyReport:
        """All stages, then what the report says."""
        self.log.info("study %s, relprev %s", self.study.name, versions()["relprev"])
        if self.client is not None:
            self.log.info("on a cluster of %d workers", len(self.client.nthreads()))
        elif self.study.compute.out_of_core:
            self.log.info("out of core")
        advance("cohort")
        key = self._cohort_key()
        self._stage("cohort", key, partial(self._build, self.store.path(f"parts-{key}")))
        findings = [
            self._variable(position, group.name, advance)
            for position, group in enumerate(self.study.cohort.groups)
        ]
        return self._content(tuple(findings))

    # -- stages ----------------------------------------------------------------------------

    def _stage(self, kind: str, key: str, make: Callable[[], Outcome], of: str = "") -> Outcome:
        """The outcome kept under the key, or made and kept now."""
        name = f"{of}: {kind.replace('_', ' ')}" if of else kind
        found = self.store.find(kind, key)
        if found is None or not self._has_cohorts(found):
            self.log.info("%s: begun", name)
            said: list[str] = []
            with _recorded(said):
                made = timed(make)
            said += made.warnings
            found = self.store.keep(kind, key, replace(made, warnings=tuple(said)))
            self.log.info("%s: finished in %.1f s", name, found.seconds)
            for text in found.warnings:
                self.log.warning("%s: %s", name, redact(text))
        else:
            self.log.info("%s: kept from an earlier run", name)
        self.outcomes[name] = found
        return found

    def _cohort_key(self) -> str:
        source = self.study.source
        unseen = uuid.uuid4().hex if source.is_database else ""  # read a database every time
        return digest(
            code_digest(), source.kind, source.arguments, self.study.described()["cohort"],
            asdict(self.study.inference), self.study.estimate.versus,
            self.study.estimate.reference, files_digest(source.files()), unseen,
            asdict(self.study.compute) if self.study.compute.out_of_core else None,
        )  # fmt: skip

    def _has_cohorts(self, found: Outcome) -> bool:
        """Whether the cohorts that an outcome speaks of are still there."""
        about = found.values.get("variables", {})
        return all(is_kept(self.store.path(item["file"])) for item in about.values())

    def _build(self, folder: Path) -> Outcome:
        """Cohorts of all group variables, saved one by one."""
        study = self.study
        for old in self.store.folder.glob("parts-*"):  # of other settings or data; they are large
            shutil.rmtree(old, ignore_errors=True)
        with study.open_source() as source:
            require_columns(study, source)
            built = study_cohorts(study, source, folder, verbose=self.verbose)
            values: dict[str, Any] = {
                "source": source_words(source), "details": dict(source.details),
                "descriptions": dict(source.descriptions), "variables": {},
            }  # fmt: skip
            tables = {}
            for position, (name, item) in enumerate(built.items()):
                cohort = item.cohort
                values["sampling"] = sampling_words(with_options(cohort, study.inference))
                mark, file = keep(cohort, folder, position)
                values["variables"][name] = {
                    "digest": mark, "file": file,
                    "left_out": {group: str(why) for group, why in item.left_out.items()},
                }  # fmt: skip
                tables[f"attrition{position}"] = item.attrition.to_frame()
                tables[f"groups{position}"] = groups_table(cohort)
                if isinstance(source, SimulatedSource):
                    truth = source.truth(item, Variable(study, name, cohort).versus)
                    tables[f"truth{position}"] = truth.to_frame()[[*KEYS, "estimate"]]
        beside = sibling_note(study.cohort.condition, cohort.feature_names or ())
        return Outcome(values, tables, tuple(beside))

    def _variable(self, position: int, name: str, advance: Advance) -> VariableFindings:
        study, cohort_stage = self.study, self.outcomes["cohort"]
        about = cohort_stage.values["variables"][name]
        opened = partial(open_cohort, self.store.path(about["file"]), self.client)
        variable = _Lazy(study, name, opened, self.verbose)
        key = digest(
            code_digest(), about["digest"], asdict(study.estimate), asdict(study.inference),
            study.seed, name,
        )  # fmt: skip
        estimates: dict[str, pd.DataFrame] = {}
        symptoms, left_out = _no_symptoms(), dict(about["left_out"])
        truth = cohort_stage.tables.get(f"truth{position}")
        failed: list[str] = []
        for method in study.estimate.methods:
            advance(f"{name}: {method}")
            found = self._stage(method, key, partial(variable.estimate, method), name)
            if "estimates" not in found.tables:
                failed += found.warnings
                continue
            table = found.tables["estimates"]
            if truth is not None:
                table = table.merge(truth.rename(columns={"estimate": "truth"}), "left", KEYS)
            estimates[method] = table
            symptoms = found.tables.get("symptoms", symptoms)
            left_out |= found.values.get("left_out", {})
        if not estimates:
            path = ("groups", position, "column")
            why = "; ".join(map(redact, failed) if study.report.hide_small_counts else failed)
            raise study.error(path, f"{why}; or take this variable out")
        results = []
        for check in self._checks():
            advance(f"{name}: {check.replace('_', ' ')}")
            stage = self._stage(
                check, digest(key, study.checks.max_visits), partial(variable.check, check), name
            )
            results += check_results(stage)
        words = cohort_stage.values["descriptions"]
        both = zip(symptoms["feature"], symptoms["description"], strict=True)
        described = pd.array([words.get(name, known) for name, known in both], dtype="str")
        symptoms = symptoms.assign(description=described)
        return VariableFindings(
            name=name, estimates=estimates, symptoms=symptoms, left_out=left_out,
            attrition=cohort_stage.tables[f"attrition{position}"], checks=tuple(results),
            groups=cohort_stage.tables[f"groups{position}"],
            column=study.cohort.groups[position].column,
        )  # fmt: skip

    def _checks(self) -> list[CheckName]:
        """The checks asked for that the study's methods allow."""
        methods = self.study.estimate.methods
        return [name for name in self.study.checks.run if set(NEEDS[name]) <= set(methods)]

    # -- report ----------------------------------------------------------------------------

    def _content(self, variables: tuple[VariableFindings, ...]) -> StudyReport:
        study, report = self.study, self.study.report
        condition = study.cohort.condition
        words = report.condition or (condition.title or condition.name).lower()
        source = self.outcomes["cohort"].values["source"]
        rules = " and ".join(str(rule) for rule in study.cohort.include)
        skipped = [name for name in study.checks.run if name not in self._checks()]
        said = [text for outcome in self.outcomes.values() for text in outcome.warnings]
        if skipped:
            needed = ", ".join(name.replace("_", " ") for name in skipped)
            said.append(f"checks not made, for want of a method they compare: {needed}")
        return StudyReport(
            title=report.title or f"Relative prevalence of {words}",
            condition=words,
            population=report.population or f"visits{f' where {rules}' if rules else ''}",
            source=source,
            variables=variables,
            manifest=self._manifest(),
            warnings=tuple(dict.fromkeys(said)),
            hide_small_counts=report.hide_small_counts,
            level=study.estimate.level,
            sampling=self.outcomes["cohort"].values["sampling"],
        )

    def _manifest(self) -> dict[str, Any]:
        cohort = self.outcomes["cohort"].values
        files = [file for file in self.study.source.files() if file.is_file()]
        return {
            "versions": versions(),
            "study": self.study.described(),
            "data": {
                "files": [{"name": file.name, "bytes": file.stat().st_size} for file in files],
                "details": cohort["details"],
                "cohorts": {name: about["digest"] for name, about in cohort["variables"].items()},
            },
            "seed": self.study.seed,
            "seconds": {name: round(found.seconds, 2) for name, found in self.outcomes.items()},
        }


class _Lazy:
    """A variable whose cohort is read when first needed."""

    def __init__(
        self, study: Study, name: str, opened: Callable[[], Cohort], verbose: bool
    ) -> None:
        self._study, self._name, self._opened, self._verbose = study, name, opened, verbose

    @cached_property
    def _variable(self) -> Variable:
        cohort = with_options(self._opened(), self._study.inference)
        return Variable(self._study, self._name, cohort, self._verbose)

    def estimate(self, method: Method) -> Outcome:
        """The estimates; where the data are too thin for the method, a warning that says so."""
        variable = self._variable
        try:
            with _said_if_done():
                return variable.estimate(method)
        except InvalidInputError as error:
            return Outcome(warnings=(f"{self._name}: no {method} estimate: {error}",))

    def check(self, name: CheckName) -> Outcome:
        """The check; where the data are too thin for it, a warning that says so."""
        variable = self._variable
        try:
            with _said_if_done():
                return variable.check(name)
        except InvalidInputError as error:
            words = f"{self._name}: the check {name.replace('_', ' ')} could not be made: {error}"
            return replace(check_outcome([]), warnings=(words,))


def _no_symptoms() -> pd.DataFrame:
    return pd.DataFrame({"feature": [], "description": [], "weight": [], "visits": []})


@contextmanager
def _said_if_done() -> Iterator[None]:
    """Hold warnings back until the work is done: of a fit that failed only the reason is said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for item in caught:
        warnings.warn(item.message, stacklevel=2)


@contextmanager
def _recorded(said: list[str]) -> Iterator[None]:
    """Collect relprev's warnings instead of showing them; others are none of the user's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said += dict.fromkeys(
        str(item.message) for item in caught if issubclass(item.category, RelprevWarning)
    )


@contextmanager
def _log(path: Path) -> Iterator[logging.Logger]:
    """A log file of this run: stages, times, warnings and how it ended; no data."""
    log = logging.Logger("relprev.study", logging.INFO)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield log
    except RelprevError as error:
        log.error("%s", error)
        raise
    except BaseException as error:
        log.error("stopped: %s", type(error).__name__)
        raise
    finally:
        handler.close()
