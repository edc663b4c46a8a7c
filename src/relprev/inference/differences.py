"""Do independent estimates of log ratios differ, and do they change along a line?

Let x_j be log ratios with standard errors e_j that have f_j degrees of freedom, j = 1, ..., k, and
w_j = 1 / e_j^2, W = sum w_j.

    ratio of ratios   d = x_j - x_1, with variance e_1^2 + e_j^2
    heterogeneity     Q = sum w_j (x_j - x)^2, x = sum w_j x_j / W (Cochran), on r = k - 1 contrasts
    trend             weighted least squares of x_j on numbers t_j, such as years: the slope
                      b = sum w_j (t_j - t) x_j / S, t = sum w_j t_j / W, S = sum w_j (t_j - t)^2,
                      has variance v / S, and Q - b^2 S, on r = k - 2 contrasts, tests whether a
                      line is enough

If the standard errors were exact, such a sum of squares on r contrasts would be chi-squared. As
they are estimated, with m_j the share of x_j in the contrasts (sum m_j = r),

    A = sum m_j^2 / f_j,    F = Q / (r + 2 A - 6 A / (r + 2)),

F has Fisher's distribution with r and r (r + 2) / (3 A) degrees of freedom (Johansen, 1980). The
shares are, for heterogeneity, 1 - w_j / W (this is Welch's analysis of variance); for the slope,
h_j = w_j (t_j - t)^2 / S; for departure from a line, l_j = 1 - w_j / W - h_j. As weights are
estimated too, v = 1 + 4 sum h_j l_j / f_j (Kenward and Roger, 1997); it is 1 for two points. On one
contrast F is the square of Student's t with 1 / A degrees of freedom: those of Welch and
Satterthwaite. So the ratio of two ratios, their heterogeneity and their trend are one test, with
one interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from relprev.arrays import FloatArray
from relprev.errors import InvalidInputError


@dataclass(frozen=True)
class Compared:
    """A ratio of two ratios.

    Parameters
    ----------
    ratio, ci_low, ci_high, p_value : float
        The second over the first, its interval, and the test of whether it is 1.
    """

    ratio: float
    ci_low: float
    ci_high: float
    p_value: float


@dataclass(frozen=True)
class Heterogeneity:
    """Whether several ratios are equal.

    Parameters
    ----------
    statistic : float
        Cochran's Q.
    degrees_of_freedom : int
        Ratios less one.
    p_value : float
        Of equality; NaN for fewer than two ratios.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float


@dataclass(frozen=True)
class Trend:
    """Change of a ratio along a line.

    Parameters
    ----------
    factor, ci_low, ci_high, p_value : float
        Factor by which the ratio changes per unit, its interval, and the test of whether it is 1.
    departure : float
        P-value of the test of whether a line is enough; NaN for two points.
    """

    factor: float
    ci_low: float
    ci_high: float
    p_value: float
    departure: float


def ratio_of_ratios(
    estimates: ArrayLike, std_errors: ArrayLike, *, degrees_of_freedom: ArrayLike = np.inf,
    level: float = 0.95,
) -> Compared:  # fmt: skip
    """The second of two independent ratios over the first.

    Parameters
    ----------
    estimates, std_errors : arrays of shape (2,)
        The ratios, and standard errors of their logarithms.
    degrees_of_freedom : float or array of shape (2,)
        Those of the standard errors; infinite if these are exact.
    level : float
        Coverage of the interval.

    Returns
    -------
    Compared

    Notes
    -----
    Formula: :mod:`relprev.inference.differences`.

    Examples
    --------
    >>> found = ratio_of_ratios([1.2, 1.8], [0.1, 0.1])
    >>> round(found.ratio, 2), round(found.p_value, 4)
    (1.5, 0.0041)
    """
    x, e = np.log(np.asarray(estimates, float)), np.asarray(std_errors, float)
    error, gap = float(np.hypot(*e)), float(x[1] - x[0])
    if not error > 0:  # exact, or not known
        end = float(np.exp(gap + error))
        return Compared(float(np.exp(gap)), end, end, float("nan"))
    f = np.broadcast_to(np.asarray(degrees_of_freedom, float), (2,))
    A = _uncertainty(e**2 / error**2, f)
    low, high = np.exp(gap + _quantile(A, level) * error * np.array([-1, 1]))
    return Compared(float(np.exp(gap)), float(low), float(high), _p((gap / error) ** 2, 1, A))


