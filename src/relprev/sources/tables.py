"""Read any table of visits, with codes in a table of their own or in its columns.

Tables are files (CSV, Parquet, Stata, SAS or spreadsheets, compressed or not) or data frames,
with any column names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from relprev.codes.spelling import version_name
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
from relprev.sources.formats import FileDetails, load_table, require_distinct, require_file
from relprev.sources.source import Source, without_codes
from relprev.sources.statistics_files import make_whole
from relprev.sources.table_checks import (
    column_list,
    own_attributes,
    refuse_decimals,
    refuse_strangers,
    refuse_weights,
)
from relprev.sources.table_codes import Roles, holds_numbers, lengthen, make_codes
from relprev.sources.table_visits import make_visits
from relprev.units import PERSON, VISIT

VERSIONS = ("ICD9", "ICD10", "SNOMED")
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", ".")


@reading("the tables")
def read_tables(
    visits: Any,
    codes: Any = None,
    *,
    visit_id: str,
    code: str | Sequence[str] | None = None,
    version: str | None = None,
    patient: str | None = None,
    age: str | None = None,
    sex: str | None = None,
    weight: str | None = None,
    stratum: str | None = None,
    psu: str | None = None,
    year: str | None = None,
    date: str | None = None,
    birth_date: str | None = None,
    date_format: str | None = None,
    role: str | None = None,
    position: str | bool | None = None,
    present_on_admission: str | Sequence[str] = (),
    attributes: Sequence[str] = (),
    missing: Sequence[str] = MISSING,
    encoding: str | None = None,
    sheet: str | None = None,
    codes_sheet: str | None = None,
    labels: bool = True,
    formats: str | Path | None = None,
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
    code : str or list of str, optional
        Column with the codes, or list of such columns if they are in ``visits``. None: there are
        no codes, and a study derives its condition from columns (:mod:`relprev.sources.derived`).
    version : str, optional
        Column with the code version (``9``, ``ICD10``, ...), or the version itself (``"ICD9"``,
        ``"ICD10"`` or ``"SNOMED"``) if all codes share it. Needed where there are codes.
    patient, age, sex, weight, stratum, psu, year : str, optional
        Columns of ``visits``. Sex may be written F/M or female/male, in upper or lower case.
        Where a row is a person, ``patient`` is the column of ``visit_id``, and a study speaks of
        people.
    date, birth_date : str, optional
        Columns of ``visits`` with dates, from which year and age follow: dates of any type, or
        texts in a common format (2019-03-31, 03/31/2019, 31MAR2019, ...).
    date_format : str, optional
        Format of these texts, such as ``"%d/%m/%Y"``, where the values do not tell.
    role : str, optional
        Column of ``codes`` with the role of a code.
    position : str or bool, optional
        Column of ``codes`` with the position of a code, or True if codes are in columns listed
        in their order: the first is ``principal``, others are ``secondary``.
    present_on_admission : str or list of str
        Columns with present-on-admission flags (Y, N, U, W, 1, E), one per column of codes. The
        role of a code that was not present (N, U) ends in ``(arisen later)``.
    attributes : list of str
        Further columns of ``visits`` for groups and features.
    missing : list of str
        Texts that mean a missing value in CSV and TSV files and spreadsheets; blanks do in every
        file. Default: NA, N/A, n/a, #N/A, NaN, nan, NULL, null and a period.
    encoding : str, optional
        Of CSV and TSV files, such as ``"cp1252"``. Default: UTF-8, or UTF-16 with its mark.
    sheet, codes_sheet : str, optional
        Sheets of spreadsheets. Default: the only one that is not empty.
    labels : bool
        Use the value labels of Stata and SAS files for sex and attributes, instead of numbers.
    formats : path, optional
        The value labels of SAS files: a catalog (.sas7bcat), or a table of formats as CSV, as
        ``PROC FORMAT CNTLOUT=`` makes it.

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
    dates = {"date": date, "birth_date": birth_date}
    unit = PERSON if patient == visit_id else VISIT
    if (code is None) != (version is None) or (code is None and codes is not None):
        key = "code" if code is None else "version"
        raise InvalidInputError(
            f"{key} is missing: codes need both the column that holds them and their version"
        )
    version = str(version)
    code_columns = [] if code is None else column_list(code, "code")
    attributes = own_attributes(column_list(attributes, "attributes"), named)
    present = column_list(present_on_admission, "present_on_admission")
    roles = Roles(role, position, tuple(present))
    if code is not None and not code_columns:
        raise InvalidInputError("code: at least one column is needed")
    if code is not None or roles != Roles(None, None, ()):
        roles.require_fit(code_columns, codes is None)
    own_columns = [] if code is None or version_name(version) in VERSIONS else [version]
    shown = (*filter(None, [sex]), *attributes) if labels else ()
    catalog = None if formats is None else require_file(formats, "formats")
    details = FileDetails(encoding, sheet, shown, catalog)
    connection = connect()
    wanted = [visit_id, *filter(None, [*named.values(), *dates.values()]), *attributes]
    if codes is None:
        wanted += [*code_columns, *own_columns, *present]
    data = [_load(connection, visits, "raw_visits", wanted, missing, details)]
    words = _words("visits", visits)
    require_unique(connection, "raw_visits", identifier(visit_id), words)
    if weight is not None:
        refuse_weights(connection, weight, words)
    make_visits(connection, visit_id, named, attributes, dates, date_format)
    if code is None:
        without_codes(connection)
        return Source("tables", connection, details={"data": data}, unit=unit)
    if codes is None:
        table, role_sql = "raw_visits", "role" if roles.differ else roles.sql(0)
    else:
        if len(code_columns) != 1:
            raise InvalidInputError("code: with a codes table, give one column, not several")
        table, role_sql = "raw_codes", roles.sql(0)
        wanted = [visit_id, *code_columns, *own_columns, *roles.columns()]
        details = FileDetails(encoding, codes_sheet)
        data.append(_load(connection, codes, "raw_codes", wanted, missing, details))
        refuse_strangers(connection, visit_id)
    refuse_decimals(connection, table, code_columns)
    roles.require_flags(connection, table)
    from_numbers = holds_numbers(connection, table, code_columns)
    if codes is None:
        lengthen(connection, visit_id, code_columns, own_columns, roles)
        code_columns = ["code"]
    version_sql = f"{identifier(version)}::VARCHAR" if own_columns else quoted(version)
    make_codes(connection, visit_id, code_columns[0], version_sql, role_sql, from_numbers)
    return Source("tables", connection, details={"data": data}, unit=unit)


@dataclass(frozen=True, kw_only=True)
class TablesTable(SourceTable):
    """Arguments of a tables source."""

    words = "own tables"
    read = staticmethod(read_tables)
    example = ("insurance", "Private")
    case_role = "principal"

    kind: Literal["tables"]
    visits: Annotated[InputPath, Field(description="File with one row per visit.")]
    codes: Annotated[
        InputPath | None,
        Field(description="File with one row per code; without it, codes are columns of visits."),
    ] = None
    visit_id: Annotated[str, Field(description="Column that identifies a visit, in both tables.")]
    code: Annotated[
        str | tuple[str, ...] | None,
        Field(description="Column with the codes, or list of columns if they are in visits."),
    ] = None
    version: Annotated[
        str | None,
        Field(
            description="Column with the code version (9, ICD10, ...), or the version itself "
            "(ICD9, ICD10 or SNOMED) if all codes share it."
        ),
    ] = None
    patient: Annotated[
        str | None,
        Field(description="Column that identifies a patient; visit_id's where a row is a person."),
    ] = None
    age: Annotated[str | None, Field(description="Column with the age in years.")] = None
    sex: Annotated[str | None, Field(description="Column with F/M or female/male.")] = None
    weight: Annotated[str | None, Field(description="Column with sampling weights.")] = None
    stratum: Annotated[str | None, Field(description="Column with the stratum.")] = None
    psu: Annotated[str | None, Field(description="Column with the primary sampling unit.")] = None
    year: Annotated[str | None, Field(description="Column with the year.")] = None
    date: Annotated[str | None, Field(description="Column with the date of the visit.")] = None
    birth_date: Annotated[
        str | None, Field(description="Column with the date of birth; gives the age.")
    ] = None
    date_format: Annotated[
        str | None, Field(description="Format of dates, such as %d/%m/%Y, if values do not tell.")
    ] = None
    role: Annotated[str | None, Field(description="Column of codes with their role.")] = None
    position: Annotated[
        str | bool | None,
        Field(
            description="Column of codes with their position (1 is the principal diagnosis); true "
            "if codes are columns of visits, listed in their order."
        ),
    ] = None
    present_on_admission: Annotated[
        str | tuple[str, ...] | None,
        Field(description="Columns of present-on-admission flags, one per column of codes."),
    ] = None
    attributes: Annotated[
        tuple[str, ...] | None,
        Field(description="Further columns of visits for groups and features."),
    ] = None
    missing: Annotated[
        tuple[str, ...] | None,
        Field(description="Texts that mean a missing value in CSV and TSV files and sheets."),
    ] = None
    encoding: Annotated[
        str | None, Field(description="Encoding of CSV and TSV files, such as cp1252.")
    ] = None
    sheet: Annotated[str | None, Field(description="Sheet of a spreadsheet of visits.")] = None
    codes_sheet: Annotated[str | None, Field(description="Sheet of a spreadsheet of codes.")] = None
    labels: Annotated[
        bool | None,
        Field(description="Use value labels of Stata and SAS files for sex and attributes."),
    ] = None
    formats: Annotated[
        InputPath | None, Field(description="Value labels of SAS files: .sas7bcat, or CSV.")
    ] = None


def _load(
    connection: Connection, table: Any, name: str, columns: list[str], missing: Sequence[str],
    details: FileDetails,
) -> Fingerprint:  # fmt: skip
    columns = list(dict.fromkeys(columns))
    key = name.removeprefix("raw_")
    if isinstance(table, str | Path):
        path = require_file(table, key)
        file = load_table(connection, path, name, columns, missing=missing, details=details)
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
