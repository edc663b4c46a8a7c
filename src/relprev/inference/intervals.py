"""Relative prevalences with their uncertainty.

Intervals are symmetric on the log scale: exp(estimate +- t * std_error) with t the
quantile of Student's t distribution. Its degrees of freedom are those of the design (PSUs minus
strata), but no more than the effective number of informative cases (patients) where the
interval rests on them: with few of them, the standard error is itself uncertain.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from relprev.arrays import FloatArray
from relprev.errors import DataWarning, InvalidInputError
from relprev.estimates import (
    COLUMNS,
    COMPLEMENT,
    RelativePrevalence,
    contrasts,
    sentence,
    withheld,
)
from relprev.inference.moments import Contrast, GroupMoments
from relprev.messages import Count, Message

EXTRA_COLUMNS = (
    "std_error", "p_value", "observed_ci_low", "observed_ci_high", "diagnosis_ci_low",
    "diagnosis_ci_high", "effective_cases", "degrees_of_freedom", "few_cases", "withheld",
)  # fmt: skip
FEW_CASES = 20.0  # effective informative cases below which a row is marked as resting on few
N_DRAWS = 100_000
SAME = 1e-9  # statistics with |correlation| this close to 1 test one hypothesis
Counts = Sequence[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True, repr=False)
class InferredPrevalence(RelativePrevalence):
    """`RelativePrevalence` with standard errors, intervals and tests.

    Parameters
    ----------
    rows : tuple of dict
        One per contrast, with the columns of `to_frame`. ``std_error`` is that of the
        logarithm of ``estimate``; ``p_value`` tests whether the ratio differs from 1;
        ``few_cases`` marks a row that rests on few cases, and ``withheld`` says why a row has no
        numbers (`relprev.estimates.withheld`).
    method : str
        Name of the estimator.
    settings : dict
        What is needed to reproduce the numbers.
    level : float
        Coverage of the intervals.
    correlation : array of shape (rows, rows)
        That of the log estimates.

    Notes
    -----
    Intervals: :mod:`relprev.inference.intervals`.

    Examples
    --------
    >>> from relprev import DebiasedPURPLE
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(20_000, n_codes=50, prevalence=0.2, seed=1).cohort
    >>> fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(cohort)
    >>> result = fitted.relative_prevalence("Group B")
    >>> print(result.sentences[0].split(" (")[0])
    The condition is estimated to be 1.24 times as common in Group A as in Group B

    Three comparisons at once need wider intervals than each on its own:

    >>> single, all_at_once = result.to_frame(), result.simultaneous()
    >>> bool((all_at_once["ci_high"] > single["ci_high"]).all())
    True
    """

    level: float = 0.95
    correlation: FloatArray = field(default_factory=lambda: np.empty((0, 0)), repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Table with one row per contrast, NaN where a value is withheld.

        Columns: those of `RelativePrevalence.to_frame`, and std_error (of the logarithm), p_value,
        the intervals of the recorded and of the diagnosis-rate ratio, effective_cases,
        degrees_of_freedom, few_cases and withheld.
        """
        return pd.DataFrame(list(self.rows), columns=[*COLUMNS, *EXTRA_COLUMNS])

    @property
    def sentences(self) -> list[str]:
        """What each row says, in words."""
        return [sentence(row, self.level) for row in self.rows]

    def simultaneous(self, method: str = "max-t", seed: int = 0) -> pd.DataFrame:
        """Intervals and p-values that hold for all rows at once.

        Parameters
        ----------
        method : "max-t" or "holm"
            ``"max-t"``: by the largest absolute t statistic of all rows under their joint
            distribution (from which a Gaussian multiplier bootstrap of the influence
            functions would draw). ``"holm"``: p-values by Holm's method, intervals by
            Bonferroni's. A ratio and its inverse are one hypothesis.
        seed : int
            Seed of the draws for ``"max-t"``.

        Returns
        -------
        pandas.DataFrame
            Columns group, versus, estimate, ci_low, ci_high and p_value; NaN in rows without
            an estimate or a standard error, which are not counted among the comparisons.
        """
        table = self.to_frame()
        values = table[["estimate", "p_value", "std_error"]].to_numpy(dtype=float)
        known = np.flatnonzero(np.isfinite(values).all(axis=1) & (values[:, 2] > 0))
        if method not in ("max-t", "holm"):
            raise InvalidInputError(f"method must be 'max-t' or 'holm', got {method!r}")
        out = table[["group", "versus", "estimate"]].assign(
            ci_low=np.nan, ci_high=np.nan, p_value=np.nan
        )
        if not len(known):
            return out
        some = table.iloc[known]
        p = some["p_value"].to_numpy()
        df = some["degrees_of_freedom"].to_numpy(dtype=float)
        correlation = self.correlation[np.ix_(known, known)]
        if method == "holm":
            count = len(np.unique(_first_alike(p, correlation)))
            quantile = stats.t.ppf(1 - (1 - self.level) / (2 * count), df)
            adjusted = holm(p, correlation)
        else:
            statistic = stats.t.isf(p / 2, df)
            largest = _largest_draws(correlation, float(df.min()), seed)
            single = stats.t.ppf(0.5 + self.level / 2, df)
            quantile = np.maximum(np.quantile(largest, self.level), single)
            beyond = np.array([np.sum(largest >= value) for value in statistic])
            adjusted = np.maximum((1 + beyond) / (1 + N_DRAWS), p)
        half = quantile * some["std_error"].to_numpy()
        out.loc[known, "ci_low"] = some["estimate"].to_numpy() * np.exp(-half)
        out.loc[known, "ci_high"] = some["estimate"].to_numpy() * np.exp(half)
        out.loc[known, "p_value"] = adjusted
        return out


