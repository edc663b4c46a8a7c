"""The logistic model of p(y=1|x): its penalty chosen, then fitted from several starting points.

The likelihood is not concave in (w, b, log c), so the final fit sets out from several points and
keeps the best of the optima it meets. If others fit equally well but give another answer, a warning
says so.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from relprev.cohort import Cohort
from relprev.errors import DataWarning
from relprev.messages import Message, Number
from relprev.model.likelihood import Parameters, Problem
from relprev.model.path import PathPoint, fit_best
from relprev.model.solver import Solution, SolverOptions, null_parameters
from relprev.model.tuning import tune
from relprev.progress import Advance

SAME_RATIO = 0.01  # log relative prevalences closer than this count as the same optimum


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The best solution, its penalty, and the penalties tried with their scores (if several).

    ``path`` has the fits by which the penalty was chosen, ``log_likelihood`` is that of the rows
    held out for it (NaN without); ``warned`` says if the final fit was followed by a warning.
    """

    solution: Solution
    penalty: float
    selection: pd.DataFrame | None
    path: list[PathPoint]
    warned: bool
    log_likelihood: float = float("nan")


def fit_logistic(
    cohort: Cohort, problem: Problem, lambdas: tuple[float, ...], validation: Problem | None, *,
    selection: str, validation_share: float, folds: int, n_starts: int, seed: int, l2: float,
    ridge_floor: float, options: SolverOptions, advance: Advance, scored: bool = False,
    earlier: LogisticFit | None = None,
) -> LogisticFit:  # fmt: skip
    """Choose one of the penalties and fit with it; parameters as in `relprev.PURPLE`.

    ``problem`` has the cohort's rows with the features that are fitted, and so has ``validation``
    those of other rows. With ``scored``, a single penalty is scored on held-out rows too. An
    ``earlier`` fit to the same rows, whose penalty was chosen otherwise, spares the path, and
    everything if the choice is the same. Warnings are those of a fit without it.
    """
    shared: dict[str, Any] = {
        "l2": l2, "ridge_floor": ridge_floor, "options": options, "advance": advance,
    }  # fmt: skip
    penalty, table, warm, path, held_out = lambdas[0], None, None, [], float("nan")
    if len(lambdas) > 1 or scored:
        chosen = tune(
            cohort, problem, lambdas, method=selection, validation=validation,
            validation_share=validation_share, folds=folds, seed=seed,
            fitted=None if earlier is None else earlier.path, **shared,
        )  # fmt: skip
        penalty, path = lambdas[chosen.best], chosen.path
        warm = path[chosen.best].parameters
        held_out = float(chosen.log_likelihood[chosen.best].sum())
        table = pd.DataFrame({"lambda": lambdas, "score": chosen.scores.mean(axis=1)}).assign(
            chosen=np.arange(len(lambdas)) == chosen.best
        )
    if earlier is not None and earlier.penalty == penalty and not earlier.warned:
        return replace(earlier, selection=table, log_likelihood=held_out)
    solutions = fit_best(problem, penalty, starting_points(problem, warm, n_starts), **shared)
    warned = _warn_if_apart(solutions, problem)
    warned = warned or not all(one.certificate.converged for one in solutions)
    return LogisticFit(solutions[0], penalty, table, path, warned, held_out)


def starting_points(problem: Problem, warm: Parameters | None, count: int) -> list[Parameters]:
    """The warm start, or the model without features, then such models with ever lower rates.

    The largest c_g lies between the largest diagnosed share and 1; starts are evenly spaced
    between the two on the log scale.
    """
    share = float(problem.diagnosed_rate.max())
    nulls = [null_parameters(problem, share ** (k / count)) for k in range(count)]
    return nulls if warm is None else [warm, *nulls[1:]]


def _warn_if_apart(solutions: list[Solution], problem: Problem) -> bool:
    """Warn if starts ended in optima that fit about equally well but give different answers.

    Returns whether there was a warning.
    """
    best = solutions[0]
    for other in solutions[1:]:
        worse = other.certificate.objective - best.certificate.objective
        if worse > 1e-4 * best.certificate.objective:
            continue  # clearly the worse optimum
        seen = problem.group_weight > 0
        moved = np.log(other.evaluation.condition[seen] / best.evaluation.condition[seen])
        apart = float(moved.max() - moved.min())
        if apart > SAME_RATIO:
            said = Message(
                "two starts fit equally well but their relative prevalences differ by up to "
                "{apart}: the data hardly identify the answer; use a larger lambda, fewer features "
                "or more data",
                apart=Number(float(np.expm1(apart)), ".1%"),
            )
            warnings.warn(DataWarning(said), stacklevel=8)
            return True
    return False
