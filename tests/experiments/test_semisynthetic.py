from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse as sp

from relprev.codes import CodeSet
from relprev.errors import DataWarning, TooFewCasesError
from relprev.experiments import EXPERIMENTS, run, semisynthetic
from relprev.experiments.semisynthetic import SETTINGS, prepare, simulate
from relprev.experiments.visits import CodedVisits, load_visits
from relprev.messages import Message
from relprev.simulate.mimic import write_mimic

QUICK = "simulated-small"


def visits(X: np.ndarray, group: np.ndarray) -> CodedVisits:
    every = np.ones(len(X), dtype=bool)
    codes = tuple(("TOY", f"{j:02d}") for j in range(X.shape[1]))
    sets = {
        n: CodeSet.of(n, [f"TOY:{c}"]) for n, c in (("endometriosis", "00"), ("injuries", "03"))
    }
    return CodedVisits(sp.csr_array(X), codes, group, every, every, every, None, **sets)


@pytest.fixture
def toy() -> CodedVisits:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 1000)
    share = np.array([0.1, 0.2, 0.2, 0.2, 0.03])
    X = (rng.random((2000, 5)) < share).astype(float)
    X[group == 1, 1] = rng.random(1000) < 0.6  # three times as common in b
    X[:, 2] = np.maximum(X[:, 2], X[:, 0])  # always with code 00
    return visits(X, group)


def test_high_relative_prevalence_ranks_b_over_a_among_frequent_codes(toy: CodedVisits) -> None:
    chosen = SETTINGS["high-rp"].choose(toy, False)
    assert chosen[0] == 1
    assert 4 not in chosen  # used about 30 times in a group


def test_endometriosis_takes_what_goes_with_it_but_not_itself(toy: CodedVisits) -> None:
    chosen = SETTINGS["endometriosis"].choose(toy, False)
    assert chosen[0] == 2
    assert 0 not in chosen


def test_injuries_are_the_codes_of_the_set(toy: CodedVisits) -> None:
    assert SETTINGS["ipv"].choose(toy, False).tolist() == [3]


def test_common_takes_25_of_the_50_most_used() -> None:
    prepared = prepare(QUICK, "common")
    uses = np.asarray(prepared.visits.X.sum(axis=0)).ravel()
    assert len(prepared.suspicious) == 25
    assert uses[prepared.suspicious].min() >= np.sort(uses)[-50]


@pytest.mark.parametrize("name", SETTINGS)
def test_probability_counts_suspicious_codes(name: str) -> None:
    prepared = prepare(QUICK, name)
    count = np.asarray(prepared.visits.X[:, prepared.suspicious].sum(axis=1)).ravel()
    odds = prepared.probability / (1 - prepared.probability)
    np.testing.assert_allclose(np.log(odds), SETTINGS[name].k * count - 3)


def test_rare_codes_are_dropped(toy: CodedVisits) -> None:
    uses = np.asarray(toy.X.sum(axis=0)).ravel()
    kept = toy.restricted(np.ones(2000, dtype=bool), int(uses[4]))
    assert [code for _, code in kept.codes] == ["00", "01", "02", "03"]


def test_draws_follow_probability_and_diagnosis_rates() -> None:
    settings = {"setting": "common", "rate_b": 0.9, "variant": "paper", "data": QUICK}
    data = simulate(settings, 0)
    groups = data.cohort.groups
    for g, rate in ((0, 0.5), (1, 0.9)):
        sick = (groups == g) & (data.condition == 1)
        assert data.cohort.diagnosed[sick].mean() == pytest.approx(rate, abs=0.05)
    assert not data.cohort.diagnosed[data.condition == 0].any()
    assert data.condition.mean() == pytest.approx(data.condition_probability.mean(), abs=0.01)
    other = simulate(settings, 1)
    assert (other.condition != data.condition).any()
    np.testing.assert_array_equal(other.condition_probability, data.condition_probability)


def test_codes_of_endometriosis_are_not_among_the_features() -> None:
    settings = {"setting": "endometriosis", "rate_b": 0.5, "variant": "paper", "data": QUICK}
    assert simulate(settings, 0).cohort.X.n_cols == load_visits(QUICK).X.shape[1] - 1


def test_published_variant_takes_a_fifth() -> None:
    settings = {"setting": "common", "rate_b": 0.5, "variant": "published", "data": QUICK}
    assert simulate(settings, 0).cohort.n == len(load_visits(QUICK).group) // 5