def _largest_draws(correlation: FloatArray, df: float, seed: int) -> FloatArray:
    """Draws of the largest absolute statistic: multivariate t with the rows' correlation."""
    rng = np.random.default_rng(seed)
    draws = rng.multivariate_normal(np.zeros(len(correlation)), correlation, N_DRAWS, method="eigh")
    if np.isfinite(df):
        draws /= np.sqrt(rng.chisquare(df, N_DRAWS) / df)[:, None]
    return np.abs(draws).max(axis=1)


def holm(p: FloatArray, correlation: FloatArray | None = None) -> FloatArray:
    """Holm's adjusted p-values.

    Parameters
    ----------
    p : array of shape (m,)
    correlation : array of shape (m, m), optional
        That of the statistics. Those with correlation 1 or -1 and the same p-value, such as a
        ratio and its inverse, are one hypothesis and count once.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).round(2)
    array([0.03, 0.06, 0.06])
    >>> holm(np.array([0.01, 0.01]), np.array([[1.0, -1.0], [-1.0, 1.0]]))
    array([0.01, 0.01])
    """
    if correlation is not None:
        first, place = np.unique(_first_alike(p, correlation), return_inverse=True)
        return holm(p[first])[place]
    order = np.argsort(p)
    steps = (len(p) - np.arange(len(p))) * p[order]
    out = np.empty(len(p))
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out


def _first_alike(p: FloatArray, correlation: FloatArray) -> NDArray[np.int64]:
    """For each row, the first row that tests the same hypothesis."""
    alike = np.abs(np.abs(correlation) - 1.0) < SAME
    alike &= np.isclose(p[:, None], p, rtol=1e-6, atol=0.0)
    np.fill_diagonal(alike, True)
    return alike.argmax(axis=1)


