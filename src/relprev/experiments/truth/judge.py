"""Estimate a relative prevalence without the truth, let the checks judge it, then compare.

The truth is itself a survey estimate. With weights omega that sum to one, groups a and b of shares
P and prevalences mu, the log of the true ratio has the influence function

    psi_i = 1(g_i = a) (y_i / mu_a - 1) / P_a - 1(g_i = b) (y_i / mu_b - 1) / P_b,

whose totals within primary sampling units give its standard error (`relprev.inference.sampling`).
The estimate's own influence function, from the same people, gives the standard error of the
difference. An interval "holds the truth, allowing for its error" if the two differ by less than the
interval's quantile times the root of the sum of both variances.

What went wrong can be measured too, since y is known:

    alpha   the true risk in a over that in b at equal x: the ratio of "diagnosis rates" that the
    same
            estimator finds if y takes the place of s
    Gamma   how much the share told varies with x among those with the condition: top over bottom
            fifth of its out-of-fold prediction, in each group
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict

from relprev.arrays import FloatArray
from relprev.baselines import SAREM, ElkanNoto, Negative
from relprev.checks.check import CheckResult, Verdict
from relprev.checks.informativeness import as_seen
from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.cohort import Cohort, as_cohort
from relprev.errors import RelprevError, RelprevWarning
from relprev.experiments.truth.known import KnownTruth
from relprev.inference import DebiasedPURPLE
from relprev.inference.moments import influence_functions
from relprev.inference.sampling import SamplingDesign
from relprev.model import PURPLE

LEVEL = 0.95
LONELY = "adjust"
LEAST_CASES = 100  # of a group, for Gamma
FIFTHS = 5
BASELINES: dict[str, Callable[[], Any]] = {
    "negative": Negative,
    "elkan-noto": ElkanNoto,
    "sar-em-group": lambda: SAREM(propensity="group"),
}
NAN = float("nan")


def judged(known: KnownTruth, baselines: tuple[str, ...] = tuple(BASELINES)) -> dict[str, Any]:
    """One row of results: verdicts first, then the truth and all errors.

    Parameters
    ----------
    known : KnownTruth
        A cohort of two groups and who has the condition.
    baselines : names of `BASELINES`

    Returns
    -------
    dict
        Numbers and texts; see ``docs/evidence/truth.md`` for what they mean.
    """
    started = time.process_time()
    cohort, versus = known.cohort, known.versus
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelprevWarning)
        inputs = CheckInputs(
            cohort,
            lambda: PURPLE(reference=versus).fit(cohort),
            lambda: DebiasedPURPLE(reference=versus, lonely_psu=LONELY).fit(cohort),
            versus=versus, reference=versus, level=LEVEL,
        )  # fmt: skip
        row = _estimated(inputs, known)
        row |= _verdicts(inputs)  # before the truth is looked at
        row |= {name: _baseline(name, known) for name in baselines}
        row |= _true(inputs.debiased, known)
        row |= _measured_alpha(known) | _measured_gamma(known)
    return row | {"seconds": round(time.process_time() - started, 2)}


def _estimated(inputs: CheckInputs, known: KnownTruth) -> dict[str, Any]:
    """Recorded ratio, the debiased estimate, calibrated by controls, and PURPLE."""
    cohort = inputs.cohort
    found = inputs.debiased.relative_prevalence(known.versus, level=LEVEL).to_frame()
    row = found[found["group"] == known.group].iloc[0]
    out = {
        "n": cohort.n, "n_recorded": int(cohort.diagnosed.sum()),
        "recorded": row["observed_ratio"], "debiased": row["estimate"],
        "debiased_low": row["ci_low"], "debiased_high": row["ci_high"],
        "debiased_se": row["std_error"], "effective_cases": row["effective_cases"],
        "calibrated": NAN, "calibrated_low": NAN, "calibrated_high": NAN, "controls": 0,
        "controls_spread": NAN, "not_calibrated": "", "likeness": "", "auc": NAN,
        "auc_low": NAN, "auc_high": NAN, "anyway": NAN, "anyway_low": NAN, "anyway_high": NAN,
    }  # fmt: skip
    if cohort.control_names:
        found = inputs.calibration.to_frame()
        row = found[found["group"] == known.group].iloc[0]
        out |= {
            "calibrated": row["calibrated"], "calibrated_low": row["calibrated_ci_low"],
            "calibrated_high": row["calibrated_ci_high"], "controls": int(row["n_controls"]),
            "controls_spread": row["spread"], "not_calibrated": row["calibrated_withheld"],
            "likeness": row["likeness"], "auc": row["auc"], "auc_low": row["auc_low"],
            "auc_high": row["auc_high"],
        }  # fmt: skip
        # What the controls would make of an estimate that is not calibrated for being unlike them.
        found = replace(inputs.calibration, auc=(NAN, NAN)).to_frame()
        row = found[found["group"] == known.group].iloc[0]
        out |= {
            "anyway": row["calibrated"], "anyway_low": row["calibrated_ci_low"],
            "anyway_high": row["calibrated_ci_high"],
        }  # fmt: skip
    return out | {"purple": _ratio(inputs.purple, known)}


def _ratio(fitted: Any, known: KnownTruth) -> float:
    found = fitted.relative_prevalence(known.versus).to_frame()
    return float(found.loc[found["group"] == known.group, "estimate"].iloc[0])


def _baseline(name: str, known: KnownTruth) -> float:
    try:
        return _ratio(BASELINES[name]().fit(known.cohort), known)
    except RelprevError:
        return NAN


def _verdicts(inputs: CheckInputs) -> dict[str, Any]:
    """What every check says, and what a report would say of all that examine assumptions."""
    results: list[CheckResult] = []
    kinds = [kind for kind in CHECKS if kind != "controls" or inputs.cohort.control_names]
    for kind in kinds:
        with suppress(RelprevError):
            results += CHECKS[kind].results(inputs)
    seen = as_seen(results)
    out: dict[str, Any] = {
        f"check_{kind}": str(Verdict.worst(one.verdict for one in seen if one.kind == kind))
        for kind in kinds
    }
    withheld = any(one.withhold is not None for one in seen)
    asked = [Verdict(found) for name, found in out.items()
             if CHECKS[name.removeprefix("check_")].assumption]  # fmt: skip
    return out | {"verdict": str(Verdict.worst(asked)), "withheld": withheld}


def _true(fitted: DebiasedPURPLE, known: KnownTruth) -> dict[str, Any]:
    """The true ratio with its interval, and how the estimates compare with it."""
    cohort, y = known.cohort, known.condition.astype(float)
    weight = known.known * (1.0 if cohort.weights is None else cohort.weights)
    omega = weight / weight.sum()
    sides = [cohort.groups == cohort.group_names.index(name)
             for name in (known.group, known.versus)]  # fmt: skip
    shares = [omega[side].sum() for side in sides]
    rates = [(omega * y)[side].sum() / share for side, share in zip(sides, shares, strict=True)]
    if min(rates) <= 0:
        return {"truth": NAN, "truth_low": NAN, "truth_high": NAN, "truth_se": NAN}
    psi = omega * sum(
        sign * side * (y / rate - 1) / share
        for sign, side, share, rate in zip((1, -1), sides, shares, rates, strict=True)
    )
    design = SamplingDesign.from_cohort(cohort, LONELY)
    error = float(np.sqrt(design.covariance(design.totals([psi]))[0, 0]))
    log, df = float(np.log(rates[0] / rates[1])), design.degrees_of_freedom
    half = stats.t.ppf(0.5 + LEVEL / 2, df) * error
    difference = _difference_error(fitted, known, psi, design)
    told = [(omega * cohort.diagnosed)[side].sum() / share / rate
            for side, share, rate in zip(sides, shares, rates, strict=True)]  # fmt: skip
    return {
        "truth": np.exp(log), "truth_low": np.exp(log - half), "truth_high": np.exp(log + half),
        "truth_se": error, "difference_se": difference, "degrees_of_freedom": df,
        "told_group": told[0], "told_versus": told[1],
    }  # fmt: skip


def _difference_error(
    fitted: DebiasedPURPLE, known: KnownTruth, psi: FloatArray, design: SamplingDesign
) -> float:
    """Standard error of log estimate - log truth, from the same people."""
    names = fitted.moments_.names
    if len(fitted.rows_) < known.cohort.n or len(names) != 2:
        return NAN
    contrast = fitted.moments_.contrast(
        names.index(known.group), np.array([names.index(known.versus)])
    )
    columns = influence_functions(fitted.score_data_, fitted.moments_.theta)
    own = sum(c * column for c, column in zip(contrast.gradient[0], columns, strict=True))
    return float(np.sqrt(design.covariance(design.totals([own - psi]))[0, 0]))


def _measured_alpha(known: KnownTruth) -> dict[str, Any]:
    """True risk of the group over that of the other at equal x, with its interval."""
    out = {"alpha": NAN, "alpha_low": NAN, "alpha_high": NAN}
    try:
        cohort = _with_recorded(known)
        fitted = DebiasedPURPLE(reference=known.versus, lonely_psu=LONELY).fit(cohort)
        found = fitted.relative_prevalence(known.versus, level=LEVEL).to_frame()
    except RelprevError:
        return out
    row = found[found["group"] == known.group].iloc[0]
    return {"alpha": row["diagnosis_ratio"], "alpha_low": row["diagnosis_ci_low"],
            "alpha_high": row["diagnosis_ci_high"]}  # fmt: skip


def _with_recorded(known: KnownTruth) -> Cohort:
    """The rows whose condition is known, as if every case were recorded."""
    rows = np.flatnonzero(known.known)
    cohort = known.cohort.take(rows)
    return as_cohort(
        cohort.X, known.condition[rows], groups=np.array(cohort.group_names)[cohort.groups],
        sample_weight=cohort.weights, clusters=cohort.clusters, strata=cohort.strata,
        psus=cohort.psus, feature_names=cohort.feature_names,
    )  # fmt: skip


def _measured_gamma(known: KnownTruth) -> dict[str, Any]:
    """How the share told varies with x among people with the condition, in each group."""
    cohort = known.cohort
    out = {}
    for words, name in (("group", known.group), ("versus", known.versus)):
        in_group = cohort.groups == cohort.group_names.index(name)
        rows = np.flatnonzero(in_group & known.known & (known.condition == 1))
        told = cohort.diagnosed[rows]
        enough = len(rows) >= LEAST_CASES and min(told.sum(), (1 - told).sum()) >= FIFTHS * 2
        weight = None if cohort.weights is None else cohort.weights[rows]
        X = cohort.X.take(rows).to_scipy()
        out[f"gamma_{words}"] = _top_over_bottom(X, told, weight) if enough else NAN
    return out


def _top_over_bottom(X: Any, told: NDArray[np.uint8], weight: FloatArray | None) -> float:
    model = LogisticRegression(C=0.1, max_iter=2000)
    folds = KFold(5, shuffle=True, random_state=0)
    score = cross_val_predict(model, X, told, cv=folds, method="predict_proba")[:, 1]
    fifth = np.argsort(np.argsort(score, kind="stable")) * FIFTHS // len(score)
    weight = np.ones(len(told)) if weight is None else weight
    share = [np.average(told[fifth == k], weights=weight[fifth == k]) for k in (0, FIFTHS - 1)]
    return float(share[1] / share[0]) if share[0] > 0 else NAN
