"""Data sets on which the baselines were compared with their authors' code.

Three simulated ones: two Gaussians in two dimensions, at the origin (negatives) and at (shift,
shift), a known share of positives, a known share of them diagnosed. Two real ones come with
scikit-learn (breast cancer; handwritten digits, 8 and 9 against the others), and one is a draw of
the semi-synthetic experiment on NHDS 2010. In the real ones scores are those of a logistic
regression. Groups serve methods that use several: every second row is in group 1, where half of
the diagnoses are missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from relprev.experiments import semisynthetic

SETTINGS = {  # shift, prevalence, diagnosis rate, seed
    "apart": (4.0, 0.3, 0.5, 1),
    "overlapping": (1.5, 0.3, 0.4, 2),
    "common": (2.0, 0.6, 0.3, 3),
}
REAL = {"breast-cancer": 4, "digits": 5}  # seed of the diagnoses
N = 2000
RATE = 0.5  # of the real ones
NHDS_USES = 20


@dataclass(frozen=True)
class Sample:
    X: np.ndarray
    y: np.ndarray
    s: np.ndarray
    scores: np.ndarray  # p(s=1|x)

    @property
    def folds(self) -> np.ndarray:
        return np.arange(len(self.s)) % 5

    @property
    def groups(self) -> np.ndarray:
        return np.arange(len(self.s)) % 2

    @property
    def s_by_group(self) -> np.ndarray:
        """Recorded diagnoses when group 1 misses half of them."""
        return np.where(np.arange(len(self.s)) % 4 == 1, 0, self.s)

    @property
    def balanced_scores(self) -> np.ndarray:
        """p(s=1|x) if diagnosed and undiagnosed rows weighed the same."""
        odds = self.scores / (1 - self.scores) * (1 - self.s.mean()) / self.s.mean()
        return odds / (1 + odds)


@lru_cache
def sample(name: str, nhds: Path | None = None) -> Sample:
    """A data set by its name; ``nhds`` is the folder of the survey."""
    if name == "nhds":
        return _nhds(nhds)
    return _simulated(*SETTINGS[name]) if name in SETTINGS else _real(name)


def _simulated(shift: float, prevalence: float, rate: float, seed: int) -> Sample:
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < prevalence).astype(np.int64)
    X = rng.standard_normal((N, 2)) + shift * y[:, None]
    s = ((rng.random(N) < rate) & (y == 1)).astype(np.int64)
    log_odds = np.log(prevalence / (1 - prevalence)) + shift * (X.sum(axis=1) - shift)
    return Sample(X, y, s, rate * expit(log_odds))


def _real(name: str) -> Sample:
    if name == "breast-cancer":
        X, benign = load_breast_cancer(return_X_y=True)
        X, y = StandardScaler().fit_transform(X), 1 - benign
    else:
        X, digit = load_digits(return_X_y=True)
        X, y = X / 16, (digit >= 8).astype(np.int64)
    rng = np.random.default_rng(REAL[name])
    return _scored(X, y, ((rng.random(len(y)) < RATE) & (y == 1)).astype(np.int64))


def _nhds(folder: Path) -> Sample:
    """Black patients of the draw 'common', c = 0.5: the first N rows, and codes used in them."""
    settings = {"setting": "common", "rate_b": 0.5, "variant": "paper", "data": f"nhds:{folder}"}
    data = semisynthetic.simulate(settings, 0)
    rows = np.flatnonzero(data.cohort.groups == 0)[:N]
    X = data.cohort.X.take(rows).to_scipy().toarray()
    X = X[:, X.sum(axis=0) >= NHDS_USES]
    return _scored(X, data.condition[rows], data.cohort.diagnosed[rows].astype(np.int64))


def _scored(X: np.ndarray, y: np.ndarray, s: np.ndarray) -> Sample:
    fitted = LogisticRegression(C=0.1, max_iter=5000, tol=1e-10).fit(X, s)
    return Sample(X, y, s, np.round(fitted.predict_proba(X)[:, 1], 12))
