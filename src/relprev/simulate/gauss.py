"""Gauss-Synth: two groups with five Gaussian features.

According to the paper's text,

    x ~ N(-1, 16 I_5) in group a, N(+1, 16 I_5) in group b
    p(y=1|x) = sigma(1'x / ||1||),    s ~ Bernoulli(c_g y)

``variant="published"`` follows the authors' code instead: group a has the mean +1 and group b
the mean 1 - group_gap, p(y=1|x) = sigma(mean of x), and exactly a share c_g of the positives is
diagnosed. In separable data, each group loses the band from 40 percentiles below the boundary to
40 above it, limited to the 10th to 90th percentile.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.cohort import as_cohort
from relprev.errors import InvalidInputError
from relprev.simulate.simulation import Simulation

N_FEATURES = 5


def gauss_synth(
    diagnosis_rates: tuple[float, float] = (0.5, 0.5),
    *,
    n: tuple[int, int] = (10_000, 20_000),
    group_gap: float = 2.0,
    separable: bool = False,
    ceiling: float = 1.0,
    alpha: float = 1.0,
    false_positives: float = 0.0,
    selective: float = 0.0,
    variant: Literal["paper", "published"] = "paper",
    seed: int = 0,
) -> Simulation:
    """Simulate the paper's Gauss-Synth data.

    Parameters
    ----------
    diagnosis_rates : (c_a, c_b)
        Share of each group's cases that are diagnosed.
    n : (int, int)
        Visits in groups a and b.
    group_gap : float
        Distance between the groups' means in each feature. Below 0 the means change places, and
        group a is the more affected one.
    separable : bool
        Round p(y=1|x) to 0 or 1, and remove the visits nearest the boundary.
    ceiling : float
        Factor applied to p(y=1|x) (0.75 is called "overlaid" in the authors' code).
    alpha : float in (0, 1]
        Factor applied to p(y=1|x) in group b, which violates constant p(y|x) unless it is 1.
    false_positives : float in [0, 1)
        Share of the diagnosed who do not have the condition.
    selective : float
        Makes diagnosis depend on symptoms: the diagnosis rate is c_g sigma(selective * x_0).
    variant : "paper" or "published"
        Follow the paper's text, or the authors' code where it differs.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Simulation
        Cohort and truth.

    Notes
    -----
    Formula: :mod:`relprev.simulate.gauss`.

    Examples
    --------
    >>> truth = gauss_synth((0.5, 0.1), seed=1).relative_prevalence(versus="b").to_frame()
    >>> truth.loc[0, ["estimate", "observed_ratio"]].astype(float).round(1).tolist()
    [0.4, 2.1]
    """
    _check(variant=variant, alpha=alpha, ceiling=ceiling, false_positives=false_positives)
    published = variant == "published"
    rng = np.random.default_rng(seed)
    g = np.repeat(np.array([0, 1]), n)
    side = np.where(g == 0, -1.0, 1.0)
    mean = np.where(g == 0, 1.0, 1.0 - group_gap) if published else 0.5 * group_gap * side
    x = mean[:, None] + 4.0 * rng.standard_normal((len(g), N_FEATURES))
    score = x.sum(axis=1) / (N_FEATURES if published else np.sqrt(N_FEATURES))
    if separable:
        keep = _outside_bands(score, g) if published else _furthest(score, 0.6)
        x, g, score = x[keep], g[keep], score[keep]
    p = (score > 0).astype(float) if separable else expit(score)
    p = ceiling * p * np.where(g == 1, alpha, 1.0)
    y = (rng.random(len(p)) < p).astype(np.uint8)
    rate = np.asarray(diagnosis_rates, dtype=float)[g]
    if selective:
        rate = rate * expit(selective * x[:, 0])
    s = _exact_share(y, g, rate, rng) if published else (rng.random(len(y)) < rate * y)
    s = s.astype(np.uint8)
    if false_positives:
        s = _add_false_positives(s, y, g, false_positives, rng)
    cohort = as_cohort(x, s, groups=np.array(["a", "b"])[g])
    return Simulation(cohort, p, y, np.asarray(diagnosis_rates, dtype=float))


def _check(variant: str, alpha: float, ceiling: float, false_positives: float) -> None:
    if variant not in ("paper", "published"):
        raise InvalidInputError(f"variant must be 'paper' or 'published', got {variant!r}")
    for name, value in (("alpha", alpha), ("ceiling", ceiling)):
        if not 0 < value <= 1:
            raise InvalidInputError(f"{name} must be above 0 and at most 1, got {value}")
    if not 0 <= false_positives < 1:
        raise InvalidInputError(f"false_positives must be in [0, 1), got {false_positives}")


def _furthest(score: FloatArray, share: float) -> NDArray[np.bool_]:
    """Mark the given share of points, furthest from the boundary."""
    return np.abs(score) >= np.quantile(np.abs(score), 1 - share)


def _outside_bands(score: FloatArray, g: NDArray[np.int64]) -> NDArray[np.bool_]:
    keep = np.zeros(len(score), dtype=bool)
    for group in np.unique(g):
        inside = np.flatnonzero(g == group)
        boundary = 100 * float(np.mean(score[inside] < 0))
        low, high = np.percentile(score[inside], [max(10, boundary - 40), min(90, boundary + 40)])
        keep[inside] = (score[inside] < low) | (score[inside] > high)
    return keep


def _exact_share(
    y: NDArray[np.uint8], g: NDArray[np.int64], rate: FloatArray, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Diagnose an exact share of each group's cases, drawn in proportion to their rates."""
    s = np.zeros_like(y)
    for group in np.unique(g):
        sick = np.flatnonzero((g == group) & (y == 1))
        total = rate[sick].sum()
        count = int(total + 1e-9)
        s[rng.choice(sick, count, replace=False, p=rate[sick] / total)] = 1
    return s


def _add_false_positives(
    s: NDArray[np.uint8], y: NDArray[np.uint8], g: NDArray[np.int64], share: float,
    rng: np.random.Generator,
) -> NDArray[np.uint8]:  # fmt: skip
    """Diagnose random healthy visits of each group, until they are ``share`` of the diagnosed."""
    s = s.copy()
    for group in np.unique(g):
        healthy = np.flatnonzero((g == group) & (y == 0))
        wanted = round(share / (1 - share) * int(s[g == group].sum()))
        s[rng.choice(healthy, min(wanted, len(healthy)), replace=False)] = 1
    return s
