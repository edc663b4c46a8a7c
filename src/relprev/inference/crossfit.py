"""Both nuisances for one deal of folds: fitted, chosen and put together, and the root they give.

    linear models   →  what do they miss? (`adaptive`)  →  richer models where asked  →  score

Each nuisance is either adaptive, or always the linear one ("ridge", "purple"), or a classifier of
the user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.inference.adaptive import (
    CLEARLY,
    Look,
    combined_risks,
    mean_gain,
    mixed,
    with_propensity_of,
)
from relprev.inference.learners import classifier_out_of_fold
from relprev.inference.missed import with_missed_risk
from relprev.inference.nuisance import (
    CrossFitted,
    PurpleRisk,
    RidgePropensity,
    bounded,
    cross_fit,
    recalibrated,
    score_data,
)
from relprev.inference.risk_error import RiskShape, with_risk_error
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart, solve_score
from relprev.inference.trees import CLEARLY as TREES_CLEARLY
from relprev.inference.trees import compact, fit_trees, probe
from relprev.model.expansion import Expansion
from relprev.model.likelihood import Parameters, Problem
from relprev.parallel.threads import one_blas_thread
from relprev.progress import Advance

ADAPTIVE = "adaptive"


@dataclass(frozen=True)
class Settings:
    """How the nuisances are to be fitted; as in `DebiasedPURPLE`."""

    propensity: Any
    risk: Any
    strengths: Sequence[float]
    lambdas: Sequence[float]
    tuning_folds: int | None
    seed: int
    first: Fitted | None = None

    def like(self, fitted: Fitted) -> Settings:
        """Those of further deals of folds: what the first one chose is not chosen again."""
        same = replace(self, first=fitted)
        if isinstance(self.propensity, str):
            same = replace(same, strengths=[fitted.linear[0]])
        if isinstance(self.risk, str):
            same = replace(same, lambdas=[fitted.linear[1]])
        return same


@dataclass(frozen=True)
class Fitted:
    """Nuisances of one deal of folds.

    Parameters
    ----------
    data : ScoreData
        Rows with both nuisances, and what their errors add to variances.
    theta : array of shape (K,)
        Root of the score.
    strength, lambda_, slope : float
        Of the propensities' ridge, the risk's penalty, and of the risk on itself.
    propensity_tuning, risk_tuning : pandas.DataFrame or None
    propensity_model, risk_model : str
        What was chosen, such as "linear" or "0.9 expanded + 0.1 trees".
    expansion : Expansion or None
        The features that were tried beyond x; None if neither nuisance is adaptive.
    linear : (strength, lambda)
        Of the linear models, also where richer ones are used.
    """

    data: ScoreData
    theta: FloatArray
    strength: float
    lambda_: float
    slope: float
    propensity_tuning: pd.DataFrame | None
    risk_tuning: pd.DataFrame | None
    propensity_model: str
    risk_model: str
    expansion: Expansion | None = None
    linear: tuple[float, float] = (float("nan"), float("nan"))

    def uses(self, name: str) -> tuple[bool, bool]:
        """Whether the propensities, and the risk, use such a model, "expanded" or "trees"."""
        return name in self.propensity_model, name in self.risk_model


@dataclass(frozen=True)
class Deal:
    """What the nuisances of one deal of folds are fitted to.

    Parameters
    ----------
    problem : Problem
    design : SamplingDesign
        Of the same rows.
    folds : sequence of row positions
    reference : int
        Group r.
    n_patients : int
    settings : Settings
    advance : function of a step's name
    """

    problem: Problem
    design: SamplingDesign
    folds: Sequence[NDArray[np.int64]]
    reference: int
    n_patients: int
    settings: Settings
    advance: Advance

    @one_blas_thread()
    def fit(self) -> Fitted:
        """Fit, choose, and solve the score."""
        groups = self._groups()
        diagnoses = self._diagnoses(groups)
        plain = self._score(groups, diagnoses)
        data, shape = self._with_linear_risk(plain, diagnoses)
        theta = solve_score(data)
        linear = groups.strength, diagnoses.strength
        found = _Found(groups, diagnoses, data, shape, self.problem, self.problem, linear)
        if self.settings.propensity == ADAPTIVE or self.settings.risk == ADAPTIVE:
            found = _Richer(self, plain, found, theta).chosen()
            theta = solve_score(found.data, start=theta) if found.changed else theta
        return self._with_errors(found, theta)

    # -- linear models and classifiers -----------------------------------------------------

    def _groups(self) -> _Nuisance:
        wanted = self.settings.propensity
        if isinstance(wanted, str):
            return self.ridge(self.problem)
        rows = self.problem.in_memory("a classifier as propensity")
        values = classifier_out_of_fold(
            wanted, rows.X.to_scipy(), rows.g, rows.n_groups, rows.omega, self.folds,
            self.settings.seed,
        )  # fmt: skip
        tuned = self.ridge(self.problem)  # the ridge with which such propensities may err
        return _Nuisance(bounded(values), tuned.strength, None, type(wanted).__name__)

    def ridge(self, problem: Problem, strength: float | None = None) -> _Nuisance:
        """Ridge propensities on these features, of a strength that is known or to be chosen."""
        settings = self.settings
        strengths = settings.strengths if strength is None else [strength]
        found = cross_fit(
            RidgePropensity(problem, self.n_patients), self.folds, strengths,
            tuning_folds=settings.tuning_folds,
            advance=lambda step: self.advance(f"propensities, {step}"),
        )  # fmt: skip
        return _Nuisance.of(found)

    def purple(self, problem: Problem, penalty: float | None = None) -> _Nuisance:
        """PURPLE's risk on these features, with a penalty that is known or to be chosen."""
        settings = self.settings
        lambdas = settings.lambdas if penalty is None else [penalty]
        found = cross_fit(
            PurpleRisk(problem), self.folds, lambdas, tuning_folds=settings.tuning_folds,
            advance=lambda step: self.advance(f"risk, {step}"),
        )  # fmt: skip
        return _Nuisance.of(found)

    def _diagnoses(self, groups: _Nuisance) -> _Nuisance:
        wanted = self.settings.risk
        if wanted is None:
            return _Nuisance(None, float("nan"), None, "none")
        if isinstance(wanted, str):
            return self.purple(self.problem)
        rows = self.problem.in_memory("a classifier as risk")
        values = classifier_out_of_fold(
            wanted, rows.X.to_scipy(), rows.s, 2, rows.omega, self.folds, self.settings.seed
        )[:, 1]
        data = self._score(groups, _Nuisance(None, float("nan"), None, "none"))
        share = data.in_memory().propensity @ np.exp(solve_score(data))
        return _Nuisance(values / share, float("nan"), None, type(wanted).__name__)

    def _score(self, groups: _Nuisance, diagnoses: _Nuisance) -> ScoreData:
        return score_data(self.problem, self.folds, groups.models, diagnoses.models, self.reference)

    def _with_linear_risk(self, plain: ScoreData, diagnoses: _Nuisance) -> tuple[ScoreData, _Shape]:
        if diagnoses.models is None:
            return plain, _Shape(float("nan"), None)
        data, refit = recalibrated(plain)
        if not isinstance(diagnoses.models, list):
            return data, _Shape(refit.slope, None)
        own = float(np.mean([model.c[self.reference] for model in diagnoses.models]))
        rate = refit.rate if refit.found else own
        return data, _Shape(refit.slope, RiskShape(diagnoses.pull(), rate))

    # -- errors ----------------------------------------------------------------------------

    def _with_errors(self, found: _Found, theta: FloatArray) -> Fitted:
        data = with_missed_risk(
            found.data, found.of_groups, theta, self.folds, found.groups.strength, self.n_patients
        )
        if found.shape.can_err is not None:
            data = with_risk_error(
                data, found.of_diagnoses, theta, found.shape.can_err, self.n_patients
            )
        groups, diagnoses = found.groups, found.diagnoses
        named = not isinstance(self.settings.propensity, str)
        return Fitted(
            data, theta, float("nan") if named else groups.strength, diagnoses.strength,
            found.shape.slope, groups.tuning, diagnoses.tuning, groups.words, diagnoses.words,
            found.expansion, found.linear,
        )  # fmt: skip


