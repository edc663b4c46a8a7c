from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.simulate.mimic import write_mimic
from relprev.sources import read_mimic
from relprev.sources.mimic_features import KINDS

ALL = [kind.name for kind in KINDS]
SIGNS = {"temperature": 98.6, "heartrate": 80, "resprate": 16, "o2sat": 99, "sbp": 120, "dbp": 70}


@pytest.fixture
def written(tmp_path):
    """Simulated folders with triage, vitalsign and medrecon of the first stays."""
    folders = write_mimic(tmp_path, 400, n_codes=50)
    ed = folders.ed / "ed"
    stays = pd.read_csv(ed / "edstays.csv.gz")
    stays["arrival_transport"] = "WALK IN"
    stays.loc[:4, "arrival_transport"] = ["AMBULANCE", "UNKNOWN", "HELICOPTER", "WALK IN", "12345"]
    stays.to_csv(ed / "edstays.csv.gz", index=False)
    triage = pd.DataFrame({"stay_id": stays["stay_id"], **SIGNS, "pain": "0", "acuity": 3.0,
                           "chiefcomplaint": "Cough, seen 03/12 by Dr. Gorringe"})  # fmt: skip
    triage["chiefcomplaint"] = triage["chiefcomplaint"].where(triage.index % 2 == 0, "COUGH")
    triage.loc[triage.index >= 10, "chiefcomplaint"] = "cough"
    triage.loc[0, ["heartrate", "pain", "acuity"]] = [140, "8", 1]
    triage.loc[1, ["temperature", "pain", "acuity"]] = [39.5, "UA", None]
    triage.to_csv(ed / "triage.csv.gz", index=False)
    later = pd.DataFrame([
        {"stay_id": stays["stay_id"][0], **SIGNS, "heartrate": 95},
        {"stay_id": stays["stay_id"][0], **SIGNS, "heartrate": 140, "sbp": 85},
    ])  # fmt: skip
    later.to_csv(ed / "vitalsign.csv.gz", index=False)
    drugs = pd.DataFrame({"stay_id": stays["stay_id"][[0, 0, 1]], "name": "secret name",
                          "etccode": ["00000272", "00005970", None],
                          "etcdescription": ["Beta blockers", "Statins", None]})  # fmt: skip
    drugs.to_csv(ed / "medrecon.csv.gz", index=False)
    return folders, stays["stay_id"].tolist()


def names(source, stay):
    rows = source.query(
        "SELECT version, code FROM codes JOIN visits USING (visit) "
        "WHERE visit_id = ? AND role NOT IN ('ed', 'hospital') ORDER BY ALL", [f"stay {stay}"],
    )  # fmt: skip
    return [f"{version}:{code}" for version, code in rows]


def kept_stays(source, stays):
    known = {visit for (visit,) in source.query("SELECT visit_id FROM visits")}
    return [stay for stay in stays if f"stay {stay}" in known]


def test_every_kind_of_two_stays_by_hand(written):
    folders, stays = written
    source = read_mimic(folders.hosp, folders.ed, kinds=ALL)
    assert kept_stays(source, stays[:2]) == stays[:2]
    assert names(source, stays[0]) == [
        "ARRIVAL:AMBULANCE", "COMPLAINT:COUGH", "LATER:HEART_RATE_EXTREME",
        "LATER:HEART_RATE_HIGH", "LATER:SYSTOLIC_PRESSURE_VERY_LOW", "MED:00000272",
        "MED:00005970", "PAIN:SEVERE", "TRIAGE:1", "VITAL:HEART_RATE_EXTREME",
    ]  # fmt: skip
    assert names(source, stays[1]) == ["COMPLAINT:COUGH", "VITAL:TEMPERATURE_VERY_HIGH"]
    assert source.descriptions["MED:00005970"] == "Statins"
    assert source.descriptions["LATER:HEART_RATE_HIGH"].endswith(", during the stay")