def infer(
    moments: GroupMoments, names: Sequence[str], n: Counts, n_diagnosed: Counts,
    recorded: FloatArray, versus: str = COMPLEMENT, *, level: float = 0.95, method: str = "",
    settings: dict[str, Any] | None = None,
) -> InferredPrevalence:  # fmt: skip
    """The result for ``versus``: "complement", "pairwise" or the name of a group.

    Parameters
    ----------
    moments : GroupMoments
        Those of the groups that could be estimated.
    names, n, n_diagnosed : sequences of length K
        Those of all groups; groups missing from ``moments`` get rows without numbers.
    recorded : array of shape (2, K)
        Weight, and weight of the diagnosed, of all groups.
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"level must be between 0 and 1, got {level}")
    position = {name: moments.names.index(name) for name in moments.estimated}
    rows: list[dict[str, Any]] = []
    gradients = []
    for g, h in contrasts(names, versus):
        others = [k for k in range(len(names)) if k != g] if h is None else [h]
        missing = [names[k] for k in (g, *others) if names[k] not in position]
        head = {"group": names[g], "versus": COMPLEMENT if h is None else names[h]}
        tail = {"n": int(n[g]), "n_diagnosed": int(n_diagnosed[g])}
        if missing:
            row = _withheld(_recorded_ratio(recorded, g, others), missing, moments.names)
            gradients.append(np.full(len(moments.covariance), np.nan))
        else:
            contrast = moments.contrast(
                position[names[g]], np.array([position[names[k]] for k in others])
            )
            row = _row(contrast, moments, level)
            gradients.append(contrast.gradient[0])
        rows.append(head | row | tail)
    slope = np.array(gradients)
    covariance = slope @ moments.covariance @ slope.T
    scale = np.sqrt(np.diag(covariance))
    return InferredPrevalence(
        tuple(rows), method, dict(settings or {}), level, covariance / np.outer(scale, scale)
    )


def _row(contrast: Contrast, moments: GroupMoments, level: float) -> dict[str, Any]:
    covariance = contrast.gradient @ moments.covariance @ contrast.gradient.T
    error = np.sqrt(np.diag(covariance))
    informed = min(moments.degrees_of_freedom, max(contrast.effective_cases, 1.0))
    df = np.array([informed, moments.degrees_of_freedom, informed])
    half = stats.t.ppf(0.5 + level / 2, df) * error
    low, value, high = (np.exp(contrast.values + side * half) for side in (-1, 0, 1))
    row: dict[str, Any] = {
        "estimate": float(value[0]), "ci_low": float(low[0]), "ci_high": float(high[0]),
        "observed_ratio": float(value[1]), "diagnosis_ratio": float(value[2]),
        "std_error": float(error[0]),
        "p_value": float(2 * stats.t.sf(abs(contrast.values[0]) / error[0], informed)),
        "observed_ci_low": float(low[1]), "observed_ci_high": float(high[1]),
        "diagnosis_ci_low": float(low[2]), "diagnosis_ci_high": float(high[2]),
        "effective_cases": contrast.effective_cases, "degrees_of_freedom": float(informed),
    }  # fmt: skip
    return row | {"few_cases": bool(contrast.effective_cases < FEW_CASES), "withheld": ""}


def _withheld(ratio: float, missing: list[str], solved: Sequence[str]) -> dict[str, Any]:
    reasons = {
        "few diagnosed": [name for name in missing if name not in solved],
        "told apart": [name for name in missing if name in solved],
    }
    blank = dict.fromkeys([*COLUMNS[2:], *EXTRA_COLUMNS], float("nan"))
    named = withheld({reason: names for reason, names in reasons.items() if names})
    return blank | {"observed_ratio": ratio, "few_cases": False, "withheld": named}


def _recorded_ratio(recorded: FloatArray, group: int, others: list[int]) -> float:
    weight, diagnosed = recorded
    below = diagnosed[others].sum() / weight[others].sum()
    return float(diagnosed[group] / weight[group] / below) if below > 0 else float("nan")


def warn_if_thin(moments: GroupMoments) -> None:
    """Warn about groups that are almost completely apart in x, or have few informative cases."""
    cases = np.diag(moments.information)
    apart = ~moments.has_estimate
    thin = ~apart & (cases < FEW_CASES / 2)
    for which, words in (
        (apart, "x tells these groups almost completely apart, so their estimates are withheld"),
        (thin, "very few informative cases, so intervals are wide and may still be too short"),
    ):
        groups = [
            Message(
                "{group} ({cases})", group=moments.names[k],
                cases=Count(cases[k], "effective case", (("n_diagnosed", moments.names[k]),)),
            )
            for k in np.flatnonzero(which)
        ]  # fmt: skip
        if groups:
            said = Message(
                "{what}: {groups}; merge groups, use fewer features or drop features that name a "
                "group",
                what=words, groups=groups,
            )  # fmt: skip
            warnings.warn(DataWarning(said), stacklevel=4)
