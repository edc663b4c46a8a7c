"""Are diagnoses predicted better if symptoms may mean something different in each group?

In PURPLE, groups share p(y=1|x). The unconstrained model has all interactions of group and
feature: a logistic regression of s on x within each group, whose L1 penalty is shared by the
groups and chosen on the validation part by the same score as PURPLE's. If it predicts held-out
diagnoses better, p(y=1|x) is not shared.

The interval of the mean difference over the J = 5 splits allows for overlapping training parts
(Nadeau and Bengio 2003): variance (1 / J + n_test / n_train) * SD^2, df J - 1.

A difference of AUCs does not say how much groups differ: a large difference in meaning may hardly
change a rank. So the verdict rests on the factor by which the ratio of the groups' odds changes
between symptoms of equal risk (`relprev.checks.stacking`), which is 1 or more: a concern if its
interval excludes 1 and reaches beyond the margin, no concern if it lies within. A ratio that
drifts with risk is not counted; that is what calibration and constant ratio look for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from relprev.arrays import FloatArray
from relprev.checks.check import Axes, Check, CheckResult, Verdict, margin_words
from relprev.checks.held_out import (
    N_SPLITS,
    HeldOut,
    Predict,
    SplitFits,
    diagnosis_by,
    predicted,
    rotations,
)
from relprev.checks.inputs import MARGIN
from relprev.checks.stacking import LogOdds, Violation, stacked, violation
from relprev.cohort import Cohort, CohortPart
from relprev.cohort.origin import about, origin_of
from relprev.disclosure.columns import Column
from relprev.messages import Message, Number, joined
from relprev.model import PURPLE
from relprev.model.likelihood import Parameters, Problem, ProblemPart
from relprev.model.path import RIDGE_FLOOR, grid, ridge
from relprev.model.quadratic import Penalty
from relprev.model.ranking import Ranking, ranking
from relprev.model.solver import Solution, solve, warn_unless_converged

NEVER = -30.0  # log-odds in a group without diagnoses
SCORES = {"AUC": attrgetter("auc"), "AUPRC": attrgetter("average_precision")}


def check_unconstrained(
    cohort: Cohort, estimator: PURPLE | None = None, *, level: float = 0.95,
    margin: float = MARGIN, random_state: int = 0, fits: SplitFits | None = None,
) -> CheckResult:  # fmt: skip
    """Compare PURPLE with a model with all group-feature interactions, on held-out patients.

    Parameters
    ----------
    cohort : Cohort
        Every row is held out once.
    estimator : PURPLE, optional
        Default: ``PURPLE(selection="auc")``, the paper's choice.
    level : float
        Confidence level of the intervals.
    margin : float
        A factor between the groups' odds below this is no concern.
    random_state : int
        Seed of the splits.
    fits : SplitFits, optional
        Fits to the same cohort that another check has made, and may use.

    Returns
    -------
    CheckResult
        A concern if the unconstrained model knows more than chance allows. ``statistic`` is the
        factor by which the ratio of odds changes between symptoms, and ``interval`` its interval.

    Notes
    -----
    Formula: :mod:`relprev.checks.unconstrained`, :mod:`relprev.checks.stacking`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.3), n=(2000, 3000), seed=0).cohort
    >>> print(check_unconstrained(cohort, PURPLE(lambdas=[1e-4])).verdict)  # too few cases
    cannot tell
    """
    estimator = PURPLE(selection="auc") if estimator is None else estimator
    fits = SplitFits() if fits is None else fits
    rows, split_of = [], np.empty(cohort.n, dtype=np.uint8)
    shared: list[Predict] = []
    own: list[LogOdds] = []
    for number, (train, validation, test) in enumerate(rotations(cohort, random_state)):
        parts = [cohort.take(part) for part in (train, validation, test)]
        fitted = fits.fit(estimator, cohort, train, validation)
        by_group = _unconstrained(parts[0], parts[1], estimator)
        models: dict[str, Predict] = {
            "constrained": partial(diagnosis_by, fitted),
            "unconstrained": partial(_by_group, by_group),
        }
        split_of[test] = number
        shared.append(models["constrained"])
        own.append(partial(_in_every_group, by_group))
        ranks = {name: _ranked(parts[2], model) for name, model in models.items()}
        for metric, of in SCORES.items():
            values = {name: of(rank) for name, rank in ranks.items()}
            rows.append({"split": number, "metric": metric} | values)
    table = pd.DataFrame(rows)
    table = table.assign(difference=table["unconstrained"] - table["constrained"])
    held_out = cohort.derive(stacked, shared, own, each=cohort.cut(split_of))
    found = violation(held_out, cohort, level)
    verdict = Verdict.of_interval(found.low, found.high, margin)
    said = [_effect(table, *_interval(table, level)), _factor_words(found)]
    said += margin_words(verdict, found.low, found.high, margin)
    return CHECK.result(
        verdict, joined(said), table, statistic=found.factor, interval=(found.low, found.high)
    )


def _factor_words(found: Violation) -> Message:
    if found.factor != found.factor:
        return Message("Both predict the same, so nothing can be told about the groups' own risks.")
    return Message(
        "From one kind of symptoms to another, the ratio of the groups' odds changes by a factor "
        "of {factor} ({low} to {high}); 1 if risk at equal symptoms is shared.",
        factor=Number(found.factor, ".2f"), low=Number(found.low, ".2f"),
        high=Number(found.high, ".2f"),
    )  # fmt: skip


def _effect(table: pd.DataFrame, low: float, middle: float, high: float) -> Message:
    scores = [
        Number(float(table.loc[table["metric"] == metric, model].mean()), ".3f")
        for metric in SCORES
        for model in ("constrained", "unconstrained")
    ]
    return Message(
        "AUC {auc} with shared p(y|x), {auc_own} without: difference {middle} ({low} to {high}). "
        "AUPRC {auprc} and {auprc_own}.",
        middle=Number(middle, "+.3f"), low=Number(low, "+.3f"), high=Number(high, "+.3f"),
        **dict(zip(("auc", "auc_own", "auprc", "auprc_own"), scores, strict=True)),
    )  # fmt: skip


def _interval(table: pd.DataFrame, level: float) -> tuple[float, float, float]:
    """Mean difference of the AUCs between the ends of its interval."""
    difference = table.loc[table["metric"] == "AUC", "difference"].to_numpy()
    spread = np.sqrt((1 / N_SPLITS + 1 / 3) * difference.var(ddof=1))  # test : train = 1 : 3
    half = float(stats.t.ppf(0.5 + level / 2, N_SPLITS - 1) * spread)
    mean = float(difference.mean())
    return mean - half, mean, mean + half


def _ranked(cohort: Cohort, model: Predict) -> Ranking:
    return ranking(cohort.derive(predicted, model), HeldOut.scored)


def _unconstrained(train: Cohort, validation: Cohort, estimator: PURPLE) -> list[Parameters]:
    """Each group's model at the penalty with the best validation score.

    Only fits that are used may warn: weak penalties in small groups often cannot be solved.
    """
    origin = origin_of(train)
    problem = Problem.from_cohort(about(train, origin))
    lambdas = grid(estimator.lambdas, problem)
    groups = train.groups
    paths = [
        _group_path(problem, np.flatnonzero(groups == group), lambdas)
        for group in range(train.n_groups)
    ]
    found = list(zip(*paths, strict=True))
    models = [[_about_zero(one, origin) for one in at] for at in found]
    scores = [_score(validation, partial(_by_group, at), estimator.selection) for at in models]
    best = int(np.argmax(scores))
    for solution in found[best]:
        if solution is not None:
            warn_unless_converged(solution)
    return models[best]


def _about_zero(solution: Solution | None, origin: FloatArray) -> Parameters:
    """The model of features as they are, fitted to those less the origin."""
    if solution is None:
        return Parameters(np.zeros(len(origin)), NEVER, np.zeros(1))
    at = solution.parameters
    return replace(at, b=at.b - float(origin @ at.w))


def _by_group(models: Sequence[Parameters], cohort: CohortPart) -> FloatArray:
    """p(s=1|x,g) according to each group's own model."""
    p = np.zeros(cohort.n)
    for group, at in enumerate(models):
        rows = np.flatnonzero(cohort.groups == group)
        p[rows] = expit(cohort.X.take(rows).matvec(at.w) + at.b)
    return p