def test_no_text_of_a_complaint_or_drug_is_kept(written):
    """The complaint names a physician, in fewer than eleven stays."""
    folders, _ = written
    source = read_mimic(folders.hosp, folders.ed, kinds=ALL)
    codes = {code for (code,) in source.query("SELECT DISTINCT code FROM codes")}
    seen = " ".join([*codes, *source.descriptions, *source.descriptions.values()]).upper()
    assert "COUGH" in codes
    assert "GORRINGE" not in seen
    assert "SECRET" not in seen
    assert "12345" not in seen
    assert not {"chiefcomplaint", "name", "stay_id"} & set(source.columns("visits"))


def test_without_kinds_no_further_table_is_read(written):
    folders, _ = written
    for table in ("triage", "vitalsign", "medrecon"):
        (folders.ed / "ed" / f"{table}.csv.gz").write_bytes(b"damaged")
    source = read_mimic(folders.hosp, folders.ed)
    assert {role for (role,) in source.query("SELECT DISTINCT role FROM codes")} == {
        "ed", "hospital",
    }  # fmt: skip
    assert len(source.details["data"]) == 5


def test_visits_and_order_do_not_depend_on_kinds(written):
    folders, _ = written
    sql = "SELECT visit, visit_id, patient, age, race FROM visits ORDER BY visit"
    plain, more = (read_mimic(folders.hosp, folders.ed, kinds=kinds) for kinds in ((), ALL))
    assert plain.query(sql) == more.query(sql)
    assert plain.attrition == more.attrition


def test_a_kind_whose_table_lacks_names_it(written):
    folders, _ = written
    (folders.ed / "ed" / "medrecon.csv.gz").unlink()
    with pytest.raises(InvalidInputError, match=r"has no table medrecon.*kind 'medications' of"):
        read_mimic(folders.hosp, folders.ed, kinds=["medications"])


def test_two_triages_of_a_stay_are_refused(written):
    folders, _ = written
    file = folders.ed / "ed" / "triage.csv.gz"
    triage = pd.read_csv(file)
    pd.concat([triage, triage[:1]]).to_csv(file, index=False)
    with pytest.raises(InvalidInputError, match="stay_id must identify a row of triage"):
        read_mimic(folders.hosp, folders.ed, kinds=["vitals"])


def test_arrival_needs_its_column(tmp_path):
    folders = write_mimic(tmp_path, 400, n_codes=50)
    with pytest.raises(InvalidInputError, match="edstays lacks arrival_transport"):
        read_mimic(folders.hosp, folders.ed, kinds=["arrival"])


def test_demo_triage_is_what_pandas_finds(real_data):
    hosp, ed = real_data("mimic-iv-demo-2.2"), real_data("mimic-iv-ed-demo-2.2")
    source = read_mimic(hosp, ed, kinds=["complaints", "vitals", "pain", "triage", "arrival"])
    kept = {text for (text,) in source.query("SELECT visit_id FROM visits")}
    triage = pd.read_csv(ed / "ed" / "triage.csv.gz")
    triage = triage[("stay " + triage["stay_id"].astype(str)).isin(kept)]
    found = dict(
        source.query("SELECT version || ':' || code AS name, count(*) FROM codes GROUP BY name")
    )
    assert found["VITAL:HEART_RATE_HIGH"] == triage["heartrate"].between(91, 110.999).sum()
    pain = pd.to_numeric(triage["pain"], errors="coerce")
    assert found["PAIN:SEVERE"] == pain.between(7, 10).sum()
    assert found["TRIAGE:2"] == (triage["acuity"] == 2).sum()
    people = triage[triage["chiefcomplaint"].str.contains("dyspnea", case=False, na=False)]
    assert found["COMPLAINT:DYSPNEA"] == len(people)
    assert people["subject_id"].nunique() >= 11


def test_triage_is_enough_for_a_cohort_of_the_demo(real_data):
    hosp, ed = real_data("mimic-iv-demo-2.2"), real_data("mimic-iv-ed-demo-2.2")
    kinds = ("complaints", "vitals", "triage")
    source = read_mimic(hosp, ed, kinds=kinds)
    spec = CohortSpec(
        CodeSet.of("hypertension", ["ICD9:401*", "ICD10:I10"]), (GroupVariable("insurance"),),
        features=Features(kinds=kinds),
    )  # fmt: skip
    built = build_cohorts(spec, source)["insurance"]
    assert built.kinds["complaints"] == 4
    assert sum(built.kinds.values()) == built.cohort.n_cols
