"""The empirical null: what log ratios of diagnosis rates look like where there is nothing to find.

Most conditions are recorded about equally well in all groups, yet their estimates x_k scatter by
more than their standard errors s_k say, because assumptions are broken a little everywhere. As in
Efron's empirical null (2004), centre and spread of this scatter are estimated from all conditions,
most of which have no difference, by the mixture

    x_k ~ pi0 N(mu, tau^2 + s_k^2) + (1 - pi0) N(mu, tau^2 + s_k^2 + sigma^2),    pi0 >= 0.7,

in which the second part, sigma >= `FARTHEST`, takes up the conditions that do have one, so that
they move mu and tau little. A condition is judged by

    z_k = (x_k - mu) / sqrt(tau^2 + s_k^2 + var(mu)),

its p-value is that of a standard normal z_k, and q-values are those of Benjamini and Hochberg.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import false_discovery_control, median_abs_deviation, norm

from relprev.arrays import FloatArray

FEWEST = 20  # conditions from which a null can be estimated
FARTHEST = 0.15  # smallest sigma; nearer conditions cannot be told from the null's own spread
LEAST_SHARE = 0.7  # of conditions without a difference
SMALLEST, LARGEST = 1e-3, 2.0  # tau


@dataclass(frozen=True)
class EmpiricalNull:
    """Centre and spread of what is found where nothing is to be found.

    Parameters
    ----------
    centre, spread : float
        mu and tau.
    centre_variance : float
        var(mu).
    share : float
        pi0.
    count : int
        Conditions it rests on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0.1, np.hypot(0.2, 0.1), 300)
    >>> x[:30] += 1.2
    >>> null = EmpiricalNull.of(x, np.full(300, 0.1))
    >>> round(null.centre, 1), round(null.spread, 1), null.count
    (0.1, 0.2, 300)
    >>> null.q_values(x, np.full(300, 0.1)).shape
    (300,)
    """

    centre: float
    spread: float
    centre_variance: float
    share: float
    count: int

    @staticmethod
    def of(values: ArrayLike, std_errors: ArrayLike) -> EmpiricalNull | None:
        """Fit to the log ratios and standard errors of all conditions, shape (n,) each.

        None if there are fewer than 20.
        """
        x, s = np.asarray(values, dtype=float), np.asarray(std_errors, dtype=float)
        if len(x) < FEWEST:
            return None

        def negative(point: FloatArray) -> float:
            mu, tau, sigma, pi0 = _unpacked(point)
            t = np.hypot(tau, s)
            parts = [norm.logpdf(x, mu, t) + np.log(pi0),
                     norm.logpdf(x, mu, np.hypot(t, sigma)) + np.log1p(-pi0)]  # fmt: skip
            return -float(logsumexp(parts, axis=0).sum())

        start = max(float(median_abs_deviation(x, scale="normal")), 2 * SMALLEST)
        limits = [
            (float(x.min()), float(x.max())), (np.log(SMALLEST), np.log(LARGEST)),
            (np.log(FARTHEST), np.log(3 * LARGEST)), (-6.0, 6.0),
        ]  # fmt: skip
        tries = [
            minimize(
                negative, [float(np.median(x)), np.log(start / 2), np.log(max(sigma, FARTHEST)), 1],
                method="L-BFGS-B", bounds=limits,
            )
            for sigma in (start, 4 * start)
        ]  # fmt: skip
        best = min(tries, key=lambda found: float(found.fun))
        centre, spread, _, share = _unpacked(best.x)
        spread = spread if spread > 2 * SMALLEST else 0.0
        t = np.hypot(spread, s)
        return EmpiricalNull(centre, spread, 1 / float(share * np.sum(1 / t**2)), share, len(x))

    def z_values(self, values: ArrayLike, std_errors: ArrayLike) -> FloatArray:
        """z_k, shape (n,)."""
        x, s = np.asarray(values, dtype=float), np.asarray(std_errors, dtype=float)
        return (x - self.centre) / np.sqrt(self.spread**2 + s**2 + self.centre_variance)

    def p_values(self, values: ArrayLike, std_errors: ArrayLike) -> FloatArray:
        """Two-sided p-values, shape (n,)."""
        found: FloatArray = 2 * norm.sf(np.abs(self.z_values(values, std_errors)))
        return found

    def q_values(self, values: ArrayLike, std_errors: ArrayLike) -> FloatArray:
        """Benjamini and Hochberg's adjusted p-values, shape (n,)."""
        found: FloatArray = false_discovery_control(self.p_values(values, std_errors))
        return found


def _unpacked(point: FloatArray) -> tuple[float, float, float, float]:
    """mu, tau, sigma and pi0."""
    share = LEAST_SHARE + (1 - LEAST_SHARE) * float(expit(point[3]))
    return float(point[0]), float(np.exp(point[1])), float(np.exp(point[2])), share
