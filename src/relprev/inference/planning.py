"""How precise a study will be: the interval to expect before collecting data.

Of N diagnosed rows let a share q be in group a (1 - q in b), and let pi*(x) be the share of
a among the diagnosed at x. The case-only influence function of log rho, per diagnosed row, is

    [1(a) - q - (1(a) - pi*) / kappa] / (q (1 - q)),    kappa = E[pi* (1 - pi*)] / (q (1 - q)).

kappa is the mixing: 1 if symptoms say nothing about the group, 0 if they name it. Writing
1(a) - q = (1(a) - pi*) + (pi* - q), two uncorrelated parts with variances kappa q (1 - q) and
(1 - kappa) q (1 - q), gives

    var(log rho) = (1 - kappa) / (kappa q (1 - q) N) * design effect

for a rare diagnosis and well-estimated propensities (with one visit in twenty diagnosed it is
a few hundredths too wide). If kappa = 1 the groups have the same symptoms and so, under the
method's assumptions, the same prevalence: nothing is uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from relprev.errors import InvalidInputError


@dataclass(frozen=True)
class Plan:
    """Expected precision of a relative prevalence.

    Parameters
    ----------
    n_diagnosed : (in group a, in group b)
        Diagnosed visits to expect.
    effective_cases : float
        The informative ones among them.
    std_error : float
        That of log rho.
    factor : float
        The interval reaches from estimate / factor to estimate x factor.

    Notes
    -----
    See :mod:`relprev.inference.planning`.

    Examples
    --------
    >>> found = plan(100_000, (0.004, 0.005), mixing=0.7)
    >>> found.n_diagnosed, round(found.factor, 2)
    ((200.0, 250.0), 1.13)
    """

    n_diagnosed: tuple[float, float]
    effective_cases: float
    std_error: float
    factor: float

    def __str__(self) -> str:
        a, b = self.n_diagnosed
        return (
            f"expect the interval to reach from estimate / {self.factor:.2f} to estimate x "
            f"{self.factor:.2f} (diagnosed: {a:.0f} and {b:.0f}; effective informative cases: "
            f"{self.effective_cases:.0f})"
        )


def plan(
    n: float,
    recorded_rates: tuple[float, float],
    mixing: float,
    *,
    shares: tuple[float, float] = (0.5, 0.5),
    design_effect: float = 1.0,
    level: float = 0.95,
) -> Plan:
    """Interval width to expect for the relative prevalence of two groups.

    Parameters
    ----------
    n : float
        Visits of both groups together.
    recorded_rates : (in group a, in group b)
        Share of the visits with a recorded diagnosis.
    mixing : float in (0, 1]
        How alike the groups' diagnosed are in symptoms; `relprev.checks.check_overlap`
        reports it for data at hand.
    shares : (of group a, of group b)
        Of the visits; scaled to sum to one.
    design_effect : float
        Variance inflation due to clusters and weights.
    level : float
        Coverage of the interval.

    Returns
    -------
    Plan
        Cases and interval to expect; ``print`` it.

    Notes
    -----
    Derived in :mod:`relprev.inference.planning`.

    Examples
    --------
    >>> print(plan(100_000, (0.004, 0.005), mixing=0.7, shares=(0.4, 0.6)))
    expect the interval to reach from estimate / 1.14 to estimate x 1.14 (diagnosed: 160 and
    300; effective informative cases: 73)
    """
    _check(n, recorded_rates, mixing, shares, design_effect, level)
    a, b = (
        n * share / sum(shares) * rate for share, rate in zip(shares, recorded_rates, strict=True)
    )
    informative = a * b / (a + b)  # N q (1 - q)
    std_error = float(np.sqrt((1 - mixing) / (mixing * informative) * design_effect))
    effective = mixing * informative
    quantile = float(stats.t.ppf(0.5 + level / 2, max(effective, 1.0)))
    return Plan((a, b), effective, std_error, float(np.exp(quantile * std_error)))


def _check(
    n: float, recorded_rates: tuple[float, float], mixing: float, shares: tuple[float, float],
    design_effect: float, level: float,
) -> None:  # fmt: skip
    for name, value, right, wanted in (
        ("n", n, n > 0, "positive"),
        ("recorded_rates", recorded_rates,
         len(recorded_rates) == 2 and all(0 < rate < 1 for rate in recorded_rates),
         "two numbers between 0 and 1"),
        ("shares", shares, len(shares) == 2 and all(share > 0 for share in shares),
         "two positive numbers"),
        ("mixing", mixing, 0 < mixing <= 1, "in (0, 1]"),
        ("design_effect", design_effect, design_effect > 0, "positive"),
        ("level", level, 0 < level < 1, "between 0 and 1"),
    ):  # fmt: skip
        if not right:
            raise InvalidInputError(f"{name} must be {wanted}, got {value}")