@dataclass(frozen=True)
class _Nuisance:
    """Models, one per fold, or a classifier's values; None: no risk."""

    models: Any
    strength: float
    tuning: pd.DataFrame | None
    words: str

    @staticmethod
    def of(found: CrossFitted) -> _Nuisance:
        return _Nuisance(found.models, found.strength, found.tuning, "linear")

    def pull(self) -> FloatArray:
        """lambda / |beta_j| of a risk by PURPLE, shape (p,); infinite where beta_j is zero."""
        size = np.mean([np.abs(model.w) for model in self.models], axis=0)
        some = size > 0
        return np.where(some, self.strength / np.where(some, size, 1.0), np.inf)


@dataclass(frozen=True)
class _Shape:
    """Slope of the risk on itself, and what of it can err."""

    slope: float
    can_err: RiskShape | None


@dataclass(frozen=True)
class _Found:
    """Nuisances as they stand, and the problems whose features they use."""

    groups: _Nuisance
    diagnoses: _Nuisance
    data: ScoreData
    shape: _Shape
    of_groups: Problem
    of_diagnoses: Problem
    linear: tuple[float, float]
    changed: bool = False
    expansion: Expansion | None = None


@dataclass
class _Richer:
    """Richer models where the linear ones miss something.

    ``plain`` has the risk as PURPLE gave it, ``found.data`` as it was refitted on itself.
    """

    deal: Deal
    plain: ScoreData
    found: _Found
    theta: FloatArray

    def chosen(self) -> _Found:
        """The nuisances to use."""
        deal, settings = self.deal, self.deal.settings
        recipe, asked = self._asked()
        self.found = replace(self.found, expansion=recipe)
        ask_groups = asked[0] and settings.propensity == ADAPTIVE
        ask_diagnoses = asked[1] and settings.risk == ADAPTIVE
        if ask_groups or ask_diagnoses:
            expanded = recipe.of(deal.problem)
            if ask_groups:
                self._groups(expanded)
            if ask_diagnoses:
                self._diagnoses(expanded)
        first = settings.first
        if ask_groups if first is None else first.uses("trees")[0]:
            self._trees(recipe)
        return self.found

    def _asked(self) -> tuple[Expansion, tuple[bool, bool]]:
        """New features, and whether each nuisance is to be fitted again with them."""
        deal, first = self.deal, self.deal.settings.first
        if first is not None and first.expansion is not None:
            return first.expansion, first.uses("expanded")
        look = Look.at(deal.problem, self.found.data, self.theta)
        recipe = look.recipe(deal.problem, risk=deal.settings.risk == ADAPTIVE)
        return recipe, look.asks(recipe)

    def _groups(self, expanded: Problem) -> None:
        """Take the expanded propensities if they are clearly better."""
        deal, first = self.deal, self.deal.settings.first
        richer = deal.ridge(expanded, None if first is None else first.strength)
        values = score_data(expanded, deal.folds, richer.models, None, deal.reference)
        gain, error = mean_gain(self.found.data, values, deal.design)
        if gain > CLEARLY * error:
            both, a = mixed(self.found.data, values)
            self._use_groups(both, replace(richer, words=_words(a, ["linear", "expanded"])))
            self.found = replace(self.found, of_groups=expanded)

    def _use_groups(self, both: ScoreData, richer: _Nuisance) -> None:
        self.plain = with_propensity_of(self.plain, both)
        data = with_propensity_of(self.found.data, both)
        self.found = replace(self.found, data=data, groups=richer, changed=True)

    def _diagnoses(self, expanded: Problem) -> None:
        """Take the expanded risk, beside the linear one, if the likelihood rises."""
        deal, first = self.deal, self.deal.settings.first
        richer = deal.purple(expanded, None if first is None else first.lambda_)
        values = score_data(
            expanded, deal.folds, None, richer.models, deal.reference
        )  # its propensities are not used
        self._use_risk(values, richer, expanded, "expanded")

    def _use_risk(self, values: ScoreData, richer: _Nuisance, features: Problem, name: str) -> None:
        found = self.found
        better = combined_risks([self.plain, values])
        if better is None:
            return
        data = found.data.holding(found.data.derive(_own_risk, each=better.data.handles))
        shape = found.shape.can_err
        if isinstance(richer.models, list) and isinstance(richer.models[0], Parameters):
            pull, linear = richer.pull(), found.diagnoses.pull()
            pull[: len(linear)] = np.minimum(pull[: len(linear)], linear)
            shape = RiskShape(pull, better.rate)
        words = _words(better.slopes, [found.diagnoses.words, name])
        self.found = replace(
            found, data=data, shape=_Shape(float(better.slopes.sum()), shape), changed=True,
            diagnoses=replace(richer, words=words), of_diagnoses=features,
        )  # fmt: skip

    def _trees(self, recipe: Expansion) -> None:
        """Trees beside the other propensities, where a small forest finds something left."""
        deal, found = self.deal, self.found
        look = Look.at(deal.problem, found.data, self.theta)
        columns = compact(
            look.group_z(), np.array([score.column for score in recipe.scores], dtype=np.int64)
        )
        seed = deal.settings.seed
        if probe(look.X, columns, look.groups[:, 1:], seed) < TREES_CLEARLY:  # they sum to zero
            return
        deal.advance("trees of the groups")
        models = fit_trees(deal.problem, deal.folds, columns, "g", seed)
        values = score_data(deal.problem, deal.folds, models, None, deal.reference)
        both, a = mixed(found.data, values)
        gain, error = mean_gain(found.data, both, deal.design)
        if gain > CLEARLY * error:
            words = _words(a, [found.groups.words, "trees"])
            self._use_groups(both, replace(found.groups, words=words))


def _own_risk(data: ScorePart, other: ScorePart) -> ScorePart:
    return replace(data, risk=other.risk)


def _words(weights: FloatArray, names: Sequence[str]) -> str:
    """Such as "0.9 expanded + 0.1 trees"."""
    share = weights / weights.sum()
    kept = [(w, name) for w, name in zip(share, names, strict=True) if w > 0]
    if len(kept) == 1:
        return kept[0][1]
    return " + ".join(f"{w:.2f} ({name})" if "+" in name else f"{w:.2f} {name}" for w, name in kept)
