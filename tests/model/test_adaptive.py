"""The richer model is used only where it predicts held-out rows clearly better."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from relprev.model import adaptive
from relprev.model.adaptive import CLEARLY, fit_adaptive


@dataclass
class Recipe:
    """Adds one feature; a problem is its number of features here."""

    n_added: int = 1
    too_large: bool = False

    def is_too_large_for(self, n):
        return self.too_large

    def of(self, problem):
        return SimpleNamespace(n=problem.n, features=problem.features + self.n_added)


PROBLEM = SimpleNamespace(n=100, features=3)


def fits(gain):
    """Fits whose log-likelihood is by ``gain`` higher with more than three features."""
    calls = []

    def fit(problem, judged):
        calls.append((problem.features, None if judged is None else judged.features))
        more = gain if problem.features > 3 else 0.0
        solution = SimpleNamespace(parameters=None)
        return SimpleNamespace(solution=solution, log_likelihood=-50 + more)

    return fit, calls


@pytest.mark.parametrize(("gain", "used"), [(CLEARLY + 0.01, True), (CLEARLY - 0.01, False)])
def test_more_features_must_be_clearly_better(gain, used, monkeypatch):
    recipe = Recipe()
    monkeypatch.setattr(adaptive, "recipe_for", lambda problem, parameters: recipe)
    fit, calls = fits(gain)
    found, expansion = fit_adaptive(fit, PROBLEM, PROBLEM)
    assert calls == [(3, 3), (4, 4)]
    assert (expansion is recipe) == used
    assert found.log_likelihood == (-50 + gain if used else -50)


@pytest.mark.parametrize("recipe", [Recipe(n_added=0), Recipe(too_large=True)])
def test_nothing_more_is_fitted_if_there_is_nothing_or_too_much_to_add(recipe, monkeypatch):
    monkeypatch.setattr(adaptive, "recipe_for", lambda problem, parameters: recipe)
    fit, calls = fits(100.0)
    assert fit_adaptive(fit, PROBLEM, None)[1] is None
    assert calls == [(3, None)]


def test_nothing_more_is_fitted_unless_asked_for():
    fit, calls = fits(100.0)
    assert fit_adaptive(fit, PROBLEM, None, richer=False)[1] is None
    assert calls == [(3, None)]
