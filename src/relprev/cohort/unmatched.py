"""Codes and values of a specification that no visit has, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from relprev.codes import CodePattern, CodeSet
from relprev.codes.patterns import SHORTEST, is_broad
from relprev.codes.spelling import VERSION_NAMES
from relprev.cohort.spec import CohortSpec
from relprev.cohort.visit_rules import Case
from relprev.messages import SMALL, Count, Message, joined
from relprev.sources.database import identifier
from relprev.sources.source import Source

MOST_HINTS = 3  # on codes that match nothing, in one message
MOST_NAMED = 20  # values that a message names one by one
Pair = tuple[str, str]


def matched_codes(condition: CodeSet, source: Source) -> dict[str, int]:
    """How many distinct codes of the source each pattern of the condition matches."""
    found = _recorded(source)
    return {
        str(pattern): sum(pattern.matches(*code) for code in found)
        for pattern in condition.cut_to(source.code_lengths).patterns
    }


def code_hints(condition: CodeSet, source: Source) -> list[Message]:
    """For each pattern of the condition that no visit has, that it is so and what would match.

    Patterns of a version of which the data have no code at all are passed over if others match, and
    nothing like them is there: a condition that is defined in ICD-9 and in ICD-10 is expected to
    lack one of them.

    Examples
    --------
    >>> import pandas as pd
    >>> from relprev.sources import read_tables
    >>> visits = pd.DataFrame({"id": range(30), "dx": ["J45.0", "J45.9", "R51"] * 10})
    >>> with read_tables(visits, visit_id="id", code=["dx"], version="ICD10") as source:
    ...     print(*code_hints(CodeSet.of("asthma", ["ICD10:J45"]), source))
    no visit has ICD10:J45; did you mean ICD10:J45* (20 visits)?
    """
    recorded = _recorded(source)
    patterns = condition.cut_to(source.code_lengths).patterns
    absent = [one for one in patterns if not any(one.matches(*code) for code in recorded)]
    versions = {version for version, _ in recorded}
    hints = []
    for pattern in absent:
        meant = _meant(pattern, recorded, source)
        if meant or pattern.version in versions or len(absent) == len(patterns):
            hints.append(meant or Message("no visit has {code}", code=pattern.written))
    return hints


def what_was_meant(spec: CohortSpec, source: Source) -> Message:
    """What to do where no visit of a cohort has the condition.

    Examples
    --------
    >>> import pandas as pd
    >>> from relprev.cohort import Case, CohortSpec, GroupVariable
    >>> from relprev.sources import read_tables
    >>> visits = pd.DataFrame({"id": range(30), "dx": ["J45.0", "J45.9", "R51"] * 10})
    >>> asthma = CodeSet.of("asthma", ["ICD10:J45*"])
    >>> spec = CohortSpec(asthma, (GroupVariable("ward"),), case=Case(min_codes=2))
    >>> with read_tables(visits, visit_id="id", code=["dx"], version="ICD10") as source:
    ...     print(what_was_meant(spec, source))
    its codes occur only in visits that the study leaves out, or not as [case] asks: see its
    roles and numbers
    """
    hints = code_hints(spec.condition, source)
    better = [hint for hint in hints if "other" in hint.values]
    if better:
        return joined(better[:MOST_HINTS], "; ")
    if hints:
        return Message(
            "check the code set, the versions (ICD9, ICD10) and the spelling of the codes in "
            "the source"
        )
    if spec.case == Case():
        return Message("its codes occur only in visits that the study leaves out")
    return Message(
        "its codes occur only in visits that the study leaves out, or not as [case] asks: see its "
        "roles and numbers"
    )


def _meant(pattern: CodePattern, recorded: set[Pair], source: Source) -> Message | None:
    """What was probably meant by a pattern that no visit has, if there is something like it."""
    for other in _alternatives(pattern, {version for version, _ in recorded}):
        codes = [code for code in recorded if other.matches(*code)]
        if codes:
            return Message(
                "no visit has {code}; did you mean {other} ({n})?",
                code=pattern.written, other=other.written, n=_people(codes, source),
            )  # fmt: skip
    return None


def _alternatives(pattern: CodePattern, versions: Iterable[str]) -> Iterator[CodePattern]:
    """The codes below it; the same in another version; its beginnings, if codes were cut."""
    exact = not is_broad(pattern.text)
    below = replace(pattern, text=f"{pattern.text}*") if exact else pattern
    if exact:
        yield below
    known = set(versions) & set(VERSION_NAMES.values())  # others may be values of any column
    for version in sorted(known - {pattern.version}):
        yield replace(pattern, version=version)
        yield replace(below, version=version)
    if exact or pattern.text.endswith("*"):
        text = pattern.text.removesuffix("*")
        for length in range(len(text) - 1, SHORTEST - 1, -1):
            yield replace(pattern, text=text[:length])


def _recorded(source: Source) -> set[Pair]:
    return set(source.query("SELECT DISTINCT version, code FROM codes"))


def _people(codes: list[Pair], source: Source) -> Count:
    """Patients with one of the codes; visits, where patients are not known."""
    visits, patients = source.query(
        "SELECT count(DISTINCT visit), count(DISTINCT patient) FROM codes JOIN visits USING "
        f"(visit) WHERE (version, code) IN ({', '.join(['(?, ?)'] * len(codes))})",
        [text for code in codes for text in code],
    )[0]
    return Count(patients, "patient") if patients else Count(visits, "visit")


def values_of(source: Source, column: str, where: str = "true") -> dict[str, int]:
    """Visits by value of a column, among those that meet a condition in SQL."""
    name = identifier(column)
    rows = source.query(
        f"SELECT {name}::VARCHAR AS value, count(*) FROM visits WHERE {name} IS NOT NULL "
        f"AND ({where}) GROUP BY value ORDER BY value"
    )
    return dict(rows)


def nameable(counts: dict[str, int]) -> list[str]:
    """The values that may be named: a rare one could identify a person.

    Examples
    --------
    >>> nameable({"F": 300, "M": 250, "a name": 1})
    ['F', 'M']
    """
    return [value for value, visits in counts.items() if visits > SMALL]
