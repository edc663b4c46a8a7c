from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as sp

from relprev.codes import CodeSet
from relprev.experiments import semisynthetic
from relprev.experiments.semisynthetic import SETTINGS, prepare, simulate
from relprev.experiments.visits import CodedVisits, load_visits

QUICK = "simulated-small"


def visits(X: np.ndarray, group: np.ndarray) -> CodedVisits:
    every = np.ones(len(X), dtype=bool)
    codes = tuple(("TOY", f"{j:02d}") for j in range(X.shape[1]))
    sets = {
        n: CodeSet.of(n, [f"TOY:{c}"]) for n, c in (("endometriosis", "00"), ("injuries", "03"))
    }
    return CodedVisits(sp.csr_array(X), codes, group, every, every, None, **sets)


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
    chosen = SETTINGS["high-rp"].choose(toy)
    assert chosen[0] == 1
    assert 4 not in chosen  # used about 30 times in a group


def test_endometriosis_takes_what_goes_with_it_but_not_itself(toy: CodedVisits) -> None:
    chosen = SETTINGS["endometriosis"].choose(toy)
    assert chosen[0] == 2
    assert 0 not in chosen


def test_injuries_are_the_codes_of_the_set(toy: CodedVisits) -> None:
    assert SETTINGS["ipv"].choose(toy).tolist() == [3]


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


def test_mimic_is_read(real_data) -> None:
    folders = [real_data(name) for name in ("mimic-iv-demo-2.2", "mimic-iv-ed-demo-2.2")]
    found = load_visits("mimic:" + ",".join(str(folder) for folder in folders))
    assert {version for version, _ in found.codes} == {"ICD9", "ICD10"}
    assert set(found.group) == {0, 1}
    assert found.patients is not None
