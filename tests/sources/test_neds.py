from __future__ import annotations

import gzip
import re
import zipfile

import numpy as np
import pandas as pd
import pytest

from relprev import PURPLE
from relprev.cohort import cohort_spec
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.simulate.neds import write_neds
from relprev.sources import read_neds
from relprev.sources.neds_store import read_layout
from tests.sources.core_files import NAMES, make, row

COLUMNS = {
    "race": "RACE",
    "payer": "PAY1",
    "income_quartile": "ZIPINC_QRTL",
    "urbanicity": "PL_NCHS",
}
VALUES = {"race": "1234", "payer": "12", "income_quartile": "1234", "urbanicity": "1234"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("neds")
    return write_neds(folder / "NEDS_2019_Core.csv", 100_000, n_codes=150, prevalence=0.2, seed=2)


def test_pandas_finds_the_same_visits_and_codes(written, tmp_path):
    raw = pd.read_csv(written.path, header=None, names=list(NAMES), dtype=str)
    dx = raw[[f"I10_DX{k}" for k in range(1, 36)]]
    source = read_neds(written.path, cache=tmp_path)
    assert source.n_visits == len(raw)
    assert source.query("SELECT count(*) FROM codes") == [(int(dx.notna().sum().sum()),)]
    women = (raw["FEMALE"] == "1") & (raw["AGE"].astype(int) >= 18)
    assert int(women.sum()) == written.included
    built = build_cohorts(cohort_spec("ipv-neds"), source, keep_ids=True)["race"]
    cohort = built.cohort
    wanted = women & raw["RACE"].isin(["1", "2", "3", "4"])
    assert cohort.n == int(wanted.sum())
    assert sorted(cohort.ids.tolist()) == sorted(raw.loc[wanted, "KEY_ED"].astype(int))
    assert cohort.weights.sum() == pytest.approx(raw.loc[wanted, "DISCWT"].astype(float).sum())
    labelled = dx[wanted].apply(lambda column: column.str.match("T7[46]|Y07", na=False)).any(axis=1)
    assert int(cohort.diagnosed.sum()) == int(labelled.sum())
    features = dx[wanted].stack().dropna()
    features = features[~features.str.match("T7[46]|Y07")]
    assert cohort.X.nnz == len(features)
    assert set(cohort.feature_names) == {f"ICD10:{code}" for code in set(features)}


@pytest.mark.parametrize("driver", ["RACE", "PAY1"])
def test_the_estimate_from_simulated_files_is_near_the_truth(driver, tmp_path, monkeypatch):
    """The driver, whose observed ratio is far off, and a variable that does not matter."""
    monkeypatch.setattr("relprev.simulate.visits.TRUTH_VISITS", 20_000)  # quicker, exact enough
    written = write_neds(tmp_path / "NEDS_2019_Core.csv", 80_000, driver=driver, n_codes=100,
                         prevalence=0.2, seed=5)  # fmt: skip
    source = read_neds(written.path, cache=tmp_path / "cache")
    names = [name for name, column in COLUMNS.items() if column in (driver, "ZIPINC_QRTL")]
    built = build_cohorts(cohort_spec("ipv-neds"), source, groups=names)
    for name in names:
        column = COLUMNS[name]
        truth = written.truth[column].relative_prevalence(list(VALUES[name]))
        table = PURPLE(lambdas=1e-4).fit(built[name].cohort).relative_prevalence().to_frame()
        assert table["estimate"].to_numpy() == pytest.approx(truth, rel=0.12)
        if column == driver:
            assert np.abs(np.log(table["observed_ratio"] / truth)).max() > 0.3


def test_packed_files_read_the_same(tmp_path):
    rows = [row(KEY_ED=k, I10_DX2="T7411XA") for k in range(5)]
    plain = make(tmp_path / "NEDS_2019_Core.csv", rows)
    gz = tmp_path / "NEDS_2019_Core.csv.gz"
    gz.write_bytes(gzip.compress(plain.read_bytes()))
    packed = tmp_path / "NEDS_2019_Core.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(plain, plain.name)
    parquet = tmp_path / "NEDS_2019_Core.parquet"
    pd.read_csv(plain, header=None, names=list(NAMES), dtype=str).to_parquet(parquet)
    tables = []
    for path in (plain, gz, packed, parquet):
        source = read_neds(path, cache=tmp_path / "cache")
        tables.append(source.query("SELECT * FROM visits JOIN codes USING (visit) ORDER BY ALL"))
    assert tables[0] == tables[1] == tables[2] == tables[3]
    assert len(tables[0]) == 10


def test_missing_codes_become_missing(tmp_path):
    rows = [row(KEY_ED=1, AGE=-99, FEMALE=-9, RACE=-8, PAY1=-6, ZIPINC_QRTL=-5, PL_NCHS=-99),
            row(KEY_ED=2, DISCWT="-99.9999999", NEDS_STRATUM=-9999, AGE="", RACE=""),
            row(KEY_ED=3, AGE=".", RACE=" ", PAY1=" 2")]  # fmt: skip
    source = read_neds(make(tmp_path / "NEDS_2019_Core.csv", rows), cache=tmp_path)
    assert source.query("""
        SELECT age, sex, race, payer, income_quartile, urbanicity, weight, stratum
        FROM visits ORDER BY visit
    """) == [(None, None, None, None, None, None, 4.5, 2019_20001),
             (None, "F", None, "Medicare", 1, 1, None, None),
             (None, "F", None, "Medicaid", 1, 1, 4.5, 2019_20001)]  # fmt: skip


def test_visits_without_a_weight_are_counted_and_left_out(tmp_path):
    rows = [row(KEY_ED=k, RACE=1 + k % 2, I10_DX2="T7411XA" if k < 4 else "",
                DISCWT="-99.9999999" if k == 9 else 2) for k in range(10)]  # fmt: skip
    source = read_neds(make(tmp_path / "NEDS_2019_Core.csv", rows), cache=tmp_path)
    short = cohort_spec("ipv-neds")
    with pytest.warns(UserWarning, match="Hispanic/Latino, Asian"):
        built = build_cohorts(short, source, groups=["race"])["race"]
    after = {step.step: step.visits for step in built.attrition.steps}
    assert after["age 18 or more"] == 10
    assert after["weight known and positive"] == 9


def test_two_years_are_stacked_with_their_design(tmp_path):
    names = read_layout("Core", 2018)
    files = [
        make(tmp_path / "NEDS_2018_Core.csv", [row(YEAR=2018, KEY_ED=7)], names),
        make(tmp_path / "NEDS_2019_Core.csv", [row(KEY_ED=7), row(KEY_ED=8)]),
    ]
    source = read_neds(files, cache=tmp_path)
    assert source.query("SELECT visit, year, stratum, psu, race FROM visits ORDER BY visit") == [
        (0, 2018, 2018_20001, 2018_10001, None),
        (1, 2019, 2019_20001, 2019_10001, "White"),
        (2, 2019, 2019_20001, 2019_10001, "White"),
    ]
    assert source.query("SELECT visit, code FROM codes ORDER BY visit") == [
        (0, "R51"), (1, "R51"), (2, "R51"),
    ]  # fmt: skip


def test_external_causes_of_2016_have_their_own_role(tmp_path):
    names = read_layout("Core", 2016)
    file = make(tmp_path / "NEDS_2016_Core.csv", [row(YEAR=2016, I10_ECAUSE1="Y07.03")], names)
    codes = read_neds(file, cache=tmp_path).query("SELECT code, role FROM codes ORDER BY code")
    assert codes == [("R51", "principal"), ("Y0703", "cause")]


def test_the_first_diagnosis_is_the_principal_one(tmp_path):
    """HCUP keeps the first position even if it is blank: no other diagnosis moves up."""
    rows = [row(KEY_ED=1, I10_DX2="I10", I10_DX3="E119"), row(KEY_ED=2, I10_DX1="", I10_DX2="R51")]
    source = read_neds(make(tmp_path / "NEDS_2019_Core.csv", rows), cache=tmp_path)
    assert source.query("SELECT visit, code, role FROM codes ORDER BY ALL") == [
        (0, "E119", "secondary"), (0, "I10", "secondary"), (0, "R51", "principal"),
        (1, "R51", "secondary"),
    ]  # fmt: skip


def test_one_column_of_diagnoses_is_enough(tmp_path):
    names = [name for name in NAMES if not re.fullmatch(r"I10_DX([2-9]|\d\d)", name)]
    layout = tmp_path / "layout.csv"
    layout.write_text("position,name\n" + "".join(f"{k},{n}\n" for k, n in enumerate(names, 1)))
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()], names)
    source = read_neds(file, layout=layout, cache=tmp_path)
    assert source.query("SELECT code, role FROM codes") == [("R51", "principal")]


