"""The canonical spelling of codes and of code versions."""

from __future__ import annotations

import re

VERSION_NAMES = {"9": "ICD9", "10": "ICD10"}
PUNCTUATION = ".- "
_DROPPED = str.maketrans("", "", PUNCTUATION)


def normalize(code: str) -> str:
    """A code in canonical spelling: upper case, without dots, blanks or padding dashes.

    Parameters
    ----------
    code : str
        In any spelling.

    Returns
    -------
    str
        In canonical spelling.

    Examples
    --------
    >>> normalize(" t74.11xa"), normalize("780--")
    ('T7411XA', '780')
    """
    return code.upper().translate(_DROPPED)


def normalize_sql(column: str) -> str:
    """`normalize` as an SQL expression."""
    sql = f"upper({column})"
    for sign in PUNCTUATION:  # three times as fast as a single translate()
        sql = f"replace({sql}, '{sign}', '')"
    return sql


def version_name(version: str) -> str:
    """``9``, ``icd-9``, ``ICD9CM`` and the like as ``ICD9``; other vocabularies in upper case.

    Parameters
    ----------
    version : str
        In any spelling.

    Returns
    -------
    str
        In canonical spelling.

    Examples
    --------
    >>> version_name("icd-10-cm"), version_name("9"), version_name("SNOMED")
    ('ICD10', 'ICD9', 'SNOMED')
    """
    text = version.strip().upper()
    number = re.fullmatch(r"(?:ICD[- ]?)?(9|10)(?:\.0)?(?:[- ]?CM)?", text)
    return VERSION_NAMES[number[1]] if number else text
