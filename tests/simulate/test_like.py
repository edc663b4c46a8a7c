"""Dummy data that fit a study file pass `relprev check`, whatever the source."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from relprev.cli import app
from relprev.errors import InvalidInputError
from relprev.simulate.like import write_like
from relprev.sources.neds_store import read_layout
from relprev.study import Study
from relprev.study.file.template import study_template
from relprev.study.inspect import inspect_study

WIDE = """condition = "asthma"
[source]
kind = "tables"
visits = "/nowhere/visits.parquet"
visit_id = "key"
code = ["dx1", "dx2", "dx3"]
version = "icd"
patient = "person"
date = "seen"
birth_date = "born"
sex = "gender"
weight = "w"
stratum = "s"
psu = "u"
position = true
present_on_admission = ["poa1", "poa2", "poa3"]
attributes = ["region", "income", "smoker", "score", "pulse", "albumin"]
[[include]]
column = "smoker"
one_of = ["no"]
[[include]]
column = "score"
minimum = 50
maximum = 90
[[features.extra]]
column = "income"
edges = [10000, 50000]
[[features.extra]]
column = "pulse"
form = "number"
[[features.extra]]
column = "albumin"
form = "spline"
knots = [0.35, 0.45]
[[groups]]
column = "region"
[groups.recode]
North = ["1", "2"]
South = ["3"]
[[groups]]
column = "sex"
"""
LONG = """condition = {name = "sepsis", codes = ["ICD9:/995.*/", "ICD9:038*"]}
[source]
kind = "tables"
visits = "raw/visits.ENDING"
codes = "raw/codes.tsv"
visit_id = "key"
code = "dx"
version = "ICD9"
position = "seq"
encoding = "utf-16"
date = "seen"
date_format = "%d/%m/%y"
attributes = ["region"]
[[groups]]
column = "region"
"""
MEDS = """condition = {name = "fall", codes = ["MEDS:FALL*", "ICD10:W19*"]}
[source]
kind = "meds"
path = "dataset"
anchor = ["ED_REGISTRATION*"]
end = "ED_OUT"
attributes = ["INSURANCE"]
splits = ["train"]
[[groups]]
column = "insurance"
[groups.recode]
Public = ["Medicaid", "Medicare"]
Private = ["Private"]
[[groups]]
column = "race"
"""

OMOP = """condition = {name = "asthma", codes = ["SET:asthma"]}
[source]
kind = "omop"
database = "omop"
concepts = {asthma = [317009]}
MORE
[features]
kinds = ["diagnoses", "observations", "measurements", "procedures", "medications"]
[[include]]
column = "age"
minimum = 18
[[groups]]
column = "gender"
[[groups]]
column = "race"
"""
ATLAS = """{"items": [
  {"concept": {"CONCEPT_ID": 317009}, "isExcluded": false, "includeDescendants": true},
  {"concept": {"CONCEPT_ID": 4191479}, "isExcluded": true, "includeDescendants": true}
]}"""


def simulated(folder: Path, text: str, *options: str) -> Study:
    """The study in the copy that ``simulate --like`` writes beside its data."""
    file = folder / "study.toml"
    file.write_text(text)
    arguments = ["simulate", "--like", str(file), "--out", str(folder / "dummy"), *options]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.exception
    assert "results mean nothing" in done.output
    return Study.from_toml(folder / "dummy" / "study.toml")


@pytest.mark.parametrize("kind", ["tables", "meds", "omop", "neds"])
def test_studies_written_by_init(tmp_path, kind):
    if kind == "meds":
        pytest.importorskip("meds")
    seen = inspect_study(simulated(tmp_path, study_template(kind, "asthma")))
    assert not seen.problems
    assert any("suit asthma? with care" in str(note) for note in seen.notes)
    assert all(len(variable.counts) > 1 for variable in seen.variables)


@pytest.mark.parametrize("text", [WIDE, LONG.replace("ENDING", "csv.gz"),
                                  LONG.replace("ENDING", "dta")])  # fmt: skip
def test_tables_of_every_shape(tmp_path, text):
    seen = inspect_study(simulated(tmp_path, text, "--visits", "3000"))
    assert not seen.problems


@pytest.mark.parametrize("sheets", ["", 'sheet = "Patients & visits"\ncodes_sheet = "Codes"\n'])
def test_spreadsheets(tmp_path, sheets):
    pytest.importorskip("python_calamine")
    name = "visits.xlsx" if sheets else "codes.xlsx"
    text = LONG.replace("ENDING", "xlsx").replace("codes.tsv", name)
    text = text.replace('encoding = "utf-16"\n', sheets)
    seen = inspect_study(simulated(tmp_path, text, "--visits", "3000"))
    assert not seen.problems
    written = {file.name for file in (tmp_path / "dummy" / "raw").iterdir()}
    assert written == {"visits.xlsx", name}


def test_rules_and_recodes_have_something_to_do(tmp_path):
    seen = inspect_study(simulated(tmp_path, WIDE))
    steps = seen.variables[0].attrition
    assert (steps["excluded_visits"].iloc[1:3] > 100).all()
    assert set(seen.variables[0].counts["group"]) == {"North", "South"}
    assert set(seen.variables[1].counts["group"]) == {"F", "M"}


def test_a_dataset_of_events(tmp_path):
    pytest.importorskip("meds")
    seen = inspect_study(simulated(tmp_path, MEDS))
    assert not seen.problems
    assert set(seen.variables[0].counts["group"]) == {"Public", "Private"}
    assert seen.codes["MEDS:FALL*"] > 0


PERSON = 'unit = "person"\nstart = "2021-03-01"\nend = "2021-08-31"\n'


@pytest.mark.parametrize("codes", ["source", "standard"])
@pytest.mark.parametrize("more", [PERSON, 'match = "date"\nend = "2012-06-30"\n', ""])
def test_omop_people_windows_concept_sets_and_kinds(tmp_path, codes, more):
    seen = inspect_study(
        simulated(tmp_path, OMOP.replace("MORE", f'codes = "{codes}"\n{more}'), "--visits", "2000")
    )
    assert not seen.problems
    assert seen.codes == {"SET:ASTHMA": 1}
    assert set(seen.variables[0].counts["group"]) == {"FEMALE", "MALE"}
    assert all(f"({prefix})" in seen.words["gender"] for prefix in ("OBS", "LAB", "PROC", "MED"))
    steps = seen.variables[0].attrition
    assert not steps["step"].str.contains("match no").any()


def test_concept_sets_are_copied_beside_the_dummy_data(tmp_path):
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "asthma.json").write_text(ATLAS)
    given = 'concept_sets = "sets/asthma.json"'
    text = OMOP.replace("concepts = {asthma = [317009]}", given).replace("MORE", "")
    seen = inspect_study(simulated(tmp_path, text, "--visits", "2000"))
    assert not seen.problems
    assert (tmp_path / "dummy" / "sets" / "asthma.json").read_text() == ATLAS


def test_layouts_are_copied_beside_the_dummy_data(tmp_path):
    names = read_layout("Core", 2019)
    (tmp_path / "core.csv").write_text("\n".join(["name", *names]) + "\n")
    text = study_template("neds", "asthma").replace('core = "', 'layout = "core.csv"\ncore = "', 1)
    simulated(tmp_path, text, "--visits", "1000")
    assert (tmp_path / "dummy" / "core.csv").read_text() == (tmp_path / "core.csv").read_text()


def test_hospitals_and_procedures_of_neds(tmp_path):
    more = """hospital = "NEDS_2019_Hospital.csv"
