"""Features that may mean the condition too: codes of the same ICD categories."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from relprev.codes import CodeSet, category
from relprev.codes.spelling import VERSION_NAMES
from relprev.matrix.coerce import listed


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


def sibling_note(condition: CodeSet, features: Iterable[str]) -> list[str]:
    """The hint on such features, in a list; empty if there are none."""
    found = sibling_codes(condition, features)
    if not found:
        return []
    families = listed(sorted({_family(name) for name in found}))
    many = len(found) > 1
    return [
        f"features include {len(found):,} code{'s' if many else ''} of the condition's own "
        f"categories ({families}): {listed(found)}; if {'any of them' if many else 'it'} means the "
        "condition too, add it to the code set"
    ]


def _family(name: str) -> str:
    """A feature's ICD category, such as ``ICD9:617``; empty if it is no ICD code."""
    version, _, code = name.partition(":")
    return f"{version}:{category(version, code)}" if version in VERSION_NAMES.values() else ""


def _alike(one: str, other: str) -> int:
    """How many characters the names begin with in common."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
