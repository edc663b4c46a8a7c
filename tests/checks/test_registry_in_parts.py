"""Checks and bootstrap on a cohort kept in parts give the numbers they give in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score

from relprev import PURPLE, DebiasedPURPLE
from relprev.checks import benchmarks as benchmarks_module
from relprev.checks import (
    check_agreement,
    check_benchmarks,
    check_bias_analysis,
    check_calibration,
    check_constant_ratio,
    check_informativeness,
    check_leakage,
    check_models,
    check_overlap,
    check_sensitivity,
    check_unconstrained,
)
from relprev.checks import quantiles as quantiles_module
from relprev.cohort import Cohort, write_parts
from relprev.errors import InvalidInputError
from relprev.inference import bootstrap
from relprev.inference.replication import replicate_weights
from relprev.model.ranking import ranking
from relprev.rows import Rows
from relprev.rows.memory import InMemory
from relprev.simulate import ed_visits
from tests.parts import cut

SAME = 1e-8
ONE = PURPLE(lambdas=[1e-3, 1e-4])
LINEAR = {"propensity": "ridge", "risk": "purple", "n_repeats": 1}  # others show rounding


def prepared(folder, **options):
    """A cohort, the same in parts, and DebiasedPURPLE fitted to each."""
    cohort = ed_visits(9_000, n_codes=50, prevalence=0.3, seed=3, **options).cohort
    cohort = cohort.take(np.random.default_rng(0).permutation(cohort.n))
    write_parts(cut(cohort, 2_001), folder / "visits")
    parts = Cohort.open(folder / "visits")
    estimator = DebiasedPURPLE(strengths=[10.0], lambdas=1e-4, **LINEAR)
    fits = [clone(estimator).fit(c) for c in (cohort, parts)]
    return cohort, parts, *fits


@pytest.fixture(scope="module", params=["patients", "survey"])
def both(request, tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("parts"), survey=request.param == "survey")


def assert_same(one, other):
    assert str(one.effect) == str(other.effect)
    pd.testing.assert_frame_equal(other.table, one.table, rtol=SAME, atol=1e-12, check_dtype=False)
    assert other.verdict == one.verdict
    np.testing.assert_allclose(
        [other.statistic, other.p_value, *other.interval],
        [one.statistic, one.p_value, *one.interval],
        rtol=SAME,
    )


@pytest.mark.parametrize("by", ["trend", "quintiles", "categories"])
def test_constant_ratio(both, by, monkeypatch):
    monkeypatch.setattr(quantiles_module, "FEW", 50)  # so that intervals are cut again
    cohort, _, one, other = both
    labels = np.where(np.arange(cohort.n) % 3 == 0, "a", "b") if by == "categories" else by
    assert_same(check_constant_ratio(one, labels), check_constant_ratio(other, labels))


def test_informativeness(both):
    _, _, one, other = both
    assert_same(check_informativeness(one), check_informativeness(other))


def test_benchmarks_and_bias_analysis(both, monkeypatch):
    monkeypatch.setattr(benchmarks_module, "OTHERS", 2_000)
    cohort, parts, one, other = both
    blocks = {"some": list(cohort.feature_names[:5])}
    found = (check_benchmarks(fit, c, blocks) for fit, c in ((one, cohort), (other, parts)))
    assert_same(*found)
    assert_same(*(check_bias_analysis(fit, draws=1_000) for fit in (one, other)))


def test_overlap_and_leakage(both):
    cohort, parts, one, other = both
    assert_same(check_overlap(one, cohort), check_overlap(other, parts))
    assert_same(check_leakage(cohort), check_leakage(parts))


def test_overlap_in_a_domain(both):
    cohort, parts, *_ = both
    domain = np.arange(cohort.n) % 4 != 0
    domain[:2_001] = False  # a part without rows
    options = {"risk": None, "strengths": [10.0], "lonely_psu": "adjust"}
    one, other = (DebiasedPURPLE(**options).fit(c, domain=domain) for c in (cohort, parts))
    assert_same(check_overlap(one, cohort), check_overlap(other, parts))


def test_sensitivity_and_agreement(both):
    cohort, parts, one, other = both
    few = {"false_positives": [0.1]}
    found = (check_sensitivity(fit, "Group A", "Group B", **few) for fit in (one, other))
    assert_same(*found)
    purple = [PURPLE(lambdas=1e-4).fit(c) for c in (cohort, parts)]
    assert_same(check_agreement(purple[0], one), check_agreement(purple[1], other))


def test_calibration(both):
    cohort, parts, *_ = both
    assert_same(check_calibration(cohort, ONE), check_calibration(parts, ONE))


@pytest.mark.parametrize("selection", ["auc", "likelihood"])
def test_unconstrained(both, selection):
    cohort, parts, *_ = both
    estimator = PURPLE(lambdas=[1e-3, 1e-4], selection=selection)
    assert_same(check_unconstrained(cohort, estimator), check_unconstrained(parts, estimator))


def test_bootstrap(both):
    cohort, parts, *_ = both
    estimator = PURPLE(lambdas=1e-3, n_starts=1)
    one, other = (bootstrap(estimator, c, replicates=3) for c in (cohort, parts))
    pd.testing.assert_frame_equal(other.replicates, one.replicates, rtol=SAME)
    np.testing.assert_allclose(other.std_errors(), one.std_errors(), rtol=1e-6)
    with pytest.raises(
        InvalidInputError, match=r"processes=2 \(1 uses all cores.* needs a cohort in memory"
    ):
        bootstrap(estimator, parts, replicates=3, processes=2)


def test_replicate_weights_that_leave_out_a_whole_part(both):
    cohort, parts, *_ = both
    weights = np.random.default_rng(0).uniform(0.5, 1.5, (cohort.n, 2))
    weights[:2_001, 0] = 0.0
    estimator = PURPLE(lambdas=1e-3, n_starts=1)
    one, other = (replicate_weights(estimator, c, weights) for c in (cohort, parts))
    pd.testing.assert_frame_equal(other.replicates, one.replicates, rtol=SAME)


def test_models(both):
    cohort, parts, one, other = both
    found, again = check_models(one, cohort), check_models(other, parts)
    assert found.verdict == again.verdict
    pd.testing.assert_frame_equal(found.table, again.table, rtol=1e-3)


def test_on_a_cluster(tmp_path):
    distributed = pytest.importorskip("distributed")
    cohort = ed_visits(3_000, n_codes=50, prevalence=0.3, seed=3, survey=True).cohort
    write_parts(cut(cohort, 1_001), tmp_path / "visits")
    options = {"strengths": [10.0], "lambdas": 1e-3, "folds": 2} | LINEAR
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        parts = Cohort.open(tmp_path / "visits", client)
        one, other = (DebiasedPURPLE(**options).fit(c) for c in (cohort, parts))
        assert_same(check_informativeness(one), check_informativeness(other))
        assert_same(check_constant_ratio(one), check_constant_ratio(other))
        assert_same(check_overlap(one, cohort), check_overlap(other, parts))
        assert_same(*(check_sensitivity(fit, "Group A", "Group B") for fit in (one, other)))
        blocks = {"some": list(cohort.feature_names[:5])}
        assert_same(check_benchmarks(one, cohort, blocks), check_benchmarks(other, parts, blocks))
        simple = PURPLE(lambdas=1e-2)
        assert_same(check_calibration(cohort, simple), check_calibration(parts, simple))
        assert_same(check_unconstrained(cohort, simple), check_unconstrained(parts, simple))


# -- quantiles and ranks -------------------------------------------------------------------


def test_ranks_are_scikit_learns():
    rng = np.random.default_rng(2)
    s = rng.random(2_000) < 0.1
    p = np.round(rng.random(2_000) + 0.3 * s, 2)  # many ties
    omega = rng.uniform(0.5, 2.0, 2_000)
    pieces = [(p[rows], s[rows], omega[rows]) for rows in (slice(0, 700), slice(700, None))]
    found = ranking(Rows(InMemory(pieces), (700, 1_300)), lambda part: part)
    assert found.auc == pytest.approx(roc_auc_score(s, p, sample_weight=omega), rel=1e-12)
    expected = average_precision_score(s, p, sample_weight=omega)
    assert found.average_precision == pytest.approx(expected, rel=1e-12)


def test_a_group_that_is_never_diagnosed_in_some_part(tmp_path):
    cohort = ed_visits(6_000, n_codes=50, prevalence=0.3, seed=5).cohort
    silent = (cohort.groups == 3) & (np.arange(cohort.n) < 3_000)
    diagnosed = np.where(silent, 0, cohort.diagnosed).astype(np.uint8)
    cohort = cohort.with_values(diagnosed=diagnosed)
    write_parts(cut(cohort, 1_500), tmp_path / "visits")
    parts = Cohort.open(tmp_path / "visits")
    estimator = DebiasedPURPLE("ridge", None, strengths=[10.0], n_repeats=1)
    one, other = (clone(estimator).fit(c) for c in (cohort, parts))
    assert_same(check_overlap(one, cohort), check_overlap(other, parts))
    assert_same(check_calibration(cohort, ONE), check_calibration(parts, ONE))
