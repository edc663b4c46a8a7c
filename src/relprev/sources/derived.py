"""Columns of a study's own, made of those of its source; true-or-false ones also record codes.

A derived column is used like any other: in rules, as groups, as features in bins. One that is true
or false is also a code, ``IS:`` and its name, so that it can be the condition or a control:

    condition = {name = "prediabetes", codes = ["IS:told"]}

    [derive]
    told = "DIQ160 == 1"

Expressions are those of `relprev.sources.expressions`; they may use derived columns that come
before them. What is missing records nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from relprev.codes.spelling import normalize
from relprev.errors import InvalidInputError
from relprev.sources.database import identifier, quoted
from relprev.sources.expressions import expression_sql
from relprev.sources.kinds import Kind
from relprev.sources.source import Source

DERIVED = Kind("derived", "IS", "columns that are true or false", ("derived",))
_numbers = itertools.count()


def with_derived(source: Source, columns: Mapping[str, str]) -> Source:
    """A source with further columns; the one given stays as it is.

    Parameters
    ----------
    source : Source
        Visits and codes.
    columns : mapping of name to expression
        In order: an expression may use the columns before it.

    Returns
    -------
    Source
        With the same visits, the columns and the codes of those that are true or false.

    Examples
    --------
    >>> import pandas as pd
    >>> from relprev.sources import read_tables
    >>> visits = pd.DataFrame({"id": [7, 8], "dx": ["R51", "R51"], "a1c": [6.0, 5.1]})
    >>> source = read_tables(visits, visit_id="id", code=["dx"], version="ICD10",
    ...                      attributes=["a1c"])
    >>> derived = with_derived(source, {"high": "a1c >= 5.7"})
    >>> derived.query("SELECT high FROM visits ORDER BY visit")
    [(True,), (False,)]
    >>> derived.query("SELECT visit, version, code FROM codes WHERE role = 'derived'")
    [(0, 'IS', 'HIGH')]
    """
    if not columns:
        return source
    schema = f"derived_{next(_numbers)}"
    types = {str(name): str(kind) for name, kind, *_ in source.query("DESCRIBE visits")}
    catalog, place = source.query("SELECT current_catalog(), current_schema()")[0]
    home = f"{identifier(catalog)}.{identifier(place)}"
    query, truths = f"SELECT * FROM {home}.visits", []
    for name, text in columns.items():
        if name.lower() in {known.lower() for known in types}:
            raise InvalidInputError(
                f"there is a column {name!r} already; give the new one another name"
            )
        try:
            made = expression_sql(text, types)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}: {error}") from None
        query = f"SELECT *, {made.text} AS {identifier(name)} FROM ({query})"
        types[name] = {"number": "DOUBLE", "text": "VARCHAR", "truth": "BOOLEAN"}[made.type]
        truths += [name] if made.type == "truth" else []
    cursor = source.connection.cursor()
    cursor.execute(f"CREATE SCHEMA {schema}")
    cursor.execute(f"CREATE VIEW {schema}.visits AS {query}")
    codes = [f"SELECT visit, version, code, role FROM {home}.codes"] + [
        f"SELECT visit, {quoted(DERIVED.prefix)}, {quoted(normalize(name))}, 'derived' "
        f"FROM {schema}.visits WHERE {identifier(name)}"
        for name in truths
    ]
    cursor.execute(f"CREATE VIEW {schema}.codes AS {' UNION ALL '.join(codes)}")
    cursor.execute(f"SET search_path = '{schema},{place}'")
    kinds = source.kinds if DERIVED in source.kinds else (*source.kinds, DERIVED)
    return replace(source, connection=cursor, kinds=kinds, roles=())
