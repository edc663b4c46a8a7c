"""Every condition of a cohort at once, by its cases alone.

Group propensities pi_g(x) do not depend on the condition, so they are fitted once per block of
conditions, without that block's features, and every condition of the block is then solved from its
cases: with theta_g = log(c_g / c_r) for a reference group r,

    sum over the cases of [1(g_i = g) - pi*_g(x_i)] = 0,    pi*_g proportional to pi_g e^{theta_g},

the score of `relprev.inference.score` with m = 0. One more condition costs one pass over its cases.
Variances (`relprev.atlas.solving`) come from the cases, too.

What this leaves out is the risk model: errors of the propensities enter in first order. They are
alike in all conditions of a block, and so part of what the empirical null
(`relprev.atlas.null`) measures. Conditions that stand out are estimated again with a risk model
(`relprev.atlas.follow_up`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import FloatArray, numbered
from relprev.atlas.cases import Cases, cases_of
from relprev.atlas.conditions import Block
from relprev.atlas.informative import COLUMNS as INFORMATIVE
from relprev.atlas.informative import OthersSample, discrimination_of
from relprev.atlas.solving import COLUMNS, solved
from relprev.checks.feature_counts import numeric_features
from relprev.cohort import Cohort
from relprev.cohort.origin import about, origin_of
from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT, contrasts
from relprev.inference.folds import fold_of_rows, folds_of_units
from relprev.inference.nuisance import RidgePropensity, cross_fit, score_data
from relprev.inference.propensity import STRENGTHS, PropensityModel
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData
from relprev.model.likelihood import Problem
from relprev.progress import Advance

MIN_CASES = 20  # recorded patients that every group of a contrast needs
HEAD = ("condition", "block", "group", "versus", "n_recorded", "n_recorded_versus")


@dataclass(frozen=True)
class Start:
    """Propensities with all features, from which those of a block start.

    Parameters
    ----------
    strength : float
        Of the ridge, chosen out of fold.
    models : list of PropensityModel
        One per fold.
    """

    strength: float
    models: list[PropensityModel]

    def to_frame(self) -> pd.DataFrame:
        """Coefficients and, in the last column, intercepts: one row per fold and group."""
        rows = [np.column_stack([model.coef, model.intercept]) for model in self.models]
        table = pd.DataFrame(np.vstack(rows))
        table.columns = table.columns.astype(str)
        return table.assign(fold=np.repeat(np.arange(len(rows)), [len(one) for one in rows]))

    @staticmethod
    def from_frame(strength: float, table: pd.DataFrame) -> Start:
        """What `to_frame` wrote."""
        models = []
        for _, rows in table.groupby("fold"):
            values = rows.drop(columns="fold").to_numpy(dtype=float)
            models.append(
                PropensityModel(np.ascontiguousarray(values[:, :-1]), values[:, -1].copy())
            )
        return Start(strength, models)


@dataclass(frozen=True, eq=False)
class Scan:
    """What all conditions share.

    Parameters
    ----------
    cohort : Cohort
        Diagnoses are not used.
    n_folds : int
    lonely_psu : str
        As in `SamplingDesign`.
    random_state : int
    unused : tuple of int
        Columns that are features of no condition, such as those that tell the groups.
    """

    cohort: Cohort
    n_folds: int = 5
    lonely_psu: str = "fail"
    random_state: int = 0
    unused: tuple[int, ...] = ()

    @cached_property
    def design(self) -> SamplingDesign:
        """Patients, sampling units and strata of the rows."""
        return SamplingDesign.from_cohort(self.cohort, self.lonely_psu)

    @cached_property
    def folds(self) -> list[NDArray[np.int64]]:
        """Row positions of each fold."""
        return folds_of_units(self.design, self.n_folds, self.random_state)

    @cached_property
    def fold(self) -> NDArray[np.uint8]:
        """Fold of each row, shape (n,)."""
        return fold_of_rows(self.folds)

    @cached_property
    def problem(self) -> Problem:
        """The features, about their origin."""
        return Problem.from_cohort(about(self.cohort, origin_of(self.cohort)))

    @cached_property
    def numeric(self) -> NDArray[np.bool_]:
        """Features that are numbers, shape (p,)."""
        return numeric_features(self.cohort)

    @cached_property
    def groups(self) -> NDArray[Any]:
        """Group of each row, shape (n,)."""
        return self.cohort.groups

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each row, shape (n,)."""
        weights = self.cohort.weights
        return np.ones(self.cohort.n) if weights is None else weights

    @cached_property
    def n_units(self) -> int:
        """Independent units: patients, or sampling units where these are not known."""
        patient = self.design.patient
        return self.design.n_psus if patient is None else len(numbered(patient)[0])

    @cached_property
    def reference(self) -> int:
        """Group r: the largest."""
        return int(np.argmax(self.problem.group_weight))

    @cached_property
    def others(self) -> OthersSample:
        """Visits to compare cases with."""
        return OthersSample.of(self.cohort, self.random_state)

    def start(self, advance: Advance = lambda _: None) -> Start:
        """Choose a strength and fit propensities with all features."""
        found = cross_fit(
            RidgePropensity(self.problem, self.n_units, self._unused(())), self.folds, STRENGTHS,
            tuning_folds=None, advance=advance,
        )  # fmt: skip
        return Start(found.strength, found.models)

    def propensities(self, block: Block, start: Start) -> ScoreData:
        """Out-of-fold propensities of all rows without a block's features, and no risk."""
        learner = RidgePropensity(self.problem, self.n_units, self._unused(block.left_out))
        models = [
            learner.fit(learner.inputs(np.flatnonzero(self.fold != k)), start.strength, begin)
            for k, begin in enumerate(start.models)
        ]
        return score_data(self.problem, self.folds, models, None, self.reference)

    def _unused(self, left_out: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Columns that are not used, shape (p,)."""
        return np.isin(np.arange(self.problem.n_cols), [*self.unused, *left_out])

    def used(self, block: Block) -> NDArray[np.int64]:
        """Columns that are features for the conditions of a block."""
        return np.flatnonzero(~self._unused(block.left_out))

    def cases(self, block: Block) -> Cases:
        """Visits with the conditions of a block."""
        for name, columns in block.conditions.items():
            if self.numeric[columns].any():
                raise InvalidInputError(
                    f"conditions: {name!r} includes a number, which no visit has or lacks; name "
                    "codes, or cut the number into bins"
                )
        return cases_of(self.cohort, self.design, self.groups, block.conditions)

    def counts(self, cases: Cases) -> pd.DataFrame:
        """Columns condition, group, visits and patients (visits where these are not known)."""
        names = self.cohort.group_names
        tables = [
            pd.DataFrame({
                "condition": condition, "group": names, "patients": cases.patients[condition],
                "visits": np.bincount(self.groups[cases.rows[own]], minlength=len(names)),
            })
            for condition, own in cases.of.items()
        ]  # fmt: skip
        return pd.concat(tables, ignore_index=True)

    def table(
        self, block: Block, start: Start, versus: str = COMPLEMENT, cases: Cases | None = None
    ) -> pd.DataFrame:
        """One row per condition of a block and contrast; NaN where cases are too few."""
        wanted = contrasts(self.cohort.group_names, versus)
        cases = self.cases(block) if cases is None else cases
        data = self.propensities(block, start)
        data = data.holding(data.pick(_taken, cases.rows)).collected()
        ranked = discrimination_of(self, block, cases)
        rows: list[dict[str, Any]] = []
        for name in block.conditions:
            rows += self._condition(block.name, name, data, cases, wanted, ranked[name])
        return pd.DataFrame(rows, columns=[*HEAD, *COLUMNS, *INFORMATIVE[:3]])

    def _condition(
        self, block: str, name: str, data: ScoreData, cases: Cases,
        wanted: Sequence[tuple[int, int | None]], ranked: Sequence[float],
    ) -> list[dict[str, Any]]:  # fmt: skip
        names, own = self.cohort.group_names, cases.of[name]
        kept = np.flatnonzero(cases.patients[name] >= MIN_CASES)
        place = {int(k): position for position, k in enumerate(kept)}
        visits = np.bincount(self.groups[cases.rows[own]], minlength=len(names))
        rows: list[dict[str, Any]] = []
        asked = {}
        for g, h in wanted:
            others = [k for k in range(len(names)) if k != g] if h is None else [h]
            if all(k in place for k in (g, *others)):
                asked[len(rows)] = place[g], np.array([place[k] for k in others])
            versus = COMPLEMENT if h is None else names[h]
            counts = int(visits[g]), int(visits[others].sum())
            head = dict(zip(HEAD, (name, block, names[g], versus, *counts), strict=True))
            rows.append(head | dict(zip(INFORMATIVE, ranked, strict=True)))
        if asked:
            share = self.problem.group_weight[kept]
            first = self.reference if self.reference in kept else kept[np.argmax(share)]
            used = own[np.isin(self.groups[cases.rows[own]], kept)]
            found = solved(
                data, cases.design, used, kept, int(np.searchsorted(kept, first)), share,
                [names[k] for k in kept], list(asked.values()), ranked[-1],
            )  # fmt: skip
            for row, values in zip(asked, found, strict=True):
                rows[row] |= values
        return rows


def _taken(part: Any, where: tuple[NDArray[np.int64], int]) -> Any:
    return part.take(where[0])
