"""NEDS, the Nationwide Emergency Department Sample of HCUP.

The official Core files are CSV without a header row, so they are read by the layout of
their year (``relprev/data/neds``; other years: a layout file of the same form). A negative
number stands for a missing value in every field used here.

A file is converted once to a compact Parquet file in a cache folder, named by the digest
of its content and layout. An interrupted conversion leaves nothing behind.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

import duckdb

from relprev.errors import InvalidInputError
from relprev.sources.fingerprint import file_fingerprint
from relprev.sources.formats import csv_relation, first_row, require_file, unpacked
from relprev.sources.source import (
    Source,
    code_list,
    column_names,
    connect,
    execute,
    expose_wide,
    identifier,
    labels,
    quoted,
    reading,
)
from relprev.store.files import private_folder, written_whole

STORE_FORMAT = 2  # part of the digest: a new format makes a new file
NUMBERS = {
    "KEY_ED": "BIGINT", "AGE": "SMALLINT", "FEMALE": "TINYINT", "DISCWT": "DOUBLE",
    "HOSP_ED": "INTEGER", "NEDS_STRATUM": "INTEGER", "YEAR": "SMALLINT", "PAY1": "TINYINT",
    "ZIPINC_QRTL": "TINYINT", "PL_NCHS": "TINYINT",
}  # fmt: skip
OPTIONAL = {"RACE": "TINYINT", "DISP_ED": "TINYINT", "EDEVENT": "TINYINT"}
RACE = {
    "1": "White", "2": "Black", "3": "Hispanic", "4": "Asian or Pacific Islander",
    "5": "Native American", "6": "Other",
}  # fmt: skip
PAYER = {
    "1": "Medicare", "2": "Medicaid", "3": "Private", "4": "Self-pay", "5": "No charge",
    "6": "Other",
}  # fmt: skip
HOSPITAL = ("HOSP_REGION", "HOSP_UR_TEACH", "HOSP_TRAUMA", "HOSP_CONTROL")
KINDS = NUMBERS | OPTIONAL | dict.fromkeys(HOSPITAL, "SMALLINT")
LARGEST_AGE = 124
DESIGN_BASE = 100_000  # NEDS_STRATUM and HOSP_ED have at most 5 digits


@reading("the NEDS files")
def read_neds(
    core: str | Path | Iterable[str | Path],
    *,
    hospital: str | Path | Iterable[str | Path] = (),
    year: int | None = None,
    layout: str | Path | None = None,
    hospital_layout: str | Path | None = None,
    cache: str | Path | None = None,
) -> Source:
    """Read NEDS Core files.

    Parameters
    ----------
    core : path or list of paths
        Core files: .csv, .csv.gz or .zip as HCUP supplies them, or .parquet with named
        columns. Several years are stacked; strata and hospitals then carry their year.
    hospital : path or list of paths, optional
        Hospital files, same order, for the attributes hosp_region, hosp_ur_teach,
        hosp_trauma and hosp_control.
    year : int, optional
        Default: the year in the file's name (``NEDS_2019_Core.csv``).
    layout, hospital_layout : path, optional
        Layouts of a year that is not shipped: CSV files with the columns position and name.
    cache : path, optional
        Folder for converted files, which hold patients' data. Default: ``$RELPREV_CACHE`` or
        ``~/.cache/relprev``; made readable by its owner only.

    Returns
    -------
    Source
        Attributes race (2019 and later), payer, income_quartile, urbanicity, disposition.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.simulate.neds import write_neds
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_neds(f"{folder}/NEDS_2019_Core.csv", 500, n_codes=60)
    ...     read_neds(f"{folder}/NEDS_2019_Core.csv", cache=folder).attributes
    ('payer', 'income_quartile', 'urbanicity', 'race', 'disposition')
    """
    cores = _listed(core)
    hospitals = _listed(hospital)
    if not cores:
        raise InvalidInputError("core: at least one file is needed")
    if hospitals and len(hospitals) != len(cores):
        raise InvalidInputError("hospital: give one file for each Core file, or none")
    if year is not None and len(cores) > 1:
        raise InvalidInputError("year: with several files, name each after its year instead")
    connection = connect()
    files = [file_fingerprint(require_file(path, "NEDS Core")) for path in cores]
    stores = [
        _store(path, file["blake2b"], _year_of(path, year), layout, cache)
        for path, file in zip(cores, files, strict=True)
    ]
    if len(set(stores)) < len(stores):
        raise InvalidInputError("core: the same file is given twice")
    for position, path in enumerate(hospitals):
        names = read_layout("Hospital", _year_of(path, year), hospital_layout)
        files.append(file_fingerprint(require_file(path, "NEDS Hospital")))
        _load_hospitals(connection, path, position, names)
    offset, parts = 0, []
    for position, store in enumerate(stores):
        parts.append(_visits_sql(connection, store, offset, position if hospitals else None))
        offset += connection.execute(
            f"SELECT count(*) FROM read_parquet({quoted(str(store))})"
        ).fetchall()[0][0]
    connection.execute(f"CREATE VIEW wide AS {' UNION ALL BY NAME '.join(parts)}")
    expose_wide(connection, "wide", {"codes": "diagnosis", "causes": "cause"}, "'ICD10'")
    return Source(
        "neds",
        connection,
        absent={"race": "NEDS records race from 2019 on"},
        details={"data": files},
    )


def _listed(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def read_layout(kind: str, year: int, layout: str | Path | None = None) -> tuple[str, ...]:
    """Column names, in order, of a year's ``"Core"`` or ``"Hospital"`` file.

    Examples
    --------
    >>> names = read_layout("Core", 2019)
    >>> len(names), names[:5]
    (73, ('AGE', 'AMONTH', 'AWEEKEND', 'DIED_VISIT', 'DISCWT'))
    """
    folder = resources.files("relprev") / "data" / "neds"
    if layout is not None:
        text = require_file(layout, "layout").read_text(encoding="utf-8-sig", errors="replace")
    elif (file := folder / f"NEDS_{year}_{kind}.layout.csv").is_file():
        text = file.read_text(encoding="utf-8")
    else:
        years = sorted({f.name[5:9] for f in folder.iterdir() if f"_{kind}.layout" in f.name})
        raise InvalidInputError(
            f"no layout for the NEDS {kind} file of {year} (shipped: {', '.join(years)}); write "
            "its columns, in order, to a CSV file with the columns position and name and give "
            f"{'layout' if kind == 'Core' else 'hospital_layout'}="
        )
    try:
        rows = sorted(csv.DictReader(text.splitlines()), key=lambda row: int(row["position"]))
        names = tuple(row["name"].strip().upper() for row in rows)
    except (KeyError, ValueError, TypeError, AttributeError):
        names = ()
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(
            f"layout: {Path(str(layout)).name} must be a CSV file with the columns position (1, 2, "
            "...) and name (each once), one row for each column of the data"
        )
    return names


def _year_of(path: Path, year: int | None) -> int:
    if year is not None:
        return year
    found = re.search(r"NEDS_(\d{4})_", path.name, re.IGNORECASE)
    if found is None:
        raise InvalidInputError(f"{path.name} does not name its year; give year=")
    return int(found[1])


def _store(
    path: Path, digest: str, year: int, layout: str | Path | None, cache: str | Path | None
) -> Path:
    """The converted file, made if it is not there yet."""
    is_parquet = path.suffix.lower() == ".parquet"
    names = () if is_parquet else read_layout("Core", year, layout)
    folder = Path(
        cache or os.environ.get("RELPREV_CACHE", "") or Path.home() / ".cache" / "relprev"
    )
    key = hashlib.blake2b(f"{STORE_FORMAT}:{','.join(names)}:{digest}".encode(), digest_size=12)
    store = folder / f"neds-{year}-{key.hexdigest()}.parquet"
    if not store.is_file():
        private_folder(folder)
        with unpacked(path) as file, written_whole(store) as temporary:
            relation = _parquet_relation(file) if is_parquet else _csv_relation(file, names, path)
            _convert(relation, year, path.name, temporary)
    return store


def _parquet_relation(file: Path) -> str:
    """SQL that reads a Parquet file with the columns' kinds as a CSV file has them."""
    connection = connect()
    relation = f"read_parquet({quoted(str(file))})"
    with reading(file.name):
        present = {name.upper(): name for name in column_names(connection, relation)}
    connection.close()
    typed = [
        f"nullif(trim({identifier(present[name])}::VARCHAR), '')::{kind} AS {name}"
        for name, kind in KINDS.items()
        if name in present
    ]
    replaced = f" REPLACE ({', '.join(typed)})" if typed else ""
    return f"(SELECT *{replaced} FROM {relation})"


