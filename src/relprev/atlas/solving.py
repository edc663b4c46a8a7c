"""Solve the case-only score of one condition, with standard errors.

theta is the root of the score of `relprev.atlas.scan`. The influence of theta (that of the score
with all of the risk, see `relprev.inference.missed`) is

    J^{-1} U_i,   U_i = [1(g_i = g) - pi*_g(x_i)] [s_i - m(x_i) e^{theta_{g_i}}],

of which the cases' part without m is all but a share m of the variance: of rare conditions that
is nothing, and of others it makes standard errors a little too large. In the corrected ratio

    log rho = log sum_A D_g e^{-theta_g} / P_A - log sum_B D_g e^{-theta_g} / P_B

the parts of D and theta almost cancel, and what the others add counts. With two groups it is, for
J = E[m T pi*(1 - pi*)],

    E[m^2 T^2 pi*(1 - pi*)] / J^2 - 1 / P_A - 1 / P_B   <=   h / J,     1 / J = n var(theta),

where h is the mean risk of the cases (`relprev.atlas.informative`). So

    var(log rho) = that of the cases' part + h var(log ratio of diagnosis rates),

which is a little too large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.errors import TooFewCasesError
from relprev.inference.moments import (
    Contrast,
    GroupMoments,
    case_information,
    inverse_slope,
    shares_and_cases,
)
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart, row_scores, solve_score

COLUMNS = (
    "observed_ratio", "diagnosis_ratio", "log_diagnosis_error", "estimate", "std_error",
    "effective_cases", "degrees_of_freedom",
)  # fmt: skip
Positions = NDArray[np.int64]
Asked = Sequence[tuple[int, NDArray[np.int64]]]


def solved(
    data: ScoreData, design: SamplingDesign, rows: Positions, kept: Positions, reference: int,
    share: FloatArray, names: Sequence[str], asked: Asked, risk_of_cases: float = 1.0,
) -> list[dict[str, Any]]:  # fmt: skip
    """Contrasts of one condition.

    Parameters
    ----------
    data : ScoreData
        Propensities of visits, in memory.
    design : SamplingDesign
        Of the same visits.
    rows : integer array
        The condition's cases among them, all in groups that are kept.
    kept : integer array of shape (k,)
        Groups with enough cases.
    reference : int
        Group r, as a position in ``kept``.
    share : array of shape (k,)
        P of the groups kept.
    names : sequence of k str
    asked : sequence of (group, others)
        Contrasts, as positions in ``kept``.
    risk_of_cases : float
        h.

    Returns
    -------
    list of dict
        Values by column, for every contrast; empty if it cannot be solved.
    """
    part = data.in_memory().of_groups(rows, kept, reference)
    part = replace(part, s=np.ones(len(rows)))
    own = ScoreData.of(part.g, part.s, part.omega, part.propensity, part.risk, reference)
    design = design.take(rows)
    if design.degrees_of_freedom < 1:
        return [{} for _ in asked]
    try:
        theta = solve_score(own, tolerance=1e-7)
    except TooFewCasesError:
        return [{} for _ in asked]
    moments = _moments(own, theta, tuple(names), share, design)
    found = [moments.contrast(group, others) for group, others in asked]
    K, inverse = len(kept), inverse_slope(own, theta)
    slopes = np.array([contrast.gradient[[0, 2]] for contrast in found]).reshape(-1, 3 * K)
    V = design.covariance_in_parts(
        own, _influence, theta, slopes[:, K : 2 * K] / np.exp(moments.log_cases),
        slopes[:, 2 * K :] @ inverse,
    )  # fmt: skip
    variances = np.diag(V).reshape(-1, 2).copy()
    variances[:, 0] += risk_of_cases * variances[:, 1]
    errors = np.sqrt(variances)
    return [
        _row(contrast, error, moments.degrees_of_freedom)
        if moments.has_estimate[[group, *others]].all()
        else {}
        for contrast, error, (group, others) in zip(found, errors, asked, strict=True)
    ]


def _moments(
    own: ScoreData, theta: FloatArray, names: tuple[str, ...], share: FloatArray,
    design: SamplingDesign,
) -> GroupMoments:  # fmt: skip
    information, mixing = case_information(own, theta, design)
    unknown = np.full((3 * len(names), 3 * len(names)), np.nan)
    return GroupMoments(
        names, np.log(share), np.log(shares_and_cases(own)[1]), theta, unknown, information, mixing,
        design.degrees_of_freedom,
    )  # fmt: skip


def _influence(
    data: ScorePart, theta: FloatArray, of_cases: FloatArray, of_score: FloatArray
) -> Iterator[FloatArray]:
    """omega * influence of combinations of log D and theta, of the cases."""
    U = row_scores(data, theta)
    for own, score in zip(of_cases, of_score, strict=True):
        yield data.omega * (own[data.g] + U @ score)


def _row(contrast: Contrast, errors: FloatArray, df: int) -> dict[str, Any]:
    corrected, recorded, diagnosis = np.exp(contrast.values)
    values = (
        recorded, diagnosis, errors[1], corrected, errors[0], contrast.effective_cases,
        min(df, max(contrast.effective_cases, 1.0)),
    )  # fmt: skip
    return dict(zip(COLUMNS, map(float, values), strict=True))
