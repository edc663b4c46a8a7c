"""Recorded rates; against a survey package on NHAMCS in tests/study/test_run_real_data.py."""

import numpy as np
import pytest
from scipy import special, stats

from relprev.cohort.from_arrays import as_cohort
from relprev.estimates import why_missing
from relprev.inference.rates import recorded_rates
from relprev.simulate import gauss_synth


@pytest.fixture(scope="module")
def cohort():
    return gauss_synth((0.5, 0.1), n=(1500, 3000), seed=1).cohort


def strata(cohort):
    return np.random.default_rng(2).integers(0, 3, cohort.n) % 2


def test_without_a_design_the_interval_is_that_of_a_share(cohort):
    row = recorded_rates(cohort).set_index("group").loc["a"]
    s = np.asarray(cohort.diagnosed)[cohort.groups == 0]
    error = np.sqrt(s.mean() * (1 - s.mean()) / len(s) * cohort.n / (cohort.n - 1))
    half = stats.t.ppf(0.975, cohort.n - 1) * error / (s.mean() * (1 - s.mean()))
    ends = special.expit(special.logit(s.mean()) + np.array([0, -half, half]))
    np.testing.assert_allclose(row[["rate", "rate_low", "rate_high"]].to_numpy(float), ends)


def test_a_weight_of_two_is_a_row_twice_in_the_rate(cohort):
    weights = np.where(np.arange(cohort.n) % 3, 1.0, 2.0)
    s, g, nothing = cohort.diagnosed, cohort.group_labels, np.zeros((cohort.n, 1))
    weighted = as_cohort(nothing, s, groups=g, sample_weight=weights)
    rows = np.repeat(np.arange(cohort.n), weights.astype(int))
    twice = as_cohort(nothing[rows], s[rows], groups=g[rows])
    np.testing.assert_allclose(recorded_rates(weighted)["rate"], recorded_rates(twice)["rate"])


@pytest.mark.parametrize("standard", ["pooled", {"young": 0.3, "old": 0.7}])
def test_the_standardised_rates_error_is_that_of_leaving_rows_out(cohort, standard):
    """The jackknife knows nothing of the formula; of blocks of rows, it has its variance."""
    k, blocks = strata(cohort), np.arange(cohort.n) % 500

    def rates(rows):
        part = cohort.take(np.flatnonzero(rows))
        made = recorded_rates(part, k[rows], ["young", "old"], standard=standard)
        return made["rate"].to_numpy()

    left_out = np.array([rates(blocks != block) for block in range(500)])
    jackknife = np.sqrt(499 / 500 * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    made = recorded_rates(cohort, k, ["young", "old"], standard=standard)
    width = special.logit(made["rate_high"]) - special.logit(made["rate_low"])
    error = width * made["rate"] * (1 - made["rate"]) / (2 * stats.t.ppf(0.975, cohort.n - 1))
    np.testing.assert_allclose(error, jackknife, rtol=0.12)


def test_a_group_without_rows_in_a_stratum_has_no_standardised_rate_and_costs_no_other(cohort):
    k = np.where(cohort.groups == 0, 0, strata(cohort))
    made = recorded_rates(cohort, k, ["young", "old"]).set_index("group")
    assert np.isnan(made["rate"]["a"])
    assert why_missing(made.loc["a"]) == "there are no data on a in old"
    assert made["rate"]["b"] > 0
    only = recorded_rates(cohort, k, ["young", "old"], standard={"young": 1}).set_index("group")
    assert only["rate"].notna().all()
