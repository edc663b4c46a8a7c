"""Do the groups share symptoms, so that their diagnosed patients can be compared?

The ratio of diagnosis rates is learned from diagnosed rows whose symptoms occur in several
groups. With pi*_g(x) the group mix of the diagnosed at x, a row contributes pi* (1 - pi*) of
information about group g. Summed over the diagnosed, this is the effective number of informative
cases (where a patient's rows count once, see `relprev.inference.moments`). Without weights, and
divided by its value if x said nothing about the group, it is the mixing, between 0 (symptoms
determine the group) and 1. Codes seen in only one group cannot be compared at all.

The violation is what rests on cases that cannot be compared: if a share u of a group's diagnosed
rows have a code that no other group has, leaving them out would change the group's cases by the
factor 1 / (1 - u), which is 1 or more by construction. With Wilson's interval of u: a concern if
the factor lies beyond the margin or the mixing is below 0.2, no concern if it lies below, and
cannot tell otherwise, or with fewer than 20 effective informative cases.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_counts
from relprev.checks.check import Axes, Check, CheckResult, Verdict, decisive
from relprev.checks.feature_counts import feature_counts
from relprev.checks.inputs import MARGIN
from relprev.checks.leakage import wilson
from relprev.cohort import Cohort, CohortPart
from relprev.disclosure.columns import Column
from relprev.inference import DebiasedPURPLE
from relprev.inference.estimable import rows_used
from relprev.inference.intervals import FEW_CASES
from relprev.inference.score import ScorePart, tilted_propensity
from relprev.messages import Count, Message, Number

CARRIERS = "diagnosed_with_exclusive_codes"  # share of a group's diagnosed rows
LITTLE_MIXING = 0.2
SURE = 0.95  # pi* above which a diagnosed row could hardly come from another group
APART = "symptoms that set it apart"
EXCLUSIVE = "many diagnosed with codes that no other group has"
FEW = "few informative cases"


def check_overlap(
    fitted: DebiasedPURPLE, cohort: Cohort, *, level: float = 0.95, margin: float = MARGIN
) -> CheckResult:
    """Effective informative cases, mixing and exclusive codes of each group.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted to ``cohort``; groups that it excluded have no row.
    cohort : Cohort
        All rows that were passed to ``fit``.
    level : float
        Confidence level of the share of diagnosed rows that cannot be compared.
    margin : float
        Factor by which a group's cases may rest on them.

    Returns
    -------
    CheckResult
        A concern if some group offers little to compare, cannot tell if it has few cases.

    Notes
    -----
    Formula: :mod:`relprev.checks.overlap`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
    >>> print(check_overlap(fitted, cohort).verdict)
    no concern
    """
    moments = fitted.moments_
    names = moments.names
    diagnosed, sure = fitted.score_data_.total(_sure, fitted.score_theta_)
    exclusive, carriers = _exclusive_codes(rows_used(fitted, cohort))
    table = pd.DataFrame(
        {
            "group": names,
            "n_diagnosed": diagnosed,
            "effective_cases": np.diag(moments.information),
            "mixing": moments.mixing,
            "sure_share": sure / diagnosed,
            "exclusive_codes": exclusive,
            CARRIERS: carriers / diagnosed,
        }
    )
    low, high = wilson(carriers.astype(float), diagnosed.astype(float), level)
    judged = [
        _judged(row, Verdict.of_excess(1 / (1 - a), 1 / max(1 - b, 1e-12), margin))
        for row, a, b in zip(table.to_dict("records"), low, high, strict=True)
    ]
    verdict, worst = decisive([one for one, _ in judged], 1 / table["mixing"])
    return CHECK.result(verdict, _effect(table.iloc[worst], judged[worst][1], names), table)


def _judged(row: Mapping[Hashable, Any], rests: Verdict) -> tuple[Verdict, list[str]]:
    """Verdict on one group, and why it is not better."""
    concerns = [APART] if row["mixing"] < LITTLE_MIXING else []
    concerns += [EXCLUSIVE] if rests is Verdict.CONCERN else []
    few = [FEW] if row["effective_cases"] < FEW_CASES else []
    if concerns:
        return Verdict.CONCERN, few + concerns
    return (Verdict.CANNOT_TELL, few) if few else (rests, [])


def _effect(row: pd.Series, why: Sequence[str], names: Sequence[str]) -> Message:
    own, cases, share = ("n_diagnosed", row["group"]), row["effective_cases"], row[CARRIERS]
    return Message(
        "Least overlap in {group}{why}: {cases} of {diagnosed}, mixing {mixing}; {carriers} with "
        "codes that no other group has.",
        group=row["group"],
        why=Message(" ({why})", why=why) if why else "",
        # The information of a case depends on all groups' numbers of cases.
        cases=Count(round(cases) if cases >= 10 else cases, "effective informative case",
                    tuple(("n_diagnosed", name) for name in names)),
        diagnosed=Count(row["n_diagnosed"], "diagnosed visit", (own,)),
        mixing=Number(row["mixing"], ".2f"),
        carriers=Count(round(share * row["n_diagnosed"]), "diagnosed visit",
                       (own, (CARRIERS, row["group"]))),
    )  # fmt: skip


def _sure(data: ScorePart, theta: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Diagnosed rows of each group, and those that could hardly come from another."""
    hit = data.s > 0.5
    g, mix = data.g[hit], tilted_propensity(data.propensity[hit], theta)
    own = mix[np.arange(len(mix)), g]
    return group_counts(g, data.n_groups), group_counts(g[own > SURE], data.n_groups)


def _exclusive_codes(cohort: Cohort) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of codes seen only in each group, and of its diagnosed rows with such a code."""
    seen = np.sum(cohort.map(_counts), axis=0) > 0
    alone = seen & (seen.sum(axis=0) == 1)
    return alone.sum(axis=1), np.sum(cohort.map(_carriers, alone), axis=0)


def _counts(cohort: CohortPart) -> FloatArray:
    """Rows of each group with each feature, shape (groups, p)."""
    numbers = range(len(cohort.group_names))
    return np.array([feature_counts(cohort, cohort.groups == number) for number in numbers])


def _carriers(cohort: CohortPart, alone: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of each group's diagnosed rows with one of its exclusive codes."""
    counts = []
    for number, codes in enumerate(alone):
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


CHECK = Check(
    kind="overlap",
    title="Overlap of the groups",
    explained=(
        "Asks whether the groups share symptoms, so that their diagnosed patients can be compared. "
        "Mixing is 1 if symptoms say nothing about the group and 0 if they give it away."
    ),
    run=lambda given: [
        check_overlap(given.debiased, given.cohort, level=given.level, margin=given.margin)
    ],
    needs=("debiased",),
    table={
        "group": Column.NAME, "n_diagnosed": Column.COUNT, "effective_cases": Column.REVEALING,
        "mixing": Column.FREE, "sure_share": Column.SHARE, "exclusive_codes": Column.FREE,
        CARRIERS: Column.SHARE,
    },
    columns=(
        "group", "n_diagnosed", "effective_cases", "mixing", "sure_share", "exclusive_codes",
        CARRIERS,
    ),
    draw=_draw,
    seconds=1.0,
)  # fmt: skip
