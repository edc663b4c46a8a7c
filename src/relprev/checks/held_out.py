"""Five splits into training, validation and test parts whose test parts do not overlap.

Patients are divided into five folds. Split k tests on fold k, validates on the next and trains
on the other three: the paper's 60/20/20, with every row held out exactly once.

Checks choose penalties in different ways; the path of penalties is fitted once per split
(`SplitFits`).

Predictions for held-out rows are stored like the rows themselves, in memory or in parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from relprev.arrays import FloatArray
from relprev.cohort import Cohort, CohortPart
from relprev.errors import DataWarning
from relprev.model import PURPLE
from relprev.model.splits import split
from relprev.store.digests import digest

N_SPLITS = 5
Positions = NDArray[np.int64]


def rotations(cohort: Cohort, seed: int) -> Iterator[tuple[Positions, Positions, Positions]]:
    """Row positions of (train, validation, test) for every split.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(2_000, n_codes=100, prevalence=0.3, seed=0).cohort
    >>> sum(len(test) for _, _, test in rotations(cohort, seed=0))
    2000
    """
    folds = split(cohort, [1.0] * N_SPLITS, seed)
    for k in range(N_SPLITS):
        validation = (k + 1) % N_SPLITS
        train = [folds[j] for j in range(N_SPLITS) if j not in (k, validation)]
        yield np.sort(np.concatenate(train)), folds[validation], folds[k]


class SplitFits:
    """PURPLE fitted to training parts; one path serves all ways of choosing a penalty.

    It belongs to one cohort: a training part is recognised by the positions of its rows.
    """

    def __init__(self) -> None:
        self._kept: dict[str, PURPLE] = {}

    def fit(
        self, estimator: PURPLE, cohort: Cohort, train: Positions, validation: Positions
    ) -> PURPLE:
        """The estimator fitted to the training rows, its penalty chosen on the validation rows."""
        rows, others = cohort.take(train), cohort.take(validation)
        settings = {**estimator.get_params(deep=False), "selection": ""}
        key = digest(train, repr(settings))
        with warnings.catch_warnings():  # the fit to all rows has told what is odd about them
            warnings.simplefilter("ignore", DataWarning)
            if key in self._kept:
                return self._kept[key].chosen_by(estimator.selection, rows, others)
            self._kept[key] = fitted = clone(estimator).fit(rows, validation=others)
        return fitted


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows: prediction p(s=1|x,g), diagnosis, group, weight and number of the split."""

    p: FloatArray
    s: NDArray[np.uint8]
    g: NDArray[Any]
    weight: FloatArray
    split: NDArray[np.uint8]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        return dict(vars(self))

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> HeldOut:
        """The same rows, held in other arrays."""
        return HeldOut(**arrays)

    def scored(self) -> tuple[FloatArray, NDArray[Any], FloatArray]:
        """Prediction, diagnosis and weight of every row."""
        return self.p, self.s, self.weight


Predict = Callable[[CohortPart], FloatArray]


def predicted(part: CohortPart, predict: Predict) -> HeldOut:
    """The rows of one split with their predictions."""
    return predicted_by_split(part, np.zeros(part.n, dtype=np.uint8), [predict])


def predicted_by_split(
    part: CohortPart, split_of: NDArray[np.uint8], predict: Sequence[Predict]
) -> HeldOut:
    """The rows, each predicted by the model of the split that holds it out."""
    p = np.empty(part.n)
    for number, model in enumerate(predict):
        rows = np.flatnonzero(split_of == number)
        if len(rows):
            p[rows] = model(part if len(rows) == part.n else part.take(rows))
    return HeldOut(p, part.diagnosed, part.groups, part.row_weights, split_of)


def diagnosis_by(fitted: Any, part: CohortPart) -> FloatArray:
    """p(s=1|x,g) according to a fitted PURPLE."""
    found: FloatArray = fitted.predict_diagnosis(part.X, part.group_labels)
    return found
