"""The codes of `relprev.sources.read_tables`: one row per code, its version, its role.

A code's role says where it stood. Without further columns it is ``diagnosis``; by position it is
``principal`` or ``secondary``; and where a present-on-admission flag says that it arose later,
``(arisen later)`` is added, as in ``secondary (arisen later)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from relprev.codes.spelling import normalize_sql, version_name
from relprev.codes.zeros import REMEDY, restored_zeros, zeros_in_doubt
from relprev.errors import DataWarning, InvalidInputError
from relprev.messages import Message, Number
from relprev.sources.database import Connection, identifier, quoted
from relprev.sources.spreadsheets import has_number_cells

MOST_VERSIONS = 100
PRESENT = ("Y", "W", "1", "E", "YES", "TRUE", "T")  # W: cannot be determined, 1 and E: exempt
LATER = ("N", "U", "0", "NO", "FALSE", "F")  # U: documentation does not say
LATER_WORDS = " (arisen later)"
IN_DOUBT = (
    "code: no ICD-9 code begins with 0, and some are complete only with a zero in front, as if a "
    "spreadsheet had taken it away (389 may be 389, hearing loss, or 038.9, septicemia); if so, "
    "{remedy}"
)


@dataclass(frozen=True)
class Roles:
    """Where the roles of codes come from.

    Parameters
    ----------
    role : str, optional
        Column of the codes table with the role itself.
    position : str or bool, optional
        Column of the codes table with the position, or True if codes are columns in their order.
    present : tuple of str
        Present-on-admission columns: one per column of codes, or none.
    """

    role: str | None = None
    position: str | bool | None = None
    present: tuple[str, ...] = ()

    def require_fit(self, code_columns: Sequence[str], in_visits: bool) -> None:
        """Fail if these keys do not go with codes in a table of their own, or in columns."""
        if self.present and len(self.present) != len(code_columns):
            raise InvalidInputError(
                f"present_on_admission: expected as many columns as code has ({len(code_columns)}),"
                f" in the same order, got {len(self.present)}"
            )
        if in_visits and (self.role or isinstance(self.position, str)):
            key = "role" if self.role else "position"
            raise InvalidInputError(
                f"{key} names a column of the codes table, but the codes are columns of visits; "
                "give position = true if they are listed in their order, or leave it out"
            )
        if not in_visits and isinstance(self.position, bool):
            raise InvalidInputError("position: give the column of the codes table that holds it")
        if self.role and self.position:
            raise InvalidInputError("role and position both say what a code's role is; give one")

    @property
    def differ(self) -> bool:
        """Whether codes in columns have different roles."""
        return bool(self.position or self.present)

    def columns(self) -> list[str]:
        """The columns it needs."""
        own = [self.role, self.position if isinstance(self.position, str) else None]
        return [*(name for name in own if name), *self.present]

    def sql(self, number: int) -> str:
        """SQL for the role of the code in the column of this number, counted from 0."""
        if self.role:
            base = f"{identifier(self.role)}::VARCHAR"
        elif isinstance(self.position, str):
            first = f"try_cast(try_cast({identifier(self.position)} AS DOUBLE) AS INTEGER) = 1"
            base = f"CASE WHEN {first} THEN 'principal' ELSE 'secondary' END"
        elif self.position:
            base = "'principal'" if number == 0 else "'secondary'"
        else:
            base = "'diagnosis'"
        if not self.present:
            return base
        later = f"{_flag(self.present[number])} IN ({', '.join(map(quoted, LATER))})"
        return f"{base} || CASE WHEN {later} THEN {quoted(LATER_WORDS)} ELSE '' END"

    def require_flags(self, connection: Connection, table: str) -> None:
        """Refuse present-on-admission flags of unknown meaning."""
        allowed = ", ".join(map(quoted, (*PRESENT, *LATER, "")))
        for column in self.present:
            strange = connection.execute(
                f"SELECT count(*) FROM {table} WHERE {_flag(column)} NOT IN ({allowed})"
            ).fetchall()[0][0]
            if strange:
                raise InvalidInputError(
                    f"present_on_admission: {strange:,} rows of column {column!r} hold something "
                    f"else than {', '.join(PRESENT)} (present) or {', '.join(LATER)} (arisen "
                    "later); recode them, or leave the cells empty"
                )


def _flag(column: str) -> str:
    return f"upper(trim({identifier(column)}::VARCHAR))"


def lengthen(
    connection: Connection, visit_id: str, columns: Sequence[str], others: Sequence[str],
    roles: Roles,
) -> None:  # fmt: skip
    """Turn columns of codes into the table ``raw_codes``, with one row per code (and its role)."""
    kept = ", ".join(identifier(column) for column in (visit_id, *others))
    listed = ", ".join(f"{identifier(column)}::VARCHAR" for column in columns)
    unnested = [f"unnest([{listed}]) AS code"]
    if roles.differ:
        each = ", ".join(roles.sql(k) for k in range(len(columns)))
        unnested.append(f"unnest([{each}]) AS role")
    connection.execute(
        f"CREATE TABLE raw_codes AS SELECT {kept}, {', '.join(unnested)} FROM raw_visits"
    )


def make_codes(
    connection: Connection, visit_id: str, code: str, version_sql: str, role_sql: str,
    from_numbers: bool,
) -> None:  # fmt: skip
    """Create the table ``codes`` from ``raw_codes`` and ``visits``."""
    _name_versions(connection, version_sql, code)
    text = f"{identifier(code)}::VARCHAR"
    if _restore_zeros(connection, code, version_sql, from_numbers):
        text = f"coalesce(z.full_code, {text})"
        restored = f"LEFT JOIN zeros z ON z.raw = {identifier(code)}::VARCHAR"
        restored += f" AND {version_sql} IN (SELECT raw FROM versions WHERE name = 'ICD9')"
    else:
        restored = ""
    connection.execute(f"""
        CREATE TABLE codes AS SELECT v.visit, n.name AS version, r.code, r.role
        FROM (
            SELECT {identifier(visit_id)} AS visit_id, {version_sql} AS raw_version,
                   {normalize_sql(text)} AS code, {role_sql} AS role
            FROM raw_codes {restored}
        ) r
        JOIN visits v USING (visit_id) JOIN versions n ON n.raw = r.raw_version
        WHERE r.code <> ''
    """)


def holds_numbers(connection: Connection, table: str, columns: Sequence[str]) -> bool:
    """Whether one of the columns held whole numbers, in the file or in cells of a spreadsheet."""
    kinds = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {table}").fetchall()}
    whole = any("INT" in kinds[column] for column in columns)
    return whole or has_number_cells(connection, columns)


def _restore_zeros(connection: Connection, code: str, version_sql: str, from_numbers: bool) -> bool:
    """Create the table ``zeros`` of ICD-9 codes that lost theirs; False if none did."""
    found = connection.execute("SELECT count(*) FROM versions WHERE name = 'ICD9'").fetchall()
    if not found[0][0]:
        return False
    text = f"{identifier(code)}::VARCHAR"
    different = connection.execute(
        f"SELECT DISTINCT {text} FROM raw_codes JOIN versions ON raw = {version_sql} "
        f"WHERE name = 'ICD9' AND {text} <> ''"
    ).fetchall()
    codes = [value for (value,) in different]
    try:
        full = restored_zeros(codes, from_numbers=from_numbers)
    except InvalidInputError as error:
        raise InvalidInputError(f"code: {error}") from None
    if not full:
        if zeros_in_doubt(codes):
            warnings.warn(DataWarning(Message(IN_DOUBT, remedy=REMEDY)), stacklevel=4)
        return False
    connection.execute("CREATE TEMP TABLE zeros (raw VARCHAR, full_code VARCHAR)")
    connection.executemany("INSERT INTO zeros VALUES (?, ?)", [
        (value, full[value.strip()]) for value in codes if value.strip() in full
    ])  # fmt: skip
    words = (
        "code: {n} different ICD-9 codes had lost leading zeros (38.9 instead of 038.9), as "
        "spreadsheets do to numbers; they were put back. Zeros at the end (250.00) cannot be"
    )
    warnings.warn(DataWarning(Message(words, n=Number(len(full), ",d"))), stacklevel=4)
    return True


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
