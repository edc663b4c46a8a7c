"""Do the groups share symptoms, so that their diagnosed can be compared?

The diagnosis-rate ratio is learnt from diagnosed rows whose symptoms occur in several
groups. With pi*_g(x) the group mix of the diagnosed at x, a row tells pi* (1 - pi*) about
group g. Summed over the diagnosed this is the effective number of informative cases (a
patient's rows counting once, see `relprev.inference.moments`); without weights and
divided by what it would be if x said nothing about the group it is the mixing, between 0
(symptoms name the group) and 1. Codes seen in one group only cannot be compared at all.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts
from relprev.checks.check import CheckResult
from relprev.checks.feature_counts import feature_counts
from relprev.cohort import Cohort, CohortPart
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import FEW_CASES
from relprev.inference.score import ScorePart, tilted_propensity

LITTLE_MIXING = 0.2
SURE = 0.95  # pi* above which a diagnosed row could hardly come from another group
LARGE_SHARE = 0.2  # of a group's diagnosed with codes no other group has


def check_overlap(fitted: DebiasedPURPLE, cohort: Cohort) -> CheckResult:
    """Effective informative cases, mixing and codes of one group only, for every group.

    Parameters
    ----------
    fitted : DebiasedPURPLE
    cohort : Cohort
        What it was fitted on.

    Returns
    -------
    CheckResult
        Of concern if there is little to compare in some group.

    Notes
    -----
    Formula: :mod:`relprev.checks.overlap`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> check_overlap(DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort), cohort).verdict
    'no concern'
    """
    moments = fitted.moments_
    names = moments.names
    diagnosed, sure = fitted.score_data_.total(_sure, moments.theta)
    used = cohort if cohort.n == len(fitted.rows_) else cohort.take(fitted.rows_)
    exclusive, carriers = _exclusive_codes(used, names)
    table = pd.DataFrame(
        {
            "group": names,
            "n_diagnosed": diagnosed,
            "effective_cases": np.diag(moments.information),
            "mixing": moments.mixing,
            "sure_share": sure / diagnosed,
            "exclusive_codes": exclusive,
            "diagnosed_with_exclusive_codes": carriers / diagnosed,
        }
    )
    bad = table[
        (table["effective_cases"] < FEW_CASES)
        | (table["mixing"] < LITTLE_MIXING)
        | (table["diagnosed_with_exclusive_codes"] > LARGE_SHARE)
    ]
    named = bad if len(bad) else table  # what raised the concern, if anything did
    worst = named.iloc[int(np.argmin(named["mixing"]))]
    effect = (
        f"Least overlap in {worst['group']}: {worst['effective_cases']:.0f} effective informative "
        f"cases of {worst['n_diagnosed']} diagnosed, mixing {worst['mixing']:.2f}; "
        f"{worst['diagnosed_with_exclusive_codes']:.0%} of its diagnosed carry codes no other "
        "group has."
    )
    return CheckResult(
        name="Overlap of the groups",
        verdict="concern" if len(bad) else "no concern",
        effect=effect,
        table=table,
        draw=_draw,
    )


def _sure(data: ScorePart, theta: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Diagnosed rows of every group, and those that could hardly come from another."""
    hit = data.s > 0.5
    g, mix = data.g[hit], tilted_propensity(data.propensity[hit], theta)
    own = mix[np.arange(len(mix)), g]
    return group_counts(g, data.n_groups), group_counts(g[own > SURE], data.n_groups)


def _exclusive_codes(
    cohort: Cohort, names: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes seen in each group only, and the group's diagnosed rows that carry one."""
    numbers = [cohort.group_names.index(name) for name in names]
    seen = np.sum(cohort.map(_counts, numbers), axis=0) > 0
    alone = seen & (seen.sum(axis=0) == 1)
    return alone.sum(axis=1), np.sum(cohort.map(_carriers, numbers, alone), axis=0)


def _counts(cohort: CohortPart, numbers: list[int]) -> FloatArray:
    """Rows of each group with each feature, shape (groups, p)."""
    return np.array([feature_counts(cohort, cohort.groups == number) for number in numbers])


def _carriers(
    cohort: CohortPart, numbers: list[int], alone: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Diagnosed rows of each group that carry one of its codes."""
    counts = []
    for number, codes in zip(numbers, alone, strict=True):
        diagnosed = np.flatnonzero((cohort.groups == number) & (cohort.diagnosed == 1))
        carried = cohort.X.take(diagnosed).matvec(codes.astype(float)) != 0
        counts.append(int(carried.sum()))
    return np.array(counts)


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    ax.barh(table["group"], table["mixing"], color="C0")
    ax.invert_yaxis()  # in the table's order
    ax.axvline(LITTLE_MIXING, color="grey", linewidth=1)
    ax.set_xlim(0, 1)
    ax.set_xlabel("mixing (1: symptoms say nothing about the group)")
