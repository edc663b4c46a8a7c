"""Do independent estimates of log ratios differ, and do they change along a line?

Let x_j be log ratios with standard errors e_j, j = 1, ..., k, and w_j = 1 / e_j^2.

    ratio of ratios   exp(x_j - x_1), with variance e_1^2 + e_j^2; degrees of freedom by Welch and
                      Satterthwaite, (e_1^2 + e_j^2)^2 / (e_1^4 / f_1 + e_j^4 / f_j)
    heterogeneity     Q = sum w_j (x_j - x)^2, x = sum w_j x_j / sum w_j (Cochran), which has a
                      chi-squared distribution with k - 1 degrees of freedom if all are equal
    trend             weighted least squares of x_j on numbers t_j, such as years: the slope
                      b = sum w_j (t_j - t) x_j / S, S = sum w_j (t_j - t)^2, has variance 1 / S,
                      and Q - b^2 S, with k - 2 degrees of freedom, tests whether a line is enough
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

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
        Those of the standard errors.
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
    df = np.broadcast_to(np.asarray(degrees_of_freedom, float), (2,))
    error = float(np.hypot(*e))
    welch = error**4 / float(np.sum(e**4 / df)) if np.isfinite(df).any() else np.inf
    gap = float(x[1] - x[0])
    half = float(stats.t.ppf(0.5 + level / 2, welch)) * error
    p = float(2 * stats.t.sf(abs(gap) / error, welch)) if error > 0 else float("nan")
    low, ratio, high = np.exp([gap - half, gap, gap + half])
    return Compared(float(ratio), float(low), float(high), p)


def heterogeneity(estimates: ArrayLike, std_errors: ArrayLike) -> Heterogeneity:
    """Test whether several independent ratios are equal.

    Parameters
    ----------
    estimates, std_errors : arrays of shape (k,)
        The ratios, and standard errors of their logarithms; those that are missing are left out.

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
    x, w, _ = _known(estimates, std_errors)
    if len(x) < 2:
        return Heterogeneity(float("nan"), max(len(x) - 1, 0), float("nan"))
    Q = float(np.sum(w * (x - np.average(x, weights=w)) ** 2))
    return Heterogeneity(Q, len(x) - 1, float(stats.chi2.sf(Q, len(x) - 1)))


def trend(
    estimates: ArrayLike, std_errors: ArrayLike, at: ArrayLike, *, level: float = 0.95
) -> Trend:
    """Change per unit of independent ratios along numbers, such as years.

    Parameters
    ----------
    estimates, std_errors : arrays of shape (k,)
        The ratios, and standard errors of their logarithms; those that are missing are left out.
    at : array of shape (k,)
        The numbers.
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
    x, w, kept = _known(estimates, std_errors)
    t = numbers[kept]
    if len(np.unique(t)) < 2:
        return Trend(*[float("nan")] * 5)
    t = t - np.average(t, weights=w)
    S = float(np.sum(w * t**2))
    slope = float(np.sum(w * t * x)) / S
    half = float(stats.norm.ppf(0.5 + level / 2)) / np.sqrt(S)
    p = float(2 * stats.norm.sf(abs(slope) * np.sqrt(S)))
    rest = heterogeneity(np.exp(x), 1 / np.sqrt(w)).statistic - slope**2 * S
    departure = float(stats.chi2.sf(rest, len(x) - 2)) if len(x) > 2 else float("nan")
    low, factor, high = np.exp([slope - half, slope, slope + half])
    return Trend(float(factor), float(low), float(high), p, departure)


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


def _known(estimates: ArrayLike, std_errors: ArrayLike) -> tuple[np.ndarray, ...]:
    """Log ratios and weights that are known, and where they are."""
    with np.errstate(invalid="ignore", divide="ignore"):
        x, e = np.log(np.asarray(estimates, float)), np.asarray(std_errors, float)
    kept = np.isfinite(x) & np.isfinite(e) & (e > 0)
    return x[kept], 1 / e[kept] ** 2, kept
