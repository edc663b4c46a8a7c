"""Estimates of control conditions with the target's propensities.

Of a control that is recorded equally well in all groups, log(corrected / recorded ratio) should be
zero. It is minus the log ratio of diagnosis rates,

    e_k = theta_b - theta_a   (versus one group),

whose variance does not depend on how common the condition is in the groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import numbered
from relprev.cohort import Cohort
from relprev.cohort.origin import about, origin_of
from relprev.controls.nuisances import ControlRisk, Sample, control_risk, with_risk
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.estimates import COMPLEMENT, contrasts
from relprev.inference import DebiasedPURPLE
from relprev.inference.estimable import rows_used
from relprev.inference.moments import Contrast, diagnosis_contrasts
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart, solve_score
from relprev.model.likelihood import Problem, ProblemPart
from relprev.progress import progress

MIN_CASES = 20  # recorded patients (visits, where these are not known) that a control needs
STREAM = 11  # of random numbers, apart from those of folds and samples
DEFAULT_PENALTY = 1e-4  # where the condition's own risk has none
COLUMNS = (
    "control", "group", "versus", "n_recorded", "observed_ratio", "log_error", "std_error",
    "effective_cases", "degrees_of_freedom", "auc", "auc_std_error",
)  # fmt: skip


def control_estimates(
    fitted: DebiasedPURPLE, cohort: Cohort, *, versus: str = COMPLEMENT, verbose: bool = False
) -> pd.DataFrame:
    """Estimate every control of a cohort as its condition was.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted to the cohort.
    cohort : Cohort
        With ``controls``; their codes, and those of the condition, must not be among its features.
    versus : str
        As in ``relative_prevalence``.
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    pandas.DataFrame
        One row per control and contrast: visits with the control (n_recorded, in groups that have
        enough of them) and recorded ratio, logarithm of the corrected over the recorded ratio with
        its standard error, and the effective cases and degrees of freedom behind it; how well the
        features predict the control (AUC within groups and its standard error; NaN without a risk
        model). NaN where a group has too few recorded cases.

    Notes
    -----
    Formula: :mod:`relprev.controls.estimates`. The controls' risk:
    :mod:`relprev.controls.nuisances`.

    Examples
    --------
    >>> from relprev.simulate import visits_with_controls
    >>> cohort = visits_with_controls(10_000, n_controls=2, prevalence=0.03, seed=1).cohort
    >>> fitted = DebiasedPURPLE(lambdas=1e-4, strengths=[3.0]).fit(cohort)
    >>> control_estimates(fitted, cohort, versus="Group B")["control"].tolist()
    ['control 1', 'control 2']
    """
    if not cohort.control_names:
        raise InvalidInputError(
            "the cohort has no controls; give as_cohort(..., controls=...) a table with one 0/1 "
            "column per control condition"
        )
    target = _Target.of(fitted, cohort)
    rows: list[dict[str, Any]] = []
    with progress("Controls", len(cohort.control_names), verbose) as advance:
        for number, name in enumerate(cohort.control_names):
            advance(name)
            rows += target.control(number, name, contrasts(fitted.groups_, versus))
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True, eq=False)
class ControlRows:
    """Rows that a control is estimated on: those of groups with enough of its cases."""

    problem: Problem
    data: ScoreData
    design: SamplingDesign
    fold: NDArray[Any]
    names: tuple[str, ...]

    def of_groups(self, kept: NDArray[np.int64], groups: NDArray[Any]) -> ControlRows:
        """Those of some groups only; ``groups`` (n,) are the rows' groups."""
        if len(kept) == len(self.names):
            return self
        rows = np.flatnonzero(np.isin(groups, kept))
        largest = kept[np.argmax(self.problem.group_weight[kept])]
        chosen = self.data.reference if self.data.reference in kept else largest
        reference = int(np.searchsorted(kept, chosen))
        data = self.data.pick(_score_of_groups, rows, kept, reference)
        problem = self.problem.pick(_problem_of_groups, rows, self.problem.weight(rows), kept)
        return ControlRows(
            Problem.made_of(problem, self.problem.n_cols, len(kept)),
            ScoreData.made_of(data, len(kept), reference),
            self.design.take(rows),
            self.fold[rows],
            tuple(self.names[k] for k in kept),
        )

    @property
    def n_patients(self) -> int:
        patient = self.design.patient
        return self.problem.n if patient is None else len(numbered(patient)[0])