def _in_every_group(models: Sequence[Parameters], cohort: CohortPart) -> FloatArray:
    """Log-odds of a diagnosis if rows were in each of the groups, (n, K); NaN if not known."""
    return np.column_stack(
        [
            cohort.X.matvec(at.w) + at.b
            if at.b != NEVER or at.w.any()
            else np.full(cohort.n, np.nan)  # about another origin, b may be anything
            for at in models
        ]
    )


def _group_path(
    whole: Problem, rows: NDArray[np.int64], lambdas: Sequence[float]
) -> Sequence[Solution | None]:
    """L1 logistic regression within one group: PURPLE's likelihood with c fixed at 1.

    None at all penalties if nobody is diagnosed.
    """
    if not len(rows) or not whole.counts(rows)[-1]:
        return [None] * len(lambdas)
    problem = _as_one_group(whole.take(rows))
    weights = ridge(problem, 0.0, RIDGE_FLOOR)
    path: list[Solution] = []
    for l1 in lambdas:
        start = path[-1].parameters if path else None
        penalty = Penalty(l1, weights)
        path.append(solve(problem, penalty, start, fit_rates=False, warn=False))
    return path


def _as_one_group(problem: Problem) -> Problem:
    return problem.holding(problem.derive(_one_group), n_groups=1)


