from __future__ import annotations

import pytest

from relprev.codes import CodePattern
from relprev.errors import InvalidInputError


def test_prefix_and_expression_patterns():
    assert CodePattern.parse("icd10:s00.*").matches("ICD10", "S0003XA")
    expression = CodePattern.parse("ICD10:/S0[01].*A/")
    assert expression.matches("ICD10", "S0103XA")
    assert not expression.matches("ICD10", "S0103XD")
    assert not expression.matches("ICD10", "XS0103XA")


@pytest.mark.parametrize("text", ["T74.11", "ICD10:", ":T74", "ICD10:/S0[/"])
def test_unreadable_patterns_are_refused(text):
    with pytest.raises(InvalidInputError, match=r"VERSION:code|regular expression"):
        CodePattern.parse(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("ICD10:I10-I13", ["I10", "I119", "I1311"], ["I1", "I09", "I14", "I15"]),
        ("icd9: 401 - 405", ["4010", "40599"], ["400", "4069", "E401"]),
        ("ICD9:E960–E969*", ["E9600", "E9689"], ["E9599", "960"]),
        ("ICD10:N80.1-N81", ["N801", "N809", "N8110"], ["N800", "N82"]),
        ("ICD9:490 - icd-9:496", ["490", "4919", "496"], ["489", "497"]),
    ],
)
def test_a_range_holds_all_codes_from_its_first_to_its_last(text, inside, outside):
    """It used to be read as one code without its dash, which no visit has."""
    pattern = CodePattern.parse(text)
    assert all(pattern.matches(pattern.version, code) for code in inside)
    assert not any(pattern.matches(pattern.version, code) for code in outside)
    assert CodePattern.parse(str(pattern)) == pattern


@pytest.mark.parametrize(
    "text", ["ICD10:I13-I10", "ICD9:617-9", "ICD10:I10-13", "ICD9:490-ICD10:J44"]
)
def test_ends_of_a_range_that_do_not_fit_are_refused(text):
    with pytest.raises(InvalidInputError, match="ICD10:I10-I13 or ICD9:401-405"):
        CodePattern.parse(text)


def test_a_dash_in_other_vocabularies_is_no_range():
    assert CodePattern.parse("LOINC:8480-6").matches("LOINC", "84806")


def test_a_range_is_cut_to_the_codes_of_the_data():
    assert CodePattern.parse("ICD10:T74.11-T76.92").cut_to(3).matches("ICD10", "T75")


def test_short_prefixes_stay_prefixes_when_cut():
    assert CodePattern.parse("ICD10:N8*").cut_to(4).matches("ICD10", "N801")


def test_expressions_cannot_be_cut():
    with pytest.raises(InvalidInputError, match="regular expression"):
        CodePattern.parse("ICD10:/T741.*/").cut_to(4)
