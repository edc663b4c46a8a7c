"""Gather what a study found from the outcomes of its stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from relprev.checks.check import CheckResult
from relprev.checks.informativeness import as_seen, withheld_groups
from relprev.checks.registry import CHECKS
from relprev.cohort.visit_rules import Case, population
from relprev.messages import Message
from relprev.report import StudyFindings, VariableFindings
from relprev.report.analyses import Analysis
from relprev.report.sentences.words import lower_first
from relprev.store.stages import Outcome
from relprev.store.versions import versions
from relprev.study.cohorts.building import KEYS, column_name
from relprev.study.cohorts.notes import protocol_note
from relprev.study.stages.variable import described
from relprev.study.study import Study
from relprev.units import UNITS


def variable_findings(
    study: Study, position: int, cohorts: Outcome, estimates: Mapping[str, Outcome],
    checks: list[CheckResult], analyses: Sequence[Analysis] = (),
) -> VariableFindings:  # fmt: skip
    """The findings for the group variable at a position of the study."""
    group, unit = study.cohort.groups[position], UNITS[cohorts.values["unit"]]
    checks = [check.about(unit) for check in as_seen(checks)]
    symptoms = pd.DataFrame({"feature": [], "description": [], "weight": [], "visits": []})
    left_out = dict(cohorts.values["variables"][group.name]["left_out"])
    truth = cohorts.tables.get(f"truth{position}")
    tables: dict[str, pd.DataFrame] = {}
    for method, found in estimates.items():
        calibrated = found.tables.get("calibrated", pd.DataFrame())
        if len(calibrated):
            tables = {"calibrated": calibrated} | tables  # the one to trust comes first
        tables[method] = found.tables["estimates"]
        symptoms = found.tables.get("symptoms", symptoms)
        left_out |= found.values.get("left_out", {})
    if truth is not None:
        known = truth.rename(columns={"estimate": "truth"})
        tables = {name: table.merge(known, "left", KEYS) for name, table in tables.items()}
    for check in checks:
        tables = {name: with_notes(table, check) for name, table in tables.items()}
    words = cohorts.values["descriptions"]
    both = zip(symptoms["feature"], symptoms["description"], strict=True)
    described = pd.array([words.get(name, known) for name, known in both], dtype="str")
    return VariableFindings(
        name=group.name, column=column_name(group), estimates=tables, checks=tuple(checks),
        symptoms=symptoms.assign(description=described),
        left_out={name: Message.from_plain(why).about(unit) for name, why in left_out.items()},
        attrition=cohorts.tables[f"attrition{position}"],
        groups=cohorts.tables[f"groups{position}"],
        characteristics=cohorts.tables[f"characteristics{position}"],
        analyses=tuple(analyses),
    )  # fmt: skip


def with_notes(table: pd.DataFrame, check: CheckResult) -> pd.DataFrame:
    """Estimates with the reason, in the column ``note``, why some of them are no answer."""
    if check.kind != "informativeness":
        return table
    groups = withheld_groups(check)
    side = table["group"].where(table["group"].isin(groups), table["versus"])
    notes = [str(groups[one]) if one in groups else "" for one in side]
    return table.assign(note=pd.array(notes, dtype="str"))


def study_findings(
    study: Study, variables: list[VariableFindings], outcomes: Mapping[str, Outcome],
    skipped: list[str],
) -> StudyFindings:  # fmt: skip
    """Everything the study found, nothing hidden yet; ``skipped`` checks lack a method."""
    condition, options = study.cohort.condition, study.report
    words = options.condition or lower_first(condition.title) or condition.name
    said = [message for outcome in outcomes.values() for message in outcome.warnings]
    said += protocol_note(study)
    if skipped:
        said.append(Message(
            "checks not run because the study lacks a method that they compare: {checks}",
            checks=[name.replace("_", " ") for name in skipped],
        ))  # fmt: skip
    about = outcomes["cohort"].values
    features = {
        str(feature)
        for found in variables for check in found.checks if "feature" in check.table
        for feature in check.table["feature"]
    }  # fmt: skip
    known = about["descriptions"]
    unit = UNITS[about["unit"]]
    return StudyFindings(
        title=options.title or f"Relative prevalence of {words}",
        condition=words,
        population=options.population
        or population(unit.plural, study.cohort.include, study.cohort.exclude),
        source=about["source"],
        variables=tuple(variables),
        manifest=_manifest(study, outcomes),
        warnings=tuple(dict.fromkeys(message.about(unit) for message in said)),
        level=study.estimate.level,
        sampling=about["sampling"],
        inside=tuple(tuple(one) for one in about["inside"]),
        levels=tuple(tuple(one) for one in about["levels"]),
        exclusive=tuple(tuple(one) for one in about["exclusive"]),
        features=about["features"],
        unit=unit,
        descriptions={
            name: text for name in sorted(features) if (text := known.get(name) or described(name))
        },
        condition_codes=tuple(str(pattern) for pattern in condition.patterns),
        rules=_rules(study),
        case="" if study.cohort.case == Case() else str(study.cohort.case),
        weighted=about["weighted"],
        unchecked=tuple(
            check.title
            for kind, check in CHECKS.items()
            if not any(kind == made.kind for found in variables for made in found.checks)
        ),
    )


def _rules(study: Study) -> tuple[str, ...]:
    """Who is included and who is left out, rule by rule, in the order of the attrition."""
    spec = study.cohort
    looked = [spec.tested] if spec.tested and spec.tested.not_tested == "drop" else []
    return tuple(str(rule) for rule in (*spec.include, *spec.exclude, *looked))


def _manifest(study: Study, outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """What it takes to reproduce the results, without counts of people, paths or addresses."""
    about = outcomes["cohort"].values
    return {
        "versions": versions(),
        "study": study.described(),
        "data": {
            "files": study.source.described_files(),
            "details": about["details"],
            "cohorts": {name: kept["digest"] for name, kept in about["variables"].items()},
        },
        "seed": study.seed,
        "seconds": {name: round(found.seconds, 2) for name, found in outcomes.items()},
    }
