"""Leading zeros that a spreadsheet took away from ICD-9 codes.

A spreadsheet takes 038.9 (septicemia) for a number and stores 38.9. Without its dot that reads
389, hearing loss. The numeric codes of ICD-9-CM have three digits in front of the dot, so a dot
proves what is missing. Without dots only the list of codes can tell, if at all: 389 may be 389 or
038.9, but 4019 is 401.9, as there is no 040.19.

Zeros at the end are lost as well (250.00 becomes 250). They stay lost: the code then names the
category instead of the full detail, which a prefix such as ``ICD9:250*`` matches all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from relprev.codes.descriptions import icd9_descriptions
from relprev.errors import InvalidInputError

NUMERIC = re.compile(r"\d+(?:\.\d*)?")
SHORT = re.compile(r"\d{1,2}(?:\.\d{0,2})?")
LONGEST = 5  # digits of a code
REMEDY = (
    "take the codes from the original data again, as text (in a spreadsheet, format the column as "
    "text before filling it)"
)


def restored_zeros(codes: Iterable[str], *, from_numbers: bool = False) -> dict[str, str]:
    """The ICD-9 codes that lost leading zeros, and what they were; empty if none did.

    Parameters
    ----------
    codes : iterable of str
        Distinct ICD-9 codes of one column, as they are spelled there.
    from_numbers : bool
        Whether the column held numbers, which cannot keep a leading zero.

    Returns
    -------
    dict of str to str
        From the spelling found to the one with its zeros.

    Raises
    ------
    InvalidInputError
        If zeros were lost and nothing proves which.

    Examples
    --------
    >>> restored_zeros(["38.9", "401.9", "E967.3"])
    {'38.9': '038.9'}
    >>> restored_zeros(["038.9", "401.9"])
    {}
    """
    numeric = sorted({code.strip() for code in codes if NUMERIC.fullmatch(code.strip())})
    dotted = [code for code in numeric if "." in code]
    short = [code for code in numeric if SHORT.fullmatch(code)]
    if dotted:
        return _by_their_dots(dotted, short)
    if from_numbers or short or _known_with_zeros_only(numeric):
        return _by_the_list(numeric)
    return {}


def zeros_in_doubt(codes: Iterable[str]) -> bool:
    """Whether ICD-9 codes without dots look as if they had lost zeros, though nothing proves it.

    No code begins with 0, and some are cut short as they stand, but complete with zeros in front.
    Categories alone (all of three digits) are not in doubt.

    Examples
    --------
    >>> zeros_in_doubt(["0389", "389", "4019"]), zeros_in_doubt(["389", "250"])
    (False, False)
    """
    numeric = {code.strip() for code in codes if NUMERIC.fullmatch(code.strip())}
    if any("." in code or code.startswith("0") for code in numeric):
        return False
    whole = icd9_descriptions()
    return any(len(code) > 3 for code in numeric) and any(
        code not in whole and ("0" + code in whole or "00" + code in whole) for code in numeric
    )


def _by_their_dots(dotted: list[str], short: list[str]) -> dict[str, str]:
    lacking = [code for code in dotted if SHORT.fullmatch(code)]
    if 2 * len(lacking) > len(dotted):
        raise InvalidInputError(
            "most ICD-9 codes have fewer than three digits in front of the dot, as procedure codes "
            f"do; if they are diagnoses that lost leading zeros, {REMEDY}"
        )
    restored = {}
    for code in short:
        whole, dot, rest = code.partition(".")
        restored[code] = whole.zfill(3) + dot + rest
    return restored


def _by_the_list(numeric: list[str]) -> dict[str, str]:
    """Codes without dots: each must be a code in exactly one way."""
    known = _codes_and_categories()
    if not known:
        raise InvalidInputError(
            "ICD-9 codes are stored as numbers or with fewer than three digits, so leading zeros "
            f"may be lost (0389 becomes 389); {REMEDY}, or install relprev[descriptions], whose "
            "list of codes may tell what they were"
        )
    restored, unclear = {}, 0
    for code in numeric:
        zeros = range(LONGEST - len(code) + 1)
        possible = [code] if code.startswith("0") else [k * "0" + code for k in zeros]
        possible = [text for text in possible if text in known]
        unclear += len(possible) > 1 or (not possible and len(code) < 3)
        if len(possible) == 1 and possible[0] != code:
            restored[code] = possible[0]
    if unclear:
        raise InvalidInputError(
            f"{unclear} of {len(numeric)} different ICD-9 codes may have lost leading zeros: 389 "
            f"may be 389 (hearing loss) or 038.9 (septicemia); {REMEDY}"
        )
    return restored


def _known_with_zeros_only(numeric: list[str]) -> bool:
    """Whether no code starts with 0, and one is a code only if zeros are put in front."""
    known = _codes_and_categories()
    if any(code.startswith("0") for code in numeric):
        return False
    return any(
        code not in known and ("0" + code in known or "00" + code in known) for code in numeric
    )


@cache
def _codes_and_categories() -> frozenset[str]:
    """All numeric codes of ICD-9-CM, and what they begin with, from three digits on."""
    codes = [code for code in icd9_descriptions() if code.isdigit()]
    return frozenset(code[:end] for code in codes for end in range(3, len(code) + 1))
