"""Convert NEDS files once, to compact Parquet files in a cache folder.

A converted file is named by a digest of the raw file and its layout, and its own digest is
stored beside it, so that a damaged or unfinished file is recognised and converted again.
Both are readable by their owner only.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import warnings
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from relprev.codes.spelling import normalize_sql
from relprev.errors import DataWarning, InvalidInputError
from relprev.messages import Message
from relprev.sources.database import (
    Connection,
    column_names,
    connect,
    execute,
    identifier,
    parquet_relation,
    quoted,
    reading,
)
from relprev.sources.formats import csv_relation, first_row, require_file
from relprev.sources.packed import unpacked
from relprev.sources.source import code_list
from relprev.store.digests import is_sealed, seal
from relprev.store.files import private_folder, written_whole

STORE_FORMAT = 3  # part of the file name: a new format needs a new file
NUMBERS = {
    "KEY_ED": "BIGINT", "AGE": "SMALLINT", "FEMALE": "TINYINT", "DISCWT": "DOUBLE",
    "HOSP_ED": "INTEGER", "NEDS_STRATUM": "INTEGER", "YEAR": "SMALLINT", "PAY1": "TINYINT",
    "ZIPINC_QRTL": "TINYINT", "PL_NCHS": "TINYINT",
}  # fmt: skip
OPTIONAL = {"RACE": "TINYINT", "DISP_ED": "TINYINT", "EDEVENT": "TINYINT"}
HOSPITAL = ("HOSP_REGION", "HOSP_UR_TEACH", "HOSP_TRAUMA", "HOSP_CONTROL")
KINDS = NUMBERS | OPTIONAL | dict.fromkeys(HOSPITAL, "SMALLINT")
LARGEST_AGE = 124
LAYOUT_OPTIONS = {
    "Core": "layout", "Hospital": "hospital_layout", "ED": "ed_layout", "IP": "ip_layout",
}  # fmt: skip


def read_layout(kind: str, year: int, layout: str | Path | None = None) -> tuple[str, ...]:
    """Column names, in order, of the Core, Hospital, ED or IP file of a year.

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
            f"{LAYOUT_OPTIONS[kind]}="
        )
    try:
        rows = sorted(csv.DictReader(text.splitlines()), key=lambda row: int(row["position"]))
        names = tuple(row["name"].strip().upper() for row in rows)
    except (KeyError, ValueError, TypeError, AttributeError):
        names = ()
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(
            f"layout: {Path(str(layout)).name} must be a CSV file with the columns position (1, 2, "
            "...) and name (each once), and one row per column of the data"
        )
    return names


def stored_core(
    path: Path, digest: str, year: int, layout: str | Path | None, cache: str | Path | None
) -> Path:
    """The converted file of a raw Core file with that ``digest``, made if missing or damaged."""
    is_parquet = path.suffix.lower() == ".parquet"
    names = () if is_parquet else read_layout("Core", year, layout)

    def convert(file: Path, target: Path) -> None:
        relation = _parquet_source(file) if is_parquet else layout_relation(file, names, path)
        _convert(relation, year, path.name, target)

    return _stored(path, f"neds-{year}", f"{','.join(names)}:{digest}", cache, convert)


def stored_procedures(
    path: Path, digest: str, kind: str, year: int, layout: str | Path | None,
    cache: str | Path | None,
) -> Path:  # fmt: skip
    """The procedures of a supplemental file (``kind`` ED or IP) by KEY_ED, likewise converted."""
    is_parquet = path.suffix.lower() == ".parquet"
    names = () if is_parquet else read_layout(kind, year, layout)

    def convert(file: Path, target: Path) -> None:
        relation = _parquet_source(file) if is_parquet else layout_relation(file, names, path)
        _convert_procedures(relation, path.name, target)

    return _stored(path, f"neds-{year}-{kind}", f"{','.join(names)}:{digest}", cache, convert)


def _stored(
    path: Path, name: str, content: str, cache: str | Path | None,
    convert: Callable[[Path, Path], None],
) -> Path:  # fmt: skip
    """The file that ``convert`` made of a raw file, named by a digest of its ``content``."""
    folder = Path(
        cache or os.environ.get("RELPREV_CACHE", "") or Path.home() / ".cache" / "relprev"
    )
    key = hashlib.blake2b(f"{STORE_FORMAT}:{content}".encode(), digest_size=12)
    store = folder / f"{name}-{key.hexdigest()}.parquet"
    if is_sealed(store):
        return store
    if store.exists():
        warnings.warn(
            DataWarning(
                Message(
                    "the converted copy of {file} in the cache is damaged or unfinished; "
                    "converting it again",
                    file=path.name,
                )
            ),
            stacklevel=6,
        )
    private_folder(folder)
    with unpacked(path) as file, written_whole(store, private=True) as temporary:
        convert(file, temporary)
    seal(store)
    return store


