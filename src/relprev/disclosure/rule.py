"""The rule that says which counts may be shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from relprev.errors import InvalidInputError
from relprev.settings import Declared


@dataclass(frozen=True)
class Rule(Declared):
    """Counts of few people are hidden, with all that would reveal them.

    Parameters
    ----------
    threshold : int
        Counts of 1 up to this many people are hidden.
    round_to : int
        Counts that are shown are rounded to a multiple of this, and statistics to the digits that
        such counts support; 0: no rounding. OpenSAFELY asks for a threshold of 7, rounding to 5.
    hide : bool
        False shows every count.

    Examples
    --------
    >>> rule = Rule(threshold=7, round_to=5)
    >>> rule.is_small(7), rule.is_small(8), rule.is_small(0), rule.rounded(1203)
    (True, False, False, 1205)
    >>> Rule(hide=False, round_to=5).words
    'Counts are rounded to multiples of 5.'
    """

    threshold: Annotated[
        int, Field(ge=1, le=1000, description="Counts of 1 up to this many people are hidden.")
    ] = 10
    round_to: Annotated[
        int, Field(ge=0, le=1000, description="Shown counts are multiples of this; 0: exact.")
    ] = 0
    hide: Annotated[bool, Field(description="Hide small counts and what reveals them.")] = True

    def __post_init__(self) -> None:
        for name, least in (("threshold", 1), ("round_to", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 1000:
                raise InvalidInputError(
                    f"{name} must be a whole number from {least} to 1000, got {value!r}"
                )

    @property
    def words(self) -> str:
        """What readers are told about the rule; empty where every count is shown as it is."""
        hidden = f"Counts of 1 to {self.threshold} people, and what would reveal them, are hidden."
        rounded = f"Counts are rounded to multiples of {self.round_to}."
        said = [*([hidden] if self.hide else []), *([rounded] if self.round_to else [])]
        return " ".join(said)

    def is_small(self, people: float) -> bool:
        """Whether a count of this many people, which need not be a whole number, must be hidden."""
        return self.hide and 0 < people < self.threshold + 1

    def rounded(self, count: float) -> float:
        """A count as it is shown: the nearest multiple of ``round_to``, or the count itself."""
        if not self.round_to or math.isnan(count):
            return count
        return self.round_to * math.floor(count / self.round_to + 0.5)

    def coarse(self, value: float, count: float) -> float:
        """A statistic, rounded to tell no more about ``count`` than the rounded count does.

        ``count`` is the smallest count that the statistic rests on; NaN, where it is not known,
        tells as little as one of few.

        Examples
        --------
        >>> Rule(round_to=5).coarse(1.23456, 40), Rule(round_to=5).coarse(1.23456, 40_000)
        (1.0, 1.235)
        """
        if not self.round_to or not math.isfinite(value) or value == 0:
            return value
        known = self.round_to if math.isnan(count) else max(count, self.round_to)
        step = abs(value) * self.round_to / known
        return round(value, -math.ceil(math.log10(step)))