ed = "NEDS_2019_ED.csv.gz"
ip = "NEDS_2019_IP.csv"
"""
    text = study_template("neds", "asthma").replace('core = "', f'{more}core = "', 1)
    text = text.replace("[features]\n", '[features]\nkinds = ["diagnoses", "procedures"]\n')
    region = '[[include]]\ncolumn = "hosp_region"\nmaximum = 2\n'
    text = text.replace("[[include]]\n", f"{region}[[include]]\n", 1)
    seen = inspect_study(simulated(tmp_path, text, "--visits", "10000"))
    assert not seen.problems
    assert "procedures (CPT, ICD-10-PCS) (PROC) 40" in seen.words["race"]
    assert 4000 < seen.variables[0].attrition["visits"].iloc[1] < 6000  # of four regions two


def test_a_concept_set_that_is_not_given_is_named(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(OMOP.replace("{asthma = [317009]}", "{copd = [255573]}").replace("MORE", ""))
    done = CliRunner().invoke(app, ["simulate", "--like", str(file), "--out", str(tmp_path / "d")])
    assert "there is no concept set ASTHMA" in str(done.exception)
    assert not (tmp_path / "d").exists()


def test_a_whole_study_of_dummy_data_runs(tmp_path):
    text = WIDE.split('[[groups]]\ncolumn = "sex"')[0] + "[checks]\nrun = []\n"
    text = text.replace('stratum = "s"\npsu = "u"\n', "")
    result = simulated(tmp_path, text).run(tmp_path / "results")
    assert len(result.table("region")) == 2


def test_the_same_seed_writes_the_same_files(tmp_path):
    names = {"visits": "v.csv", "visit_id": "id", "code": ["dx"], "version": "ICD10"}
    file = tmp_path / "study.toml"
    file.write_text('condition = "ipv"\n[source]\nkind = "tables"\nvisits = "v.csv"\n'
                    'visit_id = "id"\ncode = ["dx"]\nversion = "ICD10"\n'
                    '[[groups]]\ncolumn = "ward"\n')  # fmt: skip
    spec = Study.from_toml(file).cohort
    texts = [
        write_like(spec, "tables", names, tmp_path / name, 1000, seed=seed)[0].read_bytes()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("/nowhere/visits.parquet", "visits.sas7bdat", "dummy tables are written as"),
        ('version = "icd"', 'version = "SNOMED"', "no code of 'asthma' is of SNOMED"),
        ('kind = "tables"', 'kind = "nhds"\npath = "x"\n[other]\n', "there is no such key"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, old, new, words):
    file = tmp_path / "study.toml"
    file.write_text(WIDE.replace(old, new))
    done = CliRunner().invoke(app, ["simulate", "--like", str(file), "--out", str(tmp_path / "d")])
    assert words in str(done.exception)


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("mimic-iv", {}, "relprev simulate mimic"), ("nhds", {}, "its data are public"),
        ("omop", {"database": "postgresql://me:hunter2@host/db"}, "name a folder"),
        ("omop", {"database": "$OMOP_URL"}, "name a folder"),
        ("neds", {"core": ["NEDS_2018_Core.csv"]}, "those of 2019"),
        ("neds", {"core": "NEDS_2019_Core.csv", "ed": "NEDS_2018_ED.csv"}, "NEDS_2019_ED.csv"),
        ("neds", {"core": "NEDS_2019_Core.parquet"}, "are .csv or .csv.gz"),
        ("neds", {"core": "NEDS_2019_Core.csv", "ip_layout": "none.csv"}, "ip_layout: expected"),
        ("neds", {"core": "NEDS_2019_Core.csv", "layout": "none.csv"}, "layout: expected a file"),
    ],
)  # fmt: skip
def test_sources_that_cannot_be_written_are_refused(tmp_path, kind, arguments, words):
    file = tmp_path / "study.toml"
    file.write_text(study_template("neds", "asthma"))
    spec = Study.from_toml(file).cohort
    with pytest.raises(InvalidInputError, match=words) as caught:
        write_like(spec, kind, arguments, tmp_path / "out")
    assert "hunter2" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path):
    text = study_template("neds", "asthma")
    simulated(tmp_path, text, "--visits", "1000")
    arguments = [
        "simulate",
        "--like",
        str(tmp_path / "study.toml"),
        "--out",
        str(tmp_path / "dummy"),
    ]
    assert "exists already" in str(CliRunner().invoke(app, arguments).exception)


def test_like_takes_everything_from_the_study_file():
    run = CliRunner()
    assert "remove the other arguments" in str(
        run.invoke(app, ["simulate", "neds", "--like", "x"]).exception
    )
    assert "or --like" in str(run.invoke(app, ["simulate"]).exception)
