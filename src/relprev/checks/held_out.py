"""Five splits into train, validation and test parts whose test parts do not overlap.

Patients are dealt into five folds; split k tests on fold k, validates on the next and
trains on the other three: the paper's 60/20/20, and every row is held out exactly once.

Predictions of held-out rows stay where the rows are, in memory or in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.cohort import AnyCohort, Cohort
from relprev.cohort.summary import row_weights
from relprev.model.splits import split
from relprev.partitions import InMemory, Partitions

N_SPLITS = 5
Positions = NDArray[np.int64]


def rotations(cohort: AnyCohort, seed: int) -> Iterator[tuple[Positions, Positions, Positions]]:
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


@dataclass(frozen=True)
class Rows:
    """Rows in memory or in parts.

    Parameters
    ----------
    parts : Partitions
    sizes : tuple of int
        Rows of every part.
    """

    parts: Partitions
    sizes: tuple[int, ...]

    @staticmethod
    def of(cohort: AnyCohort) -> Rows:
        """The cohort's; its parts are cohorts."""
        if isinstance(cohort, Cohort):
            return Rows(InMemory([cohort]), (cohort.n,))
        return Rows(cohort.parts, cohort.sizes)

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """``function(part, *shared)`` or ``function(part, each[k], *shared)`` of every part."""
        return self.parts.map(function, *shared, each=each)

    def derive(self, function: Callable[..., Any], *shared: Any, by: Any = None) -> Rows:
        """What ``function(part, *shared)`` makes of every part, kept where the parts are.

        With an array ``by``, one value a row, the part's own values come after the part.
        """
        each = None if by is None else np.split(by, np.cumsum(self.sizes)[:-1])
        return replace(self, parts=self.parts.derive(function, *shared, each=each))


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
        """The same rows on other memory."""
        return HeldOut(**arrays)

    def scored(self) -> tuple[FloatArray, NDArray[Any], FloatArray]:
        """Prediction, diagnosis and weight of every row."""
        return self.p, self.s, self.weight


Predict = Callable[[Cohort], FloatArray]


def predicted(cohort: Cohort, predict: Predict) -> HeldOut:
    """The rows of one split with their predictions."""
    return predicted_by_split(cohort, np.zeros(cohort.n, dtype=np.uint8), [predict])


def predicted_by_split(
    cohort: Cohort, split_of: NDArray[np.uint8], predict: Sequence[Predict]
) -> HeldOut:
    """The rows with predictions by the model of the split that holds them out."""
    p = np.empty(cohort.n)
    for number, model in enumerate(predict):
        rows = np.flatnonzero(split_of == number)
        if len(rows):
            p[rows] = model(cohort if len(rows) == cohort.n else cohort.take(rows))
    return HeldOut(p, cohort.diagnosed, cohort.groups, row_weights(cohort), split_of)


def diagnosis_by(fitted: Any, cohort: Cohort) -> FloatArray:
    """p(s=1|x,g) by a fitted PURPLE."""
    found: FloatArray = fitted.predict_diagnosis(cohort.X, cohort.group_labels)
    return found
