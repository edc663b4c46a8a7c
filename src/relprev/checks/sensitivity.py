"""How wrong must the assumptions be to change the answer?

alpha: if p(y=1|x) in the group is alpha times that in the other at every x, the estimate
    absorbs alpha into the diagnosis rate, and the true ratio is alpha * estimate.
Gamma: if the diagnosis rate varies with x within each group by at most a factor Gamma
    (largest over smallest), then from p(y=1|g) = E[s / c_g(x) | g] the true ratio lies in
    [estimate / Gamma^2, estimate * Gamma^2]; if it varies in the same way in both groups,
    in [estimate / Gamma, estimate * Gamma].
False positives: if a share f of a group's recorded cases are false, at random, then
    E[s - eps_g | x, g] = c_g p(y=1|x) with eps_g = f mu_g, and everything is solved again
    with s - eps_g in place of s, and the risk reduced by eps_r.

Tipping points are the alpha and the Gammas at which the interval first reaches 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from relprev.arrays import FloatArray
from relprev.checks.check import Axes, Check, CheckResult, Verdict
from relprev.checks.inputs import CheckInputs
from relprev.disclosure.columns import Column
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import infer
from relprev.inference.moments import GroupMoments, group_moments
from relprev.inference.score import ScorePart, solve_score
from relprev.messages import Message, Number

FRAGILE = 1.25  # a difference that a violation by this factor explains is a concern
Interval = tuple[float, float, float]  # estimate, low, high


def check_sensitivity(
    fitted: DebiasedPURPLE,
    group: str,
    versus: str,
    *,
    alpha: Sequence[float] = (0.67, 0.8, 1.25, 1.5),
    gamma: Sequence[float] = (1.1, 1.25, 1.5),
    false_positives: Sequence[float] = (0.05, 0.1, 0.2),
    level: float = 0.95,
) -> CheckResult:
    """Bands and tipping points for one relative prevalence.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Still holding the data it was fitted to.
    group, versus : str
        Names of two groups that have an estimate.
    alpha : sequence of float
        Factors between the two groups' p(y=1|x).
    gamma : sequence of float
        Factors by which diagnosis rates may vary with symptoms.
    false_positives : sequence of float
        Shares of recorded cases that may be false, in both groups or in one.
    level : float
        Confidence level of the interval.

    Returns
    -------
    CheckResult
        ``table`` has rows for the ratio with its interval and for every band; ``effect`` gives
        the tipping points. A concern if the interval excludes 1, but a factor of 1.25 moves it
        to 1.

    Notes
    -----
    Formula: :mod:`relprev.checks.sensitivity`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(gauss_synth((0.5, 0.1)).cohort)
    >>> found = check_sensitivity(fitted, "a", "b", alpha=[0.5, 2.0], gamma=[], false_positives=[])
    >>> found.table[["assumption", "size", "estimate_low", "estimate_high"]].round(2)
                    assumption  size  estimate_low  estimate_high
    0             as estimated   NaN          0.44           0.44
    1  p(y|x) differs by alpha   0.5          0.22           0.22
    2  p(y|x) differs by alpha   2.0          0.88           0.88
    """
    _require_valid(fitted, group, versus, alpha, gamma, false_positives)
    base = _interval(fitted.moments_, group, versus, level)
    rows = [_row("as estimated", np.nan, base)]
    rows += [_row("p(y|x) differs by alpha", a, base, a, a) for a in alpha]
    rows += [_row("diagnosis varies alike", c, base, 1 / c, c) for c in gamma]
    rows += [_row("diagnosis varies", c, base, c**-2, c**2) for c in gamma]
    for share in false_positives:
        for where, struck in (("both", (group, versus)), (group, (group,)), (versus, (versus,))):
            moments = with_false_positives(fitted, dict.fromkeys(struck, share))
            found = _interval(moments, group, versus, level)
            rows.append(_row(f"false positives in {where}", share, found))
    table = pd.DataFrame(rows)
    factor = tipping_factor(*base)
    return CHECK.result(
        Verdict.CONCERN if 1 < max(factor, 1 / factor) <= FRAGILE else Verdict.NO_CONCERN,
        _effect(factor),
        table,
        name=f"Sensitivity of {group} versus {versus}",
        statistic=factor,
        interval=(float(table["ci_low"].min()), float(table["ci_high"].max())),
    )


def with_false_positives(fitted: DebiasedPURPLE, shares: dict[str, float]) -> GroupMoments:
    """Solve again, with shares of the named groups' recorded cases taken as random errors."""
    data, names = fitted.score_data_, fitted.moments_.names
    recorded = np.exp(fitted.moments_.log_cases - fitted.moments_.log_share)
    rate = np.array([shares.get(name, 0.0) for name in names]) * recorded
    cleaned = data.holding(data.derive(_cleaned, rate))
    return group_moments(cleaned, solve_score(cleaned), names, fitted.design_)


