"""Database addresses may hold passwords, so they are never shown, logged or stored.

People write them in many ways: ``postgresql://me:secret@host/db``, in upper case, with a
driver name, as ``host=... password=...``, in an environment variable, or where a path belongs.
Anything that might be an address is treated as one.
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
    """Whether a text may be a database address, once environment variables are expanded.

    Examples
    --------
    >>> [is_address(text) for text in ("POSTGRES://host", "host=db password=x", "data/omop")]
    [True, True, False]
    """
    return isinstance(text, str | Path) and bool(_ADDRESS.search(os.path.expandvars(str(text))))


def postgres_address(text: str) -> str | None:
    """The address as libpq expects it; None if it belongs to another kind of database.

    Examples
    --------
    >>> postgres_address("PostgreSQL+psycopg2://host/db"), postgres_address("mysql://host/db")
    ('postgresql://host/db', None)
    """
    if _POSTGRES_URL.match(text):
        return _POSTGRES_URL.sub("postgresql://", text, count=1)
    return None if "://" in text or not is_address(text) else text


def shown(path: str | Path) -> str:
    """A path as messages may show it.

    Examples
    --------
    >>> shown("data/omop"), shown("postgresql://me:secret@host/db")
    ('data/omop', '(a database address, not shown)')
    """
    return SHOWN if is_address(path) else str(path)