def _csv_relation(file: Path, names: Sequence[str], original: Path) -> str:
    """SQL that reads the CSV file by the layout, after a look at its first line."""
    first = first_row(file)
    if len(first) != len(names):
        raise InvalidInputError(
            f"{original.name} has {len(first)} columns, the layout has {len(names)}; is it a Core "
            "file, and of that year?"
        )
    if first[0].strip().upper() == names[0]:
        raise InvalidInputError(
            f"{original.name} has a header row; HCUP's files have none: remove it"
        )
    return csv_relation(file, names, header=False, kinds=KINDS)


def _convert(relation: str, year: int, name: str, target: Path) -> None:
    """One pass over the raw file: numbers checked and typed, codes gathered in lists."""
    connection = connect()
    with reading(name):
        present = {column.upper() for column in column_names(connection, relation)}
        missing = [column for column in NUMBERS if column not in present]
        if missing:
            raise InvalidInputError(f"{name} lacks {', '.join(missing)}; is it a NEDS Core file?")
        numbers = [_known(column) for column in KINDS if column in present]
        dx = sorted((c for c in present if re.fullmatch(r"I10_DX\d+", c)), key=lambda c: int(c[6:]))
        causes = sorted(c for c in present if re.fullmatch(r"I10_ECAUSE\d+", c))
        if not dx:
            raise InvalidInputError(f"{name} has no I10_DX columns; ICD-9 years are not supported")
        execute(
            connection,
            f"""
            COPY (SELECT {", ".join(numbers)}, {code_list(dx)} AS codes,
                         {code_list(causes) if causes else "[]::VARCHAR[]"} AS causes
                  FROM {relation})
            TO {quoted(str(target))} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)
            """,
        )
        _check(connection, target, year, name)
    connection.close()


