"""Hospital admissions of MIMIC-IV, as the paper's semi-synthetic experiments use them.

The authors take the diagnoses of the *hospital* module, one row per admission, whether or not the
patient came through the emergency department; the cohort of `relprev.sources.mimic` is another.
Age is ``anchor_age``, and over 18 means above it, as in their code. Intimate partner violence
uses only admissions whose ``admission_location`` is the emergency room.
"""

from __future__ import annotations

from pathlib import Path

from relprev.codes.spelling import normalize_sql
from relprev.errors import InvalidInputError
from relprev.sources.database import Connection, column_names, connect, reading
from relprev.sources.formats import load_table
from relprev.sources.mimic import EMERGENCY_ROOM, find_table

TABLES = {
    "patients": ["subject_id", "gender", "anchor_age"],
    "admissions": ["subject_id", "hadm_id", "admission_location"],
    "diagnoses_icd": ["hadm_id", "icd_code", "icd_version"],
}


@reading("the MIMIC-IV files")
def read_admissions(hosp: Path) -> Connection:
    """A connection with the tables ``visits`` and ``codes``.

    Parameters
    ----------
    hosp : Path
        MIMIC-IV folder that contains ``hosp`` (and ``core`` in version 1.0).

    Returns
    -------
    Connection
        ``visits`` has one row per admission with a diagnosis: visit, patient, race, sex, age,
        adult, emergency. ``codes`` has visit, version and code.
    """
    connection = connect()
    for name, columns in TABLES.items():
        optional = ("race", "ethnicity") if name == "admissions" else ()
        load_table(connection, find_table(name, hosp), name, columns, optional)
    races = [c for c in ("race", "ethnicity") if c in column_names(connection, "admissions")]
    if not races:
        raise InvalidInputError("admissions lacks race (version 2 and later) or ethnicity (1.0)")
    connection.execute(f"""
        CREATE TABLE visits AS
        SELECT a.hadm_id AS visit, a.subject_id AS patient, a.{races[0]} AS race,
               p.gender AS sex, p.anchor_age::INTEGER AS age, p.anchor_age::INTEGER > 18 AS adult,
               coalesce(upper(a.admission_location) = '{EMERGENCY_ROOM}', false) AS emergency
        FROM admissions a JOIN patients p USING (subject_id)
        WHERE a.hadm_id IN (SELECT hadm_id FROM diagnoses_icd)
    """)
    connection.execute(f"""
        CREATE TABLE codes AS
        SELECT hadm_id AS visit, 'ICD' || icd_version AS version,
               {normalize_sql("icd_code")} AS code
        FROM diagnoses_icd
    """)
    return connection
