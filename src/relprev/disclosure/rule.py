"""Which counts may be shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from relprev.errors import InvalidInputError
from relprev.settings import SETTINGS


@dataclass(frozen=True)
class Rule:
    """Counts of few people are hidden, with all that would reveal them.

    Parameters
    ----------
    threshold : int
        Counts of 1 up to this many people are hidden.
    round_to : int
        Counts that are shown are rounded to a multiple of this, statistics to what such counts
        can tell; 0 for none. OpenSAFELY asks for a threshold of 7 and rounding to 5.
    hide : bool
        False shows every count.

    Examples
    --------
    >>> rule = Rule(threshold=7, round_to=5)
    >>> rule.is_small(7), rule.is_small(8), rule.is_small(0), rule.rounded(1203)
    (True, False, False, 1205)
    >>> rule.words
    'Counts of 1 to 7 people, and what would reveal them, are hidden and shown as a dash (–). ...'
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

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
        """What a reader is told of the rule; nothing where every count is shown as it is."""
        hidden = (
            f"Counts of 1 to {self.threshold} people, and what would reveal them, are hidden and "
            "shown as a dash (–)."
        )
        rounded = f"Counts are rounded to multiples of {self.round_to}."
        said = [*([hidden] if self.hide else []), *([rounded] if self.round_to else [])]
        return " ".join(said)

    def is_small(self, people: float) -> bool:
        """Whether a count must be hidden.

        Parameters
        ----------
        people : float
            How many people it is of; effective numbers need not be whole.

        Returns
        -------
        bool
            True from above 0 to the threshold, unless all is shown.
        """
        return self.hide and 0 < people < self.threshold + 1

    def rounded(self, count: float) -> float:
        """A count as it is shown.

        Parameters
        ----------
        count : float
            Of people, visits or cases.

        Returns
        -------
        float
            A multiple of ``round_to``, or the count itself.
        """
        if not self.round_to or math.isnan(count):
            return count
        return self.round_to * math.floor(count / self.round_to + 0.5)

    def coarse(self, value: float, count: float) -> float:
        """A statistic that tells no more of a count than its rounding does.

        Parameters
        ----------
        value : float
            Such as a ratio of recorded rates.
        count : float
            The smallest count it rests on.

        Returns
        -------
        float
            To so many digits that it changes where the count changes by ``round_to``.

        Examples
        --------
        >>> Rule(round_to=5).coarse(1.23456, 40), Rule(round_to=5).coarse(1.23456, 40_000)
        (1.0, 1.235)
        """
        if not self.round_to or not math.isfinite(value) or value == 0:
            return value
        step = abs(value) * self.round_to / max(count, self.round_to)
        return round(value, -math.ceil(math.log10(step)))
