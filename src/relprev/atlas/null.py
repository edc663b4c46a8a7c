"""The empirical null: how log ratios of diagnosis rates scatter where there is nothing to find.

Most conditions are recorded about equally well in all groups, yet their estimates x_k scatter by
more than their standard errors s_k say, because assumptions are broken a little everywhere. As in
Efron's empirical null (2004), centre and spread of this scatter come from the conditions
themselves, most of which have nothing to show:

    x_k ~ N(mu, t_k^2),    t_k^2 = tau^2 + s_k^2,

robustly, so that those that do differ move mu and tau little. With Huber's psi(z) = z clipped to
[-c, c], c = 1.345, and z_k = (x_k - mu) / t_k they solve

    sum_k psi(z_k) / t_k = 0,      mean_k psi(z_k)^2 = 0.95 E psi(Z)^2 + 0.05 c^2,    Z ~ N(0, 1):

one condition in twenty is taken to lie far out. If more do, tau comes out too large and fewer
conditions stand out; if none does, it comes out about a tenth too small. tau is zero if the second
equation has no solution. A condition is judged as a further draw
(`relprev.controls.random_effects`):

    p-value of (x_k - mu) / sqrt(s_k^2 + tau^2 + var mu) as Student's t,

and q-values are those of Benjamini and Hochberg.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import norm

from relprev.arrays import FloatArray
from relprev.controls.random_effects import RandomEffects

FEWEST = 20  # conditions from which a null can be estimated
CLIP = 1.345  # c
DIFFERENT = 0.05  # share of conditions taken to lie far out
LARGEST = 10.0  # tau
TOLERANCE = 1e-6


def empirical_null(values: ArrayLike, std_errors: ArrayLike) -> RandomEffects | None:
    """Centre and spread of the estimates of conditions that have nothing to show.

    Parameters
    ----------
    values, std_errors : arrays of shape (K,)
        Log ratios of diagnosis rates of all conditions, and their standard errors.

    Returns
    -------
    RandomEffects or None
        None if there are fewer than 20 conditions.

    Notes
    -----
    Formula: :mod:`relprev.atlas.null`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0.1, np.hypot(0.2, 0.1), 300)
    >>> x[:20] += 1.2
    >>> null = empirical_null(x, np.full(300, 0.1))
    >>> round(null.mean, 1), round(null.spread, 1), null.count
    (0.1, 0.2, 300)
    """
    x, s = np.asarray(values, dtype=float), np.asarray(std_errors, dtype=float)
    if len(x) < FEWEST:
        return None
    inside = 2 * norm.cdf(CLIP) - 1 - 2 * CLIP * norm.pdf(CLIP)
    clipped = float(inside + 2 * CLIP**2 * norm.sf(CLIP))
    expected = (1 - DIFFERENT) * clipped + DIFFERENT * CLIP**2

    def excess(tau: float) -> float:
        z = (x - _centre(x, np.hypot(tau, s))) / np.hypot(tau, s)
        return float(np.mean(np.minimum(z**2, CLIP**2)) - expected)

    spread = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, LARGEST, xtol=TOLERANCE))
    t = np.hypot(spread, s)
    centre = _centre(x, t)
    share = 2 * norm.cdf(CLIP) - 1  # E psi'; var mu = E psi^2 / (share^2 sum 1 / t^2)
    variance = clipped / (share**2 * float(np.sum(1 / t**2)))
    return RandomEffects(centre, spread, variance, len(x))


def _centre(x: FloatArray, t: FloatArray) -> float:
    """mu, by reweighting from the median."""
    centre = float(np.median(x))
    for _ in range(100):
        weight = np.minimum(1.0, CLIP / np.maximum(np.abs(x - centre) / t, TOLERANCE)) / t**2
        new = float(weight @ x / weight.sum())
        if abs(new - centre) < TOLERANCE * float(np.min(t)):
            return new
        centre = new
    return centre
