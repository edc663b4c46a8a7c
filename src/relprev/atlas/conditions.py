"""Conditions of an atlas, and the blocks of features that are left out for them.

A condition is a set of features: a visit with any of them is one of its cases. By default these
are CCSR categories (CCS for ICD-9), to which ICD codes among the features are gathered. They may
also be ICD categories, chapters, phecodes, single features or sets of one's own.

A condition must not be predicted by its own codes, nor by those of its siblings, which are often
recorded in its place. So all features of its block (body system of CCSR, chapter of CCS and
ICD, see `relprev.checks.blocks`) are left out. Conditions with the same block share propensities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from relprev.checks.blocks import block_of, given_blocks
from relprev.codes import CodeSet, code_set, code_set_names, read_phecode_sets, roll_up
from relprev.errors import InvalidInputError

VOCABULARIES = ("ICD9", "ICD10", "CCS", "CCSR")  # of which features are conditions by default
BROADER = ("ccsr", "category", "chapter")
Conditions = str | Sequence[str] | Sequence[CodeSet] | Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False)
class Block:
    """Conditions that share propensities.

    Parameters
    ----------
    name : str
        Of the block or blocks that are left out.
    conditions : mapping of name to integer array of shape (m,)
        Columns of each condition.
    left_out : integer array of shape (q,)
        Columns that are no features for them: their own and their siblings'.

    Examples
    --------
    >>> block = blocks_of_conditions(["ICD10:F329", "ICD10:R51"], "category")[0]
    >>> block.name, block.conditions["ICD10:F32"], block.left_out
    ('mental disorders', array([0]), array([0]))
    """

    name: str
    conditions: Mapping[str, NDArray[np.int64]]
    left_out: NDArray[np.int64]


def blocks_of_conditions(features: Sequence[str], conditions: Conditions = "ccsr") -> list[Block]:
    """Find the conditions among features, block by block.

    Parameters
    ----------
    features : sequence of str
        Names of the columns.
    conditions : "ccsr", "category", "chapter", sequence of str or CodeSet, or mapping
        ``"ccsr"``: CCSR categories of ICD-10 codes and CCS categories of ICD-9 codes.
        ``"category"`` and ``"chapter"``: those of ICD. A sequence names features that are
        conditions, by name or pattern (``"CCS:*"``), or has a code set for each condition
        (`relprev.codes.read_phecode_sets`); those without a code among the features are left
        out. A mapping has conditions of one's own, each with its features.

    Returns
    -------
    list of Block
        In the order of their first columns.

    Examples
    --------
    >>> names = ["ICD10:F329", "ICD10:F330", "ICD10:F411", "ICD10:R51", "age:[18, 65)"]
    >>> for block in blocks_of_conditions(names, "category"):
    ...     print(block.name, list(block.conditions), block.left_out)
    mental disorders ['ICD10:F32', 'ICD10:F33', 'ICD10:F41'] [0 1 2]
    symptoms and findings ['ICD10:R51'] [3]
    """
    broader = _broader(features, conditions if isinstance(conditions, str) else "")
    members = _members(features, broader, conditions)
    if not members:
        raise InvalidInputError(
            f"no feature is a code of {', '.join(VOCABULARIES)}, so none is a condition; name "
            f"those that are (conditions); features are called like {', '.join(features[:3])}"
        )
    own = [block_of(name) for name in broader]
    found: dict[tuple[str, ...], dict[str, NDArray[np.int64]]] = {}
    for name, columns in members.items():
        around = tuple(sorted({own[column] for column in columns}))
        found.setdefault(around, {})[name] = np.array(columns, dtype=np.int64)
    blocks = [
        Block(" + ".join(around), inside, np.flatnonzero(np.isin(own, around)))
        for around, inside in found.items()
    ]
    for block in blocks:
        if len(block.left_out) == len(features):
            raise InvalidInputError(
                f"all features belong to {block.name!r}, which is left out for its conditions, so "
                "none is left; use features of other kinds as well"
            )
    return blocks


def named_conditions(words: Sequence[str], folder: Path = Path()) -> Conditions:
    """Conditions as study files and the command line name them.

    Parameters
    ----------
    words : sequence of str
        ``"ccsr"``, ``"category"`` or ``"chapter"``; or maps of phecodes (.csv files), or code sets
        (shipped names and .toml files), or patterns of features.
    folder : Path
        Where files are looked for.

    Examples
    --------
    >>> named_conditions(["category"]), named_conditions(["CCS:*"])
    ('category', ['CCS:*'])
    >>> [one.name for one in named_conditions(["asthma", "copd"])]
    ['asthma', 'copd']
    """
    if len(words) == 1 and words[0] in BROADER:
        return words[0]
    sets = [own for word in words for own in _named_sets(word, folder)]
    if not sets:
        return list(words)
    patterns = [word for word in words if not _named_sets(word, folder)]
    if patterns:
        raise InvalidInputError(
            f"conditions must be files and names of code sets, or patterns of features, got both: "
            f"{', '.join(words)}; {patterns[0]!r} is no code set ('relprev codes list')"
        )
    found: dict[str, CodeSet] = {}
    for own in sets:  # a phecode may be in the maps of ICD-9 and of ICD-10
        before = found.get(own.name)
        found[own.name] = own if before is None else replace(
            before, patterns=(*before.patterns, *own.patterns)
        )  # fmt: skip
    return list(found.values())


def _named_sets(word: str, folder: Path) -> list[CodeSet]:
    if word.endswith(".csv"):
        return read_phecode_sets(folder / word)
    if word.endswith(".toml"):
        return [CodeSet.read(folder / word)]
    return [code_set(word)] if word in code_set_names() else []


def rolled_up(conditions: Conditions) -> Literal["", "category", "ccsr"]:
    """How codes are rolled up to features in which conditions can be told apart."""
    if isinstance(conditions, str):
        return "ccsr" if conditions == "ccsr" else "category"
    return "" if isinstance(conditions, Mapping) or _sets(conditions) else "ccsr"


def _sets(conditions: Conditions) -> list[CodeSet]:
    return [one for one in conditions if isinstance(one, CodeSet)]


def _broader(features: Sequence[str], how: str) -> list[str]:
    """Every feature's name, or that of the category to which its code belongs."""
    if how and how not in BROADER:
        raise InvalidInputError(
            f"conditions must be one of {', '.join(BROADER)}, a list of features or a mapping of "
            f"names to features, got {how!r}"
        )
    if how not in ("ccsr", "category"):
        return list(features)
    place = [k for k, name in enumerate(features) if name.partition(":")[0] in ("ICD9", "ICD10")]
    codes = [(version, code) for version, _, code in (features[k].partition(":") for k in place)]
    out = list(features)
    for k, (version, code) in zip(place, roll_up(codes, how), strict=True):
        out[k] = f"{version}:{code}"
    return out


