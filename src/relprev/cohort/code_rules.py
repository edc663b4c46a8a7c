"""Rules about recorded codes as SQL: who has one, now or before, and who counts as a case.

Codes that a rule names are matched once against those that occur, into a temporary table. Times are
days between visits of a patient (column ``visit_date``).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relprev.codes import CodePattern
from relprev.cohort.spec import CohortSpec
from relprev.cohort.visit_rules import Case, Include
from relprev.errors import InvalidInputError
from relprev.sources.database import quoted
from relprev.sources.source import DATE, Source


def has_code_sql(rule: Include, source: Source, key: str) -> str:
    """SQL that is true for visits with a code of the rule, in the visit or its lookback window."""
    table = _matched(source, map(CodePattern.parse, rule.codes), key)
    coded = f"SELECT visit FROM codes JOIN {table} USING (version, code)"
    if rule.lookback_days is None:
        return f"visit IN ({coded})"
    _require_dates(source, "lookback_days")
    return (
        f"visit IN (SELECT now.visit FROM visits AS now JOIN visits AS past USING (patient) "
        f"WHERE past.visit IN ({coded}) AND past.{DATE} <= now.{DATE} "
        f"AND past.{DATE} >= now.{DATE} - INTERVAL {rule.lookback_days} DAY)"
    )


def cases(spec: CohortSpec, source: Source) -> NDArray[np.bool_] | None:
    """Which visits of the source are cases; None if one code is enough, whichever it is.

    Returns
    -------
    boolean array of shape (visits of the source,), or None
    """
    rule = spec.case
    if rule == Case():
        return None
    condition = spec.condition.cut_to(source.code_lengths)
    table = _matched(source, condition.patterns, "condition")
    roles = f"WHERE role IN ({', '.join(map(quoted, rule.roles))})" if rule.roles else ""
    coded = (
        f"SELECT visit FROM codes JOIN {table} USING (version, code) {roles} "
        f"GROUP BY visit HAVING count(DISTINCT (version, code)) >= {rule.min_codes}"
    )
    if rule.roles:
        _require_roles(rule, source)
    if rule.min_visits > 1:
        _require_patients(source, "min_visits")
        near = ""
        if rule.within_days is not None:
            _require_dates(source, "within_days")
            apart = f"datediff('day', one.{DATE}, two.{DATE})"
            near = f"WHERE abs({apart}) <= {rule.within_days} "
        coded = (
            f"WITH coded AS (SELECT * FROM visits WHERE visit IN ({coded})) "
            "SELECT one.visit FROM coded AS one JOIN coded AS two USING (patient) "
            f"{near}GROUP BY one.visit HAVING count(*) >= {rule.min_visits}"
        )
    if rule.later_days is not None:
        _require_dates(source, "later_days")
        coded = (
            f"WITH found AS ({coded}) SELECT visit FROM found UNION "
            "SELECT now.visit FROM visits AS now JOIN visits AS later USING (patient) "
            f"WHERE later.visit IN (FROM found) AND later.{DATE} >= now.{DATE} "
            f"AND later.{DATE} <= now.{DATE} + INTERVAL {rule.later_days} DAY"
        )
    (visits,) = source.connection.sql(coded).fetchnumpy().values()
    found = np.zeros(source.n_visits, dtype=bool)
    found[np.asarray(visits)] = True
    return found


def _matched(source: Source, patterns: Iterable[CodePattern], key: str) -> str:
    """Name of a temporary table of the recorded codes that a pattern matches."""
    lengths = source.code_lengths
    wanted = [one.cut_to(lengths[one.version]) if one.version in lengths else one
              for one in patterns]  # fmt: skip
    found = [code for code in source.query("SELECT DISTINCT version, code FROM codes")
             if any(one.matches(*code) for one in wanted)]  # fmt: skip
    columns = zip(*found, strict=True) if found else ([], [])
    version, code = (pa.array(list(column), pa.string()) for column in columns)
    name = f"relprev_codes_{key}"
    source.connection.register("matched", pa.table({"version": version, "code": code}))
    source.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM matched")
    source.connection.unregister("matched")
    return name


def _require_patients(source: Source, key: str) -> None:
    if not source.query("SELECT count(patient) FROM visits")[0][0]:
        raise InvalidInputError(
            f"{key} compares visits of the same patient, and the {source.name} source does not "
            "say who the patients are; leave it out, or name the column of patients"
        )


def _require_dates(source: Source, key: str) -> None:
    _require_patients(source, key)
    if DATE not in source.columns("visits"):
        raise InvalidInputError(
            f"{key} needs the dates of visits, which the {source.name} source does not have; leave "
            "it out or, in a tables source, name the column of dates (date)"
        )


def _require_roles(rule: Case, source: Source) -> None:
    known = [role for (role,) in source.query("SELECT DISTINCT role FROM codes ORDER BY role")]
    unknown = [role for role in rule.roles if role not in known]
    if unknown:
        raise InvalidInputError(
            f"case: no code has the role {', '.join(map(repr, unknown))}; give some of those in "
            f"the {source.name} source: {', '.join(map(str, known))}"
        )
