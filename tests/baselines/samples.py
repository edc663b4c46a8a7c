"""Data sets on which the baselines were compared with their authors' code.

Two Gaussians in two dimensions, at the origin (negatives) and at (shift, shift), a known
share of positives, a known share of them diagnosed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

SETTINGS = {  # shift, prevalence, diagnosis rate, seed
    "apart": (4.0, 0.3, 0.5, 1),
    "overlapping": (1.5, 0.3, 0.4, 2),
    "common": (2.0, 0.6, 0.3, 3),
}
N = 2000


@dataclass(frozen=True)
class Sample:
    X: np.ndarray
    y: np.ndarray
    s: np.ndarray
    folds: np.ndarray
    scores: np.ndarray  # p(s=1|x), exact

    @property
    def unlabeled_share(self) -> float:
        """Share of positives among the undiagnosed."""
        return float(self.y[self.s == 0].mean())


def sample(name: str) -> Sample:
    shift, prevalence, rate, seed = SETTINGS[name]
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < prevalence).astype(np.int64)
    X = rng.standard_normal((N, 2)) + shift * y[:, None]
    s = ((rng.random(N) < rate) & (y == 1)).astype(np.int64)
    log_odds = np.log(prevalence / (1 - prevalence)) + shift * (X.sum(axis=1) - shift)
    return Sample(X, y, s, np.arange(N) % 5, rate * expit(log_odds))
