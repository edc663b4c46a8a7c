from __future__ import annotations

import gzip
import subprocess
import sys
import time
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from relprev import PURPLE
from relprev.cohort import cohort_spec
from relprev.cohort.build import build_cohorts
from relprev.errors import DataWarning, InvalidInputError
from relprev.simulate.neds import write_neds
from relprev.sources import read_neds
from relprev.sources.neds_store import read_layout

COLUMNS = {
    "race": "RACE",
    "payer": "PAY1",
    "income_quartile": "ZIPINC_QRTL",
    "urbanicity": "PL_NCHS",
}
VALUES = {"race": "1234", "payer": "12", "income_quartile": "1234", "urbanicity": "1234"}
NAMES = read_layout("Core", 2019)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("neds")
    return write_neds(folder / "NEDS_2019_Core.csv", 100_000, n_codes=150, prevalence=0.2, seed=2)


def row(**values):
    base = {"AGE": 40, "FEMALE": 1, "DISCWT": 4.5, "HOSP_ED": 10001, "NEDS_STRATUM": 20001,
            "YEAR": 2019, "KEY_ED": 1, "RACE": 1, "PAY1": 1, "ZIPINC_QRTL": 1, "PL_NCHS": 1,
            "I10_DX1": "R51"}  # fmt: skip
    return base | values


def make(path, rows, names=NAMES):
    frame = pd.DataFrame([{name: item.get(name, "") for name in names} for item in rows])
    frame.to_csv(path, header=False, index=False)
    return path


def test_layouts_have_the_documented_number_of_columns():
    counts = {year: len(read_layout("Core", year)) for year in (2016, 2017, 2018, 2019)}
    assert counts[2017] == 58
    assert counts[2018] == 72
    assert counts[2019] == 73
    assert len(read_layout("Hospital", 2019)) == 15


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
    assert codes == [("R51", "diagnosis"), ("Y0703", "cause")]


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


def test_another_years_layout_is_refused_and_leaves_no_cache(tmp_path):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()], read_layout("Core", 2018))
    cache = tmp_path / "cache"
    with pytest.raises(InvalidInputError, match="has 72 columns, the layout has 73"):
        read_neds(file, cache=cache)
    wrong_year = make(tmp_path / "NEDS_2019_Core_b.csv", [row(YEAR=2020)])
    with pytest.raises(InvalidInputError, match="1 rows whose YEAR is not 2019"):
        read_neds(wrong_year, cache=cache)
    shifted = make(tmp_path / "NEDS_2019_Core_c.csv", [row(AGE=2019, FEMALE=7)])
    with pytest.raises(InvalidInputError, match="1 ages above 124, 1 values of FEMALE"):
        read_neds(shifted, cache=cache)
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda text: text[: len(text) // 2].rsplit(b"\n", 1)[0] + b"\n1,2,3\n",
            "number of columns",
        ),
        (lambda text: ",".join(NAMES).encode() + b"\n" + text, "has a header row"),
        (lambda text: text.replace(b"40,", b"forty,"), "is not a number"),
        (lambda text: b"", "has 0 columns"),
    ],
)
def test_damaged_files_are_refused_and_leave_no_cache(tmp_path, damage, message):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row(KEY_ED=k) for k in range(50)])
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_neds(file, cache=tmp_path / "cache")
    assert "forty" not in str(caught.value)
    assert not list((tmp_path / "cache").glob("*"))


