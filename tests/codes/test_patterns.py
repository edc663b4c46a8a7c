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


def test_short_prefixes_stay_prefixes_when_cut():
    assert CodePattern.parse("ICD10:N8*").cut_to(4).matches("ICD10", "N801")


def test_expressions_cannot_be_cut():
    with pytest.raises(InvalidInputError, match="regular expression"):
        CodePattern.parse("ICD10:/T741.*/").cut_to(4)
