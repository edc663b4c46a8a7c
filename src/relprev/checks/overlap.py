"""Do the groups share symptoms, so that their diagnosed can be compared?

The diagnosis-rate ratio is learnt from diagnosed rows whose symptoms occur in several
groups. With pi*_g(x) the group mix of the diagnosed at x, a row tells pi* (1 - pi*) about
group g. Summed over the diagnosed this is the effective number of informative cases;
divided by what it would be if x said nothing about the group it is the mixing, between 0
(symptoms name the group) and 1. Codes seen in one group only cannot be compared at all.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from relprev.checks.features import feature_counts
from relprev.checks.result import CheckResult
from relprev.cohort import Cohort
from relprev.inference import DebiasedPURPLE
from relprev.inference.score import tilted_propensity

FEW_CASES = 20.0
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
    >>> check_overlap(DebiasedPURPLE(m=None, strengths=[1.0]).fit(cohort), cohort).verdict
    'no concern'
    """
    data, moments = fitted.scores_in_memory(), fitted.moments_
    hit = data.s > 0.5
    mix = tilted_propensity(data.propensity[hit], moments.theta)
    own = mix[np.arange(len(mix)), data.g[hit]]
    names, mixing = moments.names, moments.mixing
    used = cohort.take(fitted.rows_)
    exclusive, carriers = _exclusive_codes(used, names)
    table = pd.DataFrame(
        {
            "group": names,
            "n_diagnosed": np.bincount(data.g[hit], minlength=len(names)),
            "effective_cases": np.diag(moments.information),
            "mixing": mixing,
            "sure_share": [float(np.mean(own[data.g[hit] == k] > SURE)) for k in range(len(names))],
            "exclusive_codes": exclusive,
            "diagnosed_with_exclusive_codes": carriers,
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


def _exclusive_codes(cohort: Cohort, names: tuple[str, ...]) -> tuple[list[int], list[float]]:
    """Codes seen in each group only, and the share of its diagnosed rows that carry one."""
    masks = [cohort.groups == cohort.group_names.index(name) for name in names]
    seen = np.array([feature_counts(cohort, mask) > 0 for mask in masks])
    alone = seen & (seen.sum(axis=0) == 1)
    shares = []
    for mask, codes in zip(masks, alone, strict=True):
        carried = cohort.X.matvec(codes.astype(float)) != 0
        diagnosed = mask & (cohort.diagnosed == 1)
        shares.append(float(np.mean(carried[diagnosed])))
    return alone.sum(axis=1).tolist(), shares


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    ax.barh(table["group"], table["mixing"], color="C0")
    ax.invert_yaxis()  # in the table's order
    ax.axvline(LITTLE_MIXING, color="grey", linewidth=1)
    ax.set_xlim(0, 1)
    ax.set_xlabel("mixing (1: symptoms say nothing about the group)")
