"""Symptoms and findings in NHAMCS files: reasons for visit, vital signs, tests, medications, ...

Negative numbers are codes for missing values (-9 blank, -8 unknown, -7 not applicable). Years
differ in what they ask: a column that a year lacks gives no feature in that year.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import pandas as pd

from relprev.sources.database import Connection, identifier, quoted
from relprev.sources.kinds import CAUSES, DIAGNOSES, Kind
from relprev.sources.measures import PAIN, VITALS, code_list, described
from relprev.sources.nhamcs_columns import (
    ARRIVALS,
    COLUMNS,
    DRUG_ENTRIES,
    DRUGS,
    INJURIES,
    NO_REASON,
    NUMBERS,
    PAIN_COLUMNS,
    PROCEDURES,
    REASONS,
    TESTS,
    TRIAGE,
)
from relprev.sources.packed import unpacked

KINDS = (
    DIAGNOSES,
    CAUSES,
    Kind("reasons", "RFV", "reasons for visit", ("reason",)),
    Kind("injuries", "INJURY", "kinds of injury and intent", ("injury",)),
    Kind("vitals", "VITAL", "bins of vital signs at arrival", ("vital",)),
    Kind("pain", "PAIN", "bins of pain", ("pain",)),
    Kind("triage", "TRIAGE", "triage levels", ("triage",)),
    Kind("arrival", "ARRIVAL", "circumstances of arrival", ("arrival",)),
    Kind("tests", "TEST", "tests and imaging", ("test",)),
    Kind("procedures", "PROC", "procedures", ("procedure",)),
    Kind("medications", "MED", "medications by ingredient", ("medication",)),
)


def feature_columns(kinds: Sequence[Kind]) -> tuple[str, ...]:
    """The columns that these kinds are made of, in any year."""
    return tuple(name for kind in kinds for name in COLUMNS.get(kind.name, ()))


def visit_columns(kinds: Sequence[Kind], present: Collection[str]) -> dict[str, str]:
    """SQL of the columns that kinds add to ``visits``: numbers, and the triage level."""
    names = {kind.name for kind in kinds}
    found: dict[str, str] = {}
    if "vitals" in names:
        found |= {measure.name: measure.value(_number(measure.name, present)) for measure in VITALS}
    if "pain" in names:
        column = next((name for name in PAIN_COLUMNS if name in present), "NULL")
        found["pain"] = PAIN.value(column)
    if "triage" in names:
        level = _whole("IMMEDR") if "IMMEDR" in present else "NULL"
        found["triage_level"] = f"CASE WHEN {level} BETWEEN 1 AND 5 THEN {level} END"
    return found


def feature_lists(
    kinds: Sequence[Kind], present: Collection[str], numbers: dict[str, str]
) -> dict[str, str]:
    """SQL lists of the codes of these kinds, by role; ``numbers`` are those of `visit_columns`."""
    made = {
        "reason": lambda: code_list([_reason(c) for c in REASONS if c in present]),
        "injury": lambda: _answers(INJURIES, present),
        "vital": lambda: code_list([one.code(f"({numbers[one.name]})") for one in VITALS]),
        "pain": lambda: code_list([PAIN.code(f"({numbers['pain']})")]),
        "triage": lambda: code_list([f"({numbers['triage_level']})::VARCHAR"]),
        "arrival": lambda: _answers(ARRIVALS, present),
        "test": lambda: _ticked(TESTS, present),
        "procedure": lambda: _ticked(PROCEDURES, present),
        "medication": lambda: code_list(
            [f"nullif(nullif(upper(trim({c})), ''), '-9')" for c in DRUGS if c in present]
        ),
    }
    return {role: made[role]() for kind in kinds for role in kind.roles if role in made}


def descriptions(connection: Connection, kinds: Sequence[Kind]) -> dict[str, str]:
    """Descriptions of the codes of these kinds that are recorded."""
    fixed = {
        "reasons": lambda: described("RFV", reason_names()),
        "injuries": lambda: described("INJURY", dict(INJURIES.values())),
        "vitals": lambda: {
            name: words for one in VITALS for name, words in described("VITAL", one.codes()).items()
        },
        "pain": lambda: described("PAIN", PAIN.codes()),
        "triage": lambda: described("TRIAGE", TRIAGE),
        "arrival": lambda: described("ARRIVAL", dict(ARRIVALS.values())),
        "tests": lambda: described("TEST", TESTS),
        "procedures": lambda: described("PROC", PROCEDURES),
    }
    words = _drug_names(connection, kinds)
    for kind in kinds:
        words |= fixed[kind.name]() if kind.name in fixed else {}
    new = [kind.prefix for kind in kinds if not kind.default]
    if not new:
        return {}
    recorded = connection.execute(
        "SELECT DISTINCT version || ':' || code AS name FROM codes "
        f"WHERE version IN ({', '.join(map(quoted, new))}) ORDER BY name"
    ).fetchall()
    return {name: words[name] for (name,) in recorded if name in words}


def keep_drug_names(
    connection: Connection, kinds: Sequence[Kind], path: Path, present: Collection[str]
) -> None:
    """Remember how often entries stand for an ingredient in ``raw``, and the entries' names.

    Files code what was written (a brand, say) as MED1, ... and its ingredients as DRUGID1, ....
    Only Stata files name the former; the names serve all years.
    """
    pairs = [(d, m) for d, m in zip(DRUGS, DRUG_ENTRIES, strict=True) if {d, m} <= set(present)]
    if "medications" not in {kind.name for kind in kinds} or not pairs:
        return
    connection.execute("CREATE TABLE IF NOT EXISTS drug_entries (drug VARCHAR, entry BIGINT)")
    connection.execute("CREATE TABLE IF NOT EXISTS entry_names (entry BIGINT, words VARCHAR)")
    for drug, entry in pairs:
        connection.execute(
            f"INSERT INTO drug_entries SELECT upper(trim({drug})), try_cast({entry} AS BIGINT) "
            f"FROM raw WHERE trim({drug}) <> ''"
        )
    with unpacked(path) as file:
        if file.suffix.lower() != ".dta":
            return
        with pd.read_stata(file, iterator=True) as reader:
            names = reader.value_labels().get("MEDCODF", {})
    frame = pd.DataFrame({"entry": list(names), "words": list(names.values())})
    connection.register("frame", frame)
    connection.execute("INSERT INTO entry_names SELECT entry, words FROM frame")
    connection.unregister("frame")


def _drug_names(connection: Connection, kinds: Sequence[Kind]) -> dict[str, str]:
    """For every ingredient, the entry that most often stands for it."""
    made = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'entry_names'"
    )
    if not made.fetchall()[0][0]:
        return {}
    found = connection.execute("""
        WITH counted AS (
            SELECT drug, words, count(*) AS n FROM drug_entries
            JOIN (SELECT entry, min(words) AS words FROM entry_names GROUP BY entry) USING (entry)
            GROUP BY ALL
        )
        SELECT drug, arg_max(words, (n, words)) FROM counted GROUP BY drug ORDER BY drug
    """).fetchall()
    return described("MED", {drug: words.capitalize() for drug, words in found})


@cache
def reason_names() -> dict[str, str]:
    """NCHS's reasons for visit, by their five digits.

    Examples
    --------
    >>> reason_names()["10501"]
    'Chest pain'
    """
    file = resources.files("relprev") / "data" / "nhamcs" / "reasons.csv"
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return {row["code"]: row["words"] for row in rows}


def _whole(column: str) -> str:
    return f"try_cast({identifier(column)} AS INTEGER)"


def _number(measure: str, present: Collection[str]) -> str:
    column, scale = NUMBERS[measure]
    return f"{scale} * try_cast({column} AS DOUBLE)" if column in present else "NULL"


def _reason(column: str) -> str:
    """SQL for the five digits of a reason for visit."""
    none = ", ".join(map(str, NO_REASON))
    return (
        f"CASE WHEN {_whole(column)} > 0 AND {_whole(column)} NOT IN ({none}) "
        f"THEN lpad({_whole(column)}::VARCHAR, 5, '0') END"
    )


def _answers(answers: dict[tuple[str, int], tuple[str, str]], present: Collection[str]) -> str:
    return code_list(
        [
            f"CASE WHEN {_whole(column)} = {value} THEN {quoted(code)} END"
            for (column, value), (code, _) in answers.items()
            if column in present
        ]
    )


def _ticked(columns: Collection[str], present: Collection[str]) -> str:
    return code_list(
        [f"CASE WHEN {_whole(name)} = 1 THEN {quoted(name)} END" for name in columns
         if name in present]
    )  # fmt: skip
