"""Find NHANES transport files in a folder and merge them by respondent.

A file is called by its component and cycle: ``BPX_I.XPT``, ``DEMO.XPT`` (1999-2000), ``P_DEMO.XPT``
(2017 to March 2020). Components are stacked over cycles and joined to DEMO; a variable that several
components have, because it moved between them, is taken from whichever has a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from relprev.errors import InvalidInputError
from relprev.settings import suggestion
from relprev.sources.database import Connection, column_names, identifier, require_unique
from relprev.sources.fingerprint import Fingerprint
from relprev.sources.formats import load_table

PERSON = "SEQN"
DEMOGRAPHICS = "DEMO"
NAME = re.compile(r"(?P<early>P_)?(?P<component>.+?)(?P<cycle>_[A-Z])?\.xpt", re.IGNORECASE)


def component_of(file: Path) -> str:
    """The component that a file holds.

    Examples
    --------
    >>> [component_of(Path(name)) for name in ("BPX_I.XPT", "ALB_CR_G.xpt", "P_DEMO.XPT")]
    ['BPX', 'ALB_CR', 'DEMO']
    """
    found = NAME.fullmatch(file.name)
    return found["component"].upper() if found else file.stem.upper()


def load_components(
    connection: Connection, folder: Path, components: Sequence[str]
) -> list[Fingerprint]:
    """Merge the components of a folder into the table ``raw``, one row per person."""
    files = _wanted(folder, components)
    tables: dict[str, list[str]] = {}
    data = []
    for number, file in enumerate(files):
        table = f"file_{number}"
        data.append(load_table(connection, file, table))
        if PERSON not in column_names(connection, table):
            raise InvalidInputError(f"{file.name} has no variable {PERSON}; is it from NHANES?")
        _require_one_row(connection, table, file)
        tables.setdefault(component_of(file), []).append(table)
    for component, parts in tables.items():
        stacked = " UNION ALL BY NAME ".join(f"SELECT * FROM {table}" for table in parts)
        connection.execute(f"CREATE TABLE {_table(component)} AS {stacked}")
    require_unique(connection, _table(DEMOGRAPHICS), PERSON, "the DEMO files")
    _require_known(connection, files)
    _join(connection, list(tables))
    for number in range(len(files)):
        connection.execute(f"DROP TABLE file_{number}")
    for component in tables:
        connection.execute(f"DROP TABLE {_table(component)}")
    return data


def _wanted(folder: Path, components: Sequence[str]) -> list[Path]:
    """The files to read, demographics first."""
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".xpt")
    if not files:
        raise InvalidInputError(
            f"path: the folder {folder} has no transport files (.XPT); download the components of "
            "a cycle into it, or name a single file with all variables"
        )
    found = list(dict.fromkeys(map(component_of, files)))
    wanted = [DEMOGRAPHICS, *(name.upper() for name in components)] if components else found
    for name in (DEMOGRAPHICS, *wanted):
        if name not in found:
            raise InvalidInputError(
                f"there is no file of the component {name} in the folder {folder}; "
                f"{suggestion(name, found)}"
            )
    chosen = [file for file in files if component_of(file) in wanted]
    return sorted(chosen, key=lambda file: component_of(file) != DEMOGRAPHICS)


def _require_one_row(connection: Connection, table: str, file: Path) -> None:
    rows, people = connection.execute(
        f"SELECT count(*), count(DISTINCT {PERSON}) FROM {table}"
    ).fetchall()[0]
    if people < rows:
        raise InvalidInputError(
            f"{file.name} has more than one row per person ({PERSON}), and cannot be merged; name "
            "the components to read, without this one"
        )


def _require_known(connection: Connection, files: Sequence[Path]) -> None:
    """Everybody in a file must be in a demographics file, which has weights and design."""
    for number, file in enumerate(files):
        (strangers,) = connection.execute(f"""
            SELECT count(*) FROM file_{number} ANTI JOIN {_table(DEMOGRAPHICS)} USING ({PERSON})
        """).fetchall()[0]
        if strangers:
            raise InvalidInputError(
                f"{file.name} has people who are in no DEMO file, and so have no weights; add the "
                "DEMO file of their cycle, or remove this file"
            )


def _join(connection: Connection, components: Sequence[str]) -> None:
    holders: dict[str, list[str]] = {}
    for component in components:
        for name in column_names(connection, _table(component)):
            if name != PERSON:
                holders.setdefault(name.upper(), []).append(component)
    picked = []
    for name, held in holders.items():
        values = [f"{_table(component)}.{identifier(name)}" for component in held]
        sql = values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"
        picked.append(f"{sql} AS {identifier(name)}")
    joins = "".join(
        f" LEFT JOIN {_table(component)} USING ({PERSON})"
        for component in components
        if component != DEMOGRAPHICS
    )
    connection.execute(
        f"CREATE TABLE raw AS SELECT {PERSON}, {', '.join(picked)} "
        f"FROM {_table(DEMOGRAPHICS)}{joins}"
    )


def _table(component: str) -> str:
    return identifier(f"component_{component}")
