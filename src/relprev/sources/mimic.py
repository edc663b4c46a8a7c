"""MIMIC-IV and MIMIC-IV-ED: emergency visits, linked to the admissions they led to.

Visits follow the rules of Shanmugam, Hou and Pierson, each a step of the attrition table:

1. An admission linked to several emergency stays is excluded along with those stays.
2. An emergency stay linked to an admission that does not exist is excluded.
3. An emergency stay and the admission it led to are one visit, with the codes of both.
4. An admission without an emergency stay is a visit if its ``admission_location`` is the
   emergency room; other admissions are excluded.

Age is ``anchor_age`` plus the years from ``anchor_year`` to the visit. Race, insurance and
marital status are recorded at admission. A visit takes them from its own admission or, failing
that (with ``fill="patient"``), from the patient's latest admission that records them. The paper
does not say how it handles this, but it has more visits with a marital status (192,768 of
293,297) than visits that led to an admission, which suggests the same. From version 2 on,
emergency stays record race themselves; it is used before filling.

Version 1.0 has ``core/patients``, and ``core/admissions`` with ``ethnicity``; from version 2 on
both are in ``hosp/`` and have ``race``.

What else emergency stays record is in :mod:`relprev.sources.mimic_features`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from relprev.codes.spelling import normalize_sql
from relprev.errors import InvalidInputError
from relprev.sources import mimic_features as features
from relprev.sources.addresses import shown
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import Connection, column_names, connect, reading, require_unique
from relprev.sources.declared import InputPath, SourceTable
from relprev.sources.fingerprint import Fingerprint
from relprev.sources.formats import load_table
from relprev.sources.kinds import Kind, read_kinds
from relprev.sources.measures import absent, exclusive
from relprev.sources.source import DATE, Source

EMERGENCY_ROOM = "EMERGENCY ROOM"
REQUIRED = {
    "patients": ["subject_id", "gender", "anchor_age", "anchor_year"],
    "admissions": ["subject_id", "hadm_id", "admittime", "admission_location", "insurance",
                   "marital_status"],
    "diagnoses_icd": ["hadm_id", "icd_code", "icd_version"],
    "edstays": ["subject_id", "hadm_id", "stay_id", "intime"],
    "diagnosis": ["stay_id", "icd_code", "icd_version"],
}  # fmt: skip
OPTIONAL = {"admissions": ["race", "ethnicity"], "edstays": ["race", "arrival_transport"]}
IDENTIFIERS = ("subject_id", "hadm_id", "stay_id")
KEPT_STAY = "(hadm_id IS NULL OR (has_admission AND stays_of_admission = 1))"


@reading("the MIMIC-IV files")
def read_mimic(
    hosp: str | Path, ed: str | Path, *, fill: str = "patient", kinds: Sequence[str] = ()
) -> Source:
    """Read MIMIC-IV with MIMIC-IV-ED.

    Parameters
    ----------
    hosp : str or Path
        MIMIC-IV folder that contains ``hosp`` (and ``core`` in version 1.0).
    ed : str or Path
        MIMIC-IV-ED folder that contains ``ed``.
    fill : "patient" or "none"
        For visits that record no race, insurance or marital status: take it from the patient's
        latest admission that records it, or leave it missing.
    kinds : sequence of str
        Kinds of features to read besides diagnoses: ``"complaints"``, ``"vitals"``, ``"pain"``,
        ``"triage"``, ``"arrival"``, ``"monitoring"``, ``"medications"``.

    Returns
    -------
    Source
        Attributes race, insurance, marital_status, anchor_age and kind (``"ed"``,
        ``"ed and hospital"``, ``"hospital"``); codes have the role ``"ed"`` or ``"hospital"``,
        and others if more kinds are read. Vital signs, pain and the triage level are attributes
        too.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.simulate.mimic import write_mimic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_mimic(folder, 500, n_codes=60)
    ...     read_mimic(f"{folder}/mimic-iv", f"{folder}/mimic-iv-ed").attributes
    ('race', 'insurance', 'marital_status', 'anchor_age', 'kind')
    """
    if fill not in ("patient", "none"):
        raise InvalidInputError(f"fill must be 'patient' or 'none', got {fill!r}")
    wanted = read_kinds(kinds, features.KINDS)
    connection = connect()
    race, files = _load(connection, Path(hosp), Path(ed), wanted)
    _link(connection)
    _make_visits(connection, race, fill)
    features.add_numbers(connection, wanted)
    _make_codes(connection)
    features.add_codes(connection, wanted)
    connection.execute("ALTER TABLE visits DROP COLUMN stay_id")
    connection.execute("ALTER TABLE visits DROP COLUMN hadm_id")
    return Source(
        "mimic-iv",
        connection,
        attrition=_attrition(connection),
        absent=absent(wanted),
        details={"fill": fill, "data": files},
        descriptions=features.descriptions(connection, wanted),
        kinds=wanted,
        exclusive=exclusive(wanted, {"triage": features.TRIAGE, "arrival": features.TRANSPORT}),
    )


@dataclass(frozen=True, kw_only=True)
class MimicTable(SourceTable):
    """Arguments of a mimic-iv source."""

    words = "MIMIC-IV"
    read = staticmethod(read_mimic)
    example = ("insurance", "Medicare")
    case_role = "hospital"
    kinds = features.KINDS

    kind: Literal["mimic-iv"]
    hosp: Annotated[
        InputPath,
        Field(description="MIMIC-IV folder that contains hosp (and core in version 1.0)."),
    ]
    ed: Annotated[InputPath, Field(description="MIMIC-IV-ED folder that contains ed.")]
    fill: Annotated[
        str | None,
        Field(
            description="For visits without race, insurance or marital status: 'patient' takes it "
            "from the patient's latest admission, 'none' leaves it missing."
        ),
    ] = None


def _load(
    connection: Connection, hosp: Path, ed: Path, kinds: Sequence[Kind]
) -> tuple[str, list[Fingerprint]]:
    """Load the tables, with numeric identifiers; return the race column and the files."""
    files = []
    more = features.tables_needed(kinds)
    for name, columns in (REQUIRED | more).items():
        of_ed = name in ("edstays", "diagnosis", *more)
        path = find_table(name, ed if of_ed else hosp, features.kinds_of(name, kinds))
        files.append(load_table(connection, path, "raw", columns, OPTIONAL.get(name, ())))
        typed = ", ".join(
            f"try_cast({column} AS DOUBLE)::BIGINT AS {column}"
            for column in columns
            if column in IDENTIFIERS
        )
        connection.execute(f"CREATE TABLE all_{name} AS SELECT * REPLACE ({typed}) FROM raw")
        connection.execute("DROP TABLE raw")
    keys = {"patients": "subject_id", "admissions": "hadm_id", "edstays": "stay_id"}
    keys |= {"triage": "stay_id"} if "triage" in more else {}
    for table, key in keys.items():
        require_unique(connection, f"all_{table}", key)
    transport = "arrival_transport" in column_names(connection, "all_edstays")
    if not transport and any(kind.name == "arrival" for kind in kinds):
        raise InvalidInputError(
            "edstays lacks arrival_transport (version 2 and later), which the kind 'arrival' of "
            "features needs; leave that kind out"
        )
    present = column_names(connection, "all_admissions")
    races = [name for name in ("race", "ethnicity") if name in present]
    if not races:
        raise InvalidInputError("admissions lacks race (version 2 and later) or ethnicity (1.0)")
    return races[0], files


def find_table(name: str, folder: Path, needed_by: Sequence[str] = ()) -> Path:
    """The file of a MIMIC-IV table, in whichever folder and format it is.

    ``needed_by`` names the kinds of features that it is read for, if it is only read for them.
    """
    if not folder.is_dir():
        raise InvalidInputError(f"there is no folder at {shown(folder)}")
    for below in ("hosp", "core", "ed", "."):
        for ending in (".csv.gz", ".csv", ".parquet"):
            path = folder / below / f"{name}{ending}"
            if path.is_file():
                return path
    absent = f"{shown(folder)} has no table {name} (looked for {name}.csv.gz, .csv and .parquet in "
    if needed_by:
        raise InvalidInputError(
            f"{absent}ed), which the kind {' and '.join(map(repr, needed_by))} of features needs; "
            "download it as well, or leave that kind out"
        )
    raise InvalidInputError(
        f"{absent}hosp, core and ed); give the folder that contains hosp (MIMIC-IV) and the one "
        "that contains ed (MIMIC-IV-ED)"
    )


def _link(connection: Connection) -> None:
    """Create the tables ``stays`` (with their links to admissions) and ``hospital_only``."""
    connection.execute("""
        CREATE TABLE stays AS
        SELECT s.stay_id, s.subject_id, s.hadm_id, s.intime,
               count(*) OVER (PARTITION BY s.hadm_id) AS stays_of_admission,
               a.hadm_id IS NOT NULL AS has_admission
        FROM all_edstays s LEFT JOIN all_admissions a ON s.hadm_id = a.hadm_id
    """)
    connection.execute(f"""
        CREATE TABLE hospital_only AS
        SELECT hadm_id, subject_id, admittime,
               upper(admission_location) = '{EMERGENCY_ROOM}' AS through_emergency
        FROM all_admissions ANTI JOIN stays USING (hadm_id)
    """)


def _make_visits(connection: Connection, race: str, fill: str) -> None:
    ed_race = "race" in column_names(connection, "all_edstays")
    latest = f"""
        SELECT subject_id,
               arg_max({race}, admittime::TIMESTAMP) FILTER ({race} <> '') AS race,
               arg_max(insurance, admittime::TIMESTAMP) FILTER (insurance <> '') AS insurance,
               arg_max(marital_status, admittime::TIMESTAMP) FILTER (marital_status <> '')
                   AS marital_status
        FROM all_admissions GROUP BY subject_id
    """
    filled = {
        name: f"coalesce({own}{f', l.{name}' if fill == 'patient' else ''})"
        for name, own in {
            "race": f"nullif(a.{race}, ''), {'e.race' if ed_race else 'NULL'}",
            "insurance": "nullif(a.insurance, ''), NULL",
            "marital_status": "nullif(a.marital_status, ''), NULL",
        }.items()
    }
    connection.execute(f"""
        CREATE TABLE visits AS
        WITH seen AS (
            SELECT stay_id, hadm_id, subject_id, intime AS time,
                   CASE WHEN hadm_id IS NULL THEN 'ed' ELSE 'ed and hospital' END AS kind
            FROM stays WHERE {KEPT_STAY}
            UNION ALL
            SELECT NULL, hadm_id, subject_id, admittime, 'hospital'
            FROM hospital_only WHERE through_emergency
        ), latest AS ({latest})
        SELECT row_number() OVER (ORDER BY s.kind, s.stay_id, s.hadm_id) - 1 AS visit,
               coalesce('stay ' || s.stay_id, 'admission ' || s.hadm_id) AS visit_id,
               s.subject_id AS patient,
               p.anchor_age::INTEGER + year(s.time::TIMESTAMP) - p.anchor_year::INTEGER AS age,
               CASE WHEN p.gender IN ('F', 'M') THEN p.gender END AS sex,
               NULL::DOUBLE AS weight, NULL::BIGINT AS stratum, NULL::BIGINT AS psu,
               year(s.time::TIMESTAMP)::INTEGER AS year, s.time::TIMESTAMP::DATE AS {DATE},
               {", ".join(f"{sql} AS {name}" for name, sql in filled.items())},
               p.anchor_age::INTEGER AS anchor_age, s.kind, s.stay_id, s.hadm_id
        FROM seen s
        LEFT JOIN all_patients p ON s.subject_id = p.subject_id
        LEFT JOIN all_admissions a ON s.hadm_id = a.hadm_id
        LEFT JOIN all_edstays e ON s.stay_id = e.stay_id
        LEFT JOIN latest l ON s.subject_id = l.subject_id
    """)


def _make_codes(connection: Connection) -> None:
    parts = [
        f"""SELECT visit, 'ICD' || d.icd_version AS version, {normalize_sql("d.icd_code")} AS code,
                   '{role}' AS role
            FROM all_{table} d JOIN visits v USING ({key})"""
        for table, key, role in (
            ("diagnosis", "stay_id", "ed"),
            ("diagnoses_icd", "hadm_id", "hospital"),
        )
    ]
    connection.execute(f"CREATE TABLE codes AS {' UNION ALL '.join(parts)}")
    unknown = connection.execute(
        "SELECT count(*) FROM codes WHERE version NOT IN ('ICD9', 'ICD10') OR version IS NULL"
    ).fetchall()[0][0]
    if unknown:
        raise InvalidInputError(f"icd_version is neither 9 nor 10 for {unknown:,} diagnoses")


def _attrition(connection: Connection) -> Attrition:
    """Counts after each linking rule, where a visit is a stay or an admission without one."""
    rules = (
        ("emergency stays, and admissions without one", "true", "true"),
        ("admission not linked to several stays",
         "(hadm_id IS NULL OR NOT has_admission OR stays_of_admission = 1)", "true"),
        ("linked admission exists", KEPT_STAY, "true"),
        ("admitted through the emergency room", KEPT_STAY, "through_emergency"),
    )  # fmt: skip
    steps = []
    for words, stay, admission in rules:
        visits, patients = connection.execute(f"""
            SELECT count(*), count(DISTINCT subject_id) FROM (
                SELECT subject_id FROM stays WHERE {stay}
                UNION ALL SELECT subject_id FROM hospital_only WHERE {admission})
        """).fetchall()[0]
        steps.append(Step(words, visits, patients))
    return Attrition(tuple(steps))
