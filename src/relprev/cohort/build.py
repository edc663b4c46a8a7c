"""From a source and a study to cohorts, one for each group variable."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.cohort.cohort import Cohort
from relprev.cohort.convert import as_cohort
from relprev.cohort.matrix import CodeMatrix, code_matrix
from relprev.cohort.selection import MISSING, Selected, select_visits
from relprev.cohort.spec import CohortSpec, GroupVariable
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.progress import progress
from relprev.sources.attrition import Attrition, Step
from relprev.sources.source import Source, reading


@dataclass(frozen=True, eq=False)
class BuiltCohort:
    """A cohort and how it came about; ``left_out`` maps groups too small for it to why."""

    name: str
    cohort: Cohort
    attrition: Attrition
    left_out: Mapping[str, str] = field(default_factory=dict)


@reading("the source")
def build_cohorts(
    spec: CohortSpec,
    source: Source,
    *,
    groups: Sequence[str] | None = None,
    keep_ids: bool = False,
    verbose: bool = False,
) -> dict[str, BuiltCohort]:
    """Make the study's cohorts from a source.

    All cohorts have the same features, counted in the included visits before any group
    variable leaves some out.

    Parameters
    ----------
    spec : CohortSpec
    source : Source
    groups : sequence of str, optional
        Names of the group variables wanted. Default: all of the study's.
    keep_ids : bool
        Keep the visits' identifiers in the cohort.
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    dict of group variable's name to BuiltCohort

    Examples
    --------
    >>> import pandas as pd
    >>> from relprev.codes import CodeSet
    >>> from relprev.cohort.spec import GroupVariable, Include
    >>> from relprev.sources import read_tables
    >>> visits = pd.DataFrame({"id": [1, 2, 3, 4, 5], "age": [30, 41, 17, 52, 60],
    ...                        "ward": ["a", "a", "a", "b", "b"]})
    >>> codes = pd.DataFrame({"id": [1, 1, 2, 3, 4, 5], "version": ["10"] * 6,
    ...                       "dx": ["N80.1", "R10.2", "R10.2", "R51", "R51", "R11"]})
    >>> source = read_tables(visits, codes, visit_id="id", age="age", code="dx",
    ...                      version="version", attributes=["ward"])
    >>> spec = CohortSpec(CodeSet.of("endometriosis", ["ICD10:N80*"]), (GroupVariable("ward"),),
    ...               (Include("age", minimum=18),))
    >>> built = build_cohorts(spec, source)["ward"]
    >>> built.cohort.feature_names, built.cohort.diagnosed.tolist()
    (('ICD10:R102', 'ICD10:R11', 'ICD10:R51'), [1, 0, 0, 0])
    >>> built.attrition.to_frame()["visits"].tolist()
    [5, 4, 4, 4]
    """
    variables = _wanted(spec, groups)
    with progress("Cohort", 2 + len(variables), verbose) as advance:
        advance("inclusion rules")
        selected = select_visits(spec, source, variables)
        advance("codes")
        matrix = code_matrix(spec, source, selected)
        if not matrix.feature_names:
            raise InvalidInputError(
                "no feature is left: the included visits have no code, of the roles asked for, "
                "beyond the condition's own that is seen often enough (min_count is "
                f"{spec.features.min_count})"
            )
        patients = _patients(selected)
        kept, attrition = _with_codes(spec, selected, matrix, patients)
        built = {}
        for variable in variables:
            advance(variable.name)
            rows, steps, left_out = _group_rows(variable, selected, kept, patients)
            cohort = _cohort(spec, variable, selected, matrix, rows, patients, keep_ids)
            built[variable.name] = BuiltCohort(
                variable.name, cohort, attrition.then(*steps), left_out
            )
    return built


def _wanted(spec: CohortSpec, groups: Sequence[str] | None) -> tuple[GroupVariable, ...]:
    if groups is None:
        return spec.groups
    names = [variable.name for variable in spec.groups]
    unknown = sorted(set(groups) - set(names))
    if unknown:
        raise InvalidInputError(f"groups: the study has {names}, not {unknown}")
    return tuple(variable for variable in spec.groups if variable.name in groups)


def _patients(selected: Selected) -> NDArray[np.int64] | None:
    """Patients as numbers, None where the source does not identify them."""
    column = selected.table.column("patient")
    if column.null_count == len(column):
        return None
    return np.asarray(pd.factorize(column.to_pandas())[0], dtype=np.int64)


def _step(words: str, rows: NDArray[np.int64], patients: NDArray[np.int64] | None) -> Step:
    return Step(words, len(rows), None if patients is None else len(np.unique(patients[rows])))


def _with_codes(
    spec: CohortSpec, selected: Selected, matrix: CodeMatrix, patients: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], Attrition]:
    """Rows that stay after the rule for visits without any code."""
    if spec.without_codes == "keep":
        return np.arange(selected.n), selected.attrition
    rows = np.flatnonzero(matrix.has_code)
    return rows, selected.attrition.then(_step("at least one code", rows, patients))


def _group_rows(
    variable: GroupVariable,
    selected: Selected,
    kept: NDArray[np.int64],
    patients: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], list[Step], dict[str, str]]:
    """Rows with a group, the steps that led there, and groups left out with the reason."""
    position = selected.table.column(f"group:{variable.name}").to_numpy()[kept]
    names = selected.group_names[variable.name]
    rows, position = kept[position != MISSING], position[position != MISSING]
    steps = [] if variable.missing else [_step(f"{variable.name} known", rows, patients)]
    if variable.recode:
        rows, position = rows[position >= 0], position[position >= 0]
        steps.append(_step(f"{variable.name} in one of the study's groups", rows, patients))
    size = np.bincount(position, minlength=len(names))
    small = np.flatnonzero(size < max(variable.minimum_size, 1))
    if len(small):
        left_out = ", ".join(names[k] for k in small)
        warnings.warn(
            DataWarning(
                f"{variable.name}: left out for having fewer than "
                f"{max(variable.minimum_size, 1):,} visits: {left_out}"
            ),
            stacklevel=4,
        )
        rows = rows[~np.isin(position, small)]
        words = f"{variable.name} group of {max(variable.minimum_size, 1):,} visits or more"
        steps.append(_step(words, rows, patients))
    if len(names) - len(small) < 2:
        raise InvalidInputError(
            f"{variable.name}: {len(names) - len(small)} of the study's groups {list(names)} have "
            "visits, at least two are needed; compare the recode with the source's values"
        )
    reason = f"fewer than {max(variable.minimum_size, 1):,} visits"
    return rows, steps, {names[k]: reason for k in small}


def _cohort(
    spec: CohortSpec,
    variable: GroupVariable,
    selected: Selected,
    matrix: CodeMatrix,
    rows: NDArray[np.int64],
    patients: NDArray[np.int64] | None,
    keep_ids: bool,
) -> Cohort:
    diagnosed = matrix.diagnosed[rows]
    if not diagnosed.any():
        raise TooFewCasesError(
            f"no visit of the {variable.name} cohort ({len(rows):,} visits) has a code of "
            f"{spec.condition.name!r}; check the code set, the versions (ICD9, ICD10) and the "
            "spelling of the codes in the source"
        )
    everything = len(rows) == selected.n

    def column(name: str) -> Any:
        values = selected.table.column(name)
        if values.null_count == len(values):
            return None
        series = values.to_pandas()
        return series if everything else series.take(rows)

    position = selected.table.column(f"group:{variable.name}").to_numpy()[rows]
    names = pd.Index(list(selected.group_names[variable.name]))
    return as_cohort(
        matrix.X if everything else matrix.X.take(rows),
        diagnosed,
        groups=pd.Categorical.from_codes(position, names),
        sample_weight=column("weight"),
        clusters=None if patients is None else patients[rows],
        strata=column("stratum"),
        psus=column("psu"),
        feature_names=matrix.feature_names,
        ids=column("visit_id") if keep_ids else None,
    )