def _cleaned(data: ScorePart, rate: FloatArray) -> ScorePart:
    risk = np.maximum(data.risk - rate[data.reference], 0.0)
    return replace(data, s=data.s - rate[data.g], risk=risk)


def _require_valid(
    fitted: DebiasedPURPLE, group: str, versus: str, alpha: Sequence[float],
    gamma: Sequence[float], false_positives: Sequence[float],
) -> None:  # fmt: skip
    known = fitted.moments_.estimated
    for name, value in (("group", group), ("versus", versus)):
        if value not in known:
            raise InvalidInputError(f"{name}={value!r} has no estimate; groups with one: {known}")
    if group == versus:
        raise InvalidInputError(f"group and versus must differ, got {group!r} for both")
    if min([*alpha, 1.0]) <= 0:
        raise InvalidInputError(f"alpha must be positive, got {list(alpha)}")
    if min([*gamma, 1.0]) < 1:
        raise InvalidInputError(f"gamma must be 1 or more, got {list(gamma)}")
    if not all(0 <= share < 1 for share in false_positives):
        raise InvalidInputError(f"false_positives must be in [0, 1), got {list(false_positives)}")


def _interval(moments: GroupMoments, group: str, versus: str, level: float) -> Interval:
    names = moments.names
    zero = [0] * len(names)
    result = infer(moments, names, zero, zero, np.ones((2, len(names))), versus, level=level)
    row = next(row for row in result.rows if row["group"] == group)
    return row["estimate"], row["ci_low"], row["ci_high"]


def _row(
    assumption: str, size: float, found: Interval, down: float = 1.0, up: float = 1.0
) -> dict[str, Any]:
    """A row with the range of the ratio and interval, if off by factors from down to up."""
    estimate, low, high = found
    return {"assumption": assumption, "size": size, "estimate_low": estimate * down,
            "estimate_high": estimate * up, "ci_low": low * down, "ci_high": high * up}  # fmt: skip


def tipping_factor(estimate: float, low: float, high: float) -> float:
    """The alpha at which the interval reaches 1; 1 if it already does.

    Examples
    --------
    >>> tipping_factor(2.0, 1.25, 3.2), tipping_factor(1.1, 0.9, 1.4)
    (0.8, 1.0)
    """
    if low <= 1 <= high:
        return 1.0
    return float(1 / (low if estimate > 1 else high))


def _effect(alpha: float) -> Message:
    if alpha == 1.0:
        return Message("The interval already includes 1: there is no difference to explain away.")
    factor = max(alpha, 1 / alpha)
    return Message(
        "The interval reaches 1 if p(y|x) differs between the groups by a factor of {alpha}, or if "
        "diagnosis rates vary with symptoms by a factor of {within} within each group, or by "
        "{alike} in the same way in both.",
        alpha=Number(alpha, ".2f"), within=Number(np.sqrt(factor), ".2f"),
        alike=Number(factor, ".2f"),
    )  # fmt: skip


def _run(inputs: CheckInputs) -> list[CheckResult]:
    """Compare every group that has an estimate with the reference."""
    names = inputs.debiased.moments_.estimated
    base = inputs.reference if inputs.reference in names else next(iter(names), "")
    return [
        check_sensitivity(inputs.debiased, name, base, level=inputs.level)
        for name in names
        if name != base
    ]


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    position = np.arange(len(table))[::-1]
    ax.hlines(position, table["ci_low"], table["ci_high"], color="C0", linewidth=1)
    ax.hlines(position, table["estimate_low"], table["estimate_high"], color="C0", lw=5)
    ax.plot(np.sqrt(table["estimate_low"] * table["estimate_high"]), position, "o", color="k", ms=3)
    size = table["size"].map(lambda value: "" if value != value else f" {value:g}")
    ax.set_yticks(position, table["assumption"] + size)
    ax.axvline(1.0, color="grey", linewidth=1)
    ax.set_xscale("log")
    ax.set_xlabel("relative prevalence")


CHECK = Check(
    kind="sensitivity",
    title="Sensitivity",
    explained=(
        "Shows what the ratio would be if an assumption were wrong to a given degree, and how "
        "wrong it would have to be for the interval to reach 1. p(y|x) is the probability of "
        "having the condition given the symptoms."
    ),
    run=_run,
    needs=("debiased",),
    table=dict.fromkeys(["assumption", "size"], Column.NAME)
    | dict.fromkeys(["estimate_low", "estimate_high", "ci_low", "ci_high"], Column.FREE),
    columns=("assumption", "size", "estimate_low", "estimate_high", "ci_low", "ci_high"),
    draw=_draw,
    seconds=70.0,
)
