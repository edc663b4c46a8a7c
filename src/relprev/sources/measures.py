"""Numbers measured at a visit as features: vital signs and pain, in bins.

A measure has levels, each from the end of the one before up to its own. The level called NORMAL
is the reference and gets no feature; nor does a number that is missing or outside the limits of
what can be measured. So the feature ``VITAL:HEART_RATE_HIGH`` is 1 for a heart rate of 91 to 110
and 0 for a normal, lower, higher or missing one.

Levels of vital signs are those of the National Early Warning Score (NEWS2, Royal College of
Physicians, 2017), which are meant for adults, with the stages of hypertension added to blood
pressure. Temperatures are in degrees Fahrenheit; those from 25 to 45 are taken for Celsius.
A study with other bins, or without any, uses the numbers themselves, as ``[[features.extra]]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from relprev.sources.database import quoted
from relprev.sources.kinds import Kind

REFERENCE = "NORMAL"
CELSIUS = (25, 45)


@dataclass(frozen=True)
class Measure:
    """A number with its levels.

    Parameters
    ----------
    name : str
        Column of ``visits``.
    words, unit : str
        For descriptions.
    limits : (float, float)
        Smallest and largest number that is not a mistake or a code for missing.
    levels : tuple of (str, float)
        Names of the levels, in order, with the number at which each ends (not included).
    stem : str, optional
        Beginning of its codes. Default: the name in upper case.

    Examples
    --------
    >>> levels = (("NORMAL", 1), ("MILD", 4), ("SEVERE", inf))
    >>> pain = Measure("pain", "pain", "of 10", (0, 10), levels)
    >>> pain.codes()
    {'PAIN_MILD': 'Pain 1 to under 4 of 10', 'PAIN_SEVERE': 'Pain 4 of 10 or more'}
    """

    name: str
    words: str
    unit: str
    limits: tuple[float, float]
    levels: tuple[tuple[str, float], ...]
    stem: str | None = None

    def _code(self, level: str) -> str:
        return (f"{self.name.upper()}_" if self.stem is None else self.stem) + level

    def codes(self) -> dict[str, str]:
        """Codes of all levels but the reference, with their descriptions."""
        found, start = {}, -inf
        for level, end in self.levels:
            if level != REFERENCE:
                found[self._code(level)] = self._described(start, end)
            start = end
        return found

    def value(self, column: str) -> str:
        """SQL for the number in a column, NULL where it is missing or outside the limits."""
        number = f"try_cast({column} AS DOUBLE)"
        if self.name == TEMPERATURE.name:
            low, high = CELSIUS
            number = (
                f"CASE WHEN {number} BETWEEN {low} AND {high} THEN {number} * 1.8 + 32 "
                f"ELSE {number} END"
            )
        return (
            f"CASE WHEN ({number}) BETWEEN {self.limits[0]} AND {self.limits[1]} THEN {number} END"
        )

    def code(self, number: str) -> str:
        """SQL for the code of a number given as SQL; NULL for the reference and without one."""
        cases = []
        for level, end in self.levels:
            text = "NULL" if level == REFERENCE else quoted(self._code(level))
            test = f"{number} IS NOT NULL" if end == inf else f"{number} < {end}"
            cases.append(f"WHEN {test} THEN {text}")
        return f"CASE {' '.join(cases)} END"

    def _described(self, start: float, end: float) -> str:
        words = self.words.capitalize()
        if start == -inf:
            return f"{words} under {end:g} {self.unit}"
        if end == inf:
            return f"{words} {start:g} {self.unit} or more"
        return f"{words} {start:g} to under {end:g} {self.unit}"


TEMPERATURE = Measure(
    "temperature", "temperature", "°F", (75, 115),
    (("VERY_LOW", 95.1), ("LOW", 96.9), ("NORMAL", 100.5), ("HIGH", 102.3), ("VERY_HIGH", inf)),
)  # fmt: skip
VITALS = (
    TEMPERATURE,
    Measure(
        "heart_rate", "heart rate", "per minute", (10, 300),
        (("VERY_LOW", 41), ("LOW", 51), ("NORMAL", 91), ("HIGH", 111), ("VERY_HIGH", 131),
         ("EXTREME", inf)),
    ),
    Measure(
        "respiratory_rate", "respiratory rate", "per minute", (1, 100),
        (("VERY_LOW", 9), ("LOW", 12), ("NORMAL", 21), ("HIGH", 25), ("VERY_HIGH", inf)),
    ),
    Measure(
        "oxygen_saturation", "oxygen saturation", "percent", (30, 100),
        (("VERY_LOW", 92), ("LOW", 94), ("BORDERLINE", 96), ("NORMAL", inf)),
    ),
    Measure(
        "systolic_pressure", "systolic blood pressure", "mmHg", (30, 300),
        (("VERY_LOW", 91), ("LOW", 101), ("BORDERLINE", 111), ("NORMAL", 140), ("HIGH", 160),
         ("VERY_HIGH", 180), ("EXTREME", inf)),
    ),
    Measure(
        "diastolic_pressure", "diastolic blood pressure", "mmHg", (10, 200),
        (("LOW", 60), ("NORMAL", 90), ("HIGH", 100), ("VERY_HIGH", 110), ("EXTREME", inf)),
    ),
)  # fmt: skip
PAIN = Measure(
    "pain", "pain", "of 10", (0, 10),
    (("NORMAL", 1), ("MILD", 4), ("MODERATE", 7), ("SEVERE", inf)), stem="",
)  # fmt: skip


def code_list(codes: Sequence[str]) -> str:
    """SQL list of codes given as SQL, without NULLs."""
    return f"[code for code in [{', '.join(codes)}]::VARCHAR[] if code IS NOT NULL]"


def described(prefix: str, codes: Mapping[str, str]) -> dict[str, str]:
    """Descriptions by the names of features.

    Examples
    --------
    >>> described("TRIAGE", {"1": "Immediate"})
    {'TRIAGE:1': 'Immediate'}
    """
    return {f"{prefix}:{code}": words for code, words in codes.items()}


def bins_of(prefix: str, measures: Iterable[Measure]) -> tuple[tuple[str, ...], ...]:
    """The features of every measure, of which a visit has at most one."""
    return tuple(tuple(described(prefix, measure.codes())) for measure in measures)


def exclusive(
    kinds: Sequence[Kind], levels: Mapping[str, Mapping[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Features of which a visit has at most one: bins, and ``levels`` by the name of their kind.

    Examples
    --------
    >>> triage = Kind("triage", "TRIAGE", "triage levels", ("triage",))
    >>> exclusive([triage], {"triage": {"1": "Immediate", "2": "Urgent"}})
    (('TRIAGE:1', 'TRIAGE:2'),)
    """
    measured = {"vitals": VITALS, "pain": (PAIN,)}
    found: list[tuple[str, ...]] = []
    for kind in kinds:
        found += bins_of(kind.prefix, measured.get(kind.name, ()))
        found += [tuple(described(kind.prefix, levels[kind.name]))] if kind.name in levels else []
    return tuple(found)


def absent(kinds: Sequence[Kind]) -> dict[str, str]:
    """Why columns of kinds that were not read are missing.

    Examples
    --------
    >>> absent([])["pain"]
    "it comes with the kind 'pain' of features"
    """
    columns = {"vitals": tuple(one.name for one in VITALS), "pain": ("pain",),
               "triage": ("triage_level",)}  # fmt: skip
    read = {kind.name for kind in kinds}
    return {
        column: f"it comes with the kind {name!r} of features"
        for name, made in columns.items()
        if name not in read
        for column in made
    }