def test_nhds_gives_the_four_settings(real_data) -> None:
    data = f"nhds:{real_data('nhds-2010')}"
    women_18 = prepare(data, "ipv").visits
    assert len(women_18.group) == 59_951
    for name in SETTINGS:
        table = semisynthetic.symptoms(prepare(data, name))
        assert (table["version"] == "ICD9").all()
        uses = [
            np.rint(table[f"share_{g}"] * n)
            for g, n in zip("ab", np.bincount(prepare(data, name).visits.group), strict=True)
        ]
        assert not any(count.between(1, 10).any() for count in uses)
    high = semisynthetic.symptoms(prepare(data, "high-rp"))
    assert (high["share_b"] > high["share_a"]).all()


def test_published_variant_seeks_endometriosis_symptoms_among_frequent_codes(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((3000, 5)) < [0.2, 0.3, 0.02, 0.3, 0.3]).astype(float)
    X[:, 2] *= X[:, 0]  # rare, and only with code 00
    toy = visits(X, np.repeat([0, 1], 1500))
    monkeypatch.setattr(semisynthetic, "PUBLISHED_CANDIDATES", 3)
    assert SETTINGS["endometriosis"].choose(toy, False)[0] == 2
    assert 2 not in SETTINGS["endometriosis"].choose(toy, True)


@pytest.fixture(scope="module", params=["1.0", "2.2"])
def mimic(request, tmp_path_factory):
    """Simulated MIMIC-IV files."""
    folder = tmp_path_factory.mktemp("mimic")
    return write_mimic(folder, 6000, n_codes=80, prevalence=0.2, layout=request.param)


def test_mimic_means_hospital_admissions_with_their_own_diagnoses(mimic) -> None:
    found = load_visits(f"mimic:{mimic.hosp}")
    admissions, diagnoses, patients = (
        pd.read_csv(next(mimic.hosp.rglob(f"{name}.csv.gz")), dtype=str)
        for name in ("admissions", "diagnoses_icd", "patients")
    )
    race = admissions["race" if "race" in admissions else "ethnicity"]
    kept = race.str.match("WHITE|BLACK") & admissions["hadm_id"].isin(diagnoses["hadm_id"])
    admissions = admissions[kept].merge(patients, on="subject_id")
    assert len(found.group) == len(admissions)
    assert found.emergency.sum() == (admissions["admission_location"] == "EMERGENCY ROOM").sum()
    assert 0 < found.emergency.sum() < len(admissions)  # not the emergency cohort
    assert found.adult.sum() == (admissions["anchor_age"].astype(int) > 18).sum()
    pairs = diagnoses[diagnoses["hadm_id"].isin(admissions["hadm_id"])]
    assert found.X.nnz == len(pairs.drop_duplicates(["hadm_id", "icd_code", "icd_version"]))


def test_populations_of_mimic_are_those_of_the_authors_code(mimic, monkeypatch) -> None:
    data = f"mimic:{mimic.hosp}"
    everybody = load_visits(data)
    monkeypatch.setitem(
        SETTINGS, "ipv", replace(SETTINGS["ipv"], choose=lambda visits, published: np.array([0]))
    )
    prepare.cache_clear()
    sizes = {name: len(prepare(data, name).visits.group) for name in ("common", "high-rp", "ipv")}
    women = everybody.female & everybody.adult
    prepare.cache_clear()
    assert sizes["common"] == sizes["high-rp"] == everybody.adult.sum()
    assert sizes["ipv"] == (women & everybody.emergency).sum() < women.sum()


def test_mimic_demo_has_too_few_cases_for_some_settings_and_goes_on(real_data, tmp_path) -> None:
    data = f"mimic:{real_data('mimic-iv-demo-2.2')}"
    with pytest.warns(DataWarning, match="too few cases") as caught:
        done = run("semisynthetic", tmp_path, quick=True, methods=["observed"], data=data, jobs=1)
    named = {str(each.message).split(",")[0] for each in caught if each.category is DataWarning}
    assert named == {"setting high-rp", "setting endometriosis", "setting ipv"}
    assert done.table.set_index("setting").loc["common", "mean"] > 0
    assert set(pd.read_csv(done.folder / "symptoms.csv")["setting"]) == {"common"}


def test_data_with_too_few_cases_for_every_setting_are_refused(tmp_path, monkeypatch) -> None:
    def nothing(settings: object, seed: int) -> None:
        raise TooFewCasesError(Message("no code is used often enough to be a symptom"))

    experiment = replace(semisynthetic.EXPERIMENT, simulate=nothing)
    monkeypatch.setitem(EXPERIMENTS, "semisynthetic", experiment)
    with pytest.raises(TooFewCasesError, match="no code is used often enough"):
        run("semisynthetic", tmp_path, quick=True, methods=["observed"], jobs=1)
