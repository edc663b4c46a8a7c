"""Compiled loops over rows: the multinomial likelihood, the orthogonal score, the risk's errors.

The formulas are derived in `relprev.inference.propensity`, `relprev.inference.score` and
`relprev.inference.risk_error`, which are the only callers.
"""

import numpy as np
from numba import njit

from relprev.model.vectormath import exp_negative, log_positive


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def multinomial_block(z, b, g, omega, work, sums):
    """Replace the predictors z (K - 1, rows) by omega * d loss / dz; add to ``sums``.

    ``sums`` holds the loss, then its derivative in each of the K - 1 intercepts; ``work``
    is memory of shape (3, rows). Loops run over rows inside, so that they vectorise.
    """
    n = len(g)
    free = len(b)
    last, largest, total = work[0], work[1], work[2]
    for i in range(n):
        last[i] = 0.0
        largest[i] = -1e300
    for k in range(free):
        for i in range(n):
            z[k, i] += b[k]
            last[i] -= z[k, i]
            largest[i] = max(largest[i], z[k, i])
    for i in range(n):
        largest[i] = max(largest[i], last[i])
    loss = 0.0
    for i in range(n):  # the predictor of the row's own group, before exponentials replace it
        own = last[i] if g[i] == free else z[min(g[i], free - 1), i]
        loss -= omega[i] * (own - largest[i])
    for i in range(n):
        last[i] = exp_negative(max(last[i] - largest[i], -700.0))
        total[i] = last[i]
    for k in range(free):
        for i in range(n):
            z[k, i] = exp_negative(max(z[k, i] - largest[i], -700.0))
            total[i] += z[k, i]
    for i in range(n):
        loss += omega[i] * log_positive(total[i])
        total[i] = omega[i] / total[i]
    for k in range(free):
        slope = 0.0
        for i in range(n):
            z[k, i] = (z[k, i] - last[i]) * total[i]
        for i in range(n):
            z[k, i] += omega[i] * ((1.0 if g[i] == free else 0.0) - (1.0 if g[i] == k else 0.0))
            slope += z[k, i]
        sums[1 + k] += slope
    sums[0] += loss


@njit(nogil=True, cache=True, error_model="numpy")
def multinomial_probabilities(z, b, out):
    """Group probabilities (rows, K) from the predictors z (K - 1, rows)."""
    free = len(b)
    for i in range(out.shape[0]):
        last = 0.0
        for k in range(free):
            out[i, k] = z[k, i] + b[k]
            last -= out[i, k]
        out[i, free] = last
        largest = out[i].max()
        total = 0.0
        for k in range(free + 1):
            out[i, k] = exp_negative(max(out[i, k] - largest, -700.0))
            total += out[i, k]
        for k in range(free + 1):
            out[i, k] /= total


@njit(nogil=True, cache=True, error_model="numpy")
def score_sums(g, s, omega, pi, m, rate, total, slope):
    """Add sum omega U to ``total`` (K,) and its derivative in theta to ``slope`` (K, K)."""
    K = len(rate)
    tilted = np.empty(K)
    for i in range(len(g)):
        expected = m[i] * rate[g[i]]
        residual = omega[i] * (s[i] - expected)
        if residual == 0.0 and expected == 0.0:
            continue
        norm = 0.0
        for k in range(K):
            tilted[k] = pi[i, k] * rate[k]
            norm += tilted[k]
        for k in range(K):
            tilted[k] /= norm
            away = (1.0 if g[i] == k else 0.0) - tilted[k]
            total[k] += residual * away
            slope[k, g[i]] -= omega[i] * expected * away
        for k in range(K):
            slope[k, k] -= residual * tilted[k]
            for j in range(K):
                slope[k, j] += residual * tilted[k] * tilted[j]


