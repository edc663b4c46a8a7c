"""Solve the case-only score of one condition; see `relprev.atlas.scan`."""

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
    share: FloatArray, names: Sequence[str], asked: Asked,
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
    errors = np.sqrt(np.diag(V)).reshape(-1, 2)
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
