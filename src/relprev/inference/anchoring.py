"""From relative to absolute: one outside value fixes all diagnosis rates and prevalences.

The data determine ratios only. If the diagnosis rate of one group a is known from elsewhere,

    c_g = c_a exp(theta_g - theta_a),    p(y=1|g) = mu_g / c_g,

and if its prevalence is known, c_a = mu_a / p(y=1|a). On the log scale the outside value's own
variance is added to that of the data (delta method), the two being independent. Degrees of
freedom are those of `relprev.inference.intervals`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy import stats

from relprev.errors import DataWarning, InvalidInputError
from relprev.inference.debiased import DebiasedPURPLE
from relprev.inference.moments import GroupMoments
from relprev.messages import Message


def anchor(
    fitted: DebiasedPURPLE,
    group: str,
    *,
    diagnosis_rate: float | None = None,
    prevalence: float | None = None,
    interval: tuple[float, float] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Absolute diagnosis rates and prevalences of all groups, from one outside value.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted estimator.
    group : str
        The group whose value is known.
    diagnosis_rate, prevalence : float
        Exactly one of the two.
    interval : (low, high)
        Of the outside value, at the same level; (value, value) if it is exact.
    level : float
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row per group: ``diagnosis_rate`` and ``prevalence``, each with ``_low`` and ``_high``;
        NaN for groups without an estimate.

    Notes
    -----
    Formula: :mod:`relprev.inference.anchoring`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> fitted = DebiasedPURPLE(risk=None, strengths=[1.0]).fit(gauss_synth((0.5, 0.1)).cohort)
    >>> table = anchor(fitted, "b", diagnosis_rate=0.1, interval=(0.09, 0.11))
    >>> table[["group", "diagnosis_rate", "diagnosis_rate_low", "diagnosis_rate_high"]].round(2)
      group  diagnosis_rate  diagnosis_rate_low  diagnosis_rate_high
    0     a            0.49                0.44                 0.56
    1     b            0.10                0.09                 0.11
    """
    value = _outside_value(diagnosis_rate, prevalence, interval)
    moments = fitted.moments_
    if group not in moments.estimated:
        raise InvalidInputError(
            f"group={group!r} has no estimate; groups with one: {moments.estimated}"
        )
    assert interval is not None
    quantile = float(stats.norm.ppf(0.5 + level / 2))
    own_variance = (np.log(interval[1] / interval[0]) / (2 * quantile)) ** 2
    K, a = len(moments.names), moments.names.index(group)
    rows = []
    for name in moments.estimated:
        g = moments.names.index(name)
        quantile_t = float(stats.t.ppf(0.5 + level / 2, _degrees_of_freedom(moments, g, a)))
        rate = np.zeros(3 * K)  # gradient of log c_g in (log P, log D, theta)
        rate[2 * K + g] += 1.0
        rate[2 * K + a] -= 1.0
        if prevalence is not None:
            rate[K + a] += 1.0
            rate[a] -= 1.0
        recorded = np.zeros(3 * K)
        recorded[K + g], recorded[g] = 1.0, -1.0
        at = np.concatenate([moments.log_share, moments.log_cases, moments.theta])
        sign = 1.0 if prevalence is None else -1.0
        row: dict[str, object] = {"group": name}
        for key, gradient, side in (
            ("diagnosis_rate", rate, sign),
            ("prevalence", recorded - rate, -sign),
        ):
            middle = float(gradient @ at) + side * np.log(value)
            spread = np.sqrt(gradient @ moments.covariance @ gradient + own_variance)
            row |= {key: np.exp(middle), f"{key}_low": np.exp(middle - quantile_t * spread),
                    f"{key}_high": np.exp(middle + quantile_t * spread)}  # fmt: skip
        rows.append(row)
    table = pd.DataFrame(rows)
    _warn_if_impossible(table, group, "prevalence" if prevalence else "diagnosis_rate")
    return table.set_index("group").reindex(list(fitted.groups_)).rename_axis("group").reset_index()


def _degrees_of_freedom(moments: GroupMoments, group: int, anchored: int) -> float:
    """The design's, but no more than the cases that tell two groups' diagnosis rates apart."""
    if group == anchored:
        return moments.degrees_of_freedom
    cases = moments.contrast(group, np.array([anchored])).effective_cases
    return min(moments.degrees_of_freedom, max(cases, 1.0))


def _outside_value(
    diagnosis_rate: float | None, prevalence: float | None, interval: tuple[float, float] | None
) -> float:
    if (diagnosis_rate is None) == (prevalence is None):
        raise InvalidInputError(
            "give exactly one outside value, diagnosis_rate or prevalence: the data alone give "
            "ratios, not absolute rates"
        )
    value = float(diagnosis_rate if diagnosis_rate is not None else prevalence)  # type: ignore[arg-type]
    if interval is None:
        raise InvalidInputError(
            "interval is required: the uncertainty of the outside value, or (value, value) if it "
            "is exact"
        )
    if not 0 < interval[0] <= value <= interval[1] <= 1:
        raise InvalidInputError(
            f"the outside value {value} and its interval {interval} must be in (0, 1], in order"
        )
    return value


def _warn_if_impossible(table: pd.DataFrame, anchored: str, given: str) -> None:
    for key in ("diagnosis_rate", "prevalence"):
        words = key.replace("_", " ")
        above = table[key] > 1
        outside = (table["group"] == anchored) & (key == given)
        reaches = (table[f"{key}_high"] > 1) & ~above & ~outside
        if above.any():
            _warn(
                Message(
                    "the outside value implies a {what} above 1 in {groups}: it does not fit the "
                    "data, or an assumption fails",
                    what=words, groups=table.loc[above, "group"].tolist(),
                )
            )  # fmt: skip
        if reaches.any():
            _warn(
                Message(
                    "the outside value leaves room for impossible values: the interval of the "
                    "{what} reaches above 1 in {groups}; a more exact outside value or more cases "
                    "would narrow it",
                    what=words, groups=table.loc[reaches, "group"].tolist(),
                )
            )  # fmt: skip


def _warn(message: Message) -> None:
    warnings.warn(DataWarning(message), stacklevel=4)
