from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relprev import PURPLE
from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable, Include, cohort_spec
from relprev.cohort.build import build_cohorts
from relprev.cohort.code_rules import cases, has_code_sql
from relprev.cohort.visit_rules import Case, Exclude
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.simulate.mimic import RACES, write_mimic
from relprev.sources import read_mimic
from relprev.study import Study

HYPERTENSION = CodeSet.of("hypertension", ["ICD9:401*", "ICD10:I10"])
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mimic-iv.toml"
WOMEN = (Include("sex", one_of=("F",)), Include("age", minimum=18))


@pytest.fixture(scope="module")
def demo(real_data):
    return real_data("mimic-iv-demo-2.2"), real_data("mimic-iv-ed-demo-2.2")


@pytest.fixture(scope="module", params=["2.2", "1.0"])
def written(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"mimic-{request.param}")
    return write_mimic(folder, 40_000, layout=request.param, n_codes=150, prevalence=0.2, seed=4)


@pytest.fixture
def small(tmp_path):
    return write_mimic(tmp_path, 400, n_codes=50)


def frames(demo):
    hosp, ed = demo
    return {
        "patients": pd.read_csv(hosp / "hosp" / "patients.csv.gz"),
        "admissions": pd.read_csv(hosp / "hosp" / "admissions.csv.gz"),
        "hospital": pd.read_csv(hosp / "hosp" / "diagnoses_icd.csv.gz", dtype={"icd_code": str}),
        "stays": pd.read_csv(ed / "ed" / "edstays.csv.gz"),
        "ed": pd.read_csv(ed / "ed" / "diagnosis.csv.gz", dtype={"icd_code": str}),
    }


def test_every_attrition_step_of_the_demo_by_hand(demo):
    """The rules again, with pandas and sets instead of SQL."""
    tables = frames(demo)
    stays, admissions = tables["stays"], tables["admissions"]
    linked = stays["hadm_id"].dropna()
    several = set(linked[linked.duplicated(keep=False)])
    unlinked = admissions[~admissions["hadm_id"].isin(linked)]
    steps = [(stays, unlinked)]
    stays = stays[~stays["hadm_id"].isin(several)]
    steps.append((stays, unlinked))
    stays = stays[stays["hadm_id"].isna() | stays["hadm_id"].isin(admissions["hadm_id"])]
    steps.append((stays, unlinked))
    through_emergency = unlinked[unlinked["admission_location"] == "EMERGENCY ROOM"]
    steps.append((stays, through_emergency))
    expected = [
        (len(a) + len(b), len(set(a["subject_id"]) | set(b["subject_id"]))) for a, b in steps
    ]
    source = read_mimic(*demo)
    found = [(step.visits, step.patients) for step in source.attrition.steps]
    assert found == expected
    assert found == [(326, 100), (324, 100), (324, 100), (230, 68)]

    visits = pd.concat([stays.rename(columns={"intime": "time"}),
                        through_emergency.rename(columns={"admittime": "time"})])  # fmt: skip
    people = visits.merge(tables["patients"], on="subject_id", suffixes=("", "_patient"))
    women = people[people["gender_patient"].fillna(people["gender"]) == "F"]
    age = women["anchor_age"] + pd.to_datetime(women["time"]).dt.year - women["anchor_year"]
    cohort = build_cohorts(
        CohortSpec(HYPERTENSION, (GroupVariable("insurance"),), WOMEN, without_codes="keep"), source
    )["insurance"]
    after = {step.step: step.visits for step in cohort.attrition.steps}
    assert after["sex F"] == len(women)
    assert after["age 18 or more"] == int((age >= 18).sum())