@dataclass(frozen=True, eq=False)
class _Target:
    """What all controls share with the condition."""

    fitted: DebiasedPURPLE
    rows: ControlRows
    groups: NDArray[Any]
    controls: NDArray[np.unsignedinteger[Any]]  # bit k of a row: control k is recorded
    n_diagnosed: int
    share: float  # of the diagnosed

    @staticmethod
    def of(fitted: DebiasedPURPLE, cohort: Cohort) -> _Target:
        kept = rows_used(fitted, cohort)
        problem = Problem.from_cohort(about(kept, origin_of(kept)))
        if fitted.expansion_ is not None and fitted.uses_expansion_:
            problem = fitted.expansion_.of(problem)
        rows = ControlRows(
            problem, fitted.score_data_, fitted.design_, fitted.folds_, kept.group_names
        )
        assert kept.controls is not None
        share = float(problem.diagnosed_weight.sum())
        return _Target(fitted, rows, kept.groups, kept.controls, int(kept.diagnosed.sum()), share)

    def control(
        self, number: int, name: str, wanted: list[tuple[int, int | None]]
    ) -> list[dict[str, Any]]:
        """One row for every contrast."""
        recorded = (self.controls >> number & 1).astype(np.uint8)
        cases = np.flatnonzero(recorded)
        kept, names = np.flatnonzero(self._patients(cases) >= MIN_CASES), self.fitted.groups_
        n_recorded = int(np.isin(self.groups[cases], kept).sum())
        place = {self.rows.names[k]: position for position, k in enumerate(kept)}
        rows: list[dict[str, Any]] = []
        asked: dict[int, tuple[int, NDArray[np.int64]]] = {}
        for g, h in wanted:
            others = [k for k in range(len(names)) if k != g] if h is None else [h]
            versus = COMPLEMENT if h is None else names[h]
            if all(names[k] in place for k in (g, *others)):
                asked[len(rows)] = place[names[g]], np.array([place[names[k]] for k in others])
            head = {"control": name, "group": names[g], "versus": versus, "n_recorded": n_recorded}
            rows.append(head | dict.fromkeys(COLUMNS[4:], float("nan")))
        errors = self._errors(number, recorded, kept, list(asked.values()))
        for row, found in zip(asked, errors, strict=True):
            rows[row] |= found
        return rows

    def _patients(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many patients, or visits, of every group are among the rows, shape (K,)."""
        patient = self.rows.design.patient
        pairs = np.column_stack([self.groups[rows], rows if patient is None else patient[rows]])
        found = np.unique(pairs, axis=0)[:, 0]
        return np.bincount(found.astype(np.int64), minlength=len(self.rows.names))

    def _errors(
        self, number: int, recorded: NDArray[np.uint8], kept: NDArray[np.int64],
        asked: list[tuple[int, NDArray[np.int64]]],
    ) -> list[dict[str, Any]]:  # fmt: skip
        """What a control says about contrasts of groups with enough cases, if it can be solved."""
        nothing: list[dict[str, Any]] = [{} for _ in asked]
        if not asked:
            return nothing
        rows = self.rows.of_groups(kept, self.groups)
        recorded = recorded[np.isin(self.groups, kept)]
        try:
            data, risk = self._with_risk(rows, recorded, number)
            start = None if risk is None else risk.theta
            theta = solve_score(data, start=start, tolerance=1e-7)
        except TooFewCasesError:
            return nothing
        moments, found, covariance = diagnosis_contrasts(
            data, theta, rows.names, rows.design, asked
        )
        auc = (float("nan"), float("nan")) if risk is None else risk.auc
        return [
            _error(contrast, variance, moments.degrees_of_freedom, auc)
            if moments.has_estimate[[group, *others]].all()
            else {}
            for contrast, variance, (group, others) in zip(
                found, np.diag(covariance), asked, strict=True
            )
        ]

    def _with_risk(
        self, rows: ControlRows, recorded: NDArray[np.uint8], number: int
    ) -> tuple[ScoreData, ControlRisk | None]:
        """The score of a control, and its risk."""
        fitted, data = self.fitted, rows.data
        if fitted.risk is None:
            made = data.derive(_without_risk, each=data.cut(recorded))
            return data.holding(made), None
        sample = Sample.of(recorded, np.random.default_rng([fitted.random_state, STREAM, number]))
        noise = self.share / np.sqrt(self.n_diagnosed)
        penalty = DEFAULT_PENALTY if np.isnan(fitted.lambda_) else fitted.lambda_
        risk = control_risk(
            rows.problem, data, rows.fold, sample, [penalty * sample.noise / noise],
            fitted.ridge_, rows.n_patients, rows.design,
        )  # fmt: skip
        each = list(zip(data.cut(rows.fold), data.cut(recorded), data.handles, strict=True))
        return data.holding(rows.problem.derive(with_risk, risk, each=each)), risk


def _error(
    contrast: Contrast, variance: float, df: int, auc: tuple[float, float]
) -> dict[str, Any]:
    """What a control's contrast says."""
    values = (
        np.exp(contrast.values[1]), -contrast.values[2], np.sqrt(variance),
        contrast.effective_cases, min(df, max(contrast.effective_cases, 1.0)), *auc,
    )  # fmt: skip
    return dict(zip(COLUMNS[4:], map(float, values), strict=True))


def _without_risk(part: ScorePart, recorded: NDArray[np.uint8]) -> ScorePart:
    return replace(
        part, s=recorded.astype(float), risk=np.zeros_like(part.risk), missed=None,
        risk_error=None,
    )  # fmt: skip


def _score_of_groups(
    part: ScorePart, where: tuple[NDArray[np.int64], int], kept: NDArray[np.int64], reference: int
) -> ScorePart:
    return part.of_groups(where[0], kept, reference)


def _problem_of_groups(
    part: ProblemPart, where: tuple[NDArray[np.int64], int], weight: float,
    kept: NDArray[np.int64],
) -> ProblemPart:  # fmt: skip
    rows, first_row = where
    g, omega = _renumbered(part.g[rows], kept), part.omega[rows] / weight
    return ProblemPart(part.X.take(rows), part.s[rows], g, omega, len(kept), first_row)


def _renumbered(g: NDArray[Any], kept: NDArray[np.int64]) -> NDArray[Any]:
    return np.searchsorted(kept, g).astype(g.dtype)
