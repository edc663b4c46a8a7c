"""How wrong must the assumptions be to change the answer?

alpha: if p(y=1|x) in the group is alpha times that in the other at every x, the estimate
    absorbs alpha into the diagnosis rate, and the true ratio is alpha * estimate.
Gamma: if within each group the diagnosis rate varies with x by at most a factor Gamma
    (largest over smallest), then from p(y=1|g) = E[s / c_g(x) | g] the true ratio lies in
    [estimate / Gamma^2, estimate * Gamma^2]; if it varies in the same way in both groups,
    in [estimate / Gamma, estimate * Gamma].
False positives that strike at random, a share f of a group's recorded cases: then
    E[s - eps_g | x, g] = c_g p(y=1|x) with eps_g = f mu_g, and everything is solved again
    with s - eps_g (and the risk less eps_r) in place of s.

Tipping points: the alpha, and the Gammas, at which the interval first reaches 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from relprev.arrays import FloatArray
from relprev.checks.check import CheckResult
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import infer
from relprev.inference.moments import GroupMoments, group_moments
from relprev.inference.score import ScorePart, solve_score


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
    group, versus : str
        Names of two groups that have an estimate.
    alpha : sequence of float
        Factors between the two groups' p(y=1|x).
    gamma : sequence of float
        Factors by which diagnosis rates may vary with symptoms.
    false_positives : sequence of float
        Shares of a group's recorded cases that may be false, in both groups or in one.
    level : float
        Of the interval.

    Returns
    -------
    CheckResult
        The ratio, its interval and every band as rows of ``table``; tipping points in words.
        Of concern if the interval lies on one side of 1 and a factor of 1.25 takes it there.

    Notes
    -----
    Formula: :mod:`relprev.checks.check_sensitivity`.

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
    _check(fitted, group, versus, alpha, gamma, false_positives)
    base = _row(fitted.moments_, group, versus, level)
    rows = [_entry("as estimated", np.nan, base["estimate"], base["ci_low"], base["ci_high"])]
    rows += [_scaled("p(y|x) differs by alpha", a, base, a, a) for a in alpha]
    rows += [_scaled("diagnosis varies alike", c, base, 1 / c, c) for c in gamma]
    rows += [_scaled("diagnosis varies", c, base, c**-2, c**2) for c in gamma]
    for share in false_positives:
        for where, struck in (("both", (group, versus)), (group, (group,)), (versus, (versus,))):
            moments = with_false_positives(fitted, dict.fromkeys(struck, share))
            found = _row(moments, group, versus, level)
            name = f"false positives in {where}"
            rows.append(_entry(name, share, found["estimate"], found["ci_low"], found["ci_high"]))
    table = pd.DataFrame(rows)
    tipping = _tipping(base)
    return CheckResult(
        name=f"Sensitivity of {group} versus {versus}",
        verdict="no concern" if tipping["robust"] else "concern",
        effect=tipping["words"],
        table=table,
        draw=_draw,
        statistic=tipping["alpha"],
        interval=(float(table["ci_low"].min()), float(table["ci_high"].max())),
    )


def with_false_positives(fitted: DebiasedPURPLE, shares: dict[str, float]) -> GroupMoments:
    """Solve again, taking a share of the named groups' recorded cases as false at random."""
    data, names = fitted.score_data_, fitted.moments_.names
    recorded = np.exp(fitted.moments_.log_cases - fitted.moments_.log_share)
    rate = np.array([shares.get(name, 0.0) for name in names]) * recorded
    cleaned = data.holding(data.derive(_cleaned, rate))
    return group_moments(cleaned, solve_score(cleaned), names, fitted.design_)


def _cleaned(data: ScorePart, rate: FloatArray) -> ScorePart:
    risk = np.maximum(data.risk - rate[data.reference], 0.0)
    return replace(data, s=data.s - rate[data.g], risk=risk)


def _check(
    fitted: DebiasedPURPLE, group: str, versus: str, alpha: Sequence[float],
    gamma: Sequence[float], false_positives: Sequence[float],
) -> None:  # fmt: skip
    known = fitted.moments_.estimated
    for name, value in (("group", group), ("versus", versus)):
        if value not in known:
            raise InvalidInputError(f"{name}={value!r} has no estimate; groups that have: {known}")
    if group == versus:
        raise InvalidInputError(f"group and versus are the same group, {group!r}")
    if min([*alpha, 1.0]) <= 0:
        raise InvalidInputError(f"alpha must be positive, got {list(alpha)}")
    if min([*gamma, 1.0]) < 1:
        raise InvalidInputError(f"gamma must be 1 or more, got {list(gamma)}")
    if not all(0 <= share < 1 for share in false_positives):
        raise InvalidInputError(f"false_positives must be in [0, 1), got {list(false_positives)}")


def _row(moments: GroupMoments, group: str, versus: str, level: float) -> dict[str, Any]:
    names = moments.names
    zero = [0] * len(names)
    result = infer(moments, names, zero, zero, np.ones((2, len(names))), versus, level=level)
    return next(row for row in result.rows if row["group"] == group)


def _entry(
    assumption: str, size: float, estimate: float, low: float, high: float
) -> dict[str, Any]:
    return {"assumption": assumption, "size": size, "estimate_low": estimate,
            "estimate_high": estimate, "ci_low": low, "ci_high": high}  # fmt: skip


def _scaled(
    assumption: str, size: float, base: dict[str, Any], down: float, up: float
) -> dict[str, Any]:
    return {"assumption": assumption, "size": size, "estimate_low": base["estimate"] * down,
            "estimate_high": base["estimate"] * up, "ci_low": base["ci_low"] * down,
            "ci_high": base["ci_high"] * up}  # fmt: skip


def _tipping(base: dict[str, Any]) -> dict[str, Any]:
    """The factors at which the interval reaches 1; nothing to tip if it already does."""
    nearest = base["ci_low"] if base["estimate"] > 1 else base["ci_high"]
    if base["ci_low"] <= 1 <= base["ci_high"]:
        words = "The interval already includes 1: there is no difference to explain away."
        return {"robust": True, "alpha": 1.0, "words": words}
    factor = max(nearest, 1 / nearest)
    words = (
        f"The interval reaches 1 if p(y|x) differs between the groups by a factor {1 / nearest:.2f}"
        f", if diagnosis varies with symptoms by {np.sqrt(factor):.2f} within groups, or by "
        f"{factor:.2f} in the same way in both."
    )
    return {"robust": factor > 1.25, "alpha": 1 / nearest, "words": words}


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