def test_codes_of_the_demo_are_those_of_both_places(demo):
    tables = frames(demo)
    source = read_mimic(*demo)
    found = source.query("SELECT visit_id, version, code FROM codes JOIN visits USING (visit)")
    by_visit: dict[str, set] = {}
    for visit, version, code in found:
        by_visit.setdefault(visit, set()).add((version, code))

    def recorded(frame):
        return {
            (f"ICD{v}", c.strip())
            for c, v in zip(frame["icd_code"], frame["icd_version"], strict=True)
        }

    stays = tables["stays"].set_index("stay_id")["hadm_id"]
    for visit, codes in by_visit.items():
        kind, number = visit.split()
        admission = stays[int(number)] if kind == "stay" else int(number)
        expected = recorded(tables["hospital"][tables["hospital"]["hadm_id"] == admission])
        if kind == "stay":
            expected |= recorded(tables["ed"][tables["ed"]["stay_id"] == int(number)])
        assert codes == expected


def test_windows_between_visits_of_the_demo_by_hand(demo):
    """No window worked in MIMIC-IV: visits had no dates."""
    tables = frames(demo)
    source = read_mimic(*demo)
    rows = source.query("SELECT visit_id, patient, visit_date FROM visits")
    visits = pd.DataFrame(rows, columns=["id", "patient", "day"])
    began = {f"stay {one.stay_id}": one.intime for one in tables["stays"].itertuples()}
    began |= {
        f"admission {one.hadm_id}": one.admittime for one in tables["admissions"].itertuples()
    }
    visits["day"] = pd.to_datetime(visits["day"])
    pd.testing.assert_series_equal(
        visits["day"], pd.to_datetime(visits["id"].map(began)).dt.normalize(), check_names=False,
        check_dtype=False,
    )  # fmt: skip
    coded = {name for (name,) in source.query(
        "SELECT DISTINCT visit_id FROM visits JOIN codes USING (visit) WHERE version = 'ICD10' "
        "AND code LIKE 'I10%' OR version = 'ICD9' AND code LIKE '401%'")}  # fmt: skip
    pairs = visits.merge(visits[visits["id"].isin(coded)], on="patient", suffixes=("", "_coded"))
    days = (pairs["day_coded"] - pairs["day"]).dt.days
    later = set(pairs["id"][days.between(0, 90)]) | coded
    before = set(pairs["id"][days.between(-365, 0)])
    assert len(coded) < len(later) < len(visits)
    spec = CohortSpec(HYPERTENSION, (GroupVariable("sex"),), case=Case(later_days=90))
    assert cases(spec, source).sum() == len(later)
    rule = Exclude(codes=("ICD9:401*", "ICD10:I10"), lookback_days=365)
    (count,) = source.query(f"SELECT count(*) FROM visits WHERE {has_code_sql(rule, source, 'x')}")
    assert count[0] == len(before)


def test_the_demo_has_no_ipv_and_says_so(demo):
    with pytest.raises(TooFewCasesError, match="has a code of 'ipv'"):
        build_cohorts(cohort_spec("ipv-mimic"), read_mimic(*demo), groups=["insurance"])


def test_simulated_visits_that_the_rules_leave_out_are_left_out(written):
    source = read_mimic(written.hosp, written.ed)
    visits = [step.visits for step in source.attrition.steps]
    assert -np.diff(visits) == pytest.approx(
        [written.excluded[k] for k in ("several stays", "no admission", "from elsewhere")]
    )
    built = build_cohorts(cohort_spec("ipv-mimic"), source)["race"]
    after = {step.step: step.visits for step in built.attrition.steps}
    assert after["age 18 or more"] == written.included


def test_the_estimate_from_simulated_files_is_near_the_truth(written, monkeypatch):
    monkeypatch.setattr("relprev.simulate.visits.TRUTH_VISITS", 20_000)  # quicker, exact enough
    cohort = build_cohorts(cohort_spec("ipv-mimic"), read_mimic(written.hosp, written.ed))[
        "race"
    ].cohort
    truth = written.truth.relative_prevalence(list(RACES))
    table = PURPLE(lambdas=1e-4).fit(cohort).relative_prevalence().to_frame()
    assert table["estimate"].to_numpy() == pytest.approx(truth, rel=0.1)
    assert np.abs(np.log(table["observed_ratio"] / truth)).max() > 0.3


