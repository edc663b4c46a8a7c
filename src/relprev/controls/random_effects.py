"""What the errors of controls say about the error of something else: random effects.

The errors e_k of K controls, with sampling variances v_k, are draws around a mean,

    e_k ~ N(mu, tau^2 + v_k),

where tau is how much the conditions themselves differ. tau^2 solves

    sum_k w_k (e_k - mu)^2 = median of chi^2 with K - 1 degrees of freedom,
    w_k = 1 / (tau^2 + v_k),    mu = sum w_k e_k / sum w_k

(zero if the left side is smaller already at tau = 0), and the variance of mu is that of Hartung
and Knapp, sum_k w_k (e_k - mu)^2 / ((K - 1) sum w_k), or 1 / sum w_k if that is larger.

Paule and Mandel have the mean, K - 1, on the right: their tau^2 is right on average and too
small more often than not, which leaves intervals of ten controls a percentage point or two short.
The median is as often too large as too small.

A further error with sampling variance v then lies in

    mu +- t sqrt(V),    V = v + B,    B = tau^2 + var(mu).

B is estimated from K errors and has K - 1 degrees of freedom; v has its own, d. Those of V
are Satterthwaite's, V^2 / (v^2 / d + B^2 / (K - 1)): Student's quantile with K - 1 would be too
long where tau is small beside v, and the normal one too short where it is large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from relprev.arrays import FloatArray
from relprev.errors import InvalidInputError


@dataclass(frozen=True)
class RandomEffects:
    """Distribution of an error over conditions.

    Parameters
    ----------
    mean : float
        mu.
    spread : float
        tau, the standard deviation between conditions.
    mean_variance : float
        Of the estimate of mu.
    count : int
        K, the number of controls.
    freedom : float, optional
        Degrees of freedom of B; K - 1 by default.

    Examples
    --------
    >>> found = RandomEffects.of([0.3, -0.1, 0.2, 0.6, 0.0], [0.01] * 5)
    >>> round(found.mean, 2), round(found.spread, 2)
    (0.2, 0.28)
    >>> [round(end, 2) for end in found.predicted(0.01, np.inf, 0.95)]
    [-0.65, 1.05]
    >>> found.half_width([0.01, 0.1], np.inf, 0.95).round(2)
    array([0.85, 0.94])
    >>> found.p_value([0.9, 0.5], 0.01, np.inf).round(2)
    array([0.04, 0.19])
    """

    mean: float
    spread: float
    mean_variance: float
    count: int
    freedom: float | None = None

    @staticmethod
    def of(errors: ArrayLike, variances: ArrayLike) -> RandomEffects:
        """Estimate the distribution.

        Parameters
        ----------
        errors, variances : arrays of shape (K,)
            e_k and v_k; K at least 2, variances positive.
        """
        e, v = np.asarray(errors, dtype=float), np.asarray(variances, dtype=float)
        if e.ndim != 1 or e.shape != v.shape or len(e) < 2:
            raise InvalidInputError(
                "errors and variances must be two or more numbers each, as many of one as of the "
                f"other; got shapes {e.shape} and {v.shape}"
            )
        if not (np.isfinite(e).all() and np.isfinite(v).all() and (v > 0).all()):
            raise InvalidInputError("errors must be finite, and variances finite and positive")

        def squares(tau2: float) -> tuple[float, float, float]:
            weight = 1.0 / (v + tau2)
            mean = float(weight @ e / weight.sum())
            return float(weight @ (e - mean) ** 2), mean, float(weight.sum())

        middle = float(stats.chi2.median(len(e) - 1))

        def excess(tau2: float) -> float:
            return squares(tau2)[0] - middle

        most = float(np.ptp(e)) ** 2 * len(e) / middle  # where no term exceeds middle / K
        tau2 = 0.0 if excess(0.0) <= 0 else float(optimize.brentq(excess, 0.0, most))
        found, mean, weight = squares(tau2)
        variance = max(found / (len(e) - 1), 1.0) / weight
        return RandomEffects(mean, float(np.sqrt(tau2)), variance, len(e))

    def predicted(self, variance: float, df: float, level: float) -> tuple[float, float]:
        """Interval of a further error.

        Parameters
        ----------
        variance : float
            Its sampling variance v.
        df : float
            Degrees of freedom of that variance; infinite if it is known.
        level : float
            Of the interval.

        Returns
        -------
        float, float
            Its ends.
        """
        half = float(self.half_width(variance, df, level))
        return self.mean - half, self.mean + half

    def half_width(self, variance: ArrayLike, df: ArrayLike, level: float) -> FloatArray:
        """Half the length of the interval of further errors; see `predicted`."""
        error, df = self._total(variance, df)
        half: FloatArray = stats.t.ppf(0.5 + level / 2, df) * error
        return half

    def p_value(self, distance: ArrayLike, variance: ArrayLike, df: ArrayLike) -> FloatArray:
        """Two-sided p-values of further errors' distances from the mean; see `predicted`."""
        error, df = self._total(variance, df)
        p: FloatArray = 2 * stats.t.sf(np.abs(distance) / error, df)
        return p

    def _total(self, variance: ArrayLike, df: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Standard errors of predictions, and their degrees of freedom."""
        v, d = np.asarray(variance, dtype=float), np.asarray(df, dtype=float)
        between = self.spread**2 + self.mean_variance
        freedom = self.count - 1 if self.freedom is None else self.freedom
        total = v + between
        return np.sqrt(total), total**2 / (v**2 / d + between**2 / freedom)
