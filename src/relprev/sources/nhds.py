"""National Hospital Discharge Survey 2010: one fixed-width file of inpatient discharges.

This is the NCHS public-use file, as text or compressed (.bz2, .zip). It has weights, but no
patient identifiers, strata or primary sampling units.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from relprev.sources.database import connect, reading
from relprev.sources.declared import InputPath, SourceTable
from relprev.sources.formats import load_fixed_width, require_file
from relprev.sources.source import Source, code_list, expose_wide, labels

WIDTH = 149
DIAGNOSES = tuple((f"dx{k:02d}", 28 + 5 * (k - 1), 32 + 5 * (k - 1)) for k in range(1, 16))
FIELDS = (
    ("survey_year", 1, 2), ("age_units", 4, 4), ("age", 5, 6), ("sex", 7, 7), ("race", 8, 8),
    ("marital_status", 9, 9), ("region", 18, 18), ("weight", 21, 25), ("payer", 135, 136),
    ("admission_type", 142, 142), ("admission_source", 143, 144), *DIAGNOSES,
)  # fmt: skip
RACE = {
    "1": "White", "2": "Black", "3": "American Indian or Alaska Native", "4": "Asian",
    "5": "Native Hawaiian or other Pacific Islander", "6": "Other", "8": "Multiple",
}  # fmt: skip
MARITAL_STATUS = {
    "1": "Married", "2": "Single", "3": "Widowed", "4": "Divorced", "5": "Separated",
}  # fmt: skip
PAYER = {
    "01": "Workers' compensation", "02": "Medicare", "03": "Medicaid", "04": "Other government",
    "05": "Blue Cross/Blue Shield", "06": "HMO/PPO", "07": "Other private", "08": "Self-pay",
    "09": "No charge", "10": "Other",
}  # fmt: skip


@reading("the NHDS file")
def read_nhds(path: str | Path) -> Source:
    r"""Read the NHDS 2010 public-use file.

    Parameters
    ----------
    path : str or Path
        ``NHDS10.PU.txt``, optionally compressed (.bz2 or .zip).

    Returns
    -------
    Source
        Attributes race, marital_status, payer, region, admission_type and
        through_emergency (1 if admitted through the emergency room). Ages in months or days
        count as 0 years. The first code has the role principal, the others are secondary.

    Examples
    --------
    >>> import tempfile
    >>> line = "10211921" + " " * 9 + "3" + "  " + "   87" + "  " + "64403" + "2809-"
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write(line.ljust(149) + "\n")
    ...     file.flush()
    ...     source = read_nhds(file.name)
    >>> source.query("SELECT age, sex, race, region, weight FROM visits")
    [(19, 'F', 'White', '3', 87.0)]
    """
    path = require_file(path, "NHDS")
    connection = connect()
    first, *others = [name for name, _, _ in DIAGNOSES]
    file = load_fixed_width(connection, path, "raw", FIELDS, WIDTH)
    connection.execute(f"""
        CREATE TABLE wide AS SELECT
            row_number() OVER () - 1 AS visit,
            visit AS visit_id,
            NULL::BIGINT AS patient,
            CASE WHEN age_units = '1' THEN age::INTEGER
                 WHEN age_units IN ('2', '3') THEN 0 END AS age,
            CASE sex WHEN '1' THEN 'M' WHEN '2' THEN 'F' END AS sex,
            try_cast(weight AS DOUBLE) AS weight,
            NULL::BIGINT AS stratum, NULL::BIGINT AS psu,
            2000 + survey_year::INTEGER AS year,
            {labels("race", RACE)} AS race,
            {labels("marital_status", MARITAL_STATUS)} AS marital_status,
            {labels("payer", PAYER)} AS payer, region, admission_type,
            (admission_source = '06')::INTEGER AS through_emergency,
            {code_list([first])} AS principal, {code_list(others)} AS secondary
        FROM raw
    """)
    roles = {"principal": "principal", "secondary": "secondary"}
    expose_wide(connection, "wide", roles, "'ICD9'")
    return Source("nhds", connection, details={"data": [file]})


@dataclass(frozen=True, kw_only=True)
class NhdsTable(SourceTable):
    """Arguments of an nhds source."""

    words = "NHDS"
    read = staticmethod(read_nhds)
    example = ("race", "White")
    case_role = "principal"
    is_survey = True

    kind: Literal["nhds"]
    path: Annotated[
        InputPath, Field(description="NHDS10.PU.txt, optionally compressed (.bz2 or .zip).")
    ]
