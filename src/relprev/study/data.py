"""A study file against its data: do the columns, values and codes it names exist?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from relprev.codes import CodeSet, category, roll_up
from relprev.codes.spelling import VERSION_NAMES
from relprev.cohort import BuiltCohort
from relprev.matrix.coerce import listed
from relprev.messages import Message, Number
from relprev.settings import KeyPath, suggestion
from relprev.sources.database import identifier
from relprev.sources.source import Source

if TYPE_CHECKING:  # it leads to the report, which no cohort depends on
    from relprev.study.study import Study

LONG = 5  # letters of a word that says which condition is meant
COMMON_WORDS = {
    "acute", "adult", "chronic", "disease", "disorder", "injuries", "injury", "other", "simulated",
    "condition", "syndrome", "unspecified",
}  # fmt: skip
SMALLEST_NAMED = 11  # visits a value needs to be named in a message
MOST_NAMED = 20  # values that are named one by one


def require_columns(study: Study, source: Source) -> None:
    """Fail at the first column that the study names and the source does not have."""
    present = source.columns("visits")
    for path, column in _columns_named(study):
        if column not in present:
            why = f" ({source.absent[column]})" if column in source.absent else ""
            raise study.error(
                path,
                f"the {source.name} source has no column {column!r}{why}; "
                f"{suggestion(column, present)}",
            )


def _columns_named(study: Study) -> Iterator[tuple[KeyPath, str]]:
    """Every column the study names, with the key that names it."""
    cohort = study.cohort
    places: list[tuple[KeyPath, tuple[Any, ...]]] = [
        (("include",), cohort.include),
        (("features", "extra"), cohort.features.extra),
        (("groups",), cohort.groups),
    ]
    for path, items in places:
        for position, item in enumerate(items):
            yield (*path, position, "column"), item.column
    if cohort.tested is not None:
        yield ("tested", "column"), cohort.tested.column


def unknown_values(study: Study, source: Source) -> Iterator[Message]:
    """Values in rules and recodes that no visit has, with the key and what to do about it."""
    cohort = study.cohort
    named: list[tuple[KeyPath, str, tuple[str, ...]]] = [
        (("include", k, "one_of"), rule.column, rule.one_of)
        for k, rule in enumerate(cohort.include)
    ]
    named += [
        (("groups", k, "recode", name), group.column, tuple(values))
        for k, group in enumerate(cohort.groups)
        for name, values in group.recode.items()
    ]
    counts = {column: _values(source, column) for column in {item[1] for item in named if item[2]}}
    unknown = [(path, column, value) for path, column, values in named for value in values
               if value not in counts[column]]  # fmt: skip
    for path, column, value in unknown[:MOST_NAMED]:
        common = [known for known, visits in counts[column].items() if visits >= SMALLEST_NAMED]
        yield Message(
            "{where}: no visit has {value!r} in {column}; {hint}", where=study.place(path),
            value=value, column=column, hint=suggestion(value, common),
        )  # fmt: skip
    if len(unknown) > MOST_NAMED:
        more = Number(len(unknown) - MOST_NAMED, ",d")
        yield Message("no visit has {n} further values that the study names", n=more)


def _values(source: Source, column: str) -> dict[str, int]:
    """Visits with every value of a column. Rare values could point to a person: never shown."""
    name = identifier(column)
    rows = source.query(
        f"SELECT {name}::VARCHAR AS value, count(*) FROM visits WHERE {name} IS NOT NULL "
        "GROUP BY value ORDER BY value"
    )
    return dict(rows)


def unmatched_exclusions(study: Study, source: Source) -> Iterator[Message]:
    """Patterns of ``features.exclude`` that no recorded code matches, with their key."""
    features, lengths = study.cohort.features, source.code_lengths
    if not features.exclude:
        return
    found = source.query("SELECT DISTINCT version, code FROM codes")
    broad = roll_up(found, features.roll_up)
    for k, (text, pattern) in enumerate(zip(features.exclude, features.excluded, strict=True)):
        cut = lengths.get(pattern.version)
        used = pattern if cut is None else pattern.cut_to(cut)
        if not any(used.matches(*code) for code in (*found, *broad)):
            yield Message(
                "{where}: no code that was read matches {pattern}; prefixes are {prefixes}",
                where=study.place(("features", "exclude", k)), pattern=text,
                prefixes=listed(sorted({version for version, _ in found})),
            )  # fmt: skip


def tested_note(built: BuiltCohort, study: Study) -> list[Message]:
    """How many of every group were looked at for the condition, in a list; empty if not known.

    Only whole percentages are given, and none of a group in which few were or were not.
    """
    if built.tested is None or study.cohort.tested is None:
        return []
    column, rule = study.cohort.tested.column, study.disclosure
    shares = []
    for group, counts in built.tested.visits.items():
        _, without, looked = counts
        if any(map(rule.is_small, counts)):
            shares.append(Message("{group} hidden", group=group))
        else:
            yes, no = (Number(n / sum(counts), ".0%") for n in (looked, without))
            shares.append(Message("{group} {yes} yes, {no} no", group=group, yes=yes, no=no))
    found = [
        Message(
            "{variable}: looked at for the condition ({column}), the rest is not known: {shares}",
            variable=built.name, column=column, shares=shares,
        )
    ]  # fmt: skip
    elsewhere, tested = sum(built.tested.diagnosed[:2]), built.tested.diagnosed[2]
    if elsewhere and not rule.is_small(elsewhere) and not rule.is_small(tested):
        words = (
            "{variable}: {share} of the diagnosed were not looked at ({column}); does that column "
            "say what it is taken for?"
        )
        share = Number(elsewhere / (elsewhere + tested), ".0%")
        found.append(Message(words, variable=built.name, share=share, column=column))
    return found


def matched_codes(condition: CodeSet, source: Source) -> dict[str, int]:
    """How many different codes of the source each pattern of the condition matches."""
    found = source.query("SELECT DISTINCT version, code FROM codes")
    return {
        str(pattern): sum(pattern.matches(version, code) for version, code in found)
        for pattern in condition.cut_to(source.code_lengths).patterns
    }


def sibling_codes(condition: CodeSet, features: Iterable[str]) -> list[str]:
    """Features of the same ICD categories as the condition's codes, the most alike first.

    Prefixes and expressions in the set are taken as drawn on purpose: only single codes count.

    Examples
    --------
    >>> condition = CodeSet.of("endometriosis", ["ICD9:617.9", "ICD10:N80*"])
    >>> sibling_codes(condition, ["ICD9:6170", "ICD9:6259", "ICD10:N810", "age"])
    ['ICD9:6170']
    """
    families: dict[str, list[str]] = {}
    for pattern in condition.patterns:
        if pattern.version in VERSION_NAMES.values() and pattern.text.isalnum():
            families.setdefault(_family(str(pattern)), []).append(str(pattern))
    found = {
        name: max(_alike(name, code) for code in families[_family(name)])
        for name in features
        if _family(name) in families
    }
    return sorted(found, key=lambda name: (-found[name], name))


def sibling_note(condition: CodeSet, features: Iterable[str]) -> list[Message]:
    """The hint on features that may mean the condition too, in a list; empty without any."""
    found = sibling_codes(condition, features)
    if not found:
        return []
    said = Message(
        "features include codes of the condition's own categories ({families}): {codes}; if one of "
        "them means the condition too, add it to the code set",
        families=listed(sorted({_family(name) for name in found})),
        codes=listed(found),
    )
    return [said]


def namesake_note(
    condition: CodeSet, features: Iterable[str], descriptions: Mapping[str, str]
) -> list[Message]:
    """The hint on features of other kinds whose words name the condition, in a list.

    Examples
    --------
    >>> asthma = CodeSet.of("asthma", ["ICD10:J45*"])
    >>> (note,) = namesake_note(asthma, ["RFV:26250", "RFV:14400"], {"RFV:26250": "Asthma"})
    >>> note.values["features"]
    'RFV:26250 (Asthma)'
    """
    wanted = {word for word in _words(f"{condition.name} {condition.title}") if len(word) >= LONG}
    wanted -= COMMON_WORDS
    found = [
        name
        for name in features
        if not _family(name)
        and wanted & set(_words(descriptions.get(name, "") or name.partition(":")[2]))
    ]
    if not found:
        return []
    named = [f"{name} ({descriptions[name]})" if name in descriptions else name for name in found]
    said = Message(
        "features that name the condition in words: {features}; take them out with "
        "features.exclude if they record it under another name",
        features=listed(named),
    )
    return [said]


def _words(text: str) -> list[str]:
    return re.findall("[a-z]+", text.lower())


def _family(name: str) -> str:
    """A feature's ICD category, such as ``ICD9:617``; empty if it is no ICD code."""
    version, _, code = name.partition(":")
    return f"{version}:{category(version, code)}" if version in VERSION_NAMES.values() else ""


def _alike(one: str, other: str) -> int:
    """How many characters the names begin with in common."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
