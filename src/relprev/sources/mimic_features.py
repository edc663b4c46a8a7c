"""Symptoms and findings of emergency stays in MIMIC-IV-ED.

They come from the tables triage (chief complaint, vital signs, pain, acuity), vitalsign (later
vital signs) and medrecon (medications taken before the stay), and from edstays (transport).
Admissions without an emergency stay have none of them. A table is read only if a kind needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relprev.sources.database import Connection, quoted
from relprev.sources.kinds import DIAGNOSES, Kind
from relprev.sources.measures import PAIN, VITALS, Measure, described
from relprev.sources.words import add_words

KINDS = (
    DIAGNOSES,
    Kind("complaints", "COMPLAINT", "words of chief complaints", ("complaint",)),
    Kind("vitals", "VITAL", "bins of vital signs at triage", ("vital",)),
    Kind("pain", "PAIN", "bins of pain at triage", ("pain",)),
    Kind("triage", "TRIAGE", "triage levels", ("triage",)),
    Kind("arrival", "ARRIVAL", "means of transport", ("arrival",)),
    Kind("monitoring", "LATER", "bins of later vital signs", ("monitoring",)),
    Kind("medications", "MED", "classes of medications before the stay", ("medication",)),
)
SIGNS = {
    "temperature": "temperature", "heart_rate": "heartrate", "respiratory_rate": "resprate",
    "oxygen_saturation": "o2sat", "systolic_pressure": "sbp", "diastolic_pressure": "dbp",
}  # fmt: skip
COLUMNS = {
    "triage": ["stay_id", *SIGNS.values(), "pain", "acuity", "chiefcomplaint"],
    "vitalsign": ["stay_id", *SIGNS.values()],
    "medrecon": ["stay_id", "etccode", "etcdescription"],
}
TABLES = {  # tables of MIMIC-IV-ED that a kind needs, apart from edstays
    "complaints": "triage", "vitals": "triage", "pain": "triage", "triage": "triage",
    "monitoring": "vitalsign", "medications": "medrecon",
}  # fmt: skip
TRIAGE = {
    "1": "Triage: resuscitation", "2": "Triage: emergent", "3": "Triage: urgent",
    "4": "Triage: less urgent", "5": "Triage: nonurgent",
}  # fmt: skip
TRANSPORT = {"AMBULANCE": "Arrival by ambulance", "HELICOPTER": "Arrival by helicopter",
             "WALK_IN": "Arrival on foot", "OTHER": "Arrival by other means"}  # fmt: skip


def tables_needed(kinds: Sequence[Kind]) -> dict[str, list[str]]:
    """Tables and their columns that these kinds are made of."""
    needed = dict.fromkeys(TABLES[kind.name] for kind in kinds if kind.name in TABLES)
    return {table: COLUMNS[table] for table in needed}


def kinds_of(table: str, kinds: Sequence[Kind]) -> list[str]:
    """Names of the kinds that are made of a table."""
    return [kind.name for kind in kinds if TABLES.get(kind.name) == table]


def add_numbers(connection: Connection, kinds: Sequence[Kind]) -> None:
    """Add vital signs, pain and the triage level of these kinds to ``visits``."""
    names = {kind.name for kind in kinds}
    columns = {one.name: one.value(SIGNS[one.name]) for one in VITALS if "vitals" in names}
    columns |= {"pain": PAIN.value("pain")} if "pain" in names else {}
    columns |= {"triage_level": _level("acuity")} if "triage" in names else {}
    if columns:
        made = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
        connection.execute(f"""
            CREATE OR REPLACE TABLE visits AS SELECT * FROM visits LEFT JOIN (
                SELECT stay_id, {made} FROM all_triage) USING (stay_id)
            ORDER BY visit
        """)


def add_codes(connection: Connection, kinds: Sequence[Kind]) -> None:
    """Insert the codes of these kinds into ``codes``; ``visits`` has their numbers."""
    makers: dict[str, Callable[[Connection, Kind], None]] = {
        "complaints": _complaints, "vitals": _vitals, "pain": _pain, "triage": _triage,
        "arrival": _arrival, "monitoring": _monitoring, "medications": _medications,
    }  # fmt: skip
    for kind in kinds:
        if kind.name in makers:
            makers[kind.name](connection, kind)


def descriptions(connection: Connection, kinds: Sequence[Kind]) -> dict[str, str]:
    """Descriptions of the codes of these kinds; words need none."""
    signs = {code: words for one in VITALS for code, words in one.codes().items()}
    found: dict[str, str] = {}
    for kind in kinds:
        if kind.name == "medications":
            classes = connection.execute(
                "SELECT etccode::VARCHAR, min(etcdescription) FROM all_medrecon "
                "WHERE etcdescription <> '' GROUP BY ALL ORDER BY ALL"
            ).fetchall()
            found |= described(kind.prefix, dict(classes))
        later = {code: f"{words}, during the stay" for code, words in signs.items()}
        fixed = {"vitals": signs, "monitoring": later, "pain": PAIN.codes(), "triage": TRIAGE,
                 "arrival": TRANSPORT}  # fmt: skip
        found |= described(kind.prefix, fixed.get(kind.name, {}))
    return found


def _insert(connection: Connection, kind: Kind, code: str, relation: str) -> None:
    """Insert the codes that SQL makes of a relation with the column visit."""
    connection.execute(f"""
        INSERT INTO codes
        SELECT DISTINCT visit, {quoted(kind.prefix)}, code, {quoted(kind.roles[0])}
        FROM (SELECT visit, {code} AS code FROM {relation}) WHERE code <> ''
    """)


def _binned(connection: Connection, kind: Kind, measures: Sequence[Measure]) -> None:
    for measure in measures:
        _insert(connection, kind, measure.code(measure.name), "visits")


def _vitals(connection: Connection, kind: Kind) -> None:
    _binned(connection, kind, VITALS)


def _pain(connection: Connection, kind: Kind) -> None:
    _binned(connection, kind, [PAIN])


def _triage(connection: Connection, kind: Kind) -> None:
    _insert(connection, kind, "triage_level::VARCHAR", "visits")


def _complaints(connection: Connection, kind: Kind) -> None:
    texts = "SELECT visit, chiefcomplaint AS text FROM all_triage JOIN visits USING (stay_id)"
    add_words(connection, texts, kind.prefix, kind.roles[0])


def _arrival(connection: Connection, kind: Kind) -> None:
    known = ", ".join(map(quoted, TRANSPORT))
    spelled = "replace(upper(trim(arrival_transport)), ' ', '_')"
    code = f"CASE WHEN {spelled} IN ({known}) THEN {spelled} END"
    _insert(connection, kind, code, "all_edstays JOIN visits USING (stay_id)")


def _monitoring(connection: Connection, kind: Kind) -> None:
    for measure in VITALS:
        number = measure.value(f"all_vitalsign.{SIGNS[measure.name]}")
        relation = "all_vitalsign JOIN visits USING (stay_id)"
        _insert(connection, kind, measure.code(f"({number})"), relation)


def _medications(connection: Connection, kind: Kind) -> None:
    relation = "all_medrecon JOIN visits USING (stay_id)"
    _insert(connection, kind, "upper(trim(etccode::VARCHAR))", relation)


def _level(column: str) -> str:
    whole = f"try_cast(try_cast({column} AS DOUBLE) AS INTEGER)"
    return f"CASE WHEN {whole} BETWEEN 1 AND 5 THEN {whole} END"
