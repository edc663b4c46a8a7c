"""NHAMCS emergency department files: Stata or SAS (2012 and later), fixed width (2010).

ICD-10-CM codes (2016 and later) are truncated to 4 characters: T74.11 (adult) and T74.12
(child) both become T741, so studies must filter on age. Code sets are truncated in the same
way when a cohort is built. In ICD-9 files, causes of injury lack their E (9673 is E967.3).

Several years are stacked. Strata and primary sampling units are distinct by year, since each
year is a sample of its own. Patients are not identified. What else the files record of a visit,
from reasons for visit to medications, is in :mod:`relprev.sources.nhamcs_features`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from relprev.errors import InvalidInputError
from relprev.sources import nhamcs_features as features
from relprev.sources.database import Connection, column_names, connect, reading
from relprev.sources.declared import InputPaths, SourceTable
from relprev.sources.fingerprint import Fingerprint
from relprev.sources.formats import load_fixed_width, load_table, require_file
from relprev.sources.kinds import Kind, read_kinds
from relprev.sources.measures import absent, exclusive
from relprev.sources.nhamcs_columns import FIELDS_2010 as MORE_2010
from relprev.sources.nhamcs_columns import ONLY_2010, TRIAGE
from relprev.sources.source import Source, code_list, expose_wide, labels

CUT = 4
WIDTH_2010 = 968
FIELDS_2010 = (
    ("AGE", 4, 6), ("SEX", 21, 21), ("PAYTYPER", 36, 37), ("CAUSE1", 91, 94), ("CAUSE2", 95, 98),
    ("CAUSE3", 99, 102), ("DIAG1", 103, 107), ("DIAG2", 108, 112), ("DIAG3", 113, 117),
    ("PATWT", 289, 294), ("RACERETH", 887, 887), ("CSTRATM", 937, 944), ("CPSUM", 945, 950),
)  # fmt: skip
REQUIRED = ("AGE", "SEX", "RACERETH", "PAYTYPER", "PATWT", "CSTRATM", "CPSUM", "DIAG1")
CODES = {
    "principal": ("DIAG1",),
    "secondary": tuple(f"DIAG{k}" for k in range(2, 6)),
    "hospital": tuple(f"HDDIAG{k}" for k in range(1, 6)),
    "cause": tuple(f"CAUSE{k}" for k in range(1, 4)),
}  # by role; some years have fewer
OPTIONAL = ("YEAR", *CODES["secondary"], *CODES["hospital"], *CODES["cause"])
RACE = {
    "1": "White, non-Hispanic", "2": "Black, non-Hispanic", "3": "Hispanic",
    "4": "Other, non-Hispanic",
}  # fmt: skip
PAYER = {
    "1": "Private", "2": "Medicare", "3": "Medicaid", "4": "Workers' compensation",
    "5": "Self-pay", "6": "No charge", "7": "Other",
}  # fmt: skip
# Entries that are not diagnoses: blank (-9), not applicable (-7), "none", "left before seen" and
# the like. V99 is not an ICD-9-CM code, but it is an ICD-10-CM code.
NO_CODE = {"ICD9": r"^-\d*$|^V99\d|^$", "ICD10": r"^-\d*$|^ZZZ|^$"}


@reading("the NHAMCS files")
def read_nhamcs(
    paths: str | Path | Iterable[str | Path],
    *,
    year: int | None = None,
    kinds: Sequence[str] = (),
) -> Source:
    """Read NHAMCS emergency department files from one or more years.

    Parameters
    ----------
    paths : path or list of paths
        Stata (.dta), SAS (.sas7bdat) or the fixed-width file of 2010 (``ED2010``), optionally
        zipped.
    year : int, optional
        Survey year, needed only if the file does not contain it (fixed width: 2010).
    kinds : sequence of str
        Kinds of features to read besides diagnoses and causes: ``"reasons"``, ``"injuries"``,
        ``"vitals"``, ``"pain"``, ``"triage"``, ``"arrival"``, ``"tests"``, ``"procedures"``,
        ``"medications"``.

    Returns
    -------
    Source
        Attributes race and payer; weight PATWT, strata CSTRATM and primary sampling units CPSUM
        within stratum and year. Codes have the role ``"principal"`` (DIAG1), ``"secondary"``,
        ``"hospital"`` (discharge diagnoses of admitted patients) or ``"cause"``, and others if
        more kinds are read. Vital signs, pain and the triage level are attributes too.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> visit = {"YEAR": 2018, "AGE": 30, "SEX": 1, "RACERETH": 1, "PAYTYPER": 3, "PATWT": 1000.5,
    ...          "CSTRATM": 40100000, "CPSUM": 6, "DIAG1": "T741", "CAUSE1": "Y070"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame([visit]).to_stata(f"{folder}/ed2018.dta", write_index=False)
    ...     read_nhamcs(f"{folder}/ed2018.dta").query("SELECT sex, race, payer, weight FROM visits")
    [('F', 'White, non-Hispanic', 'Medicaid', 1000.5)]
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    if not listed:
        raise InvalidInputError("paths: at least one file is needed")
    wanted = read_kinds(kinds, features.KINDS)
    connection = connect()
    years: list[int] = []
    files = []
    for path in listed:
        file = require_file(path, "NHAMCS")
        files.append(_load_year(connection, file, year, years, wanted))
    tables = " UNION ALL ".join(f"SELECT * FROM year_{survey}" for survey in years)
    connection.execute(f"""
        CREATE TABLE wide AS SELECT row_number() OVER () - 1 AS visit, visit AS visit_id, *
        FROM ({tables})
    """)
    prefixes = {f"codes_{role}": kind.prefix
                for kind in wanted if not kind.default for role in kind.roles}  # fmt: skip
    roles = {f"codes_{role}": role for role in CODES}
    roles |= {column: column.removeprefix("codes_") for column in prefixes}
    expose_wide(connection, "wide", roles, "version", prefixes=prefixes)
    return Source(
        "nhamcs",
        connection,
        code_lengths={"ICD10": CUT},
        absent=absent(wanted),
        details={"years": years, "data": files},
        descriptions=features.descriptions(connection, wanted),
        kinds=wanted,
        exclusive=exclusive(wanted, {"triage": TRIAGE}),
    )


@dataclass(frozen=True, kw_only=True)
class NhamcsTable(SourceTable):
    """Arguments of an nhamcs source."""

    words = "NHAMCS"
    read = staticmethod(read_nhamcs)
    example = ("race", "White")
    case_role = "principal"
    is_survey = True
    has_strata = True
    kinds = features.KINDS

    kind: Literal["nhamcs"]
    paths: Annotated[
        InputPaths,
        Field(
            description="Stata (.dta), SAS (.sas7bdat, .xpt) or the fixed-width file of 2010 "
            "(ED2010), optionally zipped."
        ),
    ]
    year: Annotated[
        int | None, Field(description="Survey year, needed only if the file does not contain it.")
    ] = None


def _load_year(
    connection: Connection, path: Path, year: int | None, years: list[int], kinds: Sequence[Kind]
) -> Fingerprint:
    """Create the table ``year_<year>`` and append the year to ``years``."""
    connection.execute("DROP TABLE IF EXISTS raw")
    more = features.feature_columns(kinds)
    later = [name for name in more if name not in ONLY_2010]
    if path.stem.upper().startswith("ED2010"):
        fields = [*FIELDS_2010, *(field for field in MORE_2010 if field[0] in more)]
        file = load_fixed_width(connection, path, "raw", fields, WIDTH_2010)
        survey = 2010
    else:
        file = load_table(connection, path, "raw", REQUIRED, [*OPTIONAL, *later])
        survey = _year_of(connection, path, year)
    if survey in years:
        raise InvalidInputError(f"paths: the year {survey} is given twice")
    years.append(survey)
    version = "ICD10" if survey >= 2016 else "ICD9"
    present = column_names(connection, "raw")

    def recorded(role: str) -> str:
        lead = "E" if (role, version) == ("cause", "ICD9") else ""
        return code_list([
            f"CASE WHEN NOT regexp_matches(trim({name}::VARCHAR), '{NO_CODE[version]}') "
            f"THEN '{lead}' || trim({name}::VARCHAR) END"
            for name in CODES[role] if name in present
        ])  # fmt: skip

    numbers = features.visit_columns(kinds, present)
    lists = {role: recorded(role) for role in CODES}
    lists |= features.feature_lists(kinds, present, numbers)
    added = [f", {sql} AS {name}" for name, sql in numbers.items()]
    added += [f", {sql} AS codes_{role}" for role, sql in lists.items()]
    features.keep_drug_names(connection, kinds, path, present)
    connection.execute(f"""
        CREATE TABLE year_{survey} AS SELECT
            NULL::BIGINT AS patient,
            CASE WHEN try_cast(AGE AS INTEGER) >= 0 THEN AGE::INTEGER END AS age,
            CASE SEX::INTEGER WHEN 1 THEN 'F' WHEN 2 THEN 'M' END AS sex,
            try_cast(PATWT AS DOUBLE) AS weight,
            '{survey}:' || CSTRATM::BIGINT AS stratum,
            '{survey}:' || CSTRATM::BIGINT || ':' || CPSUM::BIGINT AS psu,
            {survey}::INTEGER AS year,
            {labels("RACERETH::INTEGER", RACE)} AS race,
            {labels("PAYTYPER::INTEGER", PAYER)} AS payer,
            '{version}' AS version
            {"".join(added)}
        FROM raw
    """)
    return file


def _year_of(connection: Connection, path: Path, year: int | None) -> int:
    if "YEAR" not in column_names(connection, "raw"):
        if year is None:
            raise InvalidInputError(f"{path.name} has no column YEAR; give year=")
        return year
    found = connection.execute("SELECT DISTINCT YEAR::INTEGER FROM raw ORDER BY 1").fetchall()
    if len(found) != 1:
        raise InvalidInputError(f"{path.name} contains {len(found)} years, expected one")
    return int(found[0][0])
