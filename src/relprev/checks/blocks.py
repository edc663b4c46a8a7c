"""Blocks of features that belong together, to be left out one after another.

ICD codes fall into chapters, the same for ICD-9 and ICD-10 as far as the two agree, and so do CCS
categories by their numbers. CCSR categories fall into body systems by their first three letters.
Other features with a prefix (``AGE:0-18``, ``sex=F``) form a block per prefix. Features without one
are blocks of their own, if they are few. Blocks may also be given, by names of features or patterns
such as ``"ICD10:S*"``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from relprev.errors import InvalidInputError

MOST_ALONE = 20  # features without a prefix that may each be a block
ICD10 = (  # first category of each chapter
    ("A00", "infections"), ("C00", "neoplasms"), ("D50", "blood"), ("E00", "endocrine"),
    ("F00", "mental disorders"), ("G00", "nervous system and senses"), ("I00", "circulation"),
    ("J00", "respiration"), ("K00", "digestion"), ("L00", "skin"), ("M00", "musculoskeletal"),
    ("N00", "genitourinary"), ("O00", "pregnancy and childbirth"), ("P00", "perinatal"),
    ("Q00", "congenital"), ("R00", "symptoms and findings"), ("S00", "injury and poisoning"),
    ("U00", "special purposes"), ("V00", "external causes"), ("Z00", "contact with services"),
)  # fmt: skip
ICD9 = (
    ("001", "infections"), ("140", "neoplasms"), ("240", "endocrine"), ("280", "blood"),
    ("290", "mental disorders"), ("320", "nervous system and senses"), ("390", "circulation"),
    ("460", "respiration"), ("520", "digestion"), ("580", "genitourinary"),
    ("630", "pregnancy and childbirth"), ("680", "skin"), ("710", "musculoskeletal"),
    ("740", "congenital"), ("760", "perinatal"), ("780", "symptoms and findings"),
    ("800", "injury and poisoning"), ("E00", "external causes"), ("V00", "contact with services"),
)  # fmt: skip
CCS = (  # first category of each chapter
    (1, "infections"), (11, "neoplasms"), (48, "endocrine"), (59, "blood"),
    (65, "mental disorders"), (76, "nervous system and senses"), (96, "circulation"),
    (122, "respiration"), (135, "digestion"), (156, "genitourinary"),
    (176, "pregnancy and childbirth"), (197, "skin"), (201, "musculoskeletal"),
    (213, "congenital"), (218, "perinatal"), (225, "injury and poisoning"),
    (245, "symptoms and findings"), (650, "mental disorders"), (2601, "external causes"),
)  # fmt: skip


def default_blocks(features: Sequence[str]) -> dict[str, list[int]]:
    """Blocks by chapter, body system or prefix.

    Parameters
    ----------
    features : sequence of str
        Names of the columns.

    Returns
    -------
    dict of block to columns
        Largest first. None if there would be but one, or too many.

    Examples
    --------
    >>> default_blocks(["ICD10:S0990XA", "ICD9:9208", "ICD10:R51", "AGE:0-18", "AGE:18-inf"])
    {'injury and poisoning': [0, 1], 'AGE': [3, 4], 'symptoms and findings': [2]}
    """
    named: dict[str, list[int]] = {}
    for column, feature in enumerate(features):
        named.setdefault(block_of(feature), []).append(column)
    alone = [name for name, columns in named.items() if name == features[columns[0]]]
    if len(named) < 2 or len(alone) > MOST_ALONE:
        return {}
    return dict(sorted(named.items(), key=lambda item: -len(item[1])))


def block_of(feature: str) -> str:
    """The block to which a feature belongs by its name; the name itself if to none.

    Examples
    --------
    >>> block_of("ICD10:H5711"), block_of("CCSR:INJ031"), block_of("fever")
    ('nervous system and senses', 'CCSR INJ', 'fever')
    """
    prefix, colon, code = feature.partition(":")
    if not colon:
        prefix, colon, _ = feature.partition("=")
        return prefix if colon else feature
    if prefix in ("ICD9", "ICD10") and code:
        chapters = ICD9 if prefix == "ICD9" else ICD10
        start = bisect_right([first for first, _ in chapters], code[:3].upper())
        return chapters[max(start - 1, 0)][1]
    if prefix == "CCS" and code.isdigit():
        start = bisect_right([first for first, _ in CCS], int(code))
        return CCS[max(start - 1, 0)][1]
    system = re.match(r"[A-Z]{3}(?=\d)", code) if prefix == "CCSR" else None
    return f"CCSR {system[0]}" if system else prefix


def given_blocks(
    blocks: Mapping[str, Sequence[str]], features: Sequence[str]
) -> dict[str, list[int]]:
    """Blocks that were asked for, as columns.

    Parameters
    ----------
    blocks : mapping of name to features
        Names of features, or patterns with ``*`` and ``?``.
    features : sequence of str
        Names of the columns.

    Returns
    -------
    dict of block to columns
        In the order given.

    Examples
    --------
    >>> given_blocks({"injuries": ["ICD10:S*"]}, ["ICD10:R51", "ICD10:S0990XA"])
    {'injuries': [1]}
    """
    found = {}
    for name, wanted in blocks.items():
        if isinstance(wanted, str) or not len(wanted):
            raise InvalidInputError(
                f"blocks[{name!r}] must be a list of one or more features, got {wanted!r}"
            )
        columns: set[int] = set()
        for pattern in wanted:
            matched = {k for k, one in enumerate(features) if fnmatchcase(one, pattern)}
            if not matched:
                raise InvalidInputError(
                    f"blocks[{name!r}]: no feature is called {pattern!r}; features are called "
                    f"like {', '.join(features[:3])}"
                )
            columns |= matched
        if len(columns) == len(features):
            raise InvalidInputError(
                f"blocks[{name!r}] holds all features, so nothing would be left; name fewer"
            )
        found[name] = sorted(columns)
    return found
