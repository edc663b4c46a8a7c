from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import code_set
from relprev.errors import InvalidInputError
from relprev.simulate import ed_visits
from relprev.simulate.neds import RATES, icd10_like, write_neds
from relprev.sources.neds import read_layout


def test_the_truth_is_that_of_the_population(tmp_path):
    """For the driver the mean probability of the condition, for the other variables 1."""
    written = write_neds(tmp_path / "NEDS_2019_Core.csv", 500, driver="PAY1", n_codes=60, seed=1)
    rates = {"1": RATES["PAY1"][0], "2": RATES["PAY1"][1]}
    population = ed_visits(1_000_000, n_codes=60, diagnosis_rates=rates, seed=1)
    p, first = population.condition_probability, population.cohort.groups == 0
    ratio = p[first].mean() / p[~first].mean()
    assert written.truth["PAY1"].relative_prevalence(["2", "1"]) == pytest.approx(
        [1 / ratio, ratio], rel=0.01
    )
    assert written.truth["RACE"].relative_prevalence(["1", "4", "2"]).tolist() == [1, 1, 1]


def test_codes_are_distinct_and_never_labels():
    codes = icd10_like(20_000)
    assert len(set(codes)) == 20_000
    assert not code_set("ipv").matching(("ICD10", code) for code in codes)
    with pytest.raises(InvalidInputError, match="n_codes must be at most"):
        icd10_like(10**6)


def test_a_simulated_neds_file_has_hcups_form(tmp_path):
    written = write_neds(tmp_path / "NEDS_2019_Core.csv.gz", 3_000, n_codes=60, seed=1)
    frame = pd.read_csv(written.path, header=None, names=list(read_layout("Core", 2019)))
    assert frame.shape == (3_000, 73)
    assert frame["KEY_ED"].is_unique
    assert set(frame["YEAR"]) == {2019}
    assert {-9, 1, 2, 3, 4} == set(frame["RACE"])
    assert {-99, 1, 2, 3, 4, 5, 6} == set(frame["PL_NCHS"])
    assert (frame.groupby("HOSP_ED")["NEDS_STRATUM"].nunique() == 1).all()
    recorded = frame.filter(regex=r"^I10_DX\d+$").notna().sum(axis=1)
    assert (frame["I10_NDX"] == recorded).all()


def test_another_condition_has_its_own_codes(tmp_path):
    written = write_neds(tmp_path / "core.csv", 2_000, condition="endometriosis", n_codes=60)
    frame = pd.read_csv(written.path, header=None, names=list(read_layout("Core", 2019)))
    codes = {("ICD10", code) for code in frame.filter(regex=r"^I10_DX\d+$").stack().unique()}
    assert code_set("endometriosis").matching(codes)
    assert not code_set("ipv").matching(codes)
    with pytest.raises(InvalidInputError, match="no code set"):
        write_neds(tmp_path / "core.csv", 500, condition="unknown", n_codes=60)


def test_the_same_seed_writes_the_same_file(tmp_path):
    texts = [
        write_neds(tmp_path / f"{k}.csv", 500, n_codes=60, seed=7).path.read_bytes() for k in "ab"
    ]
    assert texts[0] == texts[1]


def test_an_unknown_driver_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="driver must be one of RACE"):
        write_neds(tmp_path / "x.csv", 100, driver="SEX")
    assert not list(tmp_path.iterdir())
