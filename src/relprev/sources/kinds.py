"""Kinds of features that a source offers: diagnoses, reasons for visit, vital signs, ...

Every kind has its own roles in the ``codes`` table and a prefix, which is the version of its
codes there and begins the names of its features: the reason for visit 1050.1 is the code 10501
of the version RFV, and the feature ``RFV:10501``. Kinds travel through the same two tables as
diagnoses do, and a study names those that it wants:

    [features]
    kinds = ["diagnoses", "reasons", "vitals"]
    exclude = ["RFV:26250"]     # codes that name the condition itself

Kinds that a source has by default are always read, because the condition is recorded in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relprev.errors import InvalidInputError
from relprev.settings import suggestion


@dataclass(frozen=True)
class Kind:
    """A kind of features.

    Parameters
    ----------
    name : str
        In study files, such as ``"vitals"``.
    prefix : str
        Of its features in tables, such as ``"VITAL"``; several are separated by commas.
    words : str
        What it is, for reports and templates.
    roles : tuple of str
        Roles of its codes in the ``codes`` table; those of no other kind if empty.
    default : bool
        Whether it is read and used unless a study says otherwise.

    Examples
    --------
    >>> Kind("vitals", "VITAL", "vital signs at arrival", ("vital",)).default
    False
    """

    name: str
    prefix: str
    words: str
    roles: tuple[str, ...] = ()
    default: bool = False


DIAGNOSES = Kind("diagnoses", "ICD9, ICD10", "diagnoses", default=True)
CAUSES = Kind("causes", "ICD9, ICD10", "external causes of injury", ("cause",), default=True)


def read_kinds(names: Iterable[str], offered: Sequence[Kind]) -> tuple[Kind, ...]:
    """The kinds to read, in the order offered: those named and the defaults.

    Examples
    --------
    >>> vitals = Kind("vitals", "VITAL", "vital signs at arrival", ("vital",))
    >>> [kind.name for kind in read_kinds(["vitals"], [DIAGNOSES, vitals])]
    ['diagnoses', 'vitals']
    """
    wanted = require_known(names, offered)
    return tuple(kind for kind in offered if kind.default or kind.name in wanted)


def require_known(names: Iterable[str], offered: Sequence[Kind]) -> set[str]:
    """The names as a set; fails at the first that no kind has."""
    known = [kind.name for kind in offered]
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in known:
            raise InvalidInputError(f"kinds: got {name!r}; {suggestion(str(name), known)}")
    return set(wanted)


def kind_of_role(role: str | None, kinds: Sequence[Kind]) -> Kind:
    """The kind that claims a role; otherwise the first, which has all other roles.

    Examples
    --------
    >>> kind_of_role("cause", [DIAGNOSES, CAUSES]).name
    'causes'
    >>> kind_of_role("hospital", [DIAGNOSES, CAUSES]).name
    'diagnoses'
    """
    return next((kind for kind in kinds if role in kind.roles), kinds[0])
