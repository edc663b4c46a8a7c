"""Addresses of databases, which hold passwords: never shown, logged or kept.

People write them in many ways: ``postgresql://me:secret@host/db``, with a driver's name or
in upper case, as ``host=... password=...``, behind a variable, or where a path belongs.
Whatever may be one is treated as one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

SHOWN = "(a database address, not shown)"
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]+:/"  # postgresql://, also as a path that lost a slash
    r"|:.*@"  # user:password@
    r"|(?:^|[\s;/])(?:password|passwd|pwd|passfile)\s*="
    r"|(?:^|[\s;])(?:user|host|hostaddr|port|dbname|service|sslmode)\s*=",
    re.IGNORECASE,
)
_POSTGRES_URL = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)


def is_address(text: object) -> bool:
    """Whether a text may be a database's address, variables in it expanded.

    Examples
    --------
    >>> [is_address(text) for text in ("POSTGRES://host", "host=db password=x", "data/omop")]
    [True, True, False]
    """
    return isinstance(text, str | Path) and bool(_ADDRESS.search(os.path.expandvars(str(text))))


def postgres_address(text: str) -> str | None:
    """The address as PostgreSQL's own library spells it; None if it is of another kind.

    Examples
    --------
    >>> postgres_address("PostgreSQL+psycopg2://host/db"), postgres_address("mysql://host/db")
    ('postgresql://host/db', None)
    """
    if _POSTGRES_URL.match(text):
        return _POSTGRES_URL.sub("postgresql://", text, count=1)
    return None if "://" in text or not is_address(text) else text


def shown(path: str | Path) -> str:
    """A path as a message may show it.

    Examples
    --------
    >>> shown("data/omop"), shown("postgresql://me:secret@host/db")
    ('data/omop', '(a database address, not shown)')
    """
    return SHOWN if is_address(path) else str(path)