def _members(
    features: Sequence[str], broader: Sequence[str], conditions: Conditions
) -> dict[str, list[int]]:
    """Columns of every condition."""
    if isinstance(conditions, Mapping):
        return given_blocks(conditions, features)
    sets = _sets(conditions)
    if sets:
        return _of_sets(features, sets)
    if not isinstance(conditions, str):
        place = {name: k for k, name in enumerate(features)}
        named: set[int] = set()
        for word in map(str, conditions):  # names need no search among all features
            named |= {place[word]} if word in place else set(_matching(word, features))
        return {features[column]: [column] for column in sorted(named)}
    found: dict[str, list[int]] = {}
    for column, name in enumerate(broader):
        if features[column].partition(":")[0] in VOCABULARIES:
            found.setdefault(block_of(name) if conditions == "chapter" else name, []).append(column)
    return found


def _matching(pattern: str, features: Sequence[str]) -> list[int]:
    """Columns whose names match a pattern."""
    found = [k for k, name in enumerate(features) if fnmatchcase(name, pattern)]
    if not found:
        raise InvalidInputError(
            f"conditions: no feature is called {pattern!r}; give 'ccsr', 'category', 'chapter', "
            "code sets, a map of phecodes (.csv), or names of features such as "
            f"{', '.join(features[:3])}"
        )
    return found


def _of_sets(features: Sequence[str], sets: Sequence[CodeSet]) -> dict[str, list[int]]:
    """Columns of every code set that has any; codes may be cut in the data."""
    codes = {k: (version, code) for k, (version, colon, code) in
             enumerate(name.partition(":") for name in features) if colon}  # fmt: skip
    lengths: dict[str, int] = {}
    for version, code in codes.values():
        lengths[version] = max(lengths.get(version, 0), len(code))
    found = {}
    for one in sets:
        own = one.cut_to(lengths)
        columns = [k for k, code in codes.items() if code in own]
        if columns:
            found[one.name] = columns
    if not found:
        raise InvalidInputError(
            f"none of the {len(sets):,} code sets that conditions names has a code among the "
            f"features, which are called like {', '.join(features[:3])}; use codes as they are "
            "recorded (no roll_up under [features]), and sets of the same vocabulary"
        )
    return found