def test_hospital_attributes_are_joined(tmp_path):
    hospital = read_layout("Hospital", 2019)
    core = make(tmp_path / "NEDS_2019_Core.csv", [row(KEY_ED=1), row(KEY_ED=2, HOSP_ED=10002)])
    file = make(tmp_path / "NEDS_2019_Hospital.csv",
                [{"HOSP_ED": 10001, "HOSP_REGION": 3, "HOSP_TRAUMA": -9}], hospital)  # fmt: skip
    source = read_neds(core, hospital=file, cache=tmp_path)
    found = source.query("SELECT hosp_region, hosp_trauma FROM visits ORDER BY visit")
    assert found == [(3, None), (None, None)]


def test_race_before_2019_is_a_clear_error(tmp_path):
    file = make(tmp_path / "NEDS_2018_Core.csv", [row(YEAR=2018)], read_layout("Core", 2018))
    with pytest.raises(InvalidInputError, match=r"has no race \(NEDS records race from 2019 on\)"):
        build_cohorts(cohort_spec("ipv-neds"), read_neds(file, cache=tmp_path))


def test_the_same_file_twice_is_refused(tmp_path):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()])
    with pytest.raises(InvalidInputError, match="same file is given twice"):
        read_neds([file, file], cache=tmp_path)
    with pytest.raises(InvalidInputError, match="put the year in each file name"):
        read_neds([file, file], year=2019, cache=tmp_path)


def test_repeated_visits_are_refused(tmp_path):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row(), row()])
    with pytest.raises(InvalidInputError, match="1 of 2 rows"):
        read_neds(file, cache=tmp_path)
