"""The empirical null: how log ratios of diagnosis rates scatter where there is nothing to find.

Most conditions are recorded about equally well in all groups, yet their estimates x_k scatter by
more than their standard errors s_k say, because assumptions are broken a little everywhere. As in
Efron's empirical null (2004), centre and spread of this scatter come from the conditions
themselves, most of which have nothing to show:

    x_k ~ N(mu, t_k^2),    t_k^2 = tau^2 + s_k^2,

robustly: a share pi of the conditions lies far out, and moves mu and tau little. With z_k =
(x_k - mu) / t_k, Huber's psi(z) = z clipped to [-c, c], c = 1.345, d = 2.5 and Z ~ N(0, 1) they
solve

    sum_k psi(z_k) / t_k = 0,
    mean_k psi(z_k)^2    = (1 - pi) E psi(Z)^2 + pi c^2,
    mean_k 1(|z_k| > d)  = (1 - pi) P(|Z| > d) + pi,        0 <= pi <= 0.3.

pi starts at zero, and rises until nothing changes: the smallest that solves them, with the largest
tau. tau is zero if the second equation has no solution. Were pi taken to be one in twenty, tau
would come out too small where no condition differs, and too many worlds would have a discovery;
were it taken to be zero, tau would be too large where some do (`python -m simulations null`).

A condition is judged as a further draw (`relprev.controls.random_effects`):

    p-value of (x_k - mu) / sqrt(V),    V = s_k^2 + tau^2 + var mu,    as Student's t,

and q-values are those of Benjamini and Hochberg. The degrees of freedom of tau^2 follow from the
variance of log t, that of an M-estimate of scale: with f(z) = psi(z)^2 - a 1(abs(z) > d),
a = (c^2 - E psi(Z)^2) / P(abs(Z) <= d),

    var log t = v / K,  v = var f(Z) / (E Z f'(Z))^2,    so that t^2 has K / (2 v) = 0.52 K,

and tau^2, which is a difference, has (tau / t)^4 times as many, for the typical t.
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
FAR = 2.5  # d
MOST = 0.3  # pi
LARGEST = 10.0  # tau
TOLERANCE = 1e-6

BEYOND = 2 * float(norm.sf(FAR))  # P(|Z| > d)
INSIDE = 1 - 2 * float(norm.sf(CLIP) + CLIP * norm.pdf(CLIP))  # E Z^2 1(|Z| < c)
CLIPPED = INSIDE + 2 * CLIP**2 * float(norm.sf(CLIP))  # E psi(Z)^2
RISE = (CLIP**2 - CLIPPED) / (1 - BEYOND)  # a


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
    differs, before = 0.0, -1.0
    while differs > before:
        spread = _spread(x, s, differs)
        t = np.hypot(spread, s)
        centre = _centre(x, t)
        far = float(np.mean(np.abs(x - centre) > FAR * t))
        before, differs = differs, min((far - BEYOND) / (1 - BEYOND), MOST)
    share = 1 - 2 * float(norm.sf(CLIP))  # E psi'; var mu = E psi^2 / (share^2 sum 1 / t^2)
    variance = CLIPPED / (share**2 * float(np.sum(1 / t**2)))
    typical = float(np.median(t))
    freedom = len(x) / (2 * _scale_variance()) * (spread / typical) ** 4
    return RandomEffects(centre, spread, variance, len(x), max(freedom, 1.0))


def _spread(x: FloatArray, s: FloatArray, differs: float) -> float:
    """tau, given the share that lies far out."""
    expected = (1 - differs) * CLIPPED + differs * CLIP**2

    def excess(tau: float) -> float:
        t = np.hypot(tau, s)
        z = (x - _centre(x, t)) / t
        return float(np.mean(np.minimum(z**2, CLIP**2)) - expected)

    return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, LARGEST, xtol=TOLERANCE))


def _scale_variance() -> float:
    """v, the variance of log t for one condition."""
    fourth = 3 * INSIDE - 2 * CLIP**3 * norm.pdf(CLIP) + 2 * CLIP**4 * norm.sf(CLIP)  # E psi^4
    of_f = fourth - CLIPPED**2 + RISE**2 * BEYOND * (1 - BEYOND)
    of_f -= 2 * RISE * (CLIP**2 - CLIPPED) * BEYOND
    slope = 2 * INSIDE - RISE * 2 * FAR * norm.pdf(FAR)
    return float(of_f / slope**2)


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
