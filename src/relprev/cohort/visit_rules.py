"""Rules of a specification about visits: whom to include, who is a case, who was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from relprev.codes import CodePattern
from relprev.cohort.values import Value, are_numbers
from relprev.errors import InvalidInputError
from relprev.matrix.coerce import listed
from relprev.settings import Declared


@dataclass(frozen=True)
class Include(Declared):
    """Keep visits whose ``column`` is in a range or among given values, or that have given codes.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``; a visit where it is missing does not meet the rule.
    minimum, maximum : float, optional
        Ends of the range, both included.
    one_of : tuple of str
        Allowed values, compared as text.
    codes : tuple of str
        Instead of a column: patterns such as ``"ICD10:O*"``, of which a visit must have one.
    lookback_days : int, optional
        With codes: it is enough if a visit of the same patient up to so many days before has one.

    Examples
    --------
    >>> print(Include("age", minimum=18, maximum=64))
    age 18 or more and 64 or less
    >>> print(Include(codes=("ICD10:O*",), lookback_days=280))
    a code of ICD10:O* in the visit or the 280 days before
    """

    key: ClassVar[str] = "include"

    column: str = ""
    minimum: float | None = None
    maximum: float | None = None
    one_of: tuple[Value, ...] = ()
    codes: tuple[str, ...] = ()
    lookback_days: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "one_of", tuple(str(value) for value in self.one_of))
        object.__setattr__(self, "codes", tuple(self.codes))
        ends = [end for end in (self.minimum, self.maximum) if end is not None]
        if not are_numbers(ends):
            raise InvalidInputError(
                f"{self.key} {self.column!r}: minimum and maximum must be numbers"
            )
        if bool(self.codes) == bool(self.column):
            raise InvalidInputError(f"{self.key}: give either column or codes")
        if self.codes:
            self._check_codes(has_values=bool(ends or self.one_of))
        elif bool(ends) == bool(self.one_of):
            raise InvalidInputError(
                f"{self.key} {self.column!r}: give either minimum/maximum or one_of"
            )
        elif self.lookback_days is not None:
            raise InvalidInputError(
                f"{self.key} {self.column!r}: lookback_days goes with codes; give "
                "codes, or leave it out"
            )

    def _check_codes(self, *, has_values: bool) -> None:
        for text in self.codes:
            CodePattern.parse(text)
        if has_values:
            raise InvalidInputError(
                f"{self.key}: minimum, maximum and one_of go with a column; "
                "give that, or codes alone"
            )
        if self.lookback_days is not None and self.lookback_days < 1:
            raise InvalidInputError(
                f"{self.key}: lookback_days must be 1 or more, got {self.lookback_days}"
            )

    def __str__(self) -> str:
        if self.codes:
            before = f" or the {self.lookback_days:,} days before" if self.lookback_days else ""
            return f"a code of {listed(list(self.codes))} in the visit{before}"
        if self.one_of:
            return f"{self.column} {' or '.join(self.one_of)}"
        ends = [(self.minimum, "or more"), (self.maximum, "or less")]
        return f"{self.column} " + " and ".join(
            f"{end:g} {words}" for end, words in ends if end is not None
        )


@dataclass(frozen=True)
class Exclude(Include):
    """Leave out visits that an `Include` of the same settings would keep.

    A visit where the column is missing stays.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    minimum, maximum : float, optional
        Ends of the range, both left out.
    one_of : tuple of str
        Values to leave out, compared as text.
    codes : tuple of str
        Instead of a column: patterns of codes, of which a visit must have none.
    lookback_days : int, optional
        With codes: nor may a visit of the same patient up to so many days before.

    Examples
    --------
    >>> print(Exclude(codes=("ICD10:O*",)))
    not: a code of ICD10:O* in the visit
    """

    key: ClassVar[str] = "exclude"

    def __str__(self) -> str:
        return f"not: {super().__str__()}"


def population(units: str, include: Sequence[Include], exclude: Sequence[Exclude]) -> str:
    """Whom the rules leave, in words.

    Examples
    --------
    >>> adults, pregnancy = Include("age", minimum=18), Exclude(codes=("ICD10:O*",))
    >>> population("visits", [Include("sex", one_of=("F",)), adults], [pregnancy])
    'visits with sex F and age 18 or more, without a code of ICD10:O* in the visit'
    """
    kept = f" with {' and '.join(map(str, include))}" if include else ""
    left = " or ".join(Include.__str__(rule) for rule in exclude)
    return f"{units}{kept}{',' if kept else ''} without {left}" if left else f"{units}{kept}"


@dataclass(frozen=True)
class Case(Declared):
    """When a visit counts as diagnosed. By default, one code of the condition is enough.

    Parameters
    ----------
    roles : tuple of str
        Only codes with these roles count, such as ``"principal"``; which roles there are depends
        on the source. If empty, all do.
    min_codes : int
        Different codes of the condition that a visit must have.
    min_visits : int
        Visits with such codes that the patient must have, this one included.
    within_days : int, optional
        The other visits must lie within so many days of this one, before or after.
    later_days : int, optional
        A visit counts as well if a later visit of the patient, within so many days, does.

    Examples
    --------
    >>> print(Case(roles=("principal",), min_visits=2, within_days=365))
    a principal code, in 2 visits within 365 days of one another
    """

    roles: tuple[str, ...] = ()
    min_codes: int = 1
    min_visits: int = 1
    within_days: int | None = None
    later_days: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "roles", tuple(self.roles))
        for name in ("min_codes", "min_visits", "within_days", "later_days"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or value < 1):
                raise InvalidInputError(f"case: {name} must be 1 or more, got {value}")
        if self.within_days is not None and self.min_visits == 1:
            raise InvalidInputError("case: within_days goes with min_visits; give 2 or more")

    def __str__(self) -> str:
        role = f"{' or '.join(self.roles)} " if self.roles else ""
        number = "a" if self.min_codes == 1 else f"{self.min_codes}"
        words = f"{number} {role}code{'s' * (self.min_codes > 1)}"
        if self.min_visits > 1:
            words += f", in {self.min_visits} visits"
            words += f" within {self.within_days:,} days of one another" if self.within_days else ""
        if self.later_days:
            words += f", or if such a visit followed within {self.later_days:,} days"
        return words


@dataclass(frozen=True)
class Screening(Declared):
    """Who was looked at for the condition, where a column says so.

    A visit without a diagnosis may have been looked at, and the condition not found or not
    recorded, or not looked at. The second is kept apart from the first: counted, and left out
    if the study says so.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    one_of : tuple of str
        Values that mean "looked at", compared as text and regardless of case. Default: 1, yes,
        y and true.
    not_tested : "keep" or "drop"
        What to do with visits that were not looked at, or of which it is not known. Dropped
        visits are a step of the attrition.

    Examples
    --------
    >>> print(Screening("screened", not_tested="drop"))
    looked at for the condition (screened)
    """

    column: str
    one_of: tuple[Value, ...] = ("1", "1.0", "yes", "y", "true")
    not_tested: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        object.__setattr__(self, "one_of", tuple(str(value) for value in self.one_of))
        if not self.one_of:
            raise InvalidInputError(f"tested {self.column!r}: one_of must name a value")
        if self.not_tested not in ("keep", "drop"):
            raise InvalidInputError(f"not_tested must be 'keep' or 'drop', got {self.not_tested!r}")

    def __str__(self) -> str:
        return f"looked at for the condition ({self.column})"
