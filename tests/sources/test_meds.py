from __future__ import annotations

import sys
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable, build_cohorts
from relprev.errors import DataWarning, InvalidInputError
from relprev.sources import read_meds

pytest.importorskip("meds")
EVENTS = [  # subject, time, code
    (1, None, "GENDER//F"), (1, None, "RACE//WHITE"), (1, None, "RACE//ASIAN"),
    (1, "1980-06-15", "MEDS_BIRTH"),
    (1, "2020-06-13 10:00", "DIAGNOSIS//ICD//10//I10"),  # before the visit
    (1, "2020-06-14 10:00", "ED_REGISTRATION//A"), (1, "2020-06-14 11:00", "LAB//50912//mg/dL"),
    (1, "2020-06-14 11:30", "LAB//50912//mg/dL"), (1, "2020-06-14 11:40", "INSURANCE//Medicaid"),
    (1, "2020-06-14 12:00", "DIAGNOSIS//ICD//10//R51"), (1, "2020-06-14 12:00", "ED_OUT"),
    (1, "2020-06-15 09:00", "ICD9CM/038.9"),  # after it
    (1, "2020-06-16 10:00", "ED_REGISTRATION//B"), (1, "2020-06-16 11:00", "INSURANCE//Private"),
    (1, "2020-06-19 10:00", "PROCEDURE//ICD//9//3893"), (1, "2020-07-01", "MEDS_DEATH"),
    (2, None, "GENDER//M"), (2, "1990-01-01", "MEDS_BIRTH"),
    (2, "2021-01-01", "ED_REGISTRATION//A"), (2, "2021-01-01", "SNOMED/65363002"),
]  # fmt: skip


def table(rows):
    subjects, times, codes = zip(*rows, strict=True)
    return pa.table({
        "subject_id": pa.array(subjects, pa.int64()),
        "time": pa.array(pd.to_datetime(pd.Series(times), format="mixed"), pa.timestamp("us")),
        "code": pa.array(codes, pa.large_string()),
        "numeric_value": pa.nulls(len(rows), pa.float32()),
    })  # fmt: skip


@pytest.fixture
def dataset(tmp_path):
    """A folder as the standard lays it out, with a shard for every split."""
    folder = tmp_path / "meds"
    for split_name, subject in (("train", 1), ("held_out", 2)):
        (folder / "data" / split_name).mkdir(parents=True)
        rows = [row for row in EVENTS if row[0] == subject]
        pa.parquet.write_table(table(rows), folder / "data" / split_name / "0.parquet")
    (folder / "metadata").mkdir()
    described = {"LAB//50912//mg/dL": "Creatinine", "DIAGNOSIS//ICD//10//R51": "x"}
    codes = pd.DataFrame({"code": list(described), "description": list(described.values())})
    codes.to_parquet(folder / "metadata" / "codes.parquet")
    splits = pd.DataFrame({"subject_id": [1, 2], "split": ["train", "held_out"]})
    splits.to_parquet(folder / "metadata" / "subject_splits.parquet")
    return folder


