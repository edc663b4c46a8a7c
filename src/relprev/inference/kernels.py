"""Compiled loops over rows: the multinomial likelihood and the orthogonal score.

The formulas are derived in `relprev.inference.propensity` and
`relprev.inference.score`, which are the only callers.
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
