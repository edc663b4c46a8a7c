from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relprev.cohort import as_cohort
from relprev.experiments.truth.judge import judged
from relprev.experiments.truth.known import KnownTruth
from relprev.inference.sampling import SamplingDesign


def world(alpha: float = 1.0, gamma: float = 1.0, n: int = 12_000, seed: int = 3) -> KnownTruth:
    """Six symptoms; a has alpha times b's risk; who has symptom 0 is told gamma times as often."""
    rng = np.random.default_rng(seed)
    group = rng.random(n) < 0.4
    X = (rng.random((n, 6)) < np.where(group, 0.4, 0.25)[:, None]).astype(float)
    risk = 0.04 + 0.1 * X[:, 0] + 0.15 * X[:, 1] + 0.1 * X[:, 2]
    y = rng.random(n) < risk * np.where(group, alpha, 1.0)
    rate = np.where(group, 0.3, 0.6) * np.where(X[:, 0] == 1, 1.0, 1 / gamma)
    s = y & (rng.random(n) < rate)
    cohort = as_cohort(
        X, s.astype(np.uint8), groups=np.where(group, "a", "b"),
        sample_weight=rng.uniform(0.5, 2, n), strata=np.arange(n) % 20, psus=np.arange(n) % 80,
        feature_names=[f"f{k}" for k in range(6)],
    )  # fmt: skip
    return KnownTruth(cohort, y.astype(np.uint8), np.ones(n, dtype=bool), "a", "b")


@pytest.fixture(scope="module")
def fair():
    known = world()
    return known, judged(known, ())


def test_the_estimate_finds_the_truth_where_the_assumptions_hold(fair):
    row = fair[1]
    assert row["recorded"] < 0.9 < row["truth"]
    assert abs(np.log(row["debiased"] / row["truth"])) < 3 * row["difference_se"] < 0.3
    assert row["told_group"] / row["told_versus"] == pytest.approx(0.5, rel=0.15)


def test_the_truth_is_the_ratio_of_weighted_shares_with_its_survey_error(fair):
    known, row = fair
    cohort, y = known.cohort, known.condition
    a = cohort.groups == cohort.group_names.index("a")
    shares = [np.average(y[side], weights=cohort.weights[side]) for side in (a, ~a)]
    assert row["truth"] == pytest.approx(shares[0] / shares[1])
    design = SamplingDesign.from_cohort(cohort)
    # jackknife over primary sampling units, which linearisation approximates
    size, logs = np.bincount(design.stratum)[design.stratum[design.psu]], []
    for unit in range(design.n_psus):
        beside = design.stratum[design.psu] == design.stratum[unit]
        weight = cohort.weights * np.where(beside, size / (size - 1), 1.0) * (design.psu != unit)
        shares = [np.average(y[side], weights=weight[side]) for side in (a, ~a)]
        logs.append(np.log(shares[0] / shares[1]))
    per_stratum = [np.array(logs)[design.stratum == h] for h in range(design.n_strata)]
    variance = sum((len(x) - 1) / len(x) * ((x - x.mean()) ** 2).sum() for x in per_stratum)
    assert row["truth_se"] == pytest.approx(np.sqrt(variance), rel=0.1)


def test_the_error_of_the_difference_is_that_of_estimate_minus_truth(fair):
    row = fair[1]
    least = abs(row["debiased_se"] - row["truth_se"])
    assert least < row["difference_se"] < row["debiased_se"] + row["truth_se"]


def test_verdicts_do_not_depend_on_the_truth(fair):
    known, row = fair
    wrong = replace(known, condition=known.condition[::-1].copy())
    other = judged(wrong, ())
    before = [
        name for name in row if name.startswith(("check_", "verdict", "withheld", "debiased"))
    ]
    assert len(before) > 12
    assert {name: other[name] for name in before} == {name: row[name] for name in before}
    assert other["truth"] != row["truth"]


def test_alpha_is_measured():
    row = judged(world(alpha=2.0), ())
    assert row["alpha_low"] < 2.0 < row["alpha_high"]
    assert row["truth"] / row["debiased"] == pytest.approx(2.0, rel=0.2)


def test_alpha_is_one_and_gamma_small_where_the_assumptions_hold(fair):
    row = fair[1]
    assert row["alpha_low"] < 1.0 < row["alpha_high"]
    assert row["gamma_group"] < 1.4
    assert row["gamma_versus"] < 1.4


def test_gamma_is_measured():
    row = judged(world(gamma=2.5), ())
    assert 1.7 < row["gamma_group"] < 3.5
    assert 1.7 < row["gamma_versus"] < 3.5


def test_rows_of_unknown_condition_do_not_count_in_the_truth(fair):
    known, row = fair
    some = known.known.copy()
    some[::2] = False
    other = replace(known, known=some, condition=np.where(some, known.condition, 1).astype("u1"))
    assert judged(other, ())["truth"] == pytest.approx(row["truth"], rel=0.2)
    assert judged(other, ())["truth"] != row["truth"]
