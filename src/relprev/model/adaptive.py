"""A logistic model, also of curves and products of features if they are clearly better.

Both models are fitted in full. The richer one is used if its log-likelihood on rows held out is
higher by `CLEARLY`. What is added to the features: `relprev.model.expansion`.
"""

from __future__ import annotations

from collections.abc import Callable

from relprev.model.expansion import Expansion, recipe_for
from relprev.model.likelihood import Problem
from relprev.model.logistic import LogisticFit

ADAPTIVE = "adaptive"  # the learner that tries curves and products of features
CLEARLY = 2.0  # gain in held-out log-likelihood that such features must bring
Fit = Callable[[Problem, Problem | None], LogisticFit]


def fit_adaptive(
    fit: Fit, problem: Problem, judged: Problem | None, *, richer: bool = True
) -> tuple[LogisticFit, Expansion | None]:
    """The model used and the recipe of its features, None if these are those of the problem.

    Parameters
    ----------
    fit : function of a problem and of rows held out
        Fits a logistic model, with its log-likelihood on rows held out.
    problem : Problem
        The rows, with their own features.
    judged : Problem or None
        Rows held out, if they are given.
    richer : bool
        Whether to try more features than those of the problem.
    """
    linear = fit(problem, judged)
    if not richer:
        return linear, None
    recipe = recipe_for(problem, linear.solution.parameters)
    if recipe.is_too_large_for(problem.n) or not recipe.n_added:
        return linear, None
    expanded = fit(recipe.of(problem), None if judged is None else recipe.of(judged))
    if expanded.log_likelihood - linear.log_likelihood > CLEARLY:
        return expanded, recipe
    return linear, None
