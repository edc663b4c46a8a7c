"""Is the ratio of diagnosis rates the same at every level of risk?

If p(s=1|x,g) = p(y=1|x) c_g, then x adds nothing to the group mix of the diagnosed beyond
pi_g(x): in theta_g(x) = theta_g + delta_g phi(x), every delta is zero for any function phi.
With U the score of `relprev.inference.score` and J = - mean dU/dtheta, J_k = - mean
d(U phi_k)/dtheta, the sums

    T_k = sum_i omega_i (phi_k(x_i) - J_k J^{-1}) U_i

have mean zero and, like any influence function, a variance V under the sampling design
(subtracting J_k J^{-1} U accounts for theta being estimated). With q sums and df degrees
of freedom, F = (df - q + 1) / (df q) T' V^{-1} T is compared with F(q, df - q + 1), the last
number being at most the effective number of informative cases, as for intervals. One Newton
step from delta = 0 gives the size of the drift,

    delta = H^{-1} T,    H_kl = J_kl - J_k J^{-1} J_l,    J_kl = - mean d(U phi_k phi_l)/dtheta.

Large samples reject on trifles and small ones overlook much: read the drift with the test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy import stats

from relprev.checks.result import CheckResult
from relprev.design.base import FloatArray
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from relprev.inference.design import SamplingDesign
from relprev.inference.moments import case_information
from relprev.inference.score import ScoreData, mean_score, row_scores

RISK_RANGE = (0.05, 0.95)  # quantiles of the cases' risk between which a drift is quoted
N_QUANTILES = 5
MAX_CATEGORIES = 20


def check_constant_ratio(
    fitted: DebiasedPURPLE, by: Any = "trend", *, level: float = 0.95
) -> CheckResult:
    """Test that the ratio of diagnosis rates does not change with x.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted with a model of the risk (``m`` not None) unless ``by`` is an array.
    by : "trend", "quintiles" or array of shape (rows,)
        ``"trend"``: the logarithm of the risk m(x), the most powerful against a steady
        drift. ``"quintiles"``: fifths of the expected cases by risk. An array names the
        category of each row given to ``fit`` (for example its leading code's chapter).
    level : float
        Of the drift's interval; the test rejects below ``1 - level``.

    Returns
    -------
    CheckResult
        Of concern if the ratio drifts; ``interval`` is that of the drift.

    Notes
    -----
    Formula: :mod:`relprev.checks.constant_ratio`.

    Examples
    --------
    >>> from relprev.inference import DebiasedPURPLE
    >>> from relprev.simulate import gauss_synth
    >>> fitted = DebiasedPURPLE(lambdas=1e-4).fit(gauss_synth((0.5, 0.1), seed=1).cohort)
    >>> check_constant_ratio(fitted).verdict
    'no concern'
    """
    data, names = fitted.scores_in_memory(), fitted.moments_.names
    phi, labels, contrast = _functions(fitted, by)
    found = drift_test(data, fitted.moments_.theta, fitted.design_, phi)
    quantile = stats.t.ppf(0.5 + level / 2, found.degrees_of_freedom)
    pairs = [names[k] for k in data.free]
    rows = [
        _row(label, pair, names[data.reference], found, k * len(pairs) + j, contrast[k], quantile)
        for k, label in enumerate(labels)
        for j, pair in enumerate(pairs)
    ]
    table = pd.DataFrame(rows)
    largest = table.loc[np.abs(np.log(table["drift"])).idxmax()]
    return CheckResult(
        name="Constant ratio of diagnosis rates",
        verdict="concern" if found.p_value < 1 - level else "no concern",
        effect=_words(largest, isinstance(by, str) and by == "trend"),
        table=table,
        draw=_draw,
        statistic=found.statistic,
        p_value=found.p_value,
        interval=(float(largest["ci_low"]), float(largest["ci_high"])),
    )


@dataclass(frozen=True)
class DriftTest:
    """Drift delta of shape (q * (K - 1),), its covariance, and the test that all are zero."""

    drift: FloatArray
    covariance: FloatArray
    statistic: float
    p_value: float
    degrees_of_freedom: float


def drift_test(
    data: ScoreData, theta: FloatArray, design: SamplingDesign, phi: FloatArray
) -> DriftTest:
    """The test for functions ``phi`` of shape (n, q); see the module's docstring."""
    free, q = data.free, phi.shape[1]

    def slope(weight: FloatArray) -> FloatArray:
        part = replace(data, omega=data.omega * weight)
        return -mean_score(part, theta)[1][np.ix_(free, free)]

    J = slope(np.ones(len(phi)))
    J_k = np.vstack([slope(column) for column in phi.T])  # (q (K - 1), K - 1)
    J_kl = np.block([[slope(one * two) for two in phi.T] for one in phi.T])
    J_l = np.hstack([slope(column) for column in phi.T])
    H = J_kl - J_k @ np.linalg.solve(J, J_l)
    U = row_scores(data, theta)[:, free]
    stacked = (phi[:, :, None] * U[:, None, :]).reshape(len(phi), -1)
    projected = stacked - U @ np.linalg.solve(J.T, J_k.T)
    weighted = data.omega[:, None] * projected
    T, V = weighted.sum(axis=0), design.covariance(design.totals(weighted.T))
    df = design.degrees_of_freedom
    count = q * len(free)
    if count >= df:
        raise InvalidInputError(
            f"by makes {count} comparisons, the design has only {df} degrees of freedom; use fewer "
            "categories"
        )
    statistic = float(T @ np.linalg.solve(V, T)) * (df - count + 1) / (df * count)
    informed = float(case_information(data, theta)[0].diagonal().min())
    spare = max(min(df - count + 1, informed), 1.0)
    inverse = np.linalg.inv(H)
    return DriftTest(
        drift=inverse @ T,
        covariance=inverse @ V @ inverse.T,
        statistic=statistic,
        p_value=float(stats.f.sf(statistic, count, spare)),
        degrees_of_freedom=spare,
    )


def _functions(fitted: DebiasedPURPLE, by: Any) -> tuple[FloatArray, list[str], FloatArray]:
    """phi (n, q), a label for each, and the change in phi that its drift is quoted over."""
    data = fitted.scores_in_memory()
    if not isinstance(by, str):
        return _categories(np.asarray(by), fitted)
    if by not in ("trend", "quintiles"):
        raise InvalidInputError(f"by must be 'trend', 'quintiles' or an array, got {by!r}")
    if not data.risk.any():
        raise InvalidInputError(
            f"by={by!r} needs a model of the risk, but the estimator was fitted with m=None; fit "
            "it with m='purple' or give categories"
        )
    log_risk = np.log(np.maximum(data.risk, 1e-12))
    cases = data.omega * data.risk
    if by == "trend":
        mean = cases @ log_risk / cases.sum()
        spread = float(np.sqrt(cases @ (log_risk - mean) ** 2 / cases.sum())) or 1.0
        low, high = _weighted_quantiles(log_risk, cases, RISK_RANGE)
        phi = np.clip((log_risk - mean) / spread, -4.0, 4.0)
        return phi[:, None], ["highest versus lowest risk"], np.array([(high - low) / spread])
    edges = _weighted_quantiles(log_risk, cases, np.arange(1, N_QUANTILES) / N_QUANTILES)
    fifth = np.searchsorted(edges, log_risk)
    phi = (fifth[:, None] == np.arange(1, N_QUANTILES)).astype(float)
    labels = [f"risk fifth {k + 1} versus 1" for k in range(1, N_QUANTILES)]
    return phi, labels, np.ones(N_QUANTILES - 1)


def _categories(
    labels: NDArray[Any], fitted: DebiasedPURPLE
) -> tuple[FloatArray, list[str], FloatArray]:
    """Indicators of all categories but the one with most cases."""
    rows = fitted.rows_
    if labels.ndim != 1 or len(labels) <= int(rows.max()):
        raise InvalidInputError("by must name a category for each row given to fit")
    names, code = np.unique(labels[rows].astype(str), return_inverse=True)
    if not 2 <= len(names) <= MAX_CATEGORIES:
        raise InvalidInputError(
            f"by must hold 2 to {MAX_CATEGORIES} categories, got {len(names)}; group rare ones"
        )
    cases = np.bincount(code, fitted.scores_in_memory().s, len(names))
    if (cases == 0).any():
        raise InvalidInputError("by has categories without any diagnosed row; group them")
    base = int(np.argmax(cases))
    others = [k for k in range(len(names)) if k != base]
    words = [f"{names[k]} versus {names[base]}" for k in others]
    return (code[:, None] == others).astype(float), words, np.ones(len(others))


def _weighted_quantiles(values: FloatArray, weight: FloatArray, at: Any) -> FloatArray:
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    position = np.searchsorted(reached, np.asarray(at) * reached[-1])
    return values[order][np.minimum(position, len(values) - 1)]


def _row(
    label: str, group: str, reference: str, found: DriftTest, position: int, change: float,
    quantile: float,
) -> dict[str, Any]:  # fmt: skip
    value = found.drift[position] * change
    half = quantile * np.sqrt(found.covariance[position, position]) * abs(change)
    low, middle, high = (float(np.exp(value + side * half)) for side in (-1, 0, 1))
    head = {"where": label, "group": group, "versus": reference}
    return head | {"drift": middle, "ci_low": low, "ci_high": high}


def _words(row: pd.Series, trend: bool) -> str:
    places = "between cases of low and of high risk (5th and 95th percentile)" if trend else "there"
    return (
        f"The diagnosis rate of {row['group']} over that of {row['versus']} changes by a factor "
        f"{row['drift']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f}) {places}"
        + ("." if trend else f": {row['where']}.")
    )


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    position = np.arange(len(table))[::-1]
    below, above = table["drift"] - table["ci_low"], table["ci_high"] - table["drift"]
    ax.errorbar(table["drift"], position, xerr=[below, above], fmt="o", color="C0")
    ax.axvline(1.0, color="grey", linewidth=1)
    ax.set_yticks(position, table["group"] + ", " + table["where"])
    ax.set_xscale("log")
    ax.set_xlabel("change of the diagnosis-rate ratio (factor)")
