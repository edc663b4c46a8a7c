"""Do PURPLE and DebiasedPURPLE agree?

Both estimate the same ratio. If the logistic model holds, PURPLE's maximum likelihood is
efficient and, by Hausman's argument, the variance of the difference is that of the debiased
estimate minus PURPLE's. The debiased standard error is therefore an upper bound on that of the
difference, and z = log(PURPLE / debiased) / std_error is a conservative statistic: if it is
large, PURPLE's answer depends on the penalty or on the assumed shape of p(y=1|x).
P-values are adjusted by Holm's method; a ratio and its inverse count as one.

The violation is the ratio of the two estimates, exp(log ratio +- t std_error): a concern if some
comparison's is found to differ from 1 and reaches beyond the margin, no concern if all lie within.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from relprev.checks.check import Axes, Check, CheckResult, Verdict, decisive, margin_words
from relprev.checks.inputs import MARGIN
from relprev.disclosure.columns import Column
from relprev.estimates import COMPLEMENT, versus_words
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import holm
from relprev.messages import Message, Number, joined
from relprev.model import PURPLE

KEYS = ["group", "versus"]


def check_agreement(
    purple: PURPLE, debiased: DebiasedPURPLE, versus: str = COMPLEMENT, *, level: float = 0.95,
    margin: float = MARGIN,
) -> CheckResult:  # fmt: skip
    """Compare the two estimators' relative prevalences, contrast by contrast.

    Parameters
    ----------
    purple, debiased : PURPLE and DebiasedPURPLE
        Both fitted to the same cohort.
    versus : str
        As in ``relative_prevalence``.
    level : float
        Confidence level of the intervals; the test rejects below ``1 - level``.
    margin : float
        A difference by less than this factor is no concern.

    Returns
    -------
    CheckResult
        A concern if the two differ by more than chance allows, no concern if they agree to
        within the margin.

    Notes
    -----
    Formula: :mod:`relprev.checks.agreement`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> debiased = DebiasedPURPLE(lambdas=1e-4, strengths=[1.0]).fit(cohort)
    >>> print(check_agreement(PURPLE(lambdas=1e-4).fit(cohort), debiased, "b").verdict)
    no concern
    """
    one = purple.relative_prevalence(versus).to_frame()[[*KEYS, "estimate"]]
    inferred = debiased.relative_prevalence(versus, level=level)
    two = inferred.to_frame().assign(place=np.arange(len(inferred)))
    columns = [*KEYS, "estimate", "ci_low", "ci_high", "std_error", "degrees_of_freedom", "place"]
    table = one.rename(columns={"estimate": "purple"}).merge(
        two[columns].rename(columns={"estimate": "debiased"}), on=KEYS
    )
    table = table.assign(ratio=table["purple"] / table["debiased"])
    z = np.log(table["ratio"]) / table["std_error"]
    half = stats.t.ppf(0.5 + level / 2, table["degrees_of_freedom"]) * table["std_error"]
    low, high = table["ratio"] * np.exp(-half), table["ratio"] * np.exp(half)
    p = 2 * stats.t.sf(np.abs(z), table["degrees_of_freedom"])
    known = np.isfinite(p)
    place = table.pop("place").to_numpy()[known]
    adjusted = np.full(len(p), np.nan)
    if known.any():
        adjusted[known] = holm(p[known], inferred.correlation[np.ix_(place, place)])
    table = table.drop(columns="degrees_of_freedom")
    table = table.assign(ratio_low=low, ratio_high=high, z=z, p_value=adjusted)
    if not known.any():
        nothing = Message("There is nothing to compare: no contrast is estimated by both.")
        return CHECK.result(Verdict.CANNOT_TELL, nothing, table)
    judged = table[known]
    verdicts = [
        Verdict.of_interval(low, high, margin, found=bool(one < 1 - level))
        for low, high, one in judged[["ratio_low", "ratio_high", "p_value"]].to_numpy()
    ]
    verdict, which = decisive(verdicts, judged["z"])
    worst = judged.iloc[which]
    smallest = float(np.nanmin(adjusted))
    effect = Message(
        "Furthest apart for {group} versus {versus}: PURPLE {purple}, debiased {debiased} "
        "({low} to {high}).",
        group=worst["group"], versus=versus_words(worst["versus"]),
        purple=Number(worst["purple"], ".2f"), debiased=Number(worst["debiased"], ".2f"),
        low=Number(worst["ci_low"], ".2f"), high=Number(worst["ci_high"], ".2f"),
    )  # fmt: skip
    interval = float(worst["ratio_low"]), float(worst["ratio_high"])
    return CHECK.result(
        verdict, joined([effect, *margin_words(verdict, *interval, margin)]), table,
        statistic=float(worst["z"]), p_value=smallest, interval=interval,
    )  # fmt: skip


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    position = np.arange(len(table))[::-1]
    value = table["debiased"]
    error = [value - table["ci_low"], table["ci_high"] - value]
    ax.errorbar(value, position, xerr=error, fmt="o", color="C0", label="DebiasedPURPLE")
    ax.plot(table["purple"], position, "x", color="k", label="PURPLE")
    ax.set_yticks(position, table["group"] + " vs " + table["versus"].map(versus_words))
    ax.axvline(1.0, color="grey", linewidth=1)
    ax.set_xscale("log")
    ax.set_xlabel("relative prevalence")
    ax.legend()


CHECK = Check(
    kind="agreement",
    title="Agreement of PURPLE and DebiasedPURPLE",
    explained=(
        "Compares the two estimators. If they differ by more than chance allows, PURPLE's answer "
        "depends on its penalty or on the assumed shape of the risk."
    ),
    run=lambda given: [
        check_agreement(
            given.purple, given.debiased, given.versus, level=given.level, margin=given.margin
        )
    ],
    needs=("purple", "debiased"),
    table=dict.fromkeys(KEYS, Column.NAME)
    | dict.fromkeys(["purple", "debiased", "ratio", "ci_low", "ci_high"], Column.FREE)
    | dict.fromkeys(["ratio_low", "ratio_high", "std_error", "z", "p_value"], Column.REVEALING),
    columns=("group", "versus", "purple", "debiased", "ratio", "p_value"),
    interval="debiased",
    draw=_draw,
    references=("holm",),
    by_symptoms=True,
    seconds=0.5,
)
