"""The baselines agree with their authors' code (reference.csv, see reference.md)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from relprev.baselines import TIcE
from relprev.baselines.bbe import best_bin
from relprev.baselines.dedpul import density_ratio, negative_share
from relprev.baselines.km2 import mixture_share
from relprev.baselines.sar_em import fixed_rate_prevalence, most_likely
from relprev.baselines.tice import quarters
from relprev.matrix import as_matrix
from relprev.model.likelihood import Problem
from tests.baselines.samples import Sample, sample

TOLERANCE = {"DEDPUL": 1e-3, "SAREM published": 2e-3, "SAREM normalised": 2e-3}
with (Path(__file__).parent / "reference.csv").open() as file:
    REFERENCE = list(csv.DictReader(file))


def problem(data: Sample) -> Problem:
    n = len(data.s)
    return Problem.of(
        as_matrix(data.X)[0], data.s.astype(np.uint8), np.zeros(n, np.uint8), np.full(n, 1 / n), 1
    )


def ours(method: str, data: Sample) -> float:
    diagnosed = data.s == 1
    positive, unlabeled = data.scores[diagnosed], data.scores[~diagnosed]
    if method == "BBE":
        return best_bin(positive, unlabeled)
    if method == "DEDPUL":
        return 1 - negative_share(density_ratio(positive, unlabeled))
    if method == "TIcE":
        folds = [np.flatnonzero(data.folds == fold) for fold in range(5)]
        return TIcE()._rate(quarters(data.X), data.s, folds)
    if method == "KM2":
        return mixture_share(data.X[:300], data.X[diagnosed][:100])[0]
    if method == "SAREM published":
        return fixed_rate_prevalence(problem(data), float(data.s.mean()))
    assert method == "SAREM normalised"
    return float(most_likely(problem(data)).evaluation.condition[0])


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row['method']}-{row['sample']}")
def test_agrees_with_the_authors_code(row: dict[str, str]) -> None:
    tolerance = TOLERANCE.get(row["method"], 1e-6)
    assert ours(row["method"], sample(row["sample"])) == pytest.approx(
        float(row["value"]), abs=tolerance
    )
