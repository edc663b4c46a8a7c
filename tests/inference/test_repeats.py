"""Several deals of folds combined."""

from dataclasses import replace

import numpy as np
import pytest

from relprev import DebiasedPURPLE
from relprev.errors import TooFewCasesError
from relprev.inference.crossfit import Deal
from relprev.inference.moments import GroupMoments
from relprev.inference.repeats import MOST_TIMES, combined, repeats_for, unsettled
from relprev.simulate import gauss_synth


def moments(theta, variance=0.01):
    K = len(theta)
    V = np.zeros((3 * K, 3 * K))
    V[2 * K + 1 :, 2 * K + 1 :] = variance * (np.eye(K - 1) + 0.5)
    names = tuple("abcdef"[:K])
    return GroupMoments(names, *np.zeros((2, K)), np.array(theta), V, np.eye(K), np.ones(K), 50)


def test_two_groups_give_the_median_and_its_spread():
    found = combined([moments([0.0, t]) for t in (0.1, 0.5, 0.2)])
    assert found.theta[1] == pytest.approx(0.2)
    sizes = sorted(0.015 + (t - 0.2) ** 2 for t in (0.1, 0.5, 0.2))
    assert found.covariance[5, 5] == pytest.approx(sizes[1])


def test_more_groups_do_not_depend_on_the_reference():
    rng = np.random.default_rng(0)
    thetas = [np.append(0.0, rng.normal(size=2)) for _ in range(5)]
    first = combined([moments(t) for t in thetas])
    turned = []
    for t in thetas:
        one = moments(t)
        A = np.eye(9)
        A[6:, 6:] = np.eye(3) - np.outer(np.ones(3), [0, 1, 0])
        turned.append(replace(one, theta=t - t[1], covariance=A @ one.covariance @ A.T))
    second = combined(turned)
    np.testing.assert_allclose(second.theta, first.theta - first.theta[1], atol=1e-4)


def test_one_wild_deal_hardly_moves_the_estimate():
    found = combined([moments([0.0, 0.1, t]) for t in (0.20, 0.21, 0.19, 0.2, 9.0)])
    assert found.theta[2] == pytest.approx(0.2, abs=0.01)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12


def test_fewer_cases_mean_more_deals():
    counts = [repeats_for(n) for n in (10, 500, 900, 1_500, 2_000, 10**6)]
    assert counts == [15, 5, 3, 3, 1, 1]


def test_one_deal_is_what_it_was():
    one = moments([0.0, 0.3])
    assert combined([one]) is one


def test_given_folds_are_dealt_once():
    cohort = gauss_synth((0.5, 0.1), n=(300, 600), seed=1).cohort
    fold = np.arange(cohort.n) % 3
    fitted = DebiasedPURPLE(risk=None, strengths=[1.0], folds=fold, n_repeats=5).fit(cohort)
    assert fitted.n_repeats_ == 1


def test_deals_that_agree_are_enough():
    """A spread of .05 standard errors between three deals, and one of .5."""
    error = np.sqrt(0.015)
    near, far = ([moments([0.0, at * error]) for at in (0.0, size, -size)] for size in (0.05, 0.5))
    assert not unsettled(near)
    assert unsettled(far)
    assert not unsettled(far * 30)
    assert not unsettled(far[:1])


def test_withheld_groups_do_not_ask_for_deals():
    deals = [moments([0.0, 0.0, at]) for at in (0.0, 5.0, -5.0)]
    assert unsettled(deals)
    assert not unsettled([replace(one, mixing=np.array([1.0, 1.0, 0.0])) for one in deals])


def test_many_features_and_few_rows_ask_for_more_deals():
    """With 40 numbers and 240 visits one deal differs from the next by half a standard error."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(240, 40))
    g = (rng.random(240) < 1 / (1 + np.exp(-x[:, :10].sum(axis=1) / 4))).astype(int)
    s = rng.random(240) < 1 / (1 + np.exp(-x[:, 5:15].sum(axis=1) / 3))
    fitted = DebiasedPURPLE(propensity="ridge", risk="purple").fit(x, s, groups=g)
    start = repeats_for(int(s.sum()))
    assert start < fitted.n_repeats_ <= MOST_TIMES * start
    assert DebiasedPURPLE("ridge", "purple", n_repeats=3).fit(x, s, groups=g).n_repeats_ == 3


def test_a_further_deal_without_solution_ends_the_dealing(monkeypatch):
    """A study lost its estimate to a deal that it would not have made before."""
    cohort = gauss_synth((0.5, 0.1), n=(150, 300), seed=1).cohort
    start, made = repeats_for(int(cohort.diagnosed.sum())), []
    fit = Deal.fit

    def fails_at_last(deal):
        made.append(deal)
        if len(made) > start + 1:
            raise TooFewCasesError("no solution")
        return fit(deal)

    monkeypatch.setattr(Deal, "fit", fails_at_last)
    monkeypatch.setattr("relprev.inference.debiased.unsettled", lambda found: True)
    fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
    assert fitted.n_repeats_ == start + 1
    made.clear()
    made.extend([None] * 2)
    with pytest.raises(TooFewCasesError):
        DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