def test_attributes_come_from_the_patients_latest_admission(tmp_path):
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write(tmp_path / "hosp/patients.csv", "subject_id,gender,anchor_age,anchor_year\n1,F,40,2150\n")
    write(tmp_path / "hosp/admissions.csv",
          "subject_id,hadm_id,admittime,admission_location,insurance,marital_status,race\n"
          "1,20,2150-01-01 00:00:00,EMERGENCY ROOM,Medicaid,SINGLE,ASIAN\n"
          "1,21,2153-01-01 00:00:00,PHYSICIAN REFERRAL,Medicare,MARRIED,ASIAN\n")  # fmt: skip
    write(tmp_path / "hosp/diagnoses_icd.csv", "hadm_id,icd_code,icd_version\n20,I10,10\n")
    write(tmp_path / "ed/edstays.csv", "subject_id,hadm_id,stay_id,intime,race\n"
          "1,,30,2152-05-05 00:00:00,WHITE\n")  # fmt: skip
    write(tmp_path / "ed/diagnosis.csv", "stay_id,icd_code,icd_version\n30,4019 ,9\n")
    query = "SELECT kind, age, race, insurance, marital_status FROM visits ORDER BY kind"
    filled = read_mimic(tmp_path, tmp_path).query(query)
    assert filled == [("ed", 42, "WHITE", "Medicare", "MARRIED"),
                      ("hospital", 40, "ASIAN", "Medicaid", "SINGLE")]  # fmt: skip
    own = read_mimic(tmp_path, tmp_path, fill="none").query(query)
    assert own[0] == ("ed", 42, "WHITE", None, None)


def test_a_wrong_folder_is_refused(tmp_path, small):
    with pytest.raises(InvalidInputError, match="no folder at"):
        read_mimic(tmp_path / "nowhere", small.ed)
    with pytest.raises(InvalidInputError, match="has no table patients"):
        read_mimic(small.ed, small.ed)


def test_a_missing_column_is_named(small):
    file = small.hosp / "hosp" / "patients.csv.gz"
    pd.read_csv(file).drop(columns="anchor_year").to_csv(file, index=False)
    with pytest.raises(InvalidInputError, match=r"patients\.csv\.gz lacks the column anchor_year"):
        read_mimic(small.hosp, small.ed)


def test_a_truncated_gzip_is_refused(small):
    file = small.ed / "ed" / "diagnosis.csv.gz"
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(InvalidInputError, match="truncated"):
        read_mimic(small.hosp, small.ed)


def test_duplicate_stays_are_refused_without_naming_them(small):
    file = small.ed / "ed" / "edstays.csv.gz"
    stays = pd.read_csv(file)
    pd.concat([stays, stays.tail(3)]).to_csv(file, index=False)
    with pytest.raises(InvalidInputError, match=r"3 of .* rows repeat an earlier one") as caught:
        read_mimic(small.hosp, small.ed)
    assert str(stays["stay_id"].iloc[-1]) not in str(caught.value)


def test_unknown_icd_versions_are_refused(small):
    file = small.ed / "ed" / "diagnosis.csv.gz"
    text = gzip.decompress(file.read_bytes()).decode().replace(",10\n", ",11\n", 1)
    file.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InvalidInputError, match="neither 9 nor 10 for 1 diagnoses"):
        read_mimic(small.hosp, small.ed)


def test_plain_csv_files_read_the_same(small, tmp_path):
    plain = tmp_path / "plain"
    shutil.copytree(small.hosp, plain / "hosp")
    shutil.copytree(small.ed, plain / "ed")
    for file in plain.rglob("*.csv.gz"):
        file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
        file.unlink()
    packed, unpacked = read_mimic(small.hosp, small.ed), read_mimic(plain / "hosp", plain / "ed")
    query = "SELECT * FROM codes ORDER BY ALL"
    assert packed.query(query) == unpacked.query(query)


def test_the_study_file_to_start_from_has_the_papers_groups():
    study = Study.from_toml(EXAMPLE)
    paper = cohort_spec("ipv-mimic")
    groups = {group.name: group.recode for group in study.cohort.groups}
    assert groups == {group.name: group.recode for group in paper.groups}
    assert study.cohort.include == paper.include
    assert study.cohort.condition == paper.condition
