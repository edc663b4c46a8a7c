"""Do PURPLE and DebiasedPURPLE tell the same story?

Both estimate the same ratio. If the logistic model holds, PURPLE's maximum likelihood is
efficient and by Hausman's argument the variance of the difference is that of the debiased
estimate less PURPLE's. The debiased standard error alone is thus an upper bound for the
difference's, and z = log(PURPLE / debiased) / std_error a cautious statistic: a
disagreement beyond it means that the penalty, or p(y=1|x)'s shape, moves PURPLE's answer.
P-values are adjusted by Holm's steps; a ratio and its inverse count as one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import stats

from relprev.checks.check import CheckResult
from relprev.estimates import COMPLEMENT, versus_words
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import holm
from relprev.model import PURPLE

KEYS = ["group", "versus"]


def check_agreement(
    purple: PURPLE, debiased: DebiasedPURPLE, versus: str = COMPLEMENT, *, level: float = 0.95
) -> CheckResult:
    """Compare the two estimators' relative prevalences, contrast by contrast.

    Parameters
    ----------
    purple : PURPLE
    debiased : DebiasedPURPLE
        Both fitted to the same cohort.
    versus : str
        As in ``relative_prevalence``.
    level : float

    Returns
    -------
    CheckResult
        Of concern if the two differ by more than chance allows.

    Notes
    -----
    Formula: :mod:`relprev.checks.agreement`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> debiased = DebiasedPURPLE(lambdas=1e-4, strengths=[1.0]).fit(cohort)
    >>> check_agreement(PURPLE(lambdas=1e-4).fit(cohort), debiased, "b").verdict
    'no concern'
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
    p = 2 * stats.t.sf(np.abs(z), table["degrees_of_freedom"])
    known = np.isfinite(p)
    place = table["place"].to_numpy()[known]
    adjusted = np.full(len(p), np.nan)
    adjusted[known] = holm(p[known], inferred.correlation[np.ix_(place, place)])
    table = table.assign(z=z, p_value=adjusted)
    worst = table.loc[np.abs(z.where(known, 0.0)).idxmax()]
    smallest = float(np.nanmin(adjusted)) if known.any() else float("nan")
    return CheckResult(
        name="Agreement of PURPLE and DebiasedPURPLE",
        verdict="concern" if smallest < 1 - level else "no concern",
        effect=(
            f"Furthest apart for {worst['group']} versus {versus_words(worst['versus'])}: PURPLE "
            f"{worst['purple']:.2f}, debiased {worst['debiased']:.2f} ({worst['ci_low']:.2f} to "
            f"{worst['ci_high']:.2f})."
        ),
        table=table.drop(columns=["degrees_of_freedom", "place"]),
        draw=_draw,
        statistic=float(worst["z"]),
        p_value=smallest,
    )


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
