"""Is the ratio of diagnosis rates the same at every level of risk?

If p(s=1|x,g) = p(y=1|x) c_g, then x adds nothing to the group mix of the diagnosed beyond
pi_g(x): in theta_g(x) = theta_g + delta_g phi(x), every delta is zero for any function phi.
`relprev.checks.drift` tests this and estimates delta. This module provides the functions phi:
the logarithm of the risk, fifths of the cases by risk, or given categories.

The violation is the drift: the factor by which the ratio changes from low-risk to high-risk cases
(or between categories). Large samples would reject for trivial drifts and small ones miss large
drifts, so the verdict is one of equivalence: no concern only if all drifts lie, with their
intervals, within the margin; a concern if one does not and is found, by Holm's adjustment for the
number of drifts. ``p_value`` is that of the joint test that all are zero.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from relprev.arrays import FloatArray, group_sums
from relprev.checks.check import Axes, Check, CheckResult, Verdict, decisive, margin_words
from relprev.checks.drift import DriftTest, Functions, as_given, drift_test
from relprev.checks.inputs import MARGIN
from relprev.checks.quantiles import weighted_quantiles
from relprev.disclosure.columns import Column
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from relprev.inference.intervals import holm
from relprev.inference.score import ScorePart
from relprev.messages import Message, Number, joined
from relprev.parallel.threads import by_rows

SAME_RISK = 1e-9  # standard deviation of the log risk that may be due to rounding
RISK_RANGE = (0.05, 0.95)  # quantiles of the cases' risk between which drift is reported
N_QUANTILES = 5
MAX_CATEGORIES = 20


def check_constant_ratio(
    fitted: DebiasedPURPLE, by: Any = "trend", *, level: float = 0.95, margin: float = MARGIN
) -> CheckResult:
    """Test that the ratio of diagnosis rates does not change with x.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted with a risk model (``risk`` not None) unless ``by`` is an array.
    by : "trend", "quintiles" or array of shape (rows,)
        ``"trend"``: the logarithm of the risk m(x), which is most powerful against a steady
        drift. ``"quintiles"``: fifths of the expected cases by risk. An array gives the
        category of each row passed to ``fit`` (for example, the chapter of its main code).
    level : float
        Confidence level of the drift's interval; the test rejects below ``1 - level``.
    margin : float
        A drift by less than this factor is no concern.

    Returns
    -------
    CheckResult
        A concern if the ratio drifts, no concern if a drift beyond the margin is excluded.
        ``interval`` is that of the drift that the verdict rests on.

    Notes
    -----
    Formula: :mod:`relprev.checks.constant_ratio`.

    Examples
    --------
    >>> from relprev.inference import DebiasedPURPLE
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), n=(20_000, 40_000), seed=1).cohort
    >>> fitted = DebiasedPURPLE(lambdas=1e-4, strengths=[1.0]).fit(cohort)
    >>> print(check_constant_ratio(fitted).verdict)
    no concern
    """
    data, names = fitted.score_data_, fitted.moments_.names
    phi, labels, contrast = _functions(fitted, by)
    found = drift_test(data, fitted.score_theta_, fitted.design_, phi)
    quantile = stats.t.ppf(0.5 + level / 2, found.degrees_of_freedom)
    pairs = [names[k] for k in data.free]
    rows = [
        _row(label, pair, names[data.reference], found, k * len(pairs) + j, contrast[k], quantile)
        for k, label in enumerate(labels)
        for j, pair in enumerate(pairs)
    ]
    table = pd.DataFrame(rows)
    verdicts = _verdicts(table, found, level, margin)
    verdict, which = decisive(verdicts, np.log(table["drift"]))
    row = table.iloc[which]
    low, high = float(row["ci_low"]), float(row["ci_high"])
    said = _effect(row, isinstance(by, str) and by == "trend")
    return CHECK.result(
        verdict, joined([said, *margin_words(verdict, low, high, margin)]), table,
        statistic=found.statistic, p_value=found.p_value, interval=(low, high),
    )  # fmt: skip


def _verdicts(table: pd.DataFrame, found: DriftTest, level: float, margin: float) -> list[Verdict]:
    """Of every drift."""
    z = np.abs(found.drift) / np.sqrt(np.diag(found.covariance))
    seen = holm(2 * stats.t.sf(z, found.degrees_of_freedom)) < 1 - level
    ends = zip(table["ci_low"], table["ci_high"], seen, strict=True)
    return [Verdict.of_interval(low, high, margin, found=bool(one)) for low, high, one in ends]


# -- functions of x ------------------------------------------------------------------------


def _functions(fitted: DebiasedPURPLE, by: Any) -> tuple[Functions, list[str], FloatArray]:
    """phi, a label for each, and the change in phi for which drift is reported."""
    data = fitted.score_data_
    if not isinstance(by, str):
        return _categories(np.asarray(by), fitted)
    if by not in ("trend", "quintiles"):
        raise InvalidInputError(f"by must be 'trend', 'quintiles' or an array, got {by!r}")
    if not any(data.map(_has_risk)):
        raise InvalidInputError(
            f"by={by!r} needs a risk model, but the estimator was fitted with risk=None; fit it "
            "with risk='purple' or give categories"
        )
    if by == "trend":
        cases, first = data.total(_risk_sums, 0.0)[:2]
        mean = first / cases
        spread = float(np.sqrt(data.total(_risk_sums, mean)[2] / cases))
        spread = spread if spread > SAME_RISK else 1.0
        low, high = weighted_quantiles(data, _log_risk, RISK_RANGE)
        phi = Functions(partial(_trend, mean, spread))
        return phi, ["highest versus lowest risk"], np.array([(high - low) / spread])
    shares = (np.arange(1, N_QUANTILES) / N_QUANTILES).tolist()
    edges = weighted_quantiles(data, _log_risk, shares)
    labels = [f"risk fifth {k + 1} versus 1" for k in range(1, N_QUANTILES)]
    return Functions(partial(_fifths, edges)), labels, np.ones(N_QUANTILES - 1)


def _has_risk(data: ScorePart) -> bool:
    return bool(data.risk.any())


def _log_risk(data: ScorePart) -> tuple[FloatArray, FloatArray]:
    """The logarithm of the risk, and the expected cases."""
    log_risk = by_rows(lambda risk: np.log(np.maximum(risk, 1e-12)), data.risk)
    return log_risk, data.omega * data.risk


def _risk_sums(data: ScorePart, centre: float) -> tuple[float, float, float]:
    """Expected cases, and the sums over them of log risk minus centre, and of its square."""
    log_risk, cases = _log_risk(data)
    away = log_risk - centre
    return float(cases.sum()), float(cases @ away), float(cases @ away**2)


def _trend(mean: float, spread: float, data: ScorePart, _: None) -> FloatArray:
    return np.clip((_log_risk(data)[0] - mean) / spread, -4.0, 4.0)[:, None]


def _fifths(edges: FloatArray, data: ScorePart, _: None) -> FloatArray:
    fifth = np.searchsorted(edges, _log_risk(data)[0])
    return (fifth[:, None] == np.arange(1, N_QUANTILES)).astype(float)


def _indicators(others: list[int], data: ScorePart, code: NDArray[np.uint8]) -> FloatArray:
    return (code[:, None] == others).astype(float)


def _categories(
    labels: NDArray[Any], fitted: DebiasedPURPLE
) -> tuple[Functions, list[str], FloatArray]:
    """Indicators of all categories except the one with the most cases."""
    rows, given = fitted.rows_, fitted.n_rows_in_
    if labels.shape != (given,):
        got = f"{len(labels):,}" if labels.ndim == 1 else f"shape {labels.shape}"
        raise InvalidInputError(
            f"by must name a category for each of the {given:,} rows passed to fit, got {got}; "
            "with a domain, rows outside it need one too"
        )
    names, code = np.unique(labels[rows].astype(str), return_inverse=True)
    if not 2 <= len(names) <= MAX_CATEGORIES:
        raise InvalidInputError(
            f"by must hold 2 to {MAX_CATEGORIES} categories, got {len(names)}; merge rare ones"
        )
    codes = Functions(as_given, code.astype(np.uint8))
    data = fitted.score_data_
    cases = np.sum(data.map(_cases, len(names), each=codes.of_parts(data.sizes)), axis=0)
    if (cases == 0).any():
        raise InvalidInputError("by has categories without any diagnosed row; merge them")
    base = int(np.argmax(cases))
    others = [k for k in range(len(names)) if k != base]
    words = [f"{names[k]} versus {names[base]}" for k in others]
    return replace(codes, compute=partial(_indicators, others)), words, np.ones(len(others))


def _cases(data: ScorePart, code: NDArray[np.uint8], count: int) -> FloatArray:
    return group_sums(code, data.s, count)


def _row(
    label: str, group: str, reference: str, found: DriftTest, position: int, change: float,
    quantile: float,
) -> dict[str, Any]:  # fmt: skip
    value = found.drift[position] * change
    half = quantile * np.sqrt(found.covariance[position, position]) * abs(change)
    with np.errstate(over="ignore"):  # of an interval without end
        low, middle, high = (float(np.exp(value + side * half)) for side in (-1, 0, 1))
    head = {"where": label, "group": group, "versus": reference}
    return head | {"drift": middle, "ci_low": low, "ci_high": high}


def _effect(row: pd.Series, trend: bool) -> Message:
    between = Message("from low-risk to high-risk cases (5th to 95th percentile)")
    return Message(
        "The ratio of diagnosis rates of {group} and {versus} changes by a factor of {drift} "
        "({low} to {high}) {where}.",
        group=row["group"], versus=row["versus"], drift=Number(row["drift"], ".2f"),
        low=Number(row["ci_low"], ".2f"), high=Number(row["ci_high"], ".2f"),
        where=between if trend else Message("for {where}", where=row["where"]),
    )  # fmt: skip


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    position = np.arange(len(table))[::-1]
    below, above = table["drift"] - table["ci_low"], table["ci_high"] - table["drift"]
    ax.errorbar(table["drift"], position, xerr=[below, above], fmt="o", color="C0")
    ax.axvline(1.0, color="grey", linewidth=1)
    ax.set_yticks(position, table["group"] + ", " + table["where"])
    ax.set_xscale("log")
    ax.set_xlabel("change of the diagnosis-rate ratio (factor)")


CHECK = Check(
    kind="constant_ratio",
    title="Constant ratio of diagnosis rates",
    explained=(
        "Asks whether the ratio of two groups' diagnosis rates is the same for low-risk and "
        "high-risk cases, as the method assumes. A factor of 1 means no change. No concern: the "
        "whole interval lies within the margin."
    ),
    run=lambda given: [
        check_constant_ratio(given.debiased, level=given.level, margin=given.margin)
    ],
    needs=("debiased",),
    table=dict.fromkeys(["where", "group", "versus"], Column.NAME)
    | dict.fromkeys(["drift", "ci_low", "ci_high"], Column.FREE),
    columns=("group", "versus", "where", "drift"),
    interval="drift",
    draw=_draw,
    by_cases=True,
    by_symptoms=True,
    seconds=3.0,
)
