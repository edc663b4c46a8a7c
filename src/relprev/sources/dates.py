"""Dates in columns of text, numbers or dates, recognised by what all values have in common.

A column is read with the one format that fits every value. 03/04/2019 is the third of April or
the fourth of March: some value must have a day beyond 12, or the study has to say it. 03/31/19
fits %m/%d/%Y as well, in the year 19: years before 1000 are not dates of visits or births.
"""

from __future__ import annotations

from relprev.errors import InvalidInputError
from relprev.sources.database import Connection, identifier, quoted

FORMATS = {  # as DuckDB writes them, and an example of each
    "%Y-%m-%d": "2019-03-31", "%Y/%m/%d": "2019/03/31", "%Y%m%d": "20190331",
    "%m/%d/%Y": "03/31/2019", "%d/%m/%Y": "31/03/2019", "%d.%m.%Y": "31.03.2019",
    "%m-%d-%Y": "03-31-2019", "%d-%m-%Y": "31-03-2019", "%d%b%Y": "31MAR2019",
    "%d-%b-%Y": "31-Mar-2019", "%d %b %Y": "31 Mar 2019", "%d %B %Y": "31 March 2019",
    "%b %d, %Y": "Mar 31, 2019", "%B %d, %Y": "March 31, 2019",
}  # fmt: skip
FIRST_YEAR = 1000
TIME = r"[T ]\d{1,2}:\d{2}.*$"  # after a date, dropped


def date_sql(
    connection: Connection, table: str, column: str, key: str, given: str | None = None
) -> str:
    """SQL for a column as dates; ``key`` names it in messages, ``given`` is its format if known.

    Examples
    --------
    >>> import duckdb
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("CREATE TABLE t AS SELECT unnest(['3/31/2019', '4/1/2019']) AS d")
    >>> day = date_sql(connection, "t", "d", "date")
    >>> connection.execute(f"SELECT min({day}) FROM t").fetchall()
    [(datetime.date(2019, 3, 31),)]
    """
    kinds = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {table}").fetchall()}
    name = identifier(column)
    if kinds[column].startswith(("DATE", "TIMESTAMP")):
        return f"{name}::DATE"
    text = f"nullif(regexp_replace(trim({name}::VARCHAR), {quoted(TIME)}, ''), '')"
    formats = [given] if given else list(FORMATS)
    parsed = [_parsed(text, form) for form in formats]
    total, *found = connection.execute(
        f"SELECT count({text}), {', '.join(f'count({sql})' for sql in parsed)} FROM {table}"
    ).fetchall()[0]
    fitting = [k for k, count in enumerate(found) if count == total]
    if not fitting:
        best = max(range(len(found)), key=found.__getitem__)
        raise InvalidInputError(
            _unfit(key, column, formats[best], total - found[best], total, bool(given))
        )
    if len(fitting) > 1 and total:
        same = " AND ".join(
            f"({parsed[k]}) IS NOT DISTINCT FROM ({parsed[fitting[0]]})" for k in fitting
        )
        if not connection.execute(f"SELECT bool_and({same}) FROM {table}").fetchall()[0][0]:
            options = " or ".join(f"{FORMATS[formats[k]]} ({formats[k]})" for k in fitting)
            raise InvalidInputError(
                f"{key}: column {column!r} may be written as {options}, and no value tells which; "
                "give date_format"
            )
    return f"({parsed[fitting[0]]})::DATE"


def _parsed(text: str, form: str) -> str:
    day = f"try_strptime({text}, {quoted(form)})"
    return f"CASE WHEN year({day}) >= {FIRST_YEAR} THEN {day} END"


def _unfit(key: str, column: str, form: str, unfit: int, total: int, given: bool) -> str:
    if unfit == total and given:
        return (
            f"{key}: column {column!r} holds no dates in the format {form!r}; correct date_format"
        )
    if unfit == total:
        return (
            f"{key}: column {column!r} holds no dates in a known format, such as 2019-03-31, "
            "03/31/2019 or 31MAR2019; give date_format, such as '%m/%d/%y'"
        )
    like = FORMATS.get(form, form)
    return (
        f"{key}: {unfit:,} of {total:,} values of column {column!r} are not dates like {like}; "
        "correct them, leave them empty, or give date_format"
    )