STRIP = 1024  # rows that are laid out by group, so that loops run along those of one group


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def cleaned_score_sums(g, s, omega, pi, m, reference, eps, rate, total, slope):
    """The same for s - eps_g and max(m - eps_r, 0), under q assumptions in one pass.

    ``eps``, ``rate`` and ``total`` have shape (q, K), ``slope`` (q, K, K).
    """
    q, K = rate.shape
    own, pis, tilted = np.empty((3, STRIP)), np.empty((K, STRIP)), np.empty((K, STRIP))
    work = np.empty((3, STRIP))
    end = np.empty(K, np.int64)
    for lo in range(0, len(g), STRIP):
        hi = min(lo + STRIP, len(g))
        end[:] = 0
        for i in range(lo, hi):
            end[g[i]] += 1
        start = 0
        for j in range(K):
            start, end[j] = start + end[j], start
        for i in range(lo, hi):
            place = end[g[i]]
            end[g[i]] += 1
            own[0, place], own[1, place], own[2, place] = s[i], m[i], omega[i]
            for k in range(K):
                pis[k, place] = pi[i, k]
        for a in range(q):
            for j in range(K):
                _group_sums(
                    own, pis, end[j - 1] if j else 0, end[j], j, eps[a, j], eps[a, reference],
                    rate[a], work, tilted, total[a], slope[a],
                )  # fmt: skip


@njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _group_sums(own, pi, first, last, j, eps, of_risk, rate, work, tilted, total, slope):
    """The sums over the rows from ``first`` to ``last``, all of group j, in one loop each."""
    n, K = last - first, len(rate)
    s, m, omega = own[0, first:last], own[1, first:last], own[2, first:last]
    norm, residual, expected = work[0, :n], work[1, :n], work[2, :n]
    in_residual, in_expected = 0.0, 0.0
    for i in range(n):
        mean = max(m[i] - of_risk, 0.0) * rate[j]
        residual[i] = omega[i] * (s[i] - eps - mean)
        expected[i] = omega[i] * mean
        in_residual += residual[i]
        in_expected += expected[i]
        norm[i] = 0.0
    total[j] += in_residual
    slope[j, j] -= in_expected
    for k in range(K):
        mix, own_rate = pi[k, first:last], rate[k]
        for i in range(n):
            norm[i] += mix[i] * own_rate
    for i in range(n):
        norm[i] = 1.0 / norm[i]
    for k in range(K):
        mix, tilt, own_rate = pi[k, first:last], tilted[k, :n], rate[k]
        pull, change = 0.0, 0.0
        for i in range(n):
            tilt[i] = mix[i] * own_rate * norm[i]
            pull += residual[i] * tilt[i]
            change += expected[i] * tilt[i]
        total[k] -= pull
        slope[k, k] -= pull
        slope[k, j] += change
    for k in range(K):
        one = tilted[k, :n]
        for i in range(n):
            norm[i] = residual[i] * one[i]
        for h in range(k + 1):
            other, both = tilted[h, :n], 0.0
            for i in range(n):
                both += norm[i] * other[i]
            slope[k, h] += both
            if h < k:
                slope[h, k] += both


@njit(nogil=True, cache=True, error_model="numpy")
def score_rows(g, s, pi, m, rate, out):
    """U of every row, shape (rows, K), without its weight."""
    K = len(rate)
    for i in range(len(g)):
        residual = s[i] - m[i] * rate[g[i]]
        norm = 0.0
        for k in range(K):
            norm += pi[i, k] * rate[k]
        for k in range(K):
            away = (1.0 if g[i] == k else 0.0) - pi[i, k] * rate[k] / norm
            out[i, k] = residual * away


@njit(nogil=True, cache=True, error_model="numpy")
def along_block(z, b, by_group, g, h, factor):
    """Replace x.w by factor times u.(w, b, theta), u = (h (x, 1), 1(g)), for K directions."""
    for k in range(len(b)):
        for i in range(len(g)):
            z[k, i] = ((z[k, i] + b[k]) * h[i] + by_group[k, g[i]]) * factor[i]


@njit(nogil=True, cache=True, error_model="numpy")
def add_by_group(g, values, out):
    for i in range(len(g)):
        out[g[i]] += values[i]
