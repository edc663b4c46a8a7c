"""What a model with groups of their own knows that a shared one does not."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from relprev import as_cohort
from relprev.checks.stacking import Stacked, violation
from relprev.rows import Rows
from relprev.rows.memory import InMemory


def made_up(n=20_000, spread=0.4, noise=0.0, seed=0):
    """Shared log-odds z, a part delta that is not shared, and a noisy estimate d of it."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 2, n).astype(np.uint8)
    z = rng.normal(-2.0, 1.0, n)
    delta = np.where(rng.random(n) < 0.5, spread, -spread) * np.where(g == 1, 1.0, -1.0)
    s = (rng.random(n) < expit(z + delta)).astype(np.uint8)
    d = delta + noise * rng.normal(size=n)
    weight = rng.uniform(0.5, 1.5, n)
    cohort = as_cohort(np.ones((n, 1)), s, groups=g, sample_weight=weight)
    common = 0.5 * z + rng.normal(0.0, 0.2, n)
    return Stacked(z, common, d, s, g, weight), cohort


def in_parts(rows, *ends):
    cut = [slice(a, b) for a, b in zip((0, *ends), (*ends, len(rows.z)), strict=True)]
    pieces = [rows.with_arrays({k: v[own] for k, v in rows.arrays().items()}) for own in cut]
    return Rows(InMemory(pieces), tuple(len(piece.z) for piece in pieces))


def test_gamma_is_scikit_learns_coefficient():
    rows, cohort = made_up(noise=0.3)
    own = np.column_stack([rows.g == 0, rows.g == 1]).astype(float)
    A = np.hstack([own, own * rows.z[:, None], own * rows.common[:, None]])
    W = rows.weight * expit(rows.z)
    left = rows.d - A @ np.linalg.lstsq(A * W[:, None] ** 0.5, rows.d * W**0.5, rcond=None)[0]
    model = LogisticRegression(C=np.inf, tol=1e-10, fit_intercept=False, max_iter=1000)
    gamma = model.fit(np.column_stack([A, left]), rows.s, rows.weight).coef_[0, -1]
    order = np.argsort(left)
    share = np.cumsum(W[order]) / W.sum()
    low, high = (left[order][np.searchsorted(share, at)] for at in (0.05, 0.95))
    found = violation(in_parts(rows, 7_000, 9_000), cohort, 0.95)
    assert found.factor == pytest.approx(np.exp(np.sqrt(gamma) * 2 * (high - low)), rel=1e-4)


def test_rows_in_parts_give_the_same_numbers():
    rows, cohort = made_up(4_000)
    one, two = (violation(in_parts(rows, *ends), cohort, 0.95) for ends in ((), (1_000, 1_500)))
    assert [two.factor, two.low, two.high] == pytest.approx([one.factor, one.low, one.high])


@pytest.mark.parametrize("noise", [0.0, 0.4, 1.0])
def test_noise_does_not_hide_what_groups_do_not_share(noise):
    """The ratio of odds changes by exp(4 * 0.4 / 2) between symptoms; d is that and noise."""
    spread = 0.4
    rows, cohort = made_up(60_000, spread, noise)
    found = violation(in_parts(rows), cohort, 0.95)
    assert found.low > 1.5
    # The 5th and 95th percentiles of a normal variable lie 3.3 SD apart, of this one 2 SD.
    assert np.exp(1.8 * 2 * spread) < found.factor < np.exp(3.5 * 2 * spread)


def test_intervals_hold_1_where_all_is_shared():
    held = []
    for seed in range(60):
        rows, cohort = made_up(2_000, spread=0.0, noise=0.5, seed=seed)
        held.append(violation(in_parts(rows), cohort, 0.95).low == 1.0)
    assert np.mean(held) > 0.9


def test_few_cases_exclude_less():
    highs = [violation(in_parts(rows), cohort, 0.95).high
             for rows, cohort in (made_up(n, 0.0, 0.3) for n in (1_000, 50_000))]  # fmt: skip
    assert highs[0] > highs[1]


def test_models_that_say_the_same_tell_nothing():
    rows, cohort = made_up(1_000)
    same = rows.with_arrays(rows.arrays() | {"d": 0.3 * rows.z - rows.common + rows.g})
    assert np.isnan(violation(in_parts(same), cohort, 0.95).factor)