def _one_group(part: ProblemPart) -> ProblemPart:
    return replace(part, g=np.zeros_like(part.g), n_groups=1)


def _score(cohort: Cohort, model: Predict, selection: str) -> float:
    if selection == "auc":
        return _ranked(cohort, model).auc
    gained, weight = cohort.total(_log_likelihood, model)
    return float(gained / weight)


def _log_likelihood(cohort: CohortPart, model: Predict) -> tuple[float, float]:
    """The weighted log-likelihood, and the sum of weights."""
    q, weight = np.clip(model(cohort), 1e-12, 1 - 1e-12), cohort.row_weights
    gained = np.where(cohort.diagnosed == 1, np.log(q), np.log1p(-q))
    return float(weight @ gained), float(weight.sum())


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    names: list[Any] = list(table["metric"].unique())
    for place, metric in enumerate(names):
        part = table[table["metric"] == metric]
        ax.plot(np.full(len(part), place), part["difference"], "o", color="C0")
    ax.axhline(0.0, color="grey", linewidth=1)
    ax.set_xticks(range(len(names)), names)
    ax.set_ylabel("unconstrained minus constrained, held out")


CHECK = Check(
    kind="unconstrained",
    title="Constrained versus unconstrained model",
    explained=(
        "Asks whether held-out diagnoses are predicted better by a model in which symptoms may "
        "mean something different in each group. If so, the same symptoms do not mean the same "
        "risk in every group."
    ),
    run=lambda given: [check_unconstrained(given.cohort, **given.splitting)],
    table=dict.fromkeys(["metric", "split"], Column.NAME)
    | dict.fromkeys(["constrained", "unconstrained", "difference"], Column.FREE),
    columns=("metric", "split", "constrained", "unconstrained", "difference"),
    draw=_draw,
    references=("unconstrained",),
    by_symptoms=True,
    refits=True,
    seconds=65.0,
)
