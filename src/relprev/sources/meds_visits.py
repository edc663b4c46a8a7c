"""Visits of a MEDS dataset: when they begin and end, who they are of, what is recorded in them.

They are made from the view ``events`` of subject, time and code, which is scanned and never
loaded whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from relprev.errors import DataWarning, InvalidInputError
from relprev.messages import Message, Number
from relprev.settings import suggestion
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import Connection, identifier, quoted
from relprev.sources.meds_codes import column_name, named, split
from relprev.sources.source import DATE, VISIT_COLUMNS
from relprev.sources.table_visits import sex_sql

OUTSIDE = 0.05  # share of diagnoses outside visits that is worth a warning
SEX = ("gender", "sex")
MOST_NAMED = 50  # kinds of codes in a hint


def matching(codes: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The codes that are one of the patterns, or begin as one that ends in ``*``."""
    exact = {pattern for pattern in patterns if not pattern.endswith("*")}
    starts = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))
    return [code for code in codes if code in exact or (starts and code.startswith(starts))]


def _require_found(codes: Sequence[str], patterns: Sequence[str], key: str) -> list[str]:
    for pattern in patterns:
        if not matching(codes, [pattern]):
            known = sorted({split(code)[0] for code in codes})
            hint = suggestion(pattern.rstrip("*/"), known[:MOST_NAMED])
            raise InvalidInputError(f"{key}: no event has the code {pattern!r}; {hint}")
    return matching(codes, patterns)


def make_spans(
    connection: Connection, codes: Sequence[str], anchors: Sequence[str], ends: Sequence[str],
    days: float | None, who: str,
) -> None:  # fmt: skip
    """Create the table ``spans``: subject, anchor, and the first and last moment of a visit."""
    if not anchors:
        connection.execute(
            "CREATE TABLE spans AS SELECT subject, NULL::VARCHAR AS anchor, min(time) AS start, "
            f"max(time) AS until, {who} AS wanted FROM events GROUP BY subject"
        )
        return
    begin = _in(_require_found(codes, anchors, "anchor"))
    finish = _in(_require_found(codes, ends, "end")) if ends else "false"
    limit = f"start + to_microseconds({int((days or 0) * 86_400_000_000)})" if days else "NULL"
    connection.execute(f"""
        CREATE TABLE spans AS
        WITH begun AS (
            SELECT subject, time AS start, min(code) AS anchor FROM events
            WHERE time IS NOT NULL AND {begin} GROUP BY subject, time
        ), followed AS (
            SELECT *, lead(start) OVER (PARTITION BY subject ORDER BY start)
                      - to_microseconds(1) AS before_next FROM begun
        ), ended AS (SELECT DISTINCT subject, time FROM events WHERE {finish})
        SELECT b.subject, b.anchor, b.start, {who.replace("subject IN", "b.subject IN")} AS wanted,
               least(coalesce(b.before_next, TIMESTAMP '9999-12-31'),
                     coalesce(e.time, TIMESTAMP '9999-12-31'),
                     coalesce({limit}, TIMESTAMP '9999-12-31')) AS until
        FROM followed b ASOF LEFT JOIN ended e ON e.subject = b.subject AND e.time >= b.start
    """)


def _in(codes: Sequence[str]) -> str:
    return f"code IN ({', '.join(map(quoted, codes))})" if codes else "false"


