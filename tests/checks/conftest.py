"""Cohorts that keep or break the method's assumptions, and fits to them."""

import numpy as np
import pytest
import scipy.sparse as sp

from relprev import PURPLE, as_cohort
from relprev.inference import DebiasedPURPLE

ONE = PURPLE(lambdas=[1e-4])
FAST = {"strengths": (3.0,), "lambdas": 1e-4, "folds": 3}


def make_cohort(
    n=20_000, drift=0.0, own_symptoms=0.0, seed=0, rates=(0.3, 0.6), false_share=(0.0, 0.0),
    alpha=1.0, shift=0.0, extra=None,
):  # fmt: skip
    """Two groups; ``drift`` makes a's diagnosis rate rise with risk, ``own_symptoms`` p(y|x)
    differ between groups, ``alpha`` scales p(y|x) in a, ``false_share`` adds false cases."""
    rng = np.random.default_rng(seed)
    g = (rng.random(n) < 0.6).astype(int)
    frequency = 0.15 + 0.25 * np.random.default_rng(1).random((2, 10))
    frequency[0] += shift
    x = rng.random((n, 10)) < frequency[g]
    w = np.linspace(-0.3, 1.2, 10)
    z = -2.2 + x @ w + own_symptoms * np.where(g == 0, x[:, 0] * 2.0 - x[:, 9], 0.0)
    p = np.where(g == 0, alpha, 1.0) / (1 + np.exp(-z))
    rate = np.asarray(rates)[g] * np.where(g == 0, np.exp(drift * (z - z.mean())), 1.0)
    s = (rng.random(n) < p) & (rng.random(n) < np.minimum(rate, 1.0))
    true_cases = np.array([s[g == k].mean() for k in (0, 1)])
    share = np.asarray(false_share)
    s |= rng.random(n) < (share / (1 - share) * true_cases)[g]
    columns = x.astype(float) if extra is None else np.column_stack([x, extra(s, g, rng)])
    cohort = as_cohort(sp.csr_array(columns), s.astype(int), groups=np.array(["a", "b"])[g])
    return cohort, p[g == 0].mean() / p[g == 1].mean()


@pytest.fixture(scope="session")
def steady():
    cohort, truth = make_cohort()
    return cohort, truth, DebiasedPURPLE(**FAST).fit(cohort)
