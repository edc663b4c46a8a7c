"""How precise will a study be?

Of N diagnosed rows let a share q be in group a (1 - q in b), and let pi*(x) be the share of
a among the diagnosed at x. The case-only influence function of log rho, a diagnosed row, is

    [1(a) - q - (1(a) - pi*) / kappa] / (q (1 - q)),    kappa = E[pi* (1 - pi*)] / (q (1 - q)).

kappa is the mixing: 1 if symptoms say nothing about the group, 0 if they name it. Writing
1(a) - q = (1(a) - pi*) + (pi* - q), two uncorrelated parts with variances kappa q (1 - q) and
(1 - kappa) q (1 - q), gives

    var(log rho) = (1 - kappa) / (kappa q (1 - q) N) * design effect

for a rare diagnosis and propensities known well. If kappa = 1 the groups have the same
symptoms and so, under the method's assumptions, the same prevalence: nothing is uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from relprev.errors import InvalidInputError


@dataclass(frozen=True)
class Plan:
    """Expected precision of a relative prevalence.

    ``std_error`` is that of log rho, ``factor`` the ratio of the interval's ends to the
    estimate, ``effective_cases`` the informative ones among the diagnosed.
    """

    std_error: float
    factor: float
    effective_cases: float

    def __str__(self) -> str:
        return (
            f"expect the interval to reach from estimate / {self.factor:.2f} to estimate x "
            f"{self.factor:.2f} ({self.effective_cases:.0f} effective informative cases)"
        )


def plan(
    n_diagnosed: tuple[float, float],
    mixing: float,
    *,
    design_effect: float = 1.0,
    level: float = 0.95,
) -> Plan:
    """Interval width to expect for the relative prevalence of two groups.

    Parameters
    ----------
    n_diagnosed : (in group a, in group b)
        Expected numbers of diagnosed rows (visits times recorded rates).
    mixing : float in (0, 1]
        How alike the groups' diagnosed are in symptoms; `relprev.checks.check_overlap`
        reports it for data at hand.
    design_effect : float
        Variance inflation by clusters and weights.
    level : float

    Examples
    --------
    >>> print(plan((200, 300), mixing=0.7))
    expect the interval to reach from estimate / 1.13 to estimate x 1.13 (84 effective
    informative cases)
    """
    a, b = n_diagnosed
    if min(a, b) <= 0:
        raise InvalidInputError(f"n_diagnosed must hold two positive numbers, got {n_diagnosed}")
    if not 0 < mixing <= 1:
        raise InvalidInputError(f"mixing must be in (0, 1], got {mixing}")
    if design_effect <= 0 or not 0 < level < 1:
        raise InvalidInputError(
            f"design_effect must be positive and level in (0, 1), got {design_effect} and {level}"
        )
    informative = a * b / (a + b)  # N q (1 - q)
    std_error = float(np.sqrt((1 - mixing) / (mixing * informative) * design_effect))
    effective = mixing * informative
    quantile = float(stats.t.ppf(0.5 + level / 2, max(effective, 1.0)))
    return Plan(std_error, float(np.exp(quantile * std_error)), effective)