def test_a_truncated_gzip_is_refused_and_leaves_no_cache(tmp_path):
    rows = [row(KEY_ED=k, I10_DX1=f"R{k:04d}") for k in range(3_000)]
    text = make(tmp_path / "plain.csv", rows).read_bytes()
    file = tmp_path / "NEDS_2019_Core.csv.gz"
    packed = gzip.compress(text)
    file.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InvalidInputError, match="truncated"):
        read_neds(file, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_killed_conversion_leaves_no_store(tmp_path):
    """Killed without warning; the next reading starts afresh and succeeds."""
    cache = tmp_path / "cache"
    file = write_neds(tmp_path / "NEDS_2019_Core.csv", 60_000, n_codes=60).path
    program = (
        f"from relprev.sources import read_neds; read_neds({str(file)!r}, cache={str(cache)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    while process.poll() is None and not list(cache.glob("*")):
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert [path.name.startswith(".partial-neds-") for path in cache.iterdir()] == [True]
    assert read_neds(file, cache=cache).n_visits == 60_000
    assert len(list(cache.glob("neds-*.parquet"))) == 1


def test_the_same_file_twice_is_refused(tmp_path):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()])
    with pytest.raises(InvalidInputError, match="same file is given twice"):
        read_neds([file, file], cache=tmp_path)
    with pytest.raises(InvalidInputError, match="put the year in each file name"):
        read_neds([file, file], year=2019, cache=tmp_path)


def test_the_cache_is_private(tmp_path):
    cache = tmp_path / "cache"
    read_neds(make(tmp_path / "NEDS_2019_Core.csv", [row()]), cache=cache)
    assert cache.stat().st_mode & 0o077 == 0


def test_repeated_visits_are_refused(tmp_path):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row(), row()])
    with pytest.raises(InvalidInputError, match="1 of 2 rows"):
        read_neds(file, cache=tmp_path)


def test_the_cache_is_keyed_by_content(tmp_path):
    cache = tmp_path / "cache"
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()])
    read_neds(file, cache=cache)
    stored = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert sorted(path.suffix for path in stored) == [".blake2b", ".parquet"]
    make(file, [row()])
    read_neds(file, cache=cache)
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == stored
    make(file, [row(AGE=41)])
    assert read_neds(file, cache=cache).query("SELECT age FROM visits") == [(41,)]
    assert len(list(cache.glob("*.parquet"))) == 2


def test_a_damaged_cache_is_made_again_with_a_word(tmp_path):
    """One changed byte failed for ever, or changed the estimates."""
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()])
    read_neds(file, cache=tmp_path / "cache")
    (store,) = (tmp_path / "cache").glob("*.parquet")
    assert store.stat().st_mode & 0o077 == 0
    whole = store.read_bytes()
    for damaged in (whole[:-9], bytes([whole[0] ^ 1]) + whole[1:], b""):
        store.write_bytes(damaged)
        with pytest.warns(
            DataWarning, match=r"copy of NEDS_2019_Core\.csv in the cache is damaged"
        ):
            assert read_neds(file, cache=tmp_path / "cache").n_visits == 1
    store.with_name(f"{store.name}.blake2b").unlink()  # stopped between the two files
    with pytest.warns(DataWarning, match="converting it again"):
        read_neds(file, cache=tmp_path / "cache")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_neds(file, cache=tmp_path / "cache")


def test_a_layout_file_serves_other_years(tmp_path):
    layout = tmp_path / "layout.csv"
    pd.DataFrame({"position": range(1, 74), "name": NAMES}).to_csv(layout, index=False)
    file = make(tmp_path / "NEDS_2021_Core.csv", [row(YEAR=2021)])
    with pytest.raises(InvalidInputError, match="no layout for the NEDS Core file of 2021"):
        read_neds(file, cache=tmp_path / "cache")
    source = read_neds(file, layout=layout, cache=tmp_path / "cache")
    assert source.query("SELECT year FROM visits") == [(2021,)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name\nAGE\n",
        "position,name\none,AGE\n",
        "position,name\n1,AGE\n2,age\n",
        "position,name\n1\n",
    ],
)
def test_a_layout_file_out_of_form_is_refused(tmp_path, text):
    layout = tmp_path / "layout.csv"
    layout.write_text(text)
    with pytest.raises(InvalidInputError, match=r"layout\.csv must be a CSV file with the columns"):
        read_layout("Core", 2021, layout)
