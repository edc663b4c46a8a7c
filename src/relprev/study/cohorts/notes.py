"""Hints on a cohort: features that may mean the condition too, who was looked at, who is not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from relprev.codes import CodeSet, category
from relprev.codes.spelling import VERSION_NAMES
from relprev.cohort import BuiltCohort
from relprev.cohort.grouped import known_step
from relprev.matrix.coerce import listed
from relprev.messages import Message, Number

if TYPE_CHECKING:
    from relprev.study.study import Study

LONG = 5  # letters of a word that says which condition is meant
MANY_STRATA = 20  # each is estimated on its own
MANY_MISSING = 0.1  # share of visits without a group that is worth a remark
COMMON_WORDS = {
    "acute", "adult", "chronic", "condition", "conditions", "disease", "diseases", "disorder",
    "disorders", "injuries", "injury", "other", "simulated", "syndrome", "syndromes",
    "unspecified",
}  # fmt: skip


def groups_notes(built: BuiltCohort, study: Study) -> list[Message]:
    """What to say about the groups of a cohort."""
    return [*tested_note(built, study), *missing_note(built, study), *strata_note(built)]


def features_notes(
    condition: CodeSet, features: Sequence[str], descriptions: Mapping[str, str]
) -> list[Message]:
    """What to say about features that may mean the condition too."""
    siblings = sibling_note(condition, features)
    return siblings + namesake_note(condition, features, descriptions)


def tested_note(built: BuiltCohort, study: Study) -> list[Message]:
    """How many of every group were looked at for the condition, in a list; empty if not known.

    Nor is there anything to tell where the others are dropped. Only whole percentages are given,
    and none of a group in which few were or were not.
    """
    if built.tested is None or study.cohort.tested is None:
        return []
    if study.cohort.tested.not_tested == "drop":
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


def missing_note(built: BuiltCohort, study: Study) -> list[Message]:
    """The remark that many visits have no value of the group variable, in a list; or nothing."""
    steps = built.attrition.steps
    place = next((k for k, one in enumerate(steps) if one.step == known_step(built.name)), 0)
    if not place:
        return []
    before, after = steps[place - 1], steps[place]
    people = (before.patients or before.visits) - (after.patients or after.visits)
    share = 1 - after.visits / before.visits
    if share < MANY_MISSING or study.disclosure.is_small(max(people, 1)):
        return []
    return [Message(
        "{variable}: {share} of the visits have no value and are left out; they may differ from "
        "the others, and missing = {example} makes them a group of their own",
        variable=built.name, share=Number(share, ".0%"), example='"Unknown"',
    )]  # fmt: skip


def strata_note(built: BuiltCohort) -> list[Message]:
    """The remark that there are many strata, such as single years of age, in a list; or nothing."""
    return [
        Message(
            "there are {n} strata by {strata}, and each is estimated on its own, which takes time "
            "and leaves few cases in each; make fewer with edges or recode",
            n=Number(len(own.names), ",d"), strata=name,
        )
        for name, own in built.strata.items() if len(own.names) > MANY_STRATA
    ]  # fmt: skip


def protocol_note(study: Study) -> list[Message]:
    """The remark that the paper's protocol leaves out no rare codes, in a list; or nothing."""
    count = study.cohort.features.min_count
    if "paper" not in study.estimate.methods or not count:
        return []
    return [Message(
        "estimate.methods has {method}, the paper's protocol, which leaves out no rare codes, but "
        "features.min_count is {count}; set it to 0 to follow the paper",
        method='"paper"', count=Number(count, ","),
    )]  # fmt: skip


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


def sibling_codes(condition: CodeSet, features: Iterable[str]) -> list[str]:
    """Features of the same ICD categories as the condition's codes, the most similar first.

    Only single codes count: a prefix or expression is taken to be drawn as intended.

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
    """A hint about features that may mean the condition too: one message or none."""
    found = sibling_codes(condition, features)
    if not found:
        return []
    return [Message(
        "features include codes of the condition's own categories ({families}): {codes}; if one of "
        "them means the condition too, add it to the code set",
        families=listed(sorted({_family(name) for name in found})), codes=listed(found),
    )]  # fmt: skip


def _family(name: str) -> str:
    """A feature's ICD category, such as ``ICD9:617``; empty if it is not an ICD code."""
    version, _, code = name.partition(":")
    return f"{version}:{category(version, code)}" if version in VERSION_NAMES.values() else ""


def _alike(one: str, other: str) -> int:
    """Length of the common prefix."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
