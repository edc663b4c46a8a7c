"""Every condition of a cohort at once, by its cases alone.

Group propensities pi_g(x) do not depend on the condition, so they are fitted once per block of
conditions, without that block's features, and every condition of the block is then solved from its
cases: with theta_g = log(c_g / c_r) for a reference group r,

    sum over the cases of [1(g_i = g) - pi*_g(x_i)] = 0,    pi*_g proportional to pi_g e^{theta_g},

the score of `relprev.inference.score` with m = 0. The influence of theta is zero for everybody
else, so that one more condition costs one pass over its cases. For the corrected ratio

    log rho = log sum_A D_g e^{-theta_g} / P_A - log sum_B D_g e^{-theta_g} / P_B

the groups' shares P are taken as known, which makes intervals of very common conditions a little
too long (by the share of patients who have it).

What this leaves out is the risk model: errors of the propensities enter in first order. They are
alike in all conditions of a block, and so part of what the empirical null
(`relprev.atlas.null`) measures. Conditions that stand out are estimated again with a risk model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import FloatArray, numbered
from relprev.cohort import Cohort
from relprev.cohort.origin import about, origin_of
from relprev.cohort.part import CohortPart
from relprev.errors import TooFewCasesError
from relprev.estimates import COMPLEMENT, contrasts
from relprev.inference.folds import fold_of_rows, folds_of_units
from relprev.inference.moments import (
    Contrast,
    GroupMoments,
    case_information,
    inverse_slope,
    shares_and_cases,
)
from relprev.inference.nuisance import RidgePropensity, cross_fit, score_data
from relprev.inference.propensity import STRENGTHS
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart, row_scores, solve_score
from relprev.model.likelihood import Problem
from relprev.progress import Advance

MIN_CASES = 20  # recorded patients that every group of a contrast needs
COLUMNS = (
    "condition", "block", "group", "versus", "n_recorded", "observed_ratio", "diagnosis_ratio",
    "log_diagnosis_error", "estimate", "log_error", "effective_cases", "degrees_of_freedom",
)  # fmt: skip
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """Conditions that share propensities.

    Parameters
    ----------
    name : str
    conditions : dict of name to column
        Features that are conditions of the block.
    left_out : integer array
        Columns that are no features for them: their own and their siblings'.
    """

    name: str
    conditions: Mapping[str, int]
    left_out: Positions


@dataclass(frozen=True, eq=False)
class Scan:
    """What all conditions share: rows, folds, and models of every block and fold.

    Parameters
    ----------
    cohort : Cohort
        All groups have rows; diagnoses are not used.
    problem : Problem
        Its features, about their origin.
    design : SamplingDesign
    folds : list of row positions
    blocks : sequence of Block
    models : list of lists
        Propensity models of every block and fold.
    reference : int
        Group r.
    """

    cohort: Cohort
    problem: Problem
    design: SamplingDesign
    folds: list[Positions]
    blocks: Sequence[Block]
    models: list[list[Any]]
    reference: int

    @staticmethod
    def of(
        cohort: Cohort, blocks: Sequence[Block], *, folds: int = 5, lonely_psu: str = "fail",
        random_state: int = 0, advance: Advance = lambda _: None,
    ) -> Scan:  # fmt: skip
        """Fit the propensities: those with all features, to choose a strength, then each block's.

        Blocks start from the former, fold by fold, so that a fit takes few steps.
        """
        design = SamplingDesign.from_cohort(cohort, lonely_psu)
        dealt = folds_of_units(design, folds, random_state)
        problem = Problem.from_cohort(about(cohort, origin_of(cohort)))
        n_units = design.n_psus if design.patient is None else len(numbered(design.patient)[0])
        whole = cross_fit(
            RidgePropensity(problem, n_units), dealt, STRENGTHS, tuning_folds=None, advance=advance
        )
        fold = fold_of_rows(dealt)
        models: list[list[Any]] = [[] for _ in blocks]
        for k, start in enumerate(whole.models):
            train = RidgePropensity(problem, n_units).inputs(np.flatnonzero(fold != k))
            for block, own in zip(blocks, models, strict=True):
                advance(f"fold {k + 1}, {block.name}")
                unused = np.isin(np.arange(problem.n_cols), block.left_out)
                learner = RidgePropensity(problem, n_units, unused)
                own.append(learner.fit(train, whole.strength, start))
        reference = int(np.argmax(problem.group_weight))
        return Scan(cohort, problem, design, dealt, blocks, models, reference)

    def table(self, versus: str = COMPLEMENT, advance: Advance = lambda _: None) -> pd.DataFrame:
        """One row per condition and contrast; NaN where a group has too few recorded cases."""
        wanted = contrasts(self.cohort.group_names, versus)
        rows: list[dict[str, Any]] = []
        for block, models in zip(self.blocks, self.models, strict=True):
            advance(block.name)
            data = score_data(self.problem, self.folds, models, None, self.reference)
            found = _cases(self.cohort, list(block.conditions.values()))
            for name, cases in zip(block.conditions, found, strict=True):
                rows += self._condition(block.name, name, data, cases, wanted)
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _condition(
        self, block: str, name: str, data: ScoreData, cases: Positions,
        wanted: list[tuple[int, int | None]],
    ) -> list[dict[str, Any]]:  # fmt: skip
        groups, names = self.cohort.groups[cases], self.cohort.group_names
        kept = np.flatnonzero(self._patients(cases, groups) >= MIN_CASES)
        own = cases[np.isin(groups, kept)]
        place = {int(k): position for position, k in enumerate(kept)}
        head = {"condition": name, "block": block, "n_recorded": len(own)}
        rows, asked = [], {}
        for g, h in wanted:
            others = [k for k in range(len(names)) if k != g] if h is None else [h]
            versus = COMPLEMENT if h is None else names[h]
            if all(k in place for k in (g, *others)):
                asked[len(rows)] = place[g], np.array([place[k] for k in others])
            rows.append(head | {"group": names[g], "versus": versus})
        if asked:
            found = self._solved(data, own, kept, list(asked.values()))
            for row, values in zip(asked, found, strict=True):
                rows[row] |= values
        return rows

    def _patients(self, rows: Positions, groups: NDArray[Any]) -> NDArray[np.int64]:
        """How many patients, or visits, of every group are among the rows, shape (K,)."""
        patient = self.design.patient
        pairs = np.column_stack([groups, rows if patient is None else patient[rows]])
        found = np.unique(pairs, axis=0)[:, 0].astype(np.int64)
        return np.bincount(found, minlength=self.cohort.n_groups)

    def _solved(
        self, data: ScoreData, cases: Positions, kept: Positions,
        asked: list[tuple[int, NDArray[np.int64]]],
    ) -> list[dict[str, Any]]:  # fmt: skip
        nothing: list[dict[str, Any]] = [{} for _ in asked]
        share = self.problem.group_weight[kept]
        chosen = self.reference if self.reference in kept else kept[np.argmax(share)]
        reference = int(np.searchsorted(kept, chosen))
        picked = data.pick(_recorded_cases, cases, kept, reference)
        own = ScoreData.made_of(picked, len(kept), reference).collected()
        design = self.design.take(cases)
        try:
            theta = solve_score(own, tolerance=1e-7)
        except TooFewCasesError:
            return nothing
        names = tuple(self.cohort.group_names[k] for k in kept)
        moments = _moments(own, theta, names, share, design)
        found = [moments.contrast(group, others) for group, others in asked]
        K, inverse = len(kept), inverse_slope(own, theta)
        slopes = np.array([contrast.gradient[[0, 2]] for contrast in found]).reshape(-1, 3 * K)
        V = design.covariance_in_parts(
            own, _influence, theta, slopes[:, K : 2 * K] / np.exp(moments.log_cases),
            slopes[:, 2 * K :] @ inverse,
        )  # fmt: skip
        errors = np.sqrt(np.diag(V)).reshape(-1, 2)
        df = moments.degrees_of_freedom
        return [
            _row(contrast, error, df) if moments.has_estimate[[group, *others]].all() else {}
            for contrast, error, (group, others) in zip(found, errors, asked, strict=True)
        ]


def _cases(cohort: Cohort, columns: list[int]) -> list[Positions]:
    """Rows with each of these features."""
    found = cohort.map(_rows_with, columns, each=cohort.first_rows)
    return [np.concatenate([part[k] for part in found]) for k in range(len(columns))]


def _rows_with(part: CohortPart, first_row: int, columns: list[int]) -> list[Positions]:
    own = part.X.to_scipy()[:, columns].tocsc()
    ends = zip(own.indptr[:-1], own.indptr[1:], strict=True)
    return [np.sort(own.indices[a:b]).astype(np.int64) + first_row for a, b in ends]


def _recorded_cases(
    part: ScorePart, where: tuple[Positions, int], kept: Positions, reference: int
) -> ScorePart:
    return replace(part.of_groups(where[0], kept, reference), s=np.ones(len(where[0])))


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
    return {
        "observed_ratio": recorded, "diagnosis_ratio": diagnosis, "estimate": corrected,
        "log_error": errors[0], "log_diagnosis_error": errors[1],
        "effective_cases": contrast.effective_cases,
        "degrees_of_freedom": min(df, max(contrast.effective_cases, 1.0)),
    }  # fmt: skip