def make_visits(
    connection: Connection, static: Mapping[str, list[str]], timed: Mapping[str, list[str]],
    birth: str, anchored: bool, splits: Sequence[str],
) -> Attrition:  # fmt: skip
    """Create the view ``visits``, and ``spanned``, which has the moments as well."""
    at = "start" if anchored else "until"
    day = [f"s.start::DATE AS {DATE}"] if anchored else []
    joins, columns, sexes = [], [], []
    for k, (name, codes) in enumerate([*static.items(), *timed.items()]):
        connection.execute(f"CREATE TEMP TABLE values{k} (code VARCHAR, value VARCHAR)")
        connection.executemany(
            f"INSERT INTO values{k} VALUES (?, ?)", [(code, split(code)[1]) for code in codes]
        )
        happened = "time IS NULL" if name in static else "time IS NOT NULL"
        when = "NULL::TIMESTAMP" if name in static else "time"
        value = "string_agg(DISTINCT value, ' and ' ORDER BY value)"
        rows = (
            f"(SELECT subject, {when} AS time, {value} AS value FROM events "
            f"JOIN values{k} USING (code) WHERE {happened} GROUP BY ALL)"
        )
        kind = "LEFT JOIN" if name in static else "ASOF LEFT JOIN"
        until = "" if name in static else f" AND a{k}.time <= s.until"
        joins.append(f"{kind} {rows} a{k} ON a{k}.subject = s.subject{until}")
        sexes += [f"a{k}.value"] if name in SEX else []
        columns += [] if name in VISIT_COLUMNS else [f"a{k}.value AS {identifier(name)}"]
    sex = sex_sql(f"coalesce({', '.join(sexes)})") if sexes else "NULL::VARCHAR"
    connection.execute(f"""
        CREATE TABLE visits AS
        WITH born AS (
            SELECT subject, min(time) AS birth FROM events WHERE code = {quoted(birth)}
            GROUP BY subject
        )
        SELECT row_number() OVER (ORDER BY s.subject, s.start) - 1 AS visit,
               row_number() OVER (ORDER BY s.subject, s.start) - 1 AS visit_id,
               s.subject AS patient, datesub('year', b.birth, s.{at})::INTEGER AS age,
               {sex} AS sex, NULL::DOUBLE AS weight, NULL::BIGINT AS stratum, NULL::BIGINT AS psu,
               year(s.{at})::INTEGER AS year, {", ".join([*day, "s.anchor", *columns])}, s.start,
               s.until
        FROM spans s LEFT JOIN born b ON b.subject = s.subject {" ".join(joins)} WHERE s.wanted
    """)
    connection.execute("ALTER TABLE visits RENAME TO spanned")
    connection.execute("CREATE VIEW visits AS SELECT * EXCLUDE (start, until) FROM spanned")
    rules = [(f"{'visits' if anchored else 'people'} in the dataset", "true")]
    rules += [(f"subject in {' or '.join(splits)}", "wanted")] if splits else []
    steps = []
    for words, rule in rules:
        counts = f"SELECT count(*), count(DISTINCT subject) FROM spans WHERE {rule}"
        steps.append(Step(words, *connection.execute(counts).fetchall()[0]))
    return Attrition(tuple(steps))


def make_codes(
    connection: Connection, codes: Sequence[str], special: set[str], demographic: set[str],
    anchored: bool,
) -> None:  # fmt: skip
    """Create the table ``codes``: every code once per visit, those in ``special`` left out."""
    used = [code for code in codes if code not in special
            and column_name(split(code)[0]) not in demographic]  # fmt: skip
    rows = [(code, *named(code)) for code in used]
    table = pa.table({
        name: pa.array([row[k] for row in rows], pa.string())
        for k, name in enumerate(("raw", "version", "code", "role"))
    })  # fmt: skip
    connection.register("listed", table)
    connection.execute("CREATE TABLE vocabulary AS SELECT * FROM listed")
    connection.unregister("listed")
    connection.execute("""
        CREATE TABLE codes AS
        SELECT DISTINCT s.visit, n.version, n.code, n.role
        FROM (SELECT subject, time, code AS raw FROM events WHERE time IS NOT NULL) e
        ASOF JOIN spanned s ON s.patient = e.subject AND s.start <= e.time
        JOIN vocabulary n ON n.raw = e.raw
        WHERE e.time <= s.until AND n.code <> ''
    """)
    if anchored:
        _warn_outside(connection)


def _warn_outside(connection: Connection) -> None:
    """Warn if many diagnoses of the subjects belong to no visit."""
    inside = """
        SELECT count(*) FROM (
            SELECT e.subject, e.time FROM events e JOIN vocabulary n ON n.raw = e.code
            WHERE n.role = 'diagnosis' AND e.time IS NOT NULL
        ) e ASOF JOIN spanned s ON s.patient = e.subject AND s.start <= e.time
        WHERE e.time <= s.until
    """
    every = """
        SELECT count(*) FROM events e JOIN vocabulary n ON n.raw = e.code
        WHERE n.role = 'diagnosis' AND e.time IS NOT NULL
              AND e.subject IN (SELECT subject FROM spans WHERE wanted)
    """
    found, total = (connection.execute(sql).fetchall()[0][0] for sql in (inside, every))
    if total and 1 - found / total > OUTSIDE:
        words = (
            "{share} of the diagnoses of subjects with a visit belong to none: they were recorded "
            "before its anchor or after its end; look at anchor, end and days"
        )
        share = Number(1 - found / total, ".0%")
        warnings.warn(DataWarning(Message(words, share=share)), stacklevel=4)
