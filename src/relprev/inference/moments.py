"""Everything the intervals need: three numbers per group, and their joint covariance.

For each group: its share P_g, its share of recorded cases D_g = E[1(g) s], and its log
diagnosis rate theta_g relative to the reference. With omega summing to one their
influence functions are

    log P_g:  1(g_i = g) / P_g - 1
    log D_g:  1(g_i = g) s_i / D_g - 1
    theta  :  J^{-1} U_i   (see `relprev.inference.score`; U_i with all of the risk, also what m
                            leaves out, see `relprev.inference.missed`)

All results are smooth functions of these. For a set B of other groups (one group, or the
complement), with estimated cases C_h = D_h e^{-theta_h} and sums over B written C_B:

    recorded ratio     log (D_g / P_g) - log (D_B / P_B)
    corrected ratio    log (C_g / P_g) - log (C_B / P_B)
    diagnosis ratio    the first less the second

so the gradient of log C_B in log D_h is C_h / C_B, in theta_h it is - C_h / C_B, and
likewise for D_B and P_B; the delta method gives the covariance of any contrasts.

The information that the diagnosed carry about theta is counted in cases, of patients rather than
rows. With
I_i = diag(pi*) - pi* pi*' of a diagnosed row and a_u the weight of all diagnosed rows of its
patient u,

    V = sum_i omega_i I_i,    S = sum_i omega_i a_u(i) I_i,    information = V S^{-1} V,

the inverse variance of theta if all rows of a patient say the same. It equals sum_i I_i if all
rows have the same weight and belong to different patients, and is less otherwise; a second copy
of a patient's rows adds nothing. Nor can it exceed the number of the group's own diagnosed
patients, (sum omega)^2 / sum omega a_u over its diagnosed rows: similar patients of other groups
do not make up for a single patient who comes twenty times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray, group_sums
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import (
    ScoreData,
    ScorePart,
    mean_score,
    row_scores,
    tilted_propensity,
)

MIN_MIXING = 0.05  # below this, estimates would rest on the risk model alone


@dataclass(frozen=True)
class GroupMoments:
    """Estimates for each group and their covariance.

    Parameters
    ----------
    names : group names
    log_share, log_cases, theta : arrays of shape (K,)
    covariance : array of shape (3K, 3K)
        That of (log_share, log_cases, theta), stacked.
    information : array of shape (K, K)
        What the diagnosed say about theta, counted in cases.
    mixing : array of shape (K,)
        Information on theta_g, divided by what it would be if x said nothing about the group.
    degrees_of_freedom : int
        Those of the design.
    """

    names: tuple[str, ...]
    log_share: FloatArray
    log_cases: FloatArray
    theta: FloatArray
    covariance: FloatArray
    information: FloatArray
    mixing: FloatArray
    degrees_of_freedom: int

    @property
    def has_estimate(self) -> NDArray[np.bool_]:
        """Groups whose estimates are not withheld, shape (K,)."""
        return self.mixing >= MIN_MIXING

    @property
    def estimated(self) -> tuple[str, ...]:
        """Names of the groups whose estimates are not withheld."""
        return tuple(
            name for name, known in zip(self.names, self.has_estimate, strict=True) if known
        )

    def contrast(self, group: int, others: NDArray[np.int64]) -> Contrast:
        """One group compared with a set of others: log ratios and their gradients."""
        K = len(self.names)
        share, cases = np.exp(self.log_share), np.exp(self.log_cases)
        estimated = cases * np.exp(-self.theta)

        def log_ratio(top: FloatArray) -> float:
            rate = np.log(top[group] / share[group])
            return float(rate - np.log(top[others].sum() / share[others].sum()))

        def away(amount: FloatArray) -> FloatArray:
            """d [log amount_g - log sum_B amount] / d log amount."""
            out = np.zeros(K)
            out[others] = -amount[others] / amount[others].sum()
            out[group] += 1.0
            return out

        zero = np.zeros(K)
        recorded = np.concatenate([-away(share), away(cases), zero])
        corrected = np.concatenate([-away(share), away(estimated), -away(estimated)])
        return Contrast(
            values=np.array(
                [log_ratio(estimated), log_ratio(cases), log_ratio(cases) - log_ratio(estimated)]
            ),
            gradient=np.array([corrected, recorded, recorded - corrected]),
            effective_cases=self._effective_cases(group, others),
        )

    def _effective_cases(self, group: int, others: NDArray[np.int64]) -> float:
        """The diagnosed's information on a diagnosis-rate ratio, counted in cases.

        Versus one group it is 1 / variance of theta_a - theta_b when only the diagnosed
        count; versus the complement the sum of pi*_g (1 - pi*_g).
        """
        if len(others) > 1:
            return float(self.information[group, group])
        rest = np.delete(np.arange(len(self.names)), others[0])  # theta of the other is zero
        inverse = np.linalg.pinv(self.information[np.ix_(rest, rest)])
        position = int(np.flatnonzero(rest == group)[0])
        return float(1.0 / inverse[position, position]) if inverse[position, position] > 0 else 0.0


@dataclass(frozen=True)
class Contrast:
    """Log ratios (corrected, recorded, diagnosis), gradients (3, 3K) and information."""

    values: FloatArray
    gradient: FloatArray
    effective_cases: float


def group_moments(
    data: ScoreData, theta: FloatArray, names: tuple[str, ...], design: SamplingDesign
) -> GroupMoments:
    """The moments and their covariance under the design of the same rows, at the root theta."""
    share, cases = shares_and_cases(data)
    covariance = design.covariance_in_parts(
        data, _influence_functions, theta, share, cases, inverse_slope(data, theta)
    )
    information, mixing = case_information(data, theta, design)
    return GroupMoments(
        names=names,
        log_share=np.log(share),
        log_cases=np.log(cases),
        theta=theta,
        covariance=covariance,
        information=information,
        mixing=mixing,
        degrees_of_freedom=design.degrees_of_freedom,
    )


def diagnosis_contrasts(
    data: ScoreData, theta: FloatArray, names: tuple[str, ...], design: SamplingDesign,
    wanted: Sequence[tuple[int, NDArray[np.int64]]],
) -> tuple[GroupMoments, list[Contrast], FloatArray]:  # fmt: skip
    """Moments, contrasts, and the covariance of the contrasts' log diagnosis ratios only.

    What `group_moments` and `GroupMoments.contrast` would give, in a third of the time: ratios of
    diagnosis rates do not depend on the groups' shares, and there are fewer contrasts than moments.

    Parameters
    ----------
    data, theta, names, design
        As in `group_moments`.
    wanted : sequence of (group, others)
        Contrasts, as in `GroupMoments.contrast`.

    Returns
    -------
    GroupMoments, list of Contrast, array of shape (q, q)
        The moments have no covariance of their own (NaN).
    """
    share, cases = shares_and_cases(data)
    information, mixing = case_information(data, theta, design)
    unknown = np.full((3 * len(names), 3 * len(names)), np.nan)
    moments = GroupMoments(
        names, np.log(share), np.log(cases), theta, unknown, information, mixing,
        design.degrees_of_freedom,
    )  # fmt: skip
    found = [moments.contrast(group, others) for group, others in wanted]
    slope = np.array([contrast.gradient[2] for contrast in found])[:, len(names) :]
    of_cases, of_theta = slope[:, : len(names)], slope[:, len(names) :]
    covariance = design.covariance_in_parts(
        data, _diagnosis_influence, theta, of_cases / cases, of_theta @ inverse_slope(data, theta)
    )
    return moments, found, covariance


def _diagnosis_influence(
    data: ScorePart, theta: FloatArray, of_cases: FloatArray, of_score: FloatArray
) -> Iterator[FloatArray]:
    """omega * influence of combinations of log D and theta (log D's constant sums to zero)."""
    U = row_scores(data.with_all_risk(), theta)
    hit = np.flatnonzero(data.s)
    for own, score in zip(of_cases, of_score, strict=True):
        value = U @ score
        value[hit] += own[data.g[hit]] * data.s[hit]
        yield data.omega * value


def shares_and_cases(data: ScoreData) -> tuple[FloatArray, FloatArray]:
    """P_g and D_g, shape (K,) each."""
    found: tuple[FloatArray, FloatArray] = data.total(_shares_and_cases)
    return found


def _shares_and_cases(data: ScorePart) -> tuple[FloatArray, FloatArray]:
    K = data.n_groups
    return group_sums(data.g, data.omega, K), group_sums(data.g, data.omega * data.s, K)


def inverse_slope(data: ScoreData, theta: FloatArray) -> FloatArray:
    """J^{-1}, shape (K, K), zero for the reference."""
    free = np.ix_(data.free, data.free)
    inverse = np.zeros((data.n_groups, data.n_groups))
    inverse[free] = np.linalg.inv(-mean_score(data, theta)[1][free])
    return inverse


def influence_functions(data: ScoreData, theta: FloatArray) -> Iterator[FloatArray]:
    """omega * influence of log P, log D and theta: 3K columns of shape (n,), one at a time."""
    share, cases = shares_and_cases(data)
    rows = data.in_memory("influence_functions")
    return _influence_functions(rows, theta, share, cases, inverse_slope(data, theta))


def _influence_functions(
    data: ScorePart, theta: FloatArray, share: FloatArray, cases: FloatArray, inverse: FloatArray
) -> Iterator[FloatArray]:
    for group in range(data.n_groups):
        yield data.omega * ((data.g == group) / share[group] - 1.0)
    for group in range(data.n_groups):
        yield data.omega * ((data.g == group) * data.s / cases[group] - 1.0)
    U = row_scores(data.with_all_risk(), theta)
    for row in inverse:
        yield data.omega * (U @ row)


def case_information(
    data: ScoreData, theta: FloatArray, design: SamplingDesign
) -> tuple[FloatArray, FloatArray]:
    """Information of the diagnosed on theta, shape (K, K), and the mixing, shape (K,)."""
    each = _patient_weights(data, design)
    count, sums, own, own_both, rows, V, S = data.total(_mix, theta, each=each)
    information = V @ np.linalg.pinv(S, rcond=1e-12, hermitian=True) @ V
    patients = own**2 / np.maximum(own_both, 1e-300)
    most = np.sqrt(np.minimum(1.0, patients / np.maximum(np.diag(information), 1e-300)))
    information *= np.outer(most, most)
    share = sums / max(count, 1)
    most = count * share * (1 - share)
    return information, np.diag(rows) / np.maximum(most, 1e-300)


def _mix(data: ScorePart, of_patient: FloatArray | None, theta: FloatArray) -> tuple[Any, ...]:
    """Over the diagnosed: number, sum of pi*, sums by group of omega and omega a_u, I, V and S."""
    hit, K = data.s > 0.5, data.n_groups
    mix, omega = tilted_propensity(data.propensity[hit], theta), data.omega[hit]
    both = omega * (omega if of_patient is None else of_patient)
    own = (group_sums(data.g[hit], weight, K) for weight in (omega, both))
    sums = (_information(mix, weight) for weight in (np.ones(len(mix)), omega, both))
    return len(mix), mix.sum(axis=0), *own, *sums


def _information(mix: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted sum of diag(pi*) - pi* pi*'."""
    weighted = mix * weight[:, None]
    return np.diag(weighted.sum(axis=0)) - weighted.T @ mix


def _patient_weights(data: ScoreData, design: SamplingDesign) -> list[FloatArray | None]:
    """For the diagnosed of every part, the weight of all diagnosed rows of their patient."""
    if design.patient is None:
        return [None] * len(data.sizes)
    found = data.map(_diagnosed, each=data.cut(design.patient))
    patient, omega = (np.concatenate(column) for column in zip(*found, strict=True))
    _, number = np.unique(patient, return_inverse=True)
    weight = np.bincount(number, omega)[number]
    return list(np.split(weight, np.cumsum([len(own) for own, _ in found])[:-1]))


def _diagnosed(
    data: ScorePart, patient: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.integer[Any]], FloatArray]:
    """Patient and weight of every diagnosed row."""
    hit = data.s > 0.5
    return patient[hit], data.omega[hit]
