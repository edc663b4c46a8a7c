"""Who is in a cohort: the counts behind a report's Table 1.

For every group variable, the visits of each level of a characteristic (age in bands, sex, year, the
study's other group variables): in all, in every group and among the diagnosed. Levels of a
characteristic add up to everybody: visits without a value are a level of their own.

A level is a number per visit, made in the database, so that memory holds a few bytes per visit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.cohort.cohort import Cohort
from relprev.cohort.grouped import BuiltCohort
from relprev.disclosure.nesting import Nesting, nested_groups
from relprev.sources.database import identifier, quoted
from relprev.sources.source import Source

ALL, GROUP, DIAGNOSED = "all", "group", "diagnosed"  # among whom levels are counted
COLUMNS = (
    "characteristic", "level", "among", "group", "n", "weighted", "relative_error", "patients",
)  # fmt: skip
AGE_BANDS = {"under 18": 18, "18 to 44": 45, "45 to 64": 65, "65 or more": 1000}
MISSING = "missing"
COLUMNS_READ = ("age", "sex", "year")
MOST_LEVELS = 20  # of a characteristic that is worth a table
Codes = NDArray[np.integer[Any]]
Errors = Callable[[Codes, int], NDArray[np.float64]]
Levels = Mapping[str, tuple[list[str], Codes]]


def characteristics_table(
    name: str, built: Mapping[str, BuiltCohort], read: Levels, errors: Errors | None = None
) -> pd.DataFrame:
    """The characteristics of the cohort of a group variable.

    Parameters
    ----------
    name : str
        The variable.
    built : mapping of variable to BuiltCohort
        All cohorts of the study.
    read : mapping of column to levels and codes
        From `levels_read`.
    errors : function of every row's cell, -1 for none, and the number of cells, optional
        Standard errors of the cells' sums of weights.

    Returns
    -------
    DataFrame
        One row for every level that occurs, with columns characteristic, level, among ("all",
        "group" or "diagnosed"), group (empty unless among is "group"), n, weighted (sum of sampling
        weights), relative_error (standard error of that sum, over it) and patients; the last three
        are NaN where there are none.
    """
    cohort, rows = built[name].cohort, np.flatnonzero(built[name].visits)
    everybody = np.zeros(cohort.n, dtype=np.int8)
    found = []
    for characteristic, levels, codes in _characteristics(name, built, read):
        own = codes[rows]
        if (own == own[0]).all():
            continue  # nothing to compare
        for among, part, names in (
            (ALL, everybody, [""]), (GROUP, cohort.groups, cohort.group_names),
            (DIAGNOSED, np.where(cohort.diagnosed == 1, 0, -1), [""]),
        ):  # fmt: skip
            counts = _counted(cohort, own, part, levels, names, errors)
            found.append(counts.assign(characteristic=characteristic, among=among))
    table = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=list(COLUMNS))
    return table[list(COLUMNS)]


def levels_and_strata(
    name: str, built: Mapping[str, BuiltCohort], read: Levels
) -> Iterator[tuple[str, str, tuple[Nesting, ...]]]:
    """Strata within levels of a variable's characteristics, and levels within strata.

    Yields the names of a characteristic and of strata, and pairs of one's parts within the other's
    (`relprev.disclosure.nesting`), where these are called "level" and "stratum".
    """
    if not built[name].strata:
        return
    rows = np.flatnonzero(built[name].visits)
    for characteristic, levels, codes in _characteristics(name, built, read):
        for strata, own in built[name].strata.items():
            numbers = {"level": codes[rows], "stratum": own.number}
            yield (
                characteristic,
                strata,
                nested_groups(numbers, {"level": levels, "stratum": own.names}),
            )


def _counted(
    cohort: Cohort, level: Codes, part: Codes, levels: Sequence[str], names: Sequence[str],
    errors: Errors | None,
) -> pd.DataFrame:  # fmt: skip
    """Visits, weights and patients by level and part (-1: in none), where there are any."""
    inside = part >= 0
    cell = level[inside].astype(np.int64) * len(names) + part[inside]
    size = len(levels) * len(names)
    n = np.bincount(cell, minlength=size)
    weights, patients = cohort.weights, cohort.clusters
    weighted: Any = np.nan
    relative: Any = np.nan
    if weights is not None:
        weighted = np.bincount(cell, np.asarray(weights)[inside], minlength=size)
    if weights is not None and errors is not None:
        every = np.full(len(part), -1, dtype=np.min_scalar_type(-size))
        every[inside] = cell
        relative = errors(every, size) / np.where(n > 0, weighted, 1.0)
    people: Any = np.nan
    if patients is not None:
        pairs = np.unique(np.asarray(patients)[inside].astype(np.int64) * size + cell)
        people = np.bincount(pairs % size, minlength=size).astype(float)
    table = pd.DataFrame({
        "level": np.repeat(np.asarray(levels, dtype=object), len(names)),
        "group": np.tile(np.asarray(names, dtype=object), len(levels)),
        "n": n, "weighted": weighted, "relative_error": relative, "patients": people,
    })  # fmt: skip
    return table[n > 0]


def _characteristics(
    name: str, built: Mapping[str, BuiltCohort], read: Levels
) -> Iterator[tuple[str, list[str], Codes]]:
    """Name, levels and every visit's position among them, of each characteristic."""
    for column, (levels, codes) in read.items():
        if column not in built:
            yield column, levels, codes
    for other, item in built.items():
        if other != name:
            groups = item.cohort.group_names
            label = np.full(len(item.visits), len(groups), dtype=np.int16)
            label[item.visits] = item.cohort.groups
            yield other, [*groups, f"{MISSING} or other"], label


def levels_read(source: Source) -> Levels:
    """Of the columns that a table of characteristics has: levels, and every visit's among them."""
    present = source.columns("visits")
    found = {column: _of_column(source, column) for column in COLUMNS_READ if column in present}
    return {column: own for column, own in found.items() if 1 < len(own[0]) <= MOST_LEVELS}


def _of_column(source: Source, column: str) -> tuple[list[str], Codes]:
    """Levels of a column, and the position of every visit's among them; none if all are missing."""
    name = identifier(column)
    if column == "age":
        levels = list(AGE_BANDS)
        cases = [f"{name} < {end}" for end in AGE_BANDS.values()]
    else:
        rows = source.query(
            f"SELECT DISTINCT {name}::VARCHAR AS value FROM visits WHERE {name} IS NOT NULL "
            f"ORDER BY value LIMIT {MOST_LEVELS + 1}"
        )
        levels = [value for (value,) in rows]
        cases = [f"{name}::VARCHAR = {quoted(level)}" for level in levels]
    if not levels or not source.query(f"SELECT count({name}) FROM visits")[0][0]:
        return [], np.empty(0, dtype=np.int8)
    whens = " ".join(f"WHEN {case} THEN {k}" for k, case in enumerate(cases))
    found = source.connection.execute(
        f"SELECT (CASE {whens} ELSE {len(levels)} END)::TINYINT AS code FROM visits ORDER BY visit"
    )
    return [*levels, MISSING], np.asarray(found.fetchnumpy()["code"])
