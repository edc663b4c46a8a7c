"""What is left of the answer if assumptions are wrong by as much as they may well be?

A probabilistic bias analysis (Lash, Fox and Fink 2009): systematic errors are drawn from stated
distributions and combined with chance. With estimate and standard error of the logarithm,

    log ratio = log estimate + std_error * T + log alpha + e_g - e_v + h_g(f_g) + h_v(f_v),

    T            Student's t with the interval's degrees of freedom: chance
    log alpha    normal with mean and SD: equal symptoms, unequal risk. Default: mean 0 and SD
                 log(1.7) / 1.96, so that alpha lies between 1 / 1.7 and 1.7 with probability 95%,
                 as measured over all comparisons of examined people (docs, "Real people, known
                 truth"): less with findings among the symptoms, more with risk factors only.
                 Control conditions say how large it is in these data: if their log errors,
                 log(estimate / truth), have mean mu and SD tau, give (-mu, tau).
    e            uniform on (-log Gamma, log Gamma), Gamma log-uniform between 1 and its largest
                 value (default 1.25): diagnosis rates that vary with symptoms, for each side. In
                 the same people rates varied more, but mostly alike in both groups, and what that
                 did to the ratios was about what this default allows for
                 (`relprev.checks.sensitivity`: within a side the error is at most Gamma)
    f            uniform between 0 and its largest value (default 0.1): false positives of each
                 side. h(f) = f / f_max * h(f_max), what they do to the log ratio
                 (`relprev.checks.false_positives`)

The simulation interval holds the middle 95% of the draws. It is no confidence interval: it is as
good as the stated distributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from relprev.arrays import FloatArray
from relprev.checks.check import Axes, Check, CheckResult, Verdict, decisive
from relprev.checks.false_positives import with_false_positives
from relprev.checks.inputs import MARGIN, Spread
from relprev.checks.sensitivity import Pair, compared, interval_of
from relprev.disclosure.columns import Column
from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT, versus_words
from relprev.inference import DebiasedPURPLE
from relprev.messages import Message, Number

ALPHA: Spread = (0.0, float(np.log(1.7) / 1.96))
GAMMA = 1.25
FALSE_POSITIVES = 0.1
DRAWS = 50_000
STEPS = ("chance", "and unequal risk", "and varying diagnosis", "and false positives")
Alpha = Spread | Mapping[Pair, Spread]


def check_bias_analysis(
    fitted: DebiasedPURPLE,
    versus: str = COMPLEMENT,
    *,
    alpha: Alpha | None = None,
    gamma: float = GAMMA,
    false_positives: float = FALSE_POSITIVES,
    draws: int = DRAWS,
    level: float = 0.95,
    margin: float = MARGIN,
    random_state: int = 0,
) -> CheckResult:
    """Draw violations of the assumptions, and combine them with chance.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Still holding the data it was fitted to.
    versus : str
        As in ``relative_prevalence``.
    alpha : (mean, SD), or mapping of (group, versus) to them, optional
        Of log alpha: the true ratio is alpha times the estimate. Default: (0, 0.207).
    gamma : float
        Largest factor by which diagnosis rates vary with symptoms.
    false_positives : float
        Largest share of recorded cases that are false.
    draws : int
        How many.
    level : float
        Of the intervals.
    margin : float
        No difference beyond this factor is no concern.
    random_state : int
        Seed of the draws.

    Returns
    -------
    CheckResult
        ``table`` has, for every comparison, the median and simulation interval by chance alone and
        with one source of error after another, and the share of draws on the other side of 1.
        A concern if a difference does not outlast them.

    Notes
    -----
    Formula: :mod:`relprev.checks.bias_analysis`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> fitted = DebiasedPURPLE(lambdas=1e-4).fit(gauss_synth((0.5, 0.1), seed=1).cohort)
    >>> found = check_bias_analysis(fitted, "b", draws=2_000)
    >>> found.table["source"].tolist()
    ['chance', 'and unequal risk', 'and varying diagnosis', 'and false positives']
    >>> width = found.table["ci_high"] / found.table["ci_low"]
    >>> bool(width.is_monotonic_increasing)
    True
    """
    _require_valid(alpha, gamma, false_positives, draws)
    pairs = compared(fitted, versus)
    if not pairs:
        table = pd.DataFrame(columns=list(CHECK.table))
        return CHECK.result(Verdict.CANNOT_TELL, Message("There is no estimate."), table)
    spreads = {pair: _spread(alpha, pair) for pair in pairs}
    effects = _effects_of_false_positives(fitted, pairs, false_positives)
    rng = np.random.default_rng([random_state, 11])
    found = fitted.relative_prevalence(versus, level=level)
    known = {(row["group"], row["versus"]): row for row in found.rows}
    tables, verdicts = [], []
    for pair, moved in zip(pairs, effects, strict=True):
        drawn = _draws(known[pair], spreads[pair], gamma, moved, draws, rng)
        rows = pd.DataFrame(
            [_summary(pair, *step, level) for step in zip(STEPS, drawn, strict=True)]
        )
        tables.append(rows)
        verdicts.append(_verdict(rows.iloc[0], rows.iloc[-1], margin))
    verdict, which = decisive(verdicts, [np.log(one["median"].iloc[0]) for one in tables])
    rows = tables[which]
    last = rows.iloc[-1]
    return CHECK.result(
        verdict, _effect(rows, spreads[last["group"], last["versus"]], gamma, false_positives),
        pd.concat(tables, ignore_index=True), interval=(last["ci_low"], last["ci_high"]),
    )  # fmt: skip


def _require_valid(alpha: Alpha | None, gamma: float, share: float, draws: int) -> None:
    spreads = list(alpha.values()) if isinstance(alpha, Mapping) else [alpha or ALPHA]
    for one in spreads:
        if len(one) != 2 or not np.isfinite(one).all() or one[1] < 0:
            raise InvalidInputError(
                f"alpha must be the mean and the standard deviation (0 or more) of log alpha, got "
                f"{one!r}"
            )
    if not 1 <= gamma < np.inf:
        raise InvalidInputError(f"gamma must be 1 or more, got {gamma}")
    if not 0 <= share < 1:
        raise InvalidInputError(f"false_positives must be in [0, 1), got {share}")
    if draws < 100:
        raise InvalidInputError(f"draws must be 100 or more, got {draws}")


def _spread(alpha: Alpha | None, pair: Pair) -> Spread:
    if not isinstance(alpha, Mapping):
        return ALPHA if alpha is None else alpha
    if pair in alpha:
        return alpha[pair]
    mean, sd = alpha.get((pair[1], pair[0]), ALPHA)  # of the inverse ratio
    return -mean, sd


def _effects_of_false_positives(
    fitted: DebiasedPURPLE, pairs: Sequence[Pair], share: float
) -> FloatArray:
    """What the largest share does to the log ratio, by side, shape (comparisons, 2)."""
    out = np.zeros((len(pairs), 2))
    if share == 0:
        return out
    names = fitted.moments_.names
    sides: list[dict[str, float]] = []
    for group, versus in pairs:
        rest = [name for name in names if name != group] if versus == COMPLEMENT else [versus]
        sides += [dict.fromkeys(struck, share) for struck in ([group], rest)]
    moments = with_false_positives(fitted, sides)
    for k, pair in enumerate(pairs):
        base = interval_of(fitted.moments_, pair, 0.95)[0][0]
        for side in (0, 1):
            out[k, side] = np.log(interval_of(moments[2 * k + side], pair, 0.95)[0][0] / base)
    return np.nan_to_num(out)


def _draws(
    row: Mapping[str, Any], spread: Spread, gamma: float, moved: FloatArray, count: int,
    rng: np.random.Generator,
) -> list[FloatArray]:  # fmt: skip
    """Log ratios with one source of error after another, (count,) each."""
    chance = stats.t.rvs(row["degrees_of_freedom"], size=count, random_state=rng)
    log = np.log(row["estimate"]) + row["std_error"] * chance
    drawn = [log, log + spread[0] + spread[1] * rng.standard_normal(count)]
    largest = rng.uniform(0.0, np.log(gamma), (count, 1))
    drawn.append(drawn[-1] + (largest * rng.uniform(-1, 1, (count, 2))) @ np.array([1.0, -1.0]))
    return [*drawn, drawn[-1] + rng.uniform(0, 1, (count, 2)) @ moved]


def _summary(pair: Pair, source: str, log: FloatArray, level: float) -> dict[str, Any]:
    low, middle, high = np.quantile(log, [0.5 - level / 2, 0.5, 0.5 + level / 2])
    other = float(np.mean(np.sign(log) != np.sign(middle)))
    return {"group": pair[0], "versus": pair[1], "source": source, "median": float(np.exp(middle)),
            "ci_low": float(np.exp(low)), "ci_high": float(np.exp(high)),
            "other_side": other}  # fmt: skip


def _verdict(chance: pd.Series, everything: pd.Series, margin: float) -> Verdict:
    """Of one comparison: does what chance leaves outlast the rest?"""
    low, high = everything["ci_low"], everything["ci_high"]
    if chance["ci_low"] <= 1 <= chance["ci_high"]:
        return Verdict.of_interval(low, high, margin, found=False)
    return Verdict.CONCERN if low <= 1 <= high else Verdict.NO_CONCERN


def _effect(rows: pd.DataFrame, spread: Spread, gamma: float, share: float) -> Message:
    first, last = rows.iloc[0], rows.iloc[-1]
    low, high = (np.exp(spread[0] + side * 1.96 * spread[1]) for side in (-1, 1))
    return Message(
        "By chance alone, {group} versus {versus} lies between {low} and {high}. If, besides, true "
        "risks at equal symptoms differ between the groups by a factor between {least} and {most} "
        "(in 95 of 100 draws), diagnosis rates vary with symptoms by a factor of up to {gamma} and "
        "up to {share} of recorded cases are false, between {all_low} and {all_high}; "
        "{other} of draws lie on the other side of 1.",
        group=last["group"], versus=versus_words(last["versus"]),
        low=Number(first["ci_low"], ".2f"), high=Number(first["ci_high"], ".2f"),
        least=Number(low, ".2f"), most=Number(high, ".2f"),
        gamma=Number(gamma, ".3g"), share=Number(share, ".0%"),
        all_low=Number(last["ci_low"], ".2f"), all_high=Number(last["ci_high"], ".2f"),
        other=Number(last["other_side"], ".0%"),
    )  # fmt: skip


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    position = np.arange(len(table))[::-1]
    value = table["median"]
    error = [value - table["ci_low"], table["ci_high"] - value]
    ax.errorbar(value, position, xerr=error, fmt="o", color="C0")
    ax.axvline(1.0, color="grey", linewidth=1)
    who = table["group"] + " vs " + table["versus"].map(versus_words) + ", "
    ax.set_yticks(position, who.where(table["source"] == STEPS[0], "") + table["source"])
    ax.set_xscale("log")
    ax.set_xlabel("relative prevalence, simulation interval")


CHECK = Check(
    kind="bias_analysis",
    title="Probabilistic bias analysis",
    explained=(
        "Draws violations of the assumptions from stated distributions and combines them with "
        "chance: as wide as the control conditions show or, without controls, as was measured in "
        "people whose truth is known (NHANES). The intervals hold the middle of the draws; they "
        "are as good as what is assumed."
    ),
    run=lambda given: [
        check_bias_analysis(
            given.debiased, given.versus, alpha=given.log_alpha, level=given.level,
            margin=given.margin, random_state=given.seed,
        )
    ],
    needs=("debiased",),
    table=dict.fromkeys(["group", "versus", "source"], Column.NAME)
    | dict.fromkeys(["median", "ci_low", "ci_high", "other_side"], Column.FREE),
    columns=("group", "versus", "source", "median", "other_side"),
    interval="median",
    draw=_draw,
    references=("bias_analysis",),
    by_symptoms=True,
    assumption=False,
    seconds=6.0,
)  # fmt: skip
