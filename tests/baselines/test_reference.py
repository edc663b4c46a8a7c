"""The baselines agree with their authors' code (reference.csv, see reference.md)."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from relprev import as_cohort
from relprev.baselines import SAREM, TIcE
from relprev.baselines.bbe import best_bin
from relprev.baselines.dedpul import density_ratio, negative_share
from relprev.baselines.elkan_noto import recorded_over_rate
from relprev.baselines.km2 import mixture_share
from relprev.baselines.tice import quarters
from tests.baselines.samples import Sample, sample

SAR_EM = 2e-3
TOLERANCE = {
    "DEDPUL": 1e-3, "SAREM": SAR_EM, "SAREM no ridge": SAR_EM, "SAREM group": SAR_EM,
    "SAREM published": 1e-4,
}  # fmt: skip
with (Path(__file__).parent / "reference.csv").open() as file:
    REFERENCE = list(csv.DictReader(file))


def sar_em(data: Sample, **options: object) -> float:
    """Prevalence of the sample, taken as one group; a second one keeps the cohort valid."""
    X, s = np.vstack([data.X, data.X]), np.concatenate([data.s, data.s])
    cohort = as_cohort(X, s, groups=np.repeat(["a", "b"], len(data.s)))
    return float(SAREM(**options).fit(cohort)._summary.condition[0])


def km2(data: Sample, early: bool) -> float:
    return mixture_share(data.X[:300], data.X[data.s == 1][:100], early=early)[0]


def bbe(data: Sample) -> float:
    return best_bin(data.scores[data.s == 1], data.scores[data.s == 0])


def dedpul(data: Sample) -> float:
    scores = data.balanced_scores
    return 1 - negative_share(density_ratio(scores[data.s == 1], scores[data.s == 0]))


def elkan_noto(data: Sample) -> float:
    prevalence = recorded_over_rate(data.scores, data.s, np.ones(len(data.s)))
    return float(data.s.mean() / prevalence)


def tice(data: Sample) -> float:
    folds = [np.flatnonzero(data.folds == fold) for fold in range(5)]
    return TIcE()._rate(quarters(data.X), data.s, folds)


def sar_em_with_groups(data: Sample) -> float:
    model = SAREM(propensity="group").fit(data.X, data.s_by_group, groups=data.groups)
    return float(model.relative_prevalence("0").to_frame()["estimate"].iloc[0])


OURS: dict[str, Callable[[Sample], float]] = {
    "BBE": bbe,
    "DEDPUL": dedpul,
    "ElkanNoto": elkan_noto,
    "TIcE": tice,
    "KM2": lambda data: km2(data, early=False),
    "KM2 published": lambda data: km2(data, early=True),
    "SAREM": sar_em,
    "SAREM no ridge": lambda data: sar_em(data, C=np.inf),
    "SAREM group": sar_em_with_groups,
    "SAREM published": lambda data: sar_em(data, compat="published"),
}


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row['method']}-{row['sample']}")
def test_agrees_with_the_authors_code(row: dict[str, str], request: pytest.FixtureRequest) -> None:
    nhds = None
    if row["sample"] == "nhds":
        nhds = request.getfixturevalue("real_data")("nhds-2010")
    found = OURS[row["method"]](sample(row["sample"], nhds))
    tolerance = TOLERANCE.get(row["method"], 1e-6)
    assert found == pytest.approx(float(row["value"]), abs=tolerance)
    # the difference as printed on the page of evidence
    assert float(row["ours"]) == pytest.approx(found, abs=tolerance)
