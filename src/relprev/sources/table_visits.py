"""The visits of `relprev.sources.read_tables`: columns under their canonical names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relprev.errors import InvalidInputError
from relprev.sources.database import Connection, identifier, quoted
from relprev.sources.dates import date_sql
from relprev.sources.source import DATE

SEX_WORDS = {"F": ("f", "female", "woman"), "M": ("m", "male", "man")}
KINDS = {"age": "INTEGER", "year": "INTEGER", "weight": "DOUBLE"}


def make_visits(
    connection: Connection,
    visit_id: str,
    named: Mapping[str, str | None],
    attributes: Sequence[str],
    dates: Mapping[str, str | None],
    date_format: str | None,
) -> None:
    """Create the table ``visits`` from ``raw_visits``.

    ``dates`` maps the keys date and birth_date to columns or None; years and ages follow.
    """
    derived = _derived(connection, named, dates, date_format)
    columns = ["row_number() OVER () - 1 AS visit", f"{identifier(visit_id)} AS visit_id"]
    for name, column in named.items():
        if name in derived:
            columns.append(f"({derived[name]})::INTEGER AS {name}")
        elif column is None:
            columns.append(
                f"NULL::{'VARCHAR' if name == 'sex' else KINDS.get(name, 'BIGINT')} AS {name}"
            )
        elif name == "sex":
            columns.append(f"{sex_sql(identifier(column))} AS sex")
        elif name in KINDS:
            columns.append(f"try_cast({identifier(column)} AS {KINDS[name]}) AS {name}")
        else:
            columns.append(f"{_present(column)} AS {name}")
    columns += [f"{_present(column)} AS {identifier(column)}" for column in attributes]
    if dates["date"] and DATE not in map(str.lower, attributes):
        when = date_sql(connection, "raw_visits", str(dates["date"]), "date", date_format)
        columns.append(f"{when} AS {DATE}")
    connection.execute(f"CREATE TABLE visits AS SELECT {', '.join(columns)} FROM raw_visits")
    _refuse_text(connection, named)


def _derived(
    connection: Connection, named: Mapping[str, str | None], dates: Mapping[str, str | None],
    date_format: str | None,
) -> dict[str, str]:  # fmt: skip
    """SQL for year and age, where they follow from dates."""
    day, born = dates["date"], dates["birth_date"]
    if born and (not day or named["age"]):
        raise InvalidInputError(
            "birth_date gives the age at the date of the visit: give date, and no age"
        )
    if not day:
        return {}
    when = date_sql(connection, "raw_visits", day, "date", date_format)
    derived = {} if named["year"] else {"year": f"year({when})"}
    if born:
        birth = date_sql(connection, "raw_visits", born, "birth_date", date_format)
        wrong = connection.execute(
            f"SELECT count(*) FROM raw_visits WHERE {birth} > {when}"
        ).fetchall()[0][0]
        if wrong:
            raise InvalidInputError(
                f"birth_date: {wrong:,} visits are dated before the birth; are {born!r} and "
                f"{day!r} the right columns, and is their format right?"
            )
        derived["age"] = f"datesub('year', {birth}, {when})"
    return derived


def _refuse_text(connection: Connection, named: Mapping[str, str | None]) -> None:
    """Refuse ages and years of which none is a number, and sexes of which none is F or M.

    Every visit would lack one.
    """
    given = {key: named[key] for key in ("age", "year", "sex") if named[key]}
    for key, column in given.items():
        if connection.execute(f"SELECT count({key}) FROM visits").fetchall()[0][0]:
            continue
        text = f"nullif(trim({identifier(str(column))}::VARCHAR), '')"
        known, numbers = connection.execute(
            f"SELECT count({text}), count(try_cast({text} AS DOUBLE)) FROM raw_visits"
        ).fetchall()[0]
        if known and key == "sex":
            raise InvalidInputError(
                f"sex: column {column!r} holds neither F nor M (female, male); recode it, or name "
                "it under attributes, as it is"
            )
        if known and not numbers:
            instead = "date" if key == "year" else "birth_date"
            raise InvalidInputError(
                f"{key}: column {column!r} holds no numbers; give it as a number of years, or a "
                f"column of dates under {instead}"
            )


def _present(column: str) -> str:
    """The column with blank text as NULL."""
    name = identifier(column)
    return f"CASE WHEN trim({name}::VARCHAR) <> '' THEN {name} END"


def sex_sql(column: str) -> str:
    """SQL that turns words for the sexes into F and M."""
    cases = " ".join(
        f"WHEN lower(trim({column}::VARCHAR)) IN ({', '.join(map(quoted, words))}) THEN '{sex}'"
        for sex, words in SEX_WORDS.items()
    )
    return f"CASE {cases} END"
