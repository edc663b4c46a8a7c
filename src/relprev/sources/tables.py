"""Read any table of visits, with codes in a table of their own or in its columns.

Tables are files (CSV, Parquet, Stata or SAS, compressed or not) or data frames, with any
column names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from relprev.codes.spelling import normalize_sql, version_name
from relprev.errors import InvalidInputError
from relprev.sources.database import (
    Connection,
    connect,
    identifier,
    quoted,
    reading,
    require_unique,
)
from relprev.sources.declared import InputPath, SourceTable
from relprev.sources.fingerprint import Fingerprint, described_table
from relprev.sources.formats import load_table, require_distinct, require_file
from relprev.sources.source import Source
from relprev.sources.statistics_files import make_whole
from relprev.sources.table_checks import (
    column_list,
    own_attributes,
    refuse_decimals,
    refuse_strangers,
    refuse_weights,
)

VERSIONS = ("ICD9", "ICD10", "SNOMED")
MOST_VERSIONS = 100
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", ".")
SEX_WORDS = {"F": ("f", "female", "woman"), "M": ("m", "male", "man")}


@reading("the tables")
def read_tables(
    visits: Any,
    codes: Any = None,
    *,
    visit_id: str,
    code: str | Sequence[str],
    version: str,
    patient: str | None = None,
    age: str | None = None,
    sex: str | None = None,
    weight: str | None = None,
    stratum: str | None = None,
    psu: str | None = None,
    year: str | None = None,
    role: str | None = None,
    attributes: Sequence[str] = (),
    missing: Sequence[str] = MISSING,
) -> Source:
    """Read visits and codes from any two tables, or from one wide table.

    Parameters
    ----------
    visits : path or data frame
        One row per visit.
    codes : path or data frame, optional
        One row per code, with a ``visit_id`` column as well. None: codes are in columns of
        ``visits``.
    visit_id : str
        Column that identifies a visit, in both tables.
    code : str or list of str
        Column with the codes, or list of such columns if they are in ``visits``.
    version : str
        Column with the code version (``9``, ``ICD10``, ...), or the version itself (``"ICD9"``,
        ``"ICD10"`` or ``"SNOMED"``) if all codes share it.
    patient, age, sex, weight, stratum, psu, year : str, optional
        Columns of ``visits``. Sex may be written F/M or female/male, in upper or lower case.
    role : str, optional
        Column of ``codes``.
    attributes : list of str
        Further columns of ``visits`` for groups and features.
    missing : list of str
        Texts that mean a missing value in CSV and TSV files; blanks do in every file.
        Default: NA, N/A, n/a, #N/A, NaN, nan, NULL, null and a period.

    Returns
    -------
    Source
        With the columns named in ``attributes``.

    Examples
    --------
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"id": [7, 8], "dx1": ["t74.11XA", "R51"], "dx2": ["", "I10"]})
    >>> source = read_tables(visits, visit_id="id", code=["dx1", "dx2"], version="ICD10")
    >>> source.query("SELECT visit, version, code FROM codes ORDER BY visit, code")
    [(0, 'ICD10', 'T7411XA'), (1, 'ICD10', 'I10'), (1, 'ICD10', 'R51')]
    """
    named = {"patient": patient, "age": age, "sex": sex, "weight": weight, "stratum": stratum,
             "psu": psu, "year": year}  # fmt: skip
    version = str(version)
    code_columns = column_list(code, "code")
    attributes = own_attributes(column_list(attributes, "attributes"), named)
    if not code_columns:
        raise InvalidInputError("code: at least one column is needed")
    own_columns = [] if version_name(version) in VERSIONS else [version]
    connection = connect()
    wanted = [visit_id, *(column for column in named.values() if column), *attributes]
    if codes is None:
        wanted += [*code_columns, *own_columns]
    data = [_load(connection, visits, "raw_visits", wanted, missing)]
    words = _words("visits", visits)
    require_unique(connection, "raw_visits", identifier(visit_id), words)
    if weight is not None:
        refuse_weights(connection, weight, words)
    _make_visits(connection, visit_id, named, attributes)
    if codes is None:
        refuse_decimals(connection, "raw_visits", code_columns)
        _lengthen(connection, visit_id, code_columns, own_columns)
        code_columns = ["code"]
    else:
        if len(code_columns) != 1:
            raise InvalidInputError("code: with a codes table, give one column, not several")
        wanted = [visit_id, *code_columns, *own_columns, *([role] if role else [])]
        data.append(_load(connection, codes, "raw_codes", wanted, missing))
        refuse_decimals(connection, "raw_codes", code_columns)
        refuse_strangers(connection, visit_id)
    version_sql = f"{identifier(version)}::VARCHAR" if own_columns else quoted(version)
    _name_versions(connection, version_sql, code_columns[0])
    _make_codes(connection, visit_id, code_columns[0], version_sql, role)
    return Source("tables", connection, details={"data": data})


@dataclass(frozen=True, kw_only=True)
class TablesTable(SourceTable):
    """Arguments of a tables source."""

    words = "own tables"
    read = staticmethod(read_tables)
    example = ("insurance", "Private")

    kind: Literal["tables"]
    visits: Annotated[InputPath, Field(description="File with one row per visit.")]
    codes: Annotated[
        InputPath | None,
        Field(description="File with one row per code; without it, codes are columns of visits."),
    ] = None
    visit_id: Annotated[str, Field(description="Column that identifies a visit, in both tables.")]
    code: Annotated[
        str | tuple[str, ...],
        Field(description="Column with the codes, or list of columns if they are in visits."),
    ]
    version: Annotated[
        str,
        Field(
            description="Column with the code version (9, ICD10, ...), or the version itself "
            "(ICD9, ICD10 or SNOMED) if all codes share it."
        ),
    ]
    patient: Annotated[str | None, Field(description="Column that identifies a patient.")] = None
    age: Annotated[str | None, Field(description="Column with the age in years.")] = None
    sex: Annotated[str | None, Field(description="Column with F/M or female/male.")] = None
    weight: Annotated[str | None, Field(description="Column with sampling weights.")] = None
    stratum: Annotated[str | None, Field(description="Column with the stratum.")] = None
    psu: Annotated[str | None, Field(description="Column with the primary sampling unit.")] = None
    year: Annotated[str | None, Field(description="Column with the year.")] = None
    role: Annotated[str | None, Field(description="Column of codes with their role.")] = None
    attributes: Annotated[
        tuple[str, ...] | None,
        Field(description="Further columns of visits for groups and features."),
    ] = None
    missing: Annotated[
        tuple[str, ...] | None,
        Field(description="Texts that mean a missing value in CSV and TSV files."),
    ] = None


def _load(
    connection: Connection, table: Any, name: str, columns: list[str], missing: Sequence[str]
) -> Fingerprint:
    columns = list(dict.fromkeys(columns))
    key = name.removeprefix("raw_")
    if isinstance(table, str | Path):
        file = load_table(connection, require_file(table, key), name, columns, missing=missing)
        make_whole(connection, name)
        return file
    if not hasattr(table, "columns"):
        raise InvalidInputError(f"{key} must be a path or a data frame, got {type(table).__name__}")
    lacking = [column for column in columns if column not in table.columns]
    if lacking:
        raise InvalidInputError(f"{key} lacks the columns {', '.join(lacking)}")
    require_distinct([str(column) for column in table.columns], key, columns)
    if isinstance(table, pd.DataFrame):
        table = table[columns].copy()  # DuckDB cannot read a view with its rows reversed
    connection.register("frame", table)
    picked = ", ".join(identifier(column) for column in columns)
    connection.execute(f"CREATE TABLE {name} AS SELECT {picked} FROM frame")
    connection.unregister("frame")
    make_whole(connection, name)
    return described_table(connection, name, key)


def _words(key: str, table: Any) -> str:
    """How messages name a table: by its parameter and, if it is a file, the file name."""
    return f"{key} ({Path(table).name})" if isinstance(table, str | Path) else key


def _make_visits(
    connection: Connection, visit_id: str, named: dict[str, str | None], attributes: Sequence[str]
) -> None:
    kinds = {"age": "INTEGER", "year": "INTEGER", "weight": "DOUBLE"}
    columns = ["row_number() OVER () - 1 AS visit", f"{identifier(visit_id)} AS visit_id"]
    for name, column in named.items():
        if column is None:
            columns.append(
                f"NULL::{'VARCHAR' if name == 'sex' else kinds.get(name, 'BIGINT')} AS {name}"
            )
        elif name == "sex":
            columns.append(f"{_sex(identifier(column))} AS sex")
        elif name in kinds:
            columns.append(f"try_cast({identifier(column)} AS {kinds[name]}) AS {name}")
        else:
            columns.append(f"{_present(column)} AS {name}")
    columns += [f"{_present(column)} AS {identifier(column)}" for column in attributes]
    connection.execute(f"CREATE TABLE visits AS SELECT {', '.join(columns)} FROM raw_visits")


def _present(column: str) -> str:
    """The column with blank text as NULL."""
    name = identifier(column)
    return f"CASE WHEN trim({name}::VARCHAR) <> '' THEN {name} END"


def _sex(column: str) -> str:
    cases = " ".join(
        f"WHEN lower(trim({column}::VARCHAR)) IN ({', '.join(map(quoted, words))}) THEN '{sex}'"
        for sex, words in SEX_WORDS.items()
    )
    return f"CASE {cases} END"


def _lengthen(connection: Connection, visit_id: str, columns: list[str], others: list[str]) -> None:
    """Turn columns of codes into the table ``raw_codes``, with one row per code."""
    kept = ", ".join(identifier(column) for column in (visit_id, *others))
    listed = ", ".join(f"{identifier(column)}::VARCHAR" for column in columns)
    connection.execute(
        f"CREATE TABLE raw_codes AS SELECT {kept}, unnest([{listed}]) AS code FROM raw_visits"
    )


def _make_codes(
    connection: Connection, visit_id: str, code: str, version_sql: str, role: str | None
) -> None:
    connection.execute(f"""
        CREATE TABLE codes AS SELECT v.visit, n.name AS version, r.code, r.role
        FROM (
            SELECT {identifier(visit_id)} AS visit_id, {version_sql} AS raw_version,
                   {normalize_sql(f"{identifier(code)}::VARCHAR")} AS code,
                   {f"{identifier(role)}::VARCHAR" if role else "'diagnosis'"} AS role
            FROM raw_codes
        ) r
        JOIN visits v USING (visit_id) JOIN versions n ON n.raw = r.raw_version
        WHERE r.code <> ''
    """)


def _name_versions(connection: Connection, version_sql: str, code: str) -> None:
    """Create the table ``versions`` of raw and canonical names; no code may lack a version."""
    found = connection.execute(
        f"SELECT DISTINCT {version_sql} FROM raw_codes "
        f"WHERE trim({identifier(code)}::VARCHAR) <> '' ORDER BY 1 LIMIT {MOST_VERSIONS + 1}"
    ).fetchall()
    raw = [value for (value,) in found]
    if len(raw) > MOST_VERSIONS:
        raise InvalidInputError(
            f"version: the column holds more than {MOST_VERSIONS} different values; is it really "
            "the column with the code version?"
        )
    if None in raw or "" in raw:
        raise InvalidInputError(
            "version is missing for some codes; some strings are both ICD-9 and ICD-10 codes, so "
            "every code needs a version"
        )
    connection.execute("CREATE TEMP TABLE versions (raw VARCHAR, name VARCHAR)")
    for value in raw:
        connection.execute("INSERT INTO versions VALUES (?, ?)", [value, version_name(value)])