def read(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return read_meds(path, **options)


def test_an_anchor_begins_a_visit_and_an_end_ends_it(dataset):
    source = read(dataset, anchor="ED_REGISTRATION*", end="ED_OUT")
    assert source.query("SELECT patient, age, sex, year, anchor FROM visits ORDER BY visit") == [
        (1, 39, "F", 2020, "ED_REGISTRATION//A"), (1, 40, "F", 2020, "ED_REGISTRATION//B"),
        (2, 31, "M", 2021, "ED_REGISTRATION//A"),
    ]  # fmt: skip
    assert source.query("SELECT visit, version, code, role FROM codes ORDER BY ALL") == [
        (0, "ICD10", "R51", "diagnosis"),
        (0, "MEDS", "INSURANCE//MEDICAID", "insurance"), (0, "MEDS", "LAB//50912//MG/DL", "lab"),
        (1, "MEDS", "INSURANCE//PRIVATE", "insurance"),
        (1, "MEDS", "PROCEDURE//ICD//9//3893", "procedure"), (2, "SNOMED", "65363002", "snomed"),
    ]  # fmt: skip
    assert source.attrition.steps[0].visits == 3
    assert source.descriptions == {"MEDS:LAB//50912//MG/DL": "Creatinine"}


def test_visits_have_the_day_on_which_they_began_and_people_have_none(dataset):
    """No window between visits worked in MEDS."""
    source = read(dataset, anchor="ED_REGISTRATION*", end="ED_OUT")
    days = source.query("SELECT visit_date::VARCHAR FROM visits ORDER BY visit")
    assert days == [("2020-06-14",), ("2020-06-16",), ("2021-01-01",)]
    assert "visit_date" not in read(dataset).columns("visits")


def test_without_an_end_a_visit_lasts_until_the_next_or_some_days(dataset):
    source = read(dataset, anchor="ED_REGISTRATION*")
    assert source.query("SELECT visit FROM codes WHERE version = 'ICD9'") == [(0,)]
    short = read(dataset, anchor="ED_REGISTRATION*", days=0.9)
    assert not short.query("SELECT visit FROM codes WHERE version = 'ICD9' OR role = 'procedure'")
    assert short.query("SELECT visit FROM codes WHERE version = 'ICD10'") == [(0,)]


def test_without_an_anchor_a_subject_is_a_visit(dataset):
    source = read(dataset)
    assert source.query("SELECT patient, age, sex FROM visits ORDER BY visit") == [
        (1, 40, "F"), (2, 31, "M"),
    ]  # fmt: skip
    found = source.query("SELECT version || ':' || code FROM codes WHERE visit = 0 ORDER BY ALL")
    assert [name for (name,) in found][:3] == ["ICD10:I10", "ICD10:R51", "ICD9:0389"]


def test_static_demographics_and_the_latest_of_others_are_groups(dataset):
    source = read(dataset, anchor="ED_REGISTRATION*", end="ED_OUT", attributes="INSURANCE")
    assert source.attributes == ("anchor", "gender", "race", "insurance")
    assert source.query("SELECT gender, race, insurance FROM visits ORDER BY visit") == [
        ("F", "ASIAN and WHITE", "Medicaid"), ("F", "ASIAN and WHITE", "Private"),
        ("M", None, None),
    ]  # fmt: skip
    assert not source.query("SELECT * FROM codes WHERE role IN ('insurance', 'gender', 'race')")


def test_its_features_are_called_codes_of_events(dataset):
    """Laboratory tests were counted as diagnoses."""
    (kind,) = read(dataset).kinds
    assert (kind.words, kind.prefix) == ("codes of events", "ICD9, ICD10, MEDS")


def test_splits_are_a_step_of_the_attrition(dataset):
    source = read(dataset, anchor="ED_REGISTRATION*", splits=["train"])
    assert [(step.visits, step.patients) for step in source.attrition.steps] == [(3, 2), (2, 1)]
    assert source.query("SELECT DISTINCT patient FROM visits") == [(1,)]


def test_diagnoses_outside_visits_are_warned_of(dataset):
    with pytest.warns(DataWarning, match="67% of the diagnoses .* belong to none"):
        read_meds(dataset, anchor="ED_REGISTRATION*", end="ED_OUT")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_meds(dataset)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"anchor": "ED_REGISTRATON*"}, "no event has the code .*did you mean 'ED_REGISTRATION'"),
        ({"anchor": "ED_REGISTRATION"}, "anchor: no event has the code"),
        ({"anchor": "ED_REGISTRATION*", "end": "OUT"}, "end: no event has the code 'OUT'"),
        ({"end": "ED_OUT"}, "anchor is missing"),
        ({"anchor": "ED_REGISTRATION*", "days": 0}, "days must be more than 0"),
        ({"attributes": "INSURANC"}, "no code begins with 'INSURANC'; did you mean 'INSURANCE'"),
        ({"splits": "trian"}, "no split 'trian'; did you mean 'train'"),
    ],
)
def test_options_that_do_not_fit_are_refused(dataset, options, words):
    with pytest.raises(InvalidInputError, match=words):
        read_meds(dataset, **options)


