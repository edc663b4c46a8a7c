"""How wrong must the assumptions be to change the answer?

alpha: if p(y=1|x) in the group is alpha times that in the other at every x, the estimate
    absorbs alpha into the diagnosis rate, and the true ratio is alpha * estimate.
Gamma: if the diagnosis rate varies with x within each group by at most a factor Gamma
    (largest over smallest), then from p(y=1|g) = E[s / c_g(x) | g] the true ratio lies in
    [estimate / Gamma^2, estimate * Gamma^2]; if it varies in the same way in both groups,
    in [estimate / Gamma, estimate * Gamma].
False positives: a share f of a group's recorded cases are false, at random; see
    `relprev.checks.false_positives`.

Two tipping points, one for each answer that the estimate could be wrong about. With the interval
(low, high) and the recorded ratio r,

    alpha* = 1 / low or 1 / high    the interval reaches 1 (from either side)
    alpha0 = r / estimate           the recorded ratio would be right

so that an estimate near 1 has a tipping point too: 1.60 recorded and 1.08 corrected, alpha0 = 1.48.
An answer is fragile (a concern) if a factor of 1.25 tips it, and firm (no concern) if the margin
does not. What is tipped is a difference, where the interval excludes 1; otherwise, the finding that
a recorded ratio outside the interval is wrong. If there is neither, the interval itself is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from relprev.checks.check import Axes, Check, CheckResult, Verdict
from relprev.checks.false_positives import with_false_positives
from relprev.checks.inputs import MARGIN
from relprev.disclosure.columns import Column
from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT, versus_words
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import infer
from relprev.inference.moments import GroupMoments
from relprev.messages import Cell, Message, Number, joined

FRAGILE = 1.25  # a difference that a violation by this factor explains is a concern
ALPHA = (0.67, 0.8, 1.25, 1.5)
GAMMA = (1.1, 1.25, 1.5)
FALSE_POSITIVES = (0.05, 0.1, 0.2)
Interval = tuple[float, float, float]  # estimate, low, high
Pair = tuple[str, str]  # group, versus


def check_sensitivity(
    fitted: DebiasedPURPLE,
    group: str,
    versus: str,
    *,
    alpha: Sequence[float] = ALPHA,
    gamma: Sequence[float] = GAMMA,
    false_positives: Sequence[float] = FALSE_POSITIVES,
    level: float = 0.95,
    margin: float = MARGIN,
) -> CheckResult:
    """Bands and tipping points for one relative prevalence.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Still holding the data it was fitted to.
    group, versus : str
        Names of two groups that have an estimate; ``versus`` may be ``"complement"``.
    alpha : sequence of float
        Factors between the two groups' p(y=1|x).
    gamma : sequence of float
        Factors by which diagnosis rates may vary with symptoms.
    false_positives : sequence of float
        Shares of recorded cases that may be false, on both sides or on one.
    level : float
        Confidence level of the interval.
    margin : float
        An answer that a violation by this factor does not change is no concern.

    Returns
    -------
    CheckResult
        ``table`` has rows for the ratio with its interval (and alpha0, ``recorded_right``), for
        every band and for alpha*; ``effect`` says them in words. ``statistic`` is the alpha that
        tips the answer.

    Notes
    -----
    Formula: :mod:`relprev.checks.sensitivity`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> fitted = DebiasedPURPLE(lambdas=1e-4).fit(gauss_synth((0.5, 0.1), seed=1).cohort)
    >>> found = check_sensitivity(fitted, "a", "b")
    >>> print(found.table["assumption"].iloc[0])
    as estimated
    """
    _require_valid(fitted, group, versus, alpha, gamma, false_positives)
    wanted = alpha, gamma, false_positives
    return sensitivities(fitted, [(group, versus)], *wanted, level=level, margin=margin)[0]


def sensitivities(
    fitted: DebiasedPURPLE, pairs: Sequence[Pair], alpha: Sequence[float] = ALPHA,
    gamma: Sequence[float] = GAMMA, false_positives: Sequence[float] = FALSE_POSITIVES, *,
    level: float = 0.95, margin: float = MARGIN,
) -> list[CheckResult]:  # fmt: skip
    """The same for several comparisons, whose false positives share their passes over the rows."""
    assumed = {pair: _struck(fitted, pair, false_positives) for pair in pairs}
    shares = list({tuple(sorted(one.items())): one for own in assumed.values()
                   for *_, one in own}.values())  # fmt: skip
    moments = with_false_positives(fitted, shares) if shares else []
    solved = {tuple(sorted(one.items())): found for one, found in zip(shares, moments, strict=True)}
    results = []
    for pair in pairs:
        base, recorded = interval_of(fitted.moments_, pair, level)
        rows = [_row("as estimated", np.nan, base)]
        rows += [_row("p(y|x) differs by alpha", a, base, a, a) for a in alpha]
        rows += [_row("diagnosis varies alike", c, base, 1 / c, c) for c in gamma]
        rows += [_row("diagnosis varies", c, base, c**-2, c**2) for c in gamma]
        for where, share, one in assumed[pair]:
            found = interval_of(solved[tuple(sorted(one.items()))], pair, level)[0]
            rows.append(_row(f"false positives in {where}", share, found))
        rows += [_row(words, a, base, a, a) for words, a in _tips(base)]
        table = pd.DataFrame(rows)
        table.insert(0, "group", pair[0])
        table.insert(1, "versus", pair[1])
        table["recorded_right"] = np.where(np.arange(len(rows)) == 0, recorded / base[0], np.nan)
        results.append(_result(pair, base, recorded, table, margin, fitted.moments_.names))
    return results


def _result(
    pair: Pair, base: Interval, recorded: float, table: pd.DataFrame, margin: float,
    names: Sequence[str],
) -> CheckResult:  # fmt: skip
    tip = tipping_alpha(base, recorded)
    return CHECK.result(
        _verdict(tip, base, recorded, margin),
        _effect(pair, base, recorded, names),
        table,
        name=f"Sensitivity of {pair[0]} versus {versus_words(pair[1])}",
        statistic=tip,
        interval=(float(table["ci_low"].min()), float(table["ci_high"].max())),
    )


def compared(fitted: DebiasedPURPLE, versus: str) -> list[Pair]:
    """The comparisons of the table that have an estimate, a ratio and its inverse once.

    Parameters
    ----------
    fitted : DebiasedPURPLE
    versus : str
        As in ``relative_prevalence``.

    Returns
    -------
    list of (group, versus)
        In the table's order.
    """
    rows = fitted.relative_prevalence(versus).rows
    pairs: dict[frozenset[str], Pair] = {}
    for row in rows:
        if row["estimate"] == row["estimate"]:
            pair = row["group"], row["versus"]
            pairs.setdefault(frozenset(pair), pair)
    return list(pairs.values())


def recorded_cells(pair: Pair, names: Sequence[str]) -> tuple[Cell, ...]:
    """The counts that a recorded ratio is made of, and would give away."""
    return tuple(("n_diagnosed", name) for name in (names if pair[1] == COMPLEMENT else pair))


def interval_of(moments: GroupMoments, pair: Pair, level: float) -> tuple[Interval, float]:
    """Estimate with its interval, and the recorded ratio."""
    names, (group, versus) = moments.names, pair
    zero = [0] * len(names)
    result = infer(moments, names, zero, zero, np.ones((2, len(names))), versus, level=level)
    row = next(row for row in result.rows if row["group"] == group)
    return (row["estimate"], row["ci_low"], row["ci_high"]), row["observed_ratio"]


def _struck(
    fitted: DebiasedPURPLE, pair: Pair, shares: Iterable[float]
) -> list[tuple[str, float, dict[str, float]]]:
    """Where false positives strike, which share they are, and the same by group."""
    group, versus = pair
    rest = [name for name in fitted.moments_.names if name != group]
    others = rest if versus == COMPLEMENT else [versus]
    sides = {"both": [group, *others], group: [group], versus_words(versus): others}
    return [
        (where, share, dict.fromkeys(names, share))
        for share in shares
        for where, names in sides.items()
    ]


def _require_valid(
    fitted: DebiasedPURPLE, group: str, versus: str, alpha: Sequence[float],
    gamma: Sequence[float], false_positives: Sequence[float],
) -> None:  # fmt: skip
    known = fitted.moments_.estimated
    for name, value in (("group", group), ("versus", versus)):
        if value not in known and (name, value) != ("versus", COMPLEMENT):
            raise InvalidInputError(f"{name}={value!r} has no estimate; groups with one: {known}")
    missing = [name for name in fitted.moments_.names if name not in known]
    if versus == COMPLEMENT and missing:
        raise InvalidInputError(
            f"versus={COMPLEMENT!r} needs an estimate of every group; {', '.join(missing)} has none"
        )
    if group == versus:
        raise InvalidInputError(f"group and versus must differ, got {group!r} for both")
    if min([*alpha, 1.0]) <= 0:
        raise InvalidInputError(f"alpha must be positive, got {list(alpha)}")
    if min([*gamma, 1.0]) < 1:
        raise InvalidInputError(f"gamma must be 1 or more, got {list(gamma)}")
    if not all(0 <= share < 1 for share in false_positives):
        raise InvalidInputError(f"false_positives must be in [0, 1), got {list(false_positives)}")


def _row(
    assumption: str, size: float, found: Interval, down: float = 1.0, up: float = 1.0
) -> dict[str, Any]:
    """A row with the range of the ratio and interval, if off by factors from down to up."""
    estimate, low, high = found
    return {"assumption": assumption, "size": size, "estimate_low": estimate * down,
            "estimate_high": estimate * up, "ci_low": low * down, "ci_high": high * up}  # fmt: skip


# -- tipping points ------------------------------------------------------------------------


def tipping_factor(estimate: float, low: float, high: float) -> float:
    """alpha*, at which the interval reaches 1; 1 if it already does.

    Examples
    --------
    >>> tipping_factor(2.0, 1.25, 3.2), tipping_factor(1.1, 0.9, 1.4)
    (0.8, 1.0)
    """
    if low <= 1 <= high:
        return 1.0
    return float(1 / (low if estimate > 1 else high))


def tipping_alpha(base: Interval, recorded: float) -> float:
    """The alpha that changes the answer: alpha* of a difference, alpha0 where none is found.

    Parameters
    ----------
    base : estimate, low and high
    recorded : float
        The recorded ratio.

    Returns
    -------
    float
        1 where the interval holds both 1 and the recorded ratio.

    Examples
    --------
    >>> tipping_alpha((1.0, 0.9, 1.1), 1.5), tipping_alpha((1.0, 0.9, 1.1), 1.05)
    (1.5, 1.0)
    """
    estimate, low, high = base
    if not low <= 1 <= high:
        return tipping_factor(*base)
    return 1.0 if low <= recorded <= high else recorded / estimate


def _verdict(tip: float, base: Interval, recorded: float, margin: float) -> Verdict:
    _, low, high = base
    if low <= 1 <= high and low <= recorded <= high:
        return Verdict.of_interval(low, high, margin)
    factor = max(tip, 1 / tip)
    if factor <= FRAGILE:
        return Verdict.CONCERN
    return Verdict.NO_CONCERN if factor >= margin else Verdict.CANNOT_TELL


def _tips(base: Interval) -> list[tuple[str, float]]:
    """Tipping points as rows of the table."""
    _, low, high = base
    if not low <= 1 <= high:
        return [("alpha at which the interval reaches 1", tipping_factor(*base))]
    return [("alpha at which the interval lies above 1", 1 / low),
            ("alpha at which the interval lies below 1", 1 / high)]  # fmt: skip


def _effect(pair: Pair, base: Interval, recorded: float, names: Sequence[str]) -> Message:
    """The tipping points in words that need no symbols."""
    estimate, low, high = base
    who = {"group": pair[0], "versus": versus_words(pair[1])}
    cells = recorded_cells(pair, names)
    if not low <= 1 <= high:
        alpha = tipping_factor(*base)
        factor = max(alpha, 1 / alpha)
        said = Message(
            "If the true risk in {group} at equal symptoms were {alpha} times that in {versus}, "
            "the interval would reach 1; so it would if diagnosis rates varied with symptoms by a "
            "factor of {within} within each group, or by {alike} in the same way in both.",
            alpha=Number(alpha, ".2f"), within=Number(np.sqrt(factor), ".2f"),
            alike=Number(factor, ".2f"), **who,
        )  # fmt: skip
    else:
        said = Message(
            "The interval includes 1. If the true risk in {group} at equal symptoms were more than "
            "{above} times or less than {below} times that in {versus}, it would not.",
            above=Number(1 / low, ".2f"), below=Number(1 / high, ".2f"), **who,
        )  # fmt: skip
    if low <= recorded <= high:
        also = Message("The recorded ratio lies within the interval.")
    else:
        also = Message(
            "If it were {right} times, the recorded ratio of {recorded} would be right.",
            right=Number(recorded / estimate, ".2f", cells),
            recorded=Number(recorded, ".2f", cells),
        )  # fmt: skip
    return joined([said, also])


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    position = np.arange(len(table))[::-1]
    ax.hlines(position, table["ci_low"], table["ci_high"], color="C0", linewidth=1)
    ax.hlines(position, table["estimate_low"], table["estimate_high"], color="C0", lw=5)
    ax.plot(np.sqrt(table["estimate_low"] * table["estimate_high"]), position, "o", color="k", ms=3)
    size = table["size"].map(lambda value: "" if value != value else f" {value:.3g}")
    ax.set_yticks(position, table["assumption"] + size)
    ax.axvline(1.0, color="grey", linewidth=1)
    ax.set_xscale("log")
    ax.set_xlabel("relative prevalence")


CHECK = Check(
    kind="sensitivity",
    title="Sensitivity",
    explained=(
        "Shows what the ratio would be if an assumption were wrong to a given degree, and how "
        "wrong it would have to be for the interval to reach 1, or for the recorded ratio to be "
        "right. p(y|x) is the probability of having the condition given the symptoms, and alpha "
        "the factor by which it differs between the groups."
    ),
    run=lambda given: sensitivities(
        given.debiased,
        compared(given.debiased, given.versus),
        level=given.level,
        margin=given.margin,
    ),
    needs=("debiased",),
    table=dict.fromkeys(["group", "versus", "assumption", "size"], Column.NAME)
    | dict.fromkeys(["estimate_low", "estimate_high", "ci_low", "ci_high"], Column.FREE)
    | {"recorded_right": Column.REVEALING},
    columns=("assumption", "size", "estimate_low", "estimate_high", "ci_low", "ci_high"),
    draw=_draw,
    by_symptoms=True,
    assumption=False,
    seconds=8.0,
)
