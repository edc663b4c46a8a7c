"""Power and sample size: the chance of telling a relative prevalence apart from 1.

With the standard error e of log rho that `relprev.inference.planning` expects, and t the quantile
of Student's t distribution by which the interval is made, a study of a true ratio rho finds an
interval without 1 with probability

    power = Phi(|log rho| / e - t) + Phi(-|log rho| / e - t).

e falls with the square root of the visits, so power and width of the interval fix their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import optimize, stats

from relprev.errors import InvalidInputError
from relprev.inference.planning import Plan, plan

MOST_VISITS = 1e12


def power(expected: Plan, ratio: float, *, level: float = 0.95) -> float:
    """Chance that the interval of a planned study leaves out 1.

    Parameters
    ----------
    expected : Plan
        From `relprev.plan`.
    ratio : float
        The true relative prevalence, not 1.
    level : float
        Coverage of the interval.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    Formula: :mod:`relprev.inference.sample_size`.

    Examples
    --------
    >>> from relprev import plan
    >>> round(power(plan(100_000, (0.004, 0.005), mixing=0.7), ratio=1.2), 2)
    0.83
    """
    _require_ratio(ratio)
    if expected.std_error == 0:
        return 1.0
    quantile = float(stats.t.ppf(0.5 + level / 2, max(expected.effective_cases, 1.0)))
    away = abs(math.log(ratio)) / expected.std_error
    return float(stats.norm.cdf(away - quantile) + stats.norm.cdf(-away - quantile))


def visits_needed(
    recorded_rates: tuple[float, float],
    mixing: float,
    *,
    ratio: float | None = None,
    chance: float = 0.8,
    factor: float | None = None,
    shares: tuple[float, float] = (0.5, 0.5),
    design_effect: float = 1.0,
    level: float = 0.95,
) -> int:
    """Visits of both groups together that a study needs.

    Parameters
    ----------
    recorded_rates : (in group a, in group b)
        Share of the visits with a recorded diagnosis.
    mixing : float in (0, 1]
        How alike the groups' diagnosed are in symptoms, as in `relprev.plan`.
    ratio : float, optional
        Enough visits to find, with probability ``chance``, that this true ratio differs from 1.
    chance : float
        The power wanted, with ``ratio``.
    factor : float, optional
        Enough visits for an interval from estimate / factor to estimate x factor. Give either this
        or ``ratio``.
    shares : (of group a, of group b)
        Of the visits; scaled to sum to one.
    design_effect : float
        Variance inflation due to clusters and weights.
    level : float
        Coverage of the interval.

    Returns
    -------
    int
        The smallest number that does.

    Notes
    -----
    Formula: :mod:`relprev.inference.sample_size`.

    Examples
    --------
    >>> visits_needed((0.004, 0.005), mixing=0.7, ratio=1.2, chance=0.9)
    123807
    >>> visits_needed((0.004, 0.005), mixing=0.7, factor=1.1)
    166209
    """
    if (ratio is None) == (factor is None):
        raise InvalidInputError("give either ratio or factor: what the study is to find")

    def at(visits: float) -> Plan:
        return plan(
            visits, recorded_rates, mixing, shares=shares, design_effect=design_effect, level=level
        )

    if ratio is not None:
        _require_ratio(ratio)
        if not 0 < chance < 1:
            raise InvalidInputError(f"chance must be between 0 and 1, got {chance}")
        return _least(lambda visits: power(at(visits), ratio, level=level) - chance)
    assert factor is not None
    if not 1 < factor < math.inf:
        raise InvalidInputError(f"factor must be above 1, got {factor}")
    return _least(lambda visits: math.log(factor) - math.log(at(visits).factor))


def _least(enough: Callable[[float], float]) -> int:
    """The fewest visits at which an increasing function is not negative."""
    if enough(1.0) >= 0:
        return 1
    if enough(MOST_VISITS) < 0:
        raise InvalidInputError(
            "no number of visits is enough; recorded_rates or mixing are too small, or what is to "
            "be found is too close to 1"
        )
    root = optimize.brentq(
        lambda power_of_ten: enough(10.0**power_of_ten), 0.0, math.log10(MOST_VISITS), xtol=1e-12
    )
    visits = math.floor(10.0**root)
    while enough(visits) < 0:
        visits += 1
    return visits


def _require_ratio(ratio: float) -> None:
    if not 0 < ratio < math.inf or ratio == 1:
        raise InvalidInputError(f"ratio must be positive and not 1, got {ratio}")