def test_bad_datasets_are_refused(dataset, tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match="expected a folder or a Parquet file"):
        read_meds(tmp_path / "nothing")
    with pytest.raises(InvalidInputError, match="no Parquet files in a folder 'data'"):
        read_meds(dataset / "metadata")
    with pytest.raises(InvalidInputError, match="lacks the columns time, code"):
        read_meds(dataset / "metadata" / "subject_splits.parquet")
    (dataset / "metadata" / "subject_splits.parquet").unlink()
    with pytest.raises(InvalidInputError, match=r"has no metadata/subject_splits\.parquet"):
        read_meds(dataset, splits="train")
    shard = dataset / "data" / "train" / "0.parquet"
    shard.write_text("subject_id,time,code")
    with pytest.raises(InvalidInputError, match=r"0\.parquet cannot be read: it is not a Parquet"):
        read_meds(dataset)
    texts = pa.table({"subject_id": ["a"], "time": ["b"], "code": ["c"]})
    pa.parquet.write_table(texts, shard)
    with pytest.raises(InvalidInputError, match="subject_id must be int64, it is string"):
        read_meds(dataset)
    monkeypatch.setitem(sys.modules, "meds", None)
    with pytest.raises(InvalidInputError, match=r"pip install relprev\[meds\]"):
        read_meds(dataset)


@pytest.fixture
def demo(real_data, tmp_path):
    """The shared demo in the standard's folders: two shards, the codes' file, splits."""
    file = real_data("meds-mimic-iv-demo/mimic_iv_demo_meds_events.parquet")
    events = pa.parquet.read_table(file).rename_columns(
        ["subject_id", "time", "code", "table", "numeric_value"]
    )
    subjects = pa.compute.unique(events["subject_id"]).to_pylist()
    folder = tmp_path / "demo"
    (folder / "data").mkdir(parents=True)
    for k in range(2):
        part = events.filter(pa.compute.is_in(events["subject_id"], pa.array(subjects[k::2])))
        pa.parquet.write_table(part, folder / "data" / f"{k}.parquet")
    (folder / "metadata").mkdir()
    rows = pa.table({"subject_id": subjects, "split": ["train", "tuning"] * (len(subjects) // 2)})
    pa.parquet.write_table(rows, folder / "metadata" / "subject_splits.parquet")
    return folder


def test_the_shared_demo_has_mimics_admissions_and_diagnoses(demo):
    source = read_meds(demo, anchor="HOSPITAL_ADMISSION*", end="HOSPITAL_DISCHARGE*")
    assert source.n_visits == 275
    assert source.attrition.steps[0].patients == 100
    diagnoses = "SELECT count(*) FROM codes WHERE version IN ('ICD9', 'ICD10')"
    assert source.query(diagnoses) == [(4496,)]  # of 4506; ten are dated outside admissions
    assert source.query("SELECT count(DISTINCT patient) FROM visits WHERE sex = 'F'") == [(43,)]
    half = read_meds(demo, anchor="HOSPITAL_ADMISSION*", splits="train")
    assert half.attrition.steps[-1].patients == 50


def test_a_cohort_of_the_shared_demo(demo):
    source = read_meds(demo, anchor="HOSPITAL_ADMISSION*", end="HOSPITAL_DISCHARGE*")
    condition = CodeSet.of("hypertension", ["ICD9:401*", "ICD10:I10"])
    spec = CohortSpec(condition, (GroupVariable("gender"),))
    cohort = build_cohorts(spec, source)["gender"].cohort
    assert cohort.group_names == ("F", "M")
    assert cohort.diagnosed.sum() > 50