def _known(column: str) -> str:
    """The number, NULL where it is negative."""
    return f"CASE WHEN {column} >= 0 THEN {column} END AS {column.lower()}"


def _check(connection: duckdb.DuckDBPyConnection, store: Path, year: int, name: str) -> None:
    """Values that a file read by the wrong layout cannot have."""
    rows, keys, ages, sexes, other_years = connection.execute(f"""
        SELECT count(*), count(DISTINCT key_ed), count(*) FILTER (age > {LARGEST_AGE}),
               count(*) FILTER (female NOT IN (0, 1)),
               count(*) FILTER (year <> {year} OR year IS NULL)
        FROM read_parquet({quoted(str(store))})
    """).fetchall()[0]
    if rows == 0:
        raise InvalidInputError(f"{name} has no rows")
    if ages or sexes or other_years:
        raise InvalidInputError(
            f"{name} does not fit the {year} layout: {ages:,} ages above {LARGEST_AGE}, {sexes:,} "
            f"values of FEMALE other than 0 and 1, {other_years:,} rows whose YEAR is not {year}"
        )
    if keys < rows:
        raise InvalidInputError(
            f"KEY_ED must identify a visit, but {rows - keys:,} of {rows:,} rows of {name} repeat "
            "an earlier one or have none"
        )


def _load_hospitals(
    connection: duckdb.DuckDBPyConnection, path: Path, position: int, names: Sequence[str]
) -> None:
    with unpacked(path) as file, reading(path.name):
        kept = ", ".join(map(_known, HOSPITAL))
        connection.execute(f"""
            CREATE TABLE hospital_{position} AS
            SELECT HOSP_ED AS hosp_ed, {kept} FROM {_csv_relation(file, names, path)}
        """)


def _visits_sql(
    connection: duckdb.DuckDBPyConnection, store: Path, offset: int, hospital: int | None
) -> str:
    """SQL for the canonical columns of one converted file, with its lists of codes."""
    relation = f"read_parquet({quoted(str(store))}, file_row_number=true)"
    columns = [f"file_row_number + {offset} AS visit", "key_ed AS visit_id",
               "NULL::BIGINT AS patient", "age::INTEGER AS age",
               "CASE female WHEN 1 THEN 'F' WHEN 0 THEN 'M' END AS sex", "discwt AS weight",
               f"year::INTEGER * {DESIGN_BASE} + neds_stratum AS stratum",
               f"year::INTEGER * {DESIGN_BASE} + core.hosp_ed AS psu", "year::INTEGER AS year",
               f"{labels('pay1', PAYER)} AS payer", "zipinc_qrtl AS income_quartile",
               "pl_nchs AS urbanicity", "codes", "causes"]  # fmt: skip
    present = column_names(connection, relation)
    if "race" in present:
        columns.append(f"{labels('race', RACE)} AS race")
    if "disp_ed" in present:
        columns.append("disp_ed AS disposition")
    join = ""
    if hospital is not None:
        columns += [identifier(name.lower()) for name in HOSPITAL]
        join = f"LEFT JOIN hospital_{hospital} USING (hosp_ed)"
    return f"SELECT {', '.join(columns)} FROM {relation} AS core {join}"
