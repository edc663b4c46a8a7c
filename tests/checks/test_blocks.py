"""Features that belong together."""

import pytest

from relprev.checks.blocks import CCS, ICD9, ICD10, block_of, default_blocks, given_blocks
from relprev.errors import InvalidInputError


@pytest.mark.parametrize(
    ("feature", "block"),
    [
        ("ICD10:A000", "infections"), ("ICD10:D49", "neoplasms"), ("ICD10:D50", "blood"),
        ("ICD10:H9190", "nervous system and senses"), ("ICD10:T7411XA", "injury and poisoning"),
        ("ICD10:W19XXXA", "external causes"), ("ICD10:Z3A00", "contact with services"),
        ("ICD9:0010", "infections"), ("ICD9:2809", "blood"), ("ICD9:99581", "injury and poisoning"),
        ("ICD9:E9673", "external causes"), ("ICD9:V270", "contact with services"),
        ("CCSR:INJ031", "CCSR INJ"), ("CCS:2616", "external causes"), ("CCS:58", "endocrine"),
        ("CCS:657", "mental disorders"), ("CCS:259", "symptoms and findings"), ("CCS:x", "CCS"),
        ("AGE:18-45", "AGE"), ("sex=F", "sex"), ("fever", "fever"),
    ],
)  # fmt: skip
def test_features_belong_to_chapters_systems_or_prefixes(feature, block):
    assert block_of(feature) == block


@pytest.mark.parametrize("chapters", [CCS, ICD9, ICD10])
def test_chapters_are_in_order(chapters):
    firsts = [first for first, _ in chapters]
    assert firsts == sorted(firsts)


def test_features_without_chapters_are_blocks_if_they_are_few():
    few = ["fever", "cough", "rash"]
    assert default_blocks(few) == {"fever": [0], "cough": [1], "rash": [2]}
    assert default_blocks([f"column {j}" for j in range(50)]) == {}
    assert default_blocks(["ICD10:S00", "ICD10:S01"]) == {}  # nothing would be left


def test_blocks_may_be_patterns():
    names = ["ICD10:S00", "ICD10:S01", "ICD10:R51", "AGE:0-18"]
    found = given_blocks({"head": ["ICD10:S00", "ICD10:R*"], "age": ["AGE:*"]}, names)
    assert found == {"head": [0, 2], "age": [3]}


@pytest.mark.parametrize(
    ("blocks", "match"),
    [
        ({"burns": ["ICD10:T2*"]}, r"blocks\['burns'\]: no feature is called 'ICD10:T2\*'"),
        ({"all": ["*"]}, "holds all features"),
        ({"none": []}, "a list of one or more features"),
        ({"text": "ICD10:S00"}, "a list of one or more features"),
    ],
)
def test_blocks_without_features_are_named(blocks, match):
    with pytest.raises(InvalidInputError, match=match):
        given_blocks(blocks, ["ICD10:S00", "ICD10:R51"])