def heterogeneity(
    estimates: ArrayLike, std_errors: ArrayLike, *, degrees_of_freedom: ArrayLike = np.inf
) -> Heterogeneity:
    """Test whether several independent ratios are equal.

    Parameters
    ----------
    estimates, std_errors : arrays of shape (k,)
        The ratios, and standard errors of their logarithms; those that are missing are left out.
    degrees_of_freedom : float or array of shape (k,)
        Those of the standard errors; infinite if these are exact.

    Returns
    -------
    Heterogeneity

    Notes
    -----
    Formula: :mod:`relprev.inference.differences`.

    Examples
    --------
    >>> found = heterogeneity([1.0, 1.1, 2.0], [0.1, 0.1, 0.1])
    >>> found.degrees_of_freedom, found.p_value < 0.001
    (2, True)
    """
    x, w, f, _ = _known(estimates, std_errors, degrees_of_freedom)
    if len(x) < 2:
        return Heterogeneity(float("nan"), max(len(x) - 1, 0), float("nan"))
    Q = float(np.sum(w * (x - np.average(x, weights=w)) ** 2))
    p = _p(Q, len(x) - 1, _uncertainty(1 - w / w.sum(), f))
    return Heterogeneity(Q, len(x) - 1, p)


def trend(
    estimates: ArrayLike, std_errors: ArrayLike, at: ArrayLike, *,
    degrees_of_freedom: ArrayLike = np.inf, level: float = 0.95,
) -> Trend:  # fmt: skip
    """Change per unit of independent ratios along numbers, such as years.

    Parameters
    ----------
    estimates, std_errors : arrays of shape (k,)
        The ratios, and standard errors of their logarithms; those that are missing are left out.
    at : array of shape (k,)
        The numbers.
    degrees_of_freedom : float or array of shape (k,)
        Those of the standard errors; infinite if these are exact.
    level : float
        Coverage of the interval.

    Returns
    -------
    Trend
        NaN if fewer than two different numbers have a ratio.

    Notes
    -----
    Formula: :mod:`relprev.inference.differences`.

    Examples
    --------
    >>> found = trend([1.0, 1.2, 1.44], [0.1, 0.1, 0.1], [2017, 2018, 2019])
    >>> round(found.factor, 2), round(found.departure, 2)
    (1.2, 1.0)
    """
    numbers = np.asarray(at, float)
    if numbers.shape != np.asarray(estimates, float).shape:
        raise InvalidInputError(
            f"at must have one number for each estimate, got shape {numbers.shape}"
        )
    x, w, f, kept = _known(estimates, std_errors, degrees_of_freedom)
    t = numbers[kept]
    if len(np.unique(t)) < 2:
        return Trend(*[float("nan")] * 5)
    t = t - np.average(t, weights=w)
    S = float(np.sum(w * t**2))
    slope = float(np.sum(w * t * x)) / S
    shares = w * t**2 / S
    off = 1 - w / w.sum() - shares
    error = np.sqrt((1 + 4 * float(np.sum(shares * off / f))) / S)
    A = _uncertainty(shares, f)
    low, factor, high = np.exp(slope + _quantile(A, level) * error * np.array([-1, 0, 1]))
    rest = float(np.sum(w * (x - np.average(x, weights=w) - slope * t) ** 2))
    departure = _p(rest, len(x) - 2, _uncertainty(off, f)) if len(x) > 2 else float("nan")
    p = _p((slope / error) ** 2, 1, A)
    return Trend(float(factor), float(low), float(high), p, departure)


def _uncertainty(shares: FloatArray, degrees_of_freedom: FloatArray) -> float:
    """A, which is 0 for exact standard errors."""
    return float(np.sum(shares**2 / degrees_of_freedom))


def _quantile(A: float, level: float) -> float:
    """Of Student's t with 1 / A degrees of freedom."""
    return float(stats.t.ppf(0.5 + level / 2, 1 / A if A > 0 else np.inf))


def _p(Q: float, r: int, A: float) -> float:
    """Chance of a sum of squares on r contrasts as large as Q if all are zero."""
    if A == 0:
        return float(stats.chi2.sf(Q, r))
    return float(stats.f.sf(Q / (r + 2 * A - 6 * A / (r + 2)), r, r * (r + 2) / (3 * A)))


def numbers_of(names: Sequence[str]) -> list[float] | None:
    """Names as numbers, such as years; None unless all are.

    Examples
    --------
    >>> numbers_of(["2018", "2019"]), numbers_of(["before", "after"])
    ([2018.0, 2019.0], None)
    """
    try:
        found = [float(name) for name in names]
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def _known(
    estimates: ArrayLike, std_errors: ArrayLike, degrees_of_freedom: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """Log ratios, weights and degrees of freedom that are known, and where they are."""
    with np.errstate(invalid="ignore", divide="ignore"):
        x, e = np.log(np.asarray(estimates, float)), np.asarray(std_errors, float)
    f = np.broadcast_to(np.asarray(degrees_of_freedom, float), x.shape)
    kept = np.isfinite(x) & np.isfinite(e) & (e > 0)
    return x[kept], 1 / e[kept] ** 2, f[kept], kept
