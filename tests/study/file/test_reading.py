from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from relprev.checks.registry import CHECKS
from relprev.errors import InvalidInputError
from relprev.study import Study, study_schema
from relprev.study.file.source import SOURCES
from relprev.study.file.template import study_template
from tests.study.conftest import TABLES

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_an_example_that_init_writes_and_the_schema_accepts(kind):
    text = (EXAMPLES / f"{kind}.toml").read_text()
    assert text == study_template(kind)
    study = Study.from_toml(EXAMPLES / f"{kind}.toml")
    assert study.source.kind == kind
    assert study.checks.run == tuple(CHECKS)
    jsonschema.validate(tomllib.loads(text), study_schema())


def test_the_example_with_numbers_is_that_of_nhanes_with_other_features():
    file = EXAMPLES / "nhanes-numbers.toml"
    study, bins = (Study.from_toml(EXAMPLES / f"{name}.toml") for name in (file.stem, "nhanes"))
    assert {one.form for one in study.cohort.features.extra} == {"number", "spline"}
    features = replace(study.cohort.features, extra=bins.cohort.features.extra)
    assert replace(study.cohort, name="nhanes", features=features) == bins.cohort
    jsonschema.validate(tomllib.loads(file.read_text()), study_schema())


def test_what_a_template_calls_a_default_is_one(tmp_path):
    text = study_template("mimic-iv")
    file = tmp_path / "mimic-iv.toml"
    file.write_text(text)
    full = Study.from_toml(file)
    file.write_text(text.split("\n# From here on everything")[0])
    assert Study.from_toml(file) == full


def test_schema_refuses_what_the_reader_refuses():
    schema = study_schema()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"source": {"kind": "nedz"}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"source": {"kind": "simulated"}, "estimate": {"methds": []}}, schema)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "tables"', 'kind = "tabels"', "line 5: source.kind: got 'tabels'; did you mean"),
        ('kind = "tables"\n', "", "line 4: source.kind: this key is missing"),
        ('visit_id = "visit"\n', "", "line 4: source.visit_id: this key is missing"),
        ('person"', 'person"\npatiens = "x"', "line 12: source.patiens.*did you mean 'patient'"),
        ('age = "age"', "age = 3", "line 12: source.age: .*got 3"),
        ('["debiased", "purple"]', '["debiassed"]', r"methods\[1\]: got 'debiassed'; did you mean"),
        ('["debiased", "purple"]', "[]", "line 27: estimate.methods"),
        ("level = 0.9", "level = 95", "line 28: estimate.level: .*less than 1.*got 95"),
        ("level = 0.9", "levle = 0.9", "line 28: estimate.levle.*did you mean 'level'"),
        ('"leakage"', '"leaks"', r"line 31: checks.run\[2\]"),
        ("seed = 1", "seed = -1", "line 2: seed"),
        ("seed = 1", 'seed = "1"', "line 2: seed: .*got '1'"),
        ('"pain", codes', '"pain", code', "line 1: condition: it must be the name of a code set"),
        ("ICD10:R52*", "R52", "line 1: condition: a code must be written VERSION:code"),
        ('North = ["N"]', 'North = ["S"]', r"line 20: groups\[1\]: .*in more than one group"),
        ("minimum = 18", "", r"line 16: include\[1\]: .*either minimum/maximum or one_of"),
        ("[checks]", "[check]", "line 30: check: there is no such key; did you mean 'checks'"),
        ("[checks]", "[checks", "is not valid TOML"),
        ("level = 0.9", 'reference = {wad = "N"}', "line 28: .*did you mean 'ward'"),
        ("level = 0.9", 'reference = {ward = "Nort"}', "did you mean 'North'"),
        ("seed = 1", 'cohort = "ipv-nedz"', "line 2: cohort: .*did you mean 'ipv-neds'"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_line_and_remedy(tmp_path, old, new, message):
    assert old in TABLES
    file = tmp_path / "pain.toml"
    file.write_text(TABLES.replace(old, new, 1))
    with pytest.raises(InvalidInputError, match=message) as caught:
        Study.from_toml(file)
    assert str(file) in str(caught.value)


def test_several_mistakes_are_all_named(tmp_path):
    file = tmp_path / "pain.toml"
    file.write_text(TABLES.replace("seed", "sed").replace("level", "levl"))
    with pytest.raises(InvalidInputError) as caught:
        Study.from_toml(file)
    assert len(str(caught.value).splitlines()) == 2


def test_a_shipped_cohort_can_be_changed_in_part(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'cohort = "ipv-neds"\ncondition = "endometriosis"\n'
        '[source]\nkind = "neds"\ncore = "NEDS_2019_Core.csv"\n'
    )
    study = Study.from_toml(file)
    assert study.cohort.condition.name == "endometriosis"
    assert [group.name for group in study.cohort.groups][:2] == ["race", "payer"]
    file.write_text('[source]\nkind = "simulated"\n')
    with pytest.raises(InvalidInputError, match="condition is missing"):
        Study.from_toml(file)


def test_paths_are_relative_to_the_file_and_never_reported(tmp_path, monkeypatch):
    file = tmp_path / "study.toml"
    file.write_text(
        'cohort = "ipv-neds"\n[source]\nkind = "neds"\ncore = ["data/a.csv", "$SOMEWHERE/b.csv"]\n'
    )
    monkeypatch.setenv("SOMEWHERE", "/secret")
    source = Study.from_toml(file).source
    assert source.files() == [tmp_path / "data" / "a.csv", Path("/secret/b.csv")]
    assert source.described() == {"kind": "neds", "core": ["a.csv", "b.csv"]}


def test_credentials_never_leave_the_study_file(tmp_path, monkeypatch):
    monkeypatch.setenv("OMOP_URL", "postgresql://me:secret@host/db")
    for database in ("postgresql://me:secret@host/db", "$OMOP_URL"):
        file = tmp_path / "study.toml"
        file.write_text(f'cohort = "ipv-neds"\n[source]\nkind = "omop"\ndatabase = "{database}"\n')
        study = Study.from_toml(file)
        assert study.source.is_database
        assert "secret" not in json.dumps(study.described())
