"""Rules of a specification about visits: whom to include, and who was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import ConfigDict

from relprev.cohort.values import Value, are_numbers
from relprev.errors import InvalidInputError
from relprev.settings import SETTINGS


@dataclass(frozen=True)
class Include:
    """Keep visits whose ``column`` is in a range or among given values, and not missing.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    minimum, maximum : float, optional
        Ends of the range, both included.
    one_of : tuple of str
        Allowed values, compared as text.

    Examples
    --------
    >>> print(Include("age", minimum=18, maximum=64))
    age 18 or more and 64 or less
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    column: str
    minimum: float | None = None
    maximum: float | None = None
    one_of: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "one_of", tuple(str(value) for value in self.one_of))
        ends = [end for end in (self.minimum, self.maximum) if end is not None]
        if not are_numbers(ends):
            raise InvalidInputError(f"include {self.column!r}: minimum and maximum must be numbers")
        has_range = bool(ends)
        if has_range == bool(self.one_of):
            raise InvalidInputError(
                f"include {self.column!r}: give either minimum/maximum or one_of"
            )

    def __str__(self) -> str:
        if self.one_of:
            return f"{self.column} is {' or '.join(self.one_of)}"
        ends = [(self.minimum, "or more"), (self.maximum, "or less")]
        return f"{self.column} " + " and ".join(
            f"{end:g} {words}" for end, words in ends if end is not None
        )


@dataclass(frozen=True)
class Screening:
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

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

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