def _parquet_source(file: Path) -> str:
    """SQL that reads a Parquet file with the column types of a CSV file."""
    connection = connect()
    relation = parquet_relation(file)
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


def layout_relation(file: Path, names: Sequence[str], original: Path) -> str:
    """SQL that reads a CSV file by its layout, once its first line proves to fit."""
    first = first_row(file)
    if len(first) != len(names):
        raise InvalidInputError(
            f"{original.name} has {len(first)} columns, the layout has {len(names)}; is it the "
            "right file, and from that year?"
        )
    if first[0].strip().upper() == names[0]:
        raise InvalidInputError(
            f"{original.name} has a header row, which HCUP's files do not have; remove it"
        )
    return csv_relation(file, names, header=False, kinds=KINDS)


def _convert(relation: str, year: int, name: str, target: Path) -> None:
    """Convert in one pass over the raw file: numbers become typed, codes are put into lists."""
    connection = connect()
    with reading(name):
        present = {column.upper() for column in column_names(connection, relation)}
        missing = [column for column in NUMBERS if column not in present]
        if missing:
            raise InvalidInputError(f"{name} lacks {', '.join(missing)}; is it a NEDS Core file?")
        numbers = [known(column) for column in KINDS if column in present]
        dx = sorted((c for c in present if re.fullmatch(r"I10_DX\d+", c)), key=lambda c: int(c[6:]))
        causes = sorted(c for c in present if re.fullmatch(r"I10_ECAUSE\d+", c))
        if not dx:
            raise InvalidInputError(f"{name} has no I10_DX columns; ICD-9 years are not supported")
        # All diagnoses in one spelling at once; a first one that is blank keeps its place.
        columns = ", ".join([f"coalesce({dx[0]}, '')", *dx[1:]])
        together = normalize_sql(f"concat_ws(',', {columns})")
        execute(
            connection,
            f"""
            COPY (SELECT {", ".join(numbers)}, nullif(listed[1], '') AS principal,
                         [code for code in listed[2:] if code <> ''] AS secondary,
                         {code_list(causes)} AS causes
                  FROM (SELECT *, string_split({together}, ',') AS listed FROM {relation}))
            TO {quoted(str(target))} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)
            """,
        )
        _check(connection, target, year, name)
    connection.close()


def _convert_procedures(relation: str, name: str, target: Path) -> None:
    """Convert to KEY_ED and a list of procedures: CPT (ED) or ICD-10-PCS codes (IP)."""
    connection = connect()
    with reading(name):
        present = [column.upper() for column in column_names(connection, relation)]
        codes = [column for column in present if re.fullmatch(r"(CPT|I10_PR_IP)\d+", column)]
        if "KEY_ED" not in present or not codes:
            raise InvalidInputError(
                f"{name} lacks KEY_ED, or CPT1 or I10_PR_IP1; is it a supplemental ED or IP file?"
            )
        execute(
            connection,
            f"""
            COPY (SELECT KEY_ED AS key_ed, {code_list(codes)} AS procedures FROM {relation}
                  WHERE KEY_ED IS NOT NULL)
            TO {quoted(str(target))} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)
            """,
        )
        rows, keys = connection.execute(
            f"SELECT count(*), count(DISTINCT key_ed) FROM {parquet_relation(target)}"
        ).fetchall()[0]
        if keys < rows:
            raise InvalidInputError(
                f"KEY_ED must identify a visit, but {rows - keys:,} of {rows:,} rows of {name} "
                "repeat an earlier one"
            )
    connection.close()


def known(column: str) -> str:
    """SQL for a column with negative numbers as NULL."""
    return f"CASE WHEN {column} >= 0 THEN {column} END AS {column.lower()}"


def _check(connection: Connection, store: Path, year: int, name: str) -> None:
    """Fail on values that show that the file was read by the wrong layout."""
    rows, keys, ages, sexes, other_years = connection.execute(f"""
        SELECT count(*), count(DISTINCT key_ed), count(*) FILTER (age > {LARGEST_AGE}),
               count(*) FILTER (female NOT IN (0, 1)),
               count(*) FILTER (year <> {year} OR year IS NULL)
        FROM {parquet_relation(store)}
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
            "an earlier one or lack it"
        )
