"""National Health and Nutrition Examination Survey: questions, examination and laboratory.

NCHS publishes each two-year cycle as SAS transport files, one per component: ``DEMO_I.XPT`` has the
demographics of 2015-2016, ``GHB_I.XPT`` its glycohaemoglobin. All components of all cycles in a
folder are put together by the respondent's number SEQN, which no two cycles share. A variable keeps
its name, also where components were renamed between cycles.

Examination weights of cycles pooled are those of each cycle times its share of the years (two years
per cycle: divided by the number of cycles; 3.2 for 2017 to March 2020). Strata and primary sampling
units are NCHS's masked ones; their numbers differ between cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from relprev import units
from relprev.errors import InvalidInputError
from relprev.sources.addresses import SHOWN, is_address
from relprev.sources.attrition import Attrition, Step
from relprev.sources.database import (
    Connection,
    column_names,
    connect,
    identifier,
    quoted,
    reading,
    require_unique,
)
from relprev.sources.declared import InputPath, SourceTable
from relprev.sources.fingerprint import Fingerprint
from relprev.sources.formats import load_table
from relprev.sources.kinds import Kind
from relprev.sources.nhanes_answers import without_refusals
from relprev.sources.nhanes_files import PERSON, load_components
from relprev.sources.source import Source, labels, without_codes
from relprev.sources.statistics_files import make_whole

WEIGHTS = {"WTMEC2YR": 2.0, "WTMECPRP": 3.2}  # and the years of their cycles
DESIGN = ("SDMVSTRA", "SDMVPSU")
FIRST_YEARS = {str(number): 1997 + 2 * number for number in range(1, 11)} | {"12": 2021, "66": 2017}
RACE = {
    "1": "Mexican American", "2": "Other Hispanic", "3": "Non-Hispanic White",
    "4": "Non-Hispanic Black", "5": "Other",
}  # fmt: skip
RACE_ASIAN = RACE | {"6": "Non-Hispanic Asian", "7": "Other"}
EDUCATION = {
    "1": "Less than 9th grade", "2": "9th to 11th grade", "3": "High school",
    "4": "Some college", "5": "College graduate",
}  # fmt: skip
MARITAL_STATUS = {
    "1": "Married", "2": "Widowed", "3": "Divorced", "4": "Separated", "5": "Never married",
    "6": "Living with partner",
}  # fmt: skip
PARTNER = {"1": "Married or living with partner", "2": "Widowed, divorced or separated",
           "3": "Never married"}  # fmt: skip
YES_NO = {"1": "Yes", "2": "No"}
LABELLED = {  # column: variable, labels
    "race": ("RIDRETH1", RACE),
    "race_asian": ("RIDRETH3", RACE_ASIAN),
    "education": ("DMDEDUC2", EDUCATION),
    "marital_status": ("DMDMARTL", MARITAL_STATUS),
    "partner": ("DMDMARTZ", PARTNER),
    "insured": ("HIQ011", YES_NO),
    "usual_care": ("HUQ030", YES_NO | {"3": "Yes"}),
}
DERIVED_ONLY = Kind("none", "-", "codes (there are none)", default=True)


@reading("the NHANES files")
def read_nhanes(
    path: str | Path, *, components: Sequence[str] = (), refusals: bool = False
) -> Source:
    """Read NHANES transport files, one or more cycles.

    Parameters
    ----------
    path : str or Path
        Folder with transport files (``DEMO_I.XPT``, ``BPX_I.XPT``, ...) as NCHS publishes them, or
        one file that holds the variables of all components together, under their own names.
    components : list of str
        Components to read, by their names without the cycle (``["DEMO", "BPX"]``). Default: all
        in the folder.
    refusals : bool
        Keep the codes for refused and don't know (7 and 9, 77 and 99, ...) in answers to
        questions. By default they are missing.

    Returns
    -------
    Source
        One visit per person examined, with all variables under their names, and the attributes
        race, education, marital_status, insured and usual_care with labels, where the variables
        are there. There are no codes: a study derives its condition from the variables
        (:mod:`relprev.sources.derived`).

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> people = pd.DataFrame({
    ...     "SEQN": [1, 2, 3], "cycle": "2015-2016", "RIDAGEYR": [30, 40, 50],
    ...     "RIAGENDR": [1, 2, 2], "RIDRETH1": [3, 4, 4], "WTMEC2YR": [10.5, 20.0, 0.0],
    ...     "SDMVSTRA": 119, "SDMVPSU": [1, 2, 1], "DIQ010": [1, 2, 9]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people.to_parquet(f"{folder}/nhanes.parquet")
    ...     source = read_nhanes(f"{folder}/nhanes.parquet")
    >>> source.query("SELECT age, sex, weight, year, race, DIQ010 FROM visits")
    [(30, 'M', 10.5, 2015, 'Non-Hispanic White', 1), (40, 'F', 20.0, 2015, 'Non-Hispanic Black', 2)]
    """
    if is_address(path):
        raise InvalidInputError(f"path: expected a folder of transport files, got {SHOWN}")
    connection = connect()
    data = _load(connection, Path(path), components)
    if not refusals:
        without_refusals(connection, "raw")
    known = {name.upper() for name in column_names(connection, "raw")}
    _require(known, ("RIDAGEYR", "RIAGENDR", *DESIGN), "demographics")
    _weigh(connection, known)
    labelled = "".join(
        f"{labels(f'{variable}::INTEGER', words)} AS {name}, "
        for name, (variable, words) in LABELLED.items()
        if variable in known
    )
    connection.execute(f"""
        CREATE TABLE visits AS SELECT
            row_number() OVER (ORDER BY {PERSON}) - 1 AS visit, {PERSON} AS visit_id,
            {PERSON} AS patient, RIDAGEYR::INTEGER AS age,
            CASE RIAGENDR WHEN 1 THEN 'M' WHEN 2 THEN 'F' END AS sex, weight,
            SDMVSTRA::BIGINT AS stratum, (SDMVSTRA * 10 + SDMVPSU)::BIGINT AS psu, year,
            {labelled} * EXCLUDE (weight, year)
        FROM weighed WHERE weight > 0
    """)
    without_codes(connection)
    counts = connection.execute("SELECT count(*), count(*) FILTER (weight > 0) FROM weighed")
    asked, examined = counts.fetchall()[0]
    for table in ("raw", "weighed"):
        connection.execute(f"DROP TABLE {table}")
    steps = (Step("people in the survey", asked, asked), Step("examined", examined, examined))
    details = {"data": data, "refusals": refusals}
    return Source(
        "nhanes",
        connection,
        Attrition(steps),
        details=details,
        kinds=(DERIVED_ONLY,),
        unit=units.PERSON,
    )


def _load(connection: Connection, path: Path, components: Sequence[str]) -> list[Fingerprint]:
    """Put everything into the table ``raw``, one row per person."""
    if path.is_dir():
        return load_components(connection, path, components)
    if not path.is_file():
        raise InvalidInputError(
            f"path: expected a folder of transport files, or one file, at {path}; found nothing"
        )
    if components:
        raise InvalidInputError(
            f"components: {path.name} is one file, which is read whole; leave components out"
        )
    file = load_table(connection, path, "raw")
    _require({name.upper() for name in column_names(connection, "raw")}, (PERSON,), path.name)
    require_unique(connection, "raw", PERSON, path.name)
    _widen(connection, "raw")
    make_whole(connection, "raw")
    return [file]


def _widen(connection: Connection, table: str) -> None:
    """Single precision to double by way of decimals: 5.7 stays 5.7, and is not below it."""
    described = connection.execute(f"DESCRIBE {table}").fetchall()
    for name in (identifier(row[0]) for row in described if row[1] == "FLOAT"):
        connection.execute(
            f"ALTER TABLE {table} ALTER {name} TYPE DOUBLE USING {name}::VARCHAR::DOUBLE"
        )


def _require(known: set[str], wanted: Sequence[str], where: str) -> None:
    missing = [name for name in wanted if name not in known]
    if missing:
        raise InvalidInputError(
            f"{where}: there is no variable {', '.join(missing)}; add the file that has it "
            "(demographics are in the component DEMO)"
        )


def _weigh(connection: Connection, known: set[str]) -> None:
    """Make the table ``weighed``: raw with the first year of the cycle and the pooled weight."""
    weights = [name for name in WEIGHTS if name in known]
    if not weights:
        raise InvalidInputError(
            f"there are no examination weights ({' or '.join(WEIGHTS)}); add the DEMO files"
        )
    rows = connection.execute(f"""
        SELECT {_cycle(known)} AS cycle, count(*), {", ".join(f"count({w})" for w in weights)}
        FROM raw GROUP BY ALL ORDER BY ALL
    """).fetchall()
    years, first = {}, {}
    for cycle, _, *counts in rows:
        if cycle not in FIRST_YEARS:
            raise InvalidInputError(
                f"a row's cycle is {cycle!r}, which is not known; SDDSRVYR numbers cycles "
                f"{', '.join(FIRST_YEARS)}, and a column cycle names them like 2015-2016"
            )
        first[cycle] = FIRST_YEARS[cycle]
        used = next((name for name, count in zip(weights, counts, strict=True) if count), None)
        if used is None:
            raise InvalidInputError(
                f"the cycle that begins in {first[cycle]} has no examination weights "
                f"({' or '.join(WEIGHTS)}); leave its files out, or add its DEMO file"
            )
        years[cycle] = WEIGHTS[used]
    total = sum(years.values())
    share = " ".join(f"WHEN {quoted(c)} THEN {length / total!r}" for c, length in years.items())
    begins = " ".join(f"WHEN {quoted(c)} THEN {year}" for c, year in first.items())
    connection.execute(f"""
        CREATE TABLE weighed AS SELECT *,
            coalesce({", ".join(weights)})::DOUBLE * CASE {_cycle(known)} {share} END AS weight,
            CASE {_cycle(known)} {begins} END::INTEGER AS year
        FROM raw
    """)


def _cycle(known: set[str]) -> str:
    """SQL for the number of a row's cycle, as text."""
    if "SDDSRVYR" in known:
        return "SDDSRVYR::INTEGER::VARCHAR"
    if "CYCLE" not in known:
        raise InvalidInputError(
            "which cycles the people belong to is unknown: there is no variable SDDSRVYR (in the "
            "component DEMO), and no column cycle with years such as 2015-2016"
        )
    starts = " ".join(f"WHEN '{year}' THEN {quoted(number)}"
                      for number, year in FIRST_YEARS.items() if number != "66")  # fmt: skip
    return f"CASE left(cycle::VARCHAR, 4) {starts} ELSE cycle::VARCHAR END"


@dataclass(frozen=True, kw_only=True)
class NhanesTable(SourceTable):
    """Arguments of an nhanes source."""

    words = "NHANES"
    read = staticmethod(read_nhanes)
    example = ("race", "Non-Hispanic White")
    case_role = "derived"
    is_survey = True
    has_strata = True
    kinds = (DERIVED_ONLY,)

    kind: Literal["nhanes"]
    path: Annotated[
        InputPath,
        Field(description="Folder of transport files (.XPT), or one file with all variables."),
    ]
    components: Annotated[
        tuple[str, ...] | None,
        Field(description="Components to read, such as DEMO and BPX; default all in the folder."),
    ] = None
    refusals: Annotated[
        bool | None, Field(description="Keep codes for refused and don't know in answers.")
    ] = None
