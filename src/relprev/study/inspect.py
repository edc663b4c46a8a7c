"""A look at a study before anything is fitted: does the file fit the data?"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from relprev.arrays import numbered
from relprev.cohort import BuiltCohort, Cohort
from relprev.cohort.summary import group_patients, group_totals
from relprev.errors import InvalidInputError
from relprev.inference.estimable import MIN_PATIENTS
from relprev.inference.sampling import SamplingDesign
from relprev.matrix.coerce import listed
from relprev.report import VariableFindings
from relprev.sources.source import Source
from relprev.study.cohorts import study_cohorts
from relprev.study.data import require_columns, unknown_values
from relprev.study.siblings import sibling_note
from relprev.study.study import Study
from relprev.study.variable import Variable, with_options


@dataclass(frozen=True)
class Inspection:
    """What `inspect_study` saw.

    Parameters
    ----------
    source : str
        Kind of source.
    codes : mapping of pattern to number of different codes
        How many codes of the source each pattern of the condition matches.
    variables : tuple of VariableFindings
        Attrition and groups of every group variable, before small counts are hidden.
    words : mapping of group variable to text
        Size and design of its cohort.
    notes : tuple of str
        What deserves a look.
    problems : tuple of str
        What would stop the study.
    """

    source: str
    codes: Mapping[str, int]
    variables: tuple[VariableFindings, ...]
    words: Mapping[str, str]
    notes: tuple[str, ...]
    problems: tuple[str, ...]


def inspect_study(study: Study) -> Inspection:
    """Read the data and build the cohorts; fit nothing."""
    with study.open_source() as source:
        require_columns(study, source)
        notes = [str(study.error(path, words)) for path, words in unknown_values(study, source)]
        codes = _codes(study, source)
        absent = [str(pattern) for pattern, n in codes.items() if not n]
        if absent:
            notes.append(f"condition: no visit has {listed(absent)}")
        variables, words, problems = [], {}, []
        columns = {group.name: group.column for group in study.cohort.groups}
        with tempfile.TemporaryDirectory(prefix="relprev-") as folder:
            for name, item in study_cohorts(study, source, Path(folder, "cohorts")).items():
                cohort = with_options(item.cohort, study.inference)
                Variable(study, name, cohort).reference  # noqa: B018  fails if it has no visits
                variables.append(
                    VariableFindings(
                        name, {}, item.attrition.to_frame(), (), pd.DataFrame(),
                        {group: str(why) for group, why in item.left_out.items()},
                        groups_table(item.cohort), columns[name],
                    )
                )  # fmt: skip
                words[name] = _words(cohort)
                notes += _notes(name, item, cohort, study)
                problems += _problems(name, cohort, study)
            notes += sibling_note(study.cohort.condition, cohort.feature_names or ())
    return Inspection(source.name, codes, tuple(variables), words, tuple(notes), tuple(problems))


def groups_table(cohort: Cohort) -> pd.DataFrame:
    """Columns group, n, n_diagnosed; where patients are known, patients, patients_diagnosed."""
    n, n_diagnosed = group_totals(cohort)[:2]
    names = list(cohort.group_names)
    table = pd.DataFrame({"group": names, "n": n, "n_diagnosed": n_diagnosed})
    people = group_patients(cohort)
    if people is None:
        return table
    return table.assign(patients=people[0], patients_diagnosed=people[1])


def _codes(study: Study, source: Source) -> dict[str, int]:
    """Different codes of the source that each pattern of the condition matches."""
    condition = study.cohort.condition.cut_to(source.code_lengths)
    found = source.query("SELECT DISTINCT version, code FROM codes")
    return {
        str(pattern): sum(pattern.matches(version, code) for version, code in found)
        for pattern in condition.patterns
    }


def _words(cohort: Cohort) -> str:
    """Features and design; visits and patients are the attrition table's last line."""
    words = [f"{cohort.n_cols:,} features"]
    words += ["sampling weights"] if "weights" in cohort.fields else []
    named = {"strata": "strata", "psus": "primary sampling units"}
    for name, units in named.items():
        if name in cohort.fields:
            values = getattr(cohort, name)
            words.append(f"{len(numbered(values)[0]):,} {units}")
    return ", ".join(words)


def _notes(name: str, item: BuiltCohort, cohort: Cohort, study: Study) -> list[str]:
    notes = [f"{name}: {group} is left out, {why}" for group, why in item.left_out.items()]
    patients = diagnosed_patients(cohort)
    thin = [group for group, n in patients.items() if n < MIN_PATIENTS]
    if thin and len(patients) - len(thin) >= 2 and "debiased" in study.estimate.methods:
        has = "have" if len(thin) > 1 else "has"
        notes.append(
            f"{name}: {listed(thin)} {has} too few diagnosed {_units(cohort)} for a "
            f"debiased estimate; {_consequence(thin, Variable(study, name, cohort))}; merge with "
            "another group (recode), or leave out (recode, minimum_size)"
        )
    return notes


def diagnosed_patients(cohort: Cohort) -> dict[str, int]:
    """Diagnosed patients of every group; visits where patients are not known."""
    people = group_patients(cohort)
    counts = group_totals(cohort)[1] if people is None else people[1]
    return dict(zip(cohort.group_names, counts.tolist(), strict=True))


def _units(cohort: Cohort) -> str:
    return "patients" if "clusters" in cohort.fields else "visits"


def _consequence(thin: list[str], variable: Variable) -> str:
    """What groups without an estimate mean for the others."""
    versus = variable.study.estimate.versus
    if versus == "complement":
        return 'with versus = "complement" no group gets one, as each needs all others'
    if versus == "reference" and variable.reference in thin:
        return f"{variable.reference} is the reference, so no group gets one"
    return "comparisons with it get none"


def _problems(name: str, cohort: Cohort, study: Study) -> list[str]:
    """What would stop the estimators."""
    found = []
    patients = diagnosed_patients(cohort)
    if sum(n >= MIN_PATIENTS for n in patients.values()) < 2:
        found.append(
            f"{name}: fewer than two groups have enough diagnosed {_units(cohort)} for an "
            "estimate; merge groups or widen the condition"
        )
    elif study.estimate.methods == ("purple",) and 1 in patients.values():
        lone = [group for group, n in patients.items() if n == 1]
        found.append(
            f"{name}: too few diagnosed {_units(cohort)} in {listed(lone)} to choose the penalty "
            "of purple on held-out visits; merge with another group, or leave out"
        )
    try:
        SamplingDesign.from_cohort(cohort, study.inference.lonely_psu)
    except InvalidInputError as error:
        found.append(str(study.error(("inference", "lonely_psu"), f"{name}: {error}")))
    return found
