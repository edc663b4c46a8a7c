from __future__ import annotations

import json

import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_omop
from relprev.sources.omop_concepts import ConceptSet, read_concept_set

CODES = "SELECT visit_id, version, code FROM visits JOIN codes USING (visit) ORDER BY ALL"


def item(number, *, excluded=False, deep=True):
    """An item as ATLAS 2 exports it."""
    return {
        "concept": {
            "CONCEPT_CLASS_ID": "Clinical Finding", "CONCEPT_CODE": "95922009",
            "CONCEPT_ID": number, "CONCEPT_NAME": "Abuse", "DOMAIN_ID": "Condition",
            "INVALID_REASON": "V", "INVALID_REASON_CAPTION": "Valid", "STANDARD_CONCEPT": "S",
            "STANDARD_CONCEPT_CAPTION": "Standard", "VOCABULARY_ID": "SNOMED",
        },
        "isExcluded": excluded, "includeDescendants": deep, "includeMapped": False,
    }  # fmt: skip


def written(folder, *items, name="abuse.json"):
    file = folder / name
    file.write_text(json.dumps({"items": list(items)}))
    return file


@pytest.fixture
def deeper(small):
    """A record of a descendant, with a source code of its own, at visit 13."""
    with (small / "condition_occurrence.csv").open("a") as file:
        file.write("2,2020-01-01,13,502,local 9,0\n")
    return small


def test_numbers_stand_for_their_descendants(deeper, moved):
    source = moved(deeper, concepts={"abuse": [500]})
    assert source.query(CODES) == [
        (11, "SET", "ABUSE"), (11, "SET", "ABUSE"), (13, "SET", "ABUSE"), (13, "SOURCE", "LOCAL7"),
    ]  # fmt: skip
    assert source.descriptions["SET:ABUSE"] == "Concept set abuse"


def test_atlas_files_are_read_as_exported(deeper, moved, tmp_path):
    file = written(tmp_path, item(500), item(502, excluded=True, deep=False))
    source = moved(deeper, concept_sets=file)
    assert source.query(CODES) == [
        (11, "SET", "ABUSE"), (11, "SET", "ABUSE"), (13, "SOURCE", "LOCAL7"),
        (13, "SOURCE", "LOCAL9"),
    ]  # fmt: skip
    assert source.details["data"][-1]["file"] == "abuse.json"


def test_sets_of_standard_codes_and_of_source_concepts(deeper, tmp_path):
    standard = read_omop(deeper, codes="standard", concepts={"abuse": [502]})
    assert standard.query(CODES) == [
        (11, "SNOMED", "95922009"), (11, "SNOMED", "95922009"), (13, "SET", "ABUSE"),
        (13, "SNOMED", "1"),
    ]  # fmt: skip
    file = written(tmp_path, item(601, deep=False), name="by-partner.json")
    assert (11, "SET", "BYPARTNER") in read_omop(deeper, concept_sets=[file]).query(CODES)


def test_every_record_of_a_code_in_a_set_is_replaced(small):
    """A code that maps to two concepts is recorded twice; the other would name the condition."""
    with (small / "condition_occurrence.csv").open("a") as file:
        file.write("2,2020-01-01,13,501,T74.11XA,600\n")
    codes = read_omop(small, concepts={"abuse": [500]}).query(CODES)
    assert ("ICD10", "T7411XA") not in [code[1:] for code in codes]
    assert (13, "SET", "ABUSE") in codes


def test_a_record_without_a_source_code_belongs_to_its_set(small):
    with (small / "condition_occurrence.csv").open("a") as file:
        file.write("2,2020-01-01,13,500,,0\n")
    assert (13, "SET", "ABUSE") in read_omop(small, concepts={"abuse": [500]}).query(CODES)


def test_a_set_is_a_condition_and_none_of_its_codes_is_a_feature(small):
    source = read_omop(small, concepts={"abuse": [500]})
    spec = CohortSpec(
        CodeSet.of("abuse", ["SET:abuse"]), (GroupVariable("sex"),), without_codes="keep"
    )
    cohort = build_cohorts(spec, source)["sex"].cohort
    assert cohort.diagnosed.tolist() == [1, 0]
    assert cohort.feature_names == ("SOURCE:LOCAL7",)


def test_a_set_is_recorded_by_observations_too(small):
    """Databases keep many Z codes of ICD-10-CM in the table observation."""
    (small / "observation.csv").write_text(
        "visit_occurrence_id,observation_concept_id,value_as_concept_id\n13,502,0\n13,7,0\n"
    )
    source = read_omop(small, concepts={"abuse": [502]}, kinds=["observations"])
    spec = CohortSpec(CodeSet.of("abuse", ["SET:abuse"]), (GroupVariable("sex"),),
                      features=Features(kinds=("diagnoses", "observations")),
                      without_codes="keep")  # fmt: skip
    cohort = build_cohorts(spec, source)["sex"].cohort
    assert cohort.diagnosed.tolist() == [0, 1]
    assert "OBS:7" in cohort.feature_names
    assert "OBS:502" not in cohort.feature_names


def test_sets_with_a_name_and_an_expression_are_read(tmp_path):
    file = tmp_path / "set.json"
    items = {"items": [{"concept": {"conceptId": 7}, "includeDescendants": False}]}
    file.write_text(json.dumps({"id": 3, "name": "Asthma", "expression": items}))
    assert read_concept_set(file) == ConceptSet("set", included=frozenset({7}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", "bad.json is not a JSON file; export the concept set from ATLAS"),
        ("[" * 100_000, "bad.json is not a JSON file"),
        ("[1, 2]", r"bad.json is not a concept set of ATLAS: expected \{\"items\""),
        ('{"items": []}', "not a concept set of ATLAS"),
        ('{"items": [{"concept": {"CONCEPT_ID": "7"}}]}', r"item 1 has no number \(concept\.CONC"),
        ('{"items": [7]}', "item 1 has no number"),
        (json.dumps({"items": [item(7, excluded=True)]}), "excludes all of its concepts"),
    ],
)
def test_files_that_are_no_concept_sets_are_refused(tmp_path, text, words):
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=words):
        read_concept_set(file)


def test_impossible_sets_are_refused(small, tmp_path):
    def refused(words, **options):
        with pytest.raises(InvalidInputError, match=words):
            read_omop(small, **options)

    refused("concept_sets: there is no file at", concept_sets=tmp_path / "none.json")
    refused(r"concepts\.abuse must not be empty", concepts={"abuse": []})
    refused(r"concepts\.abuse: expected numbers of concepts", concepts={"abuse": 500})
    refused("concepts must be sets by name", concepts=[500])
    refused(r"concepts\.abuse: expected numbers of concepts", concepts={"abuse": ["500"]})
    refused("use letters, digits and dashes", concepts={"a:b": [500]})
    refused("must differ in their names", concepts={"a b": [500], "A-B": [501]})
    refused("'x': concept_ancestor has none of its concepts", concepts={"x": [12345]})
    gone = written(tmp_path, item(500), item(500, excluded=True))
    refused("excludes all of its concepts", concept_sets=gone)
    (small / "concept_ancestor.csv").unlink()
    refused(r"has no concept_ancestor\.parquet", concepts={"abuse": [500]})
    plain = written(tmp_path, item(500, deep=False))
    assert read_omop(small, concept_sets=plain).n_visits == 2
