"""Trees of propensities: what they find, and that cutting numbers into ranks loses nothing."""

from __future__ import annotations

import numpy as np
import pytest

from relprev import as_cohort
from relprev.inference import trees
from relprev.inference.folds import make_folds
from relprev.inference.sampling import SamplingDesign
from relprev.matrix import Dense
from relprev.model.likelihood import Problem

COLUMNS = np.arange(3)


@pytest.fixture(scope="module")
def boxes():
    """Groups by boxes of two numbers; a third, of few values, says nothing."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4_000, 3))
    x[:, 2] = np.round(x[:, 2])
    chance = np.where((x[:, 0] > 0) & (x[:, 1] > 0), 0.9, 0.2)
    g = (rng.random(4_000) > chance).astype(int)
    weight = rng.uniform(0.5, 2.0, 4_000)
    s = (rng.random(4_000) < 0.3).astype(int)
    cohort = as_cohort(x, s, groups=np.array(["a", "b"])[g], sample_weight=weight)
    return cohort, chance


def fitted(cohort):
    folds = make_folds(cohort, SamplingDesign.from_cohort(cohort, "fail"), 5, 0)
    return trees.fit_trees(Problem.from_cohort(cohort), folds, COLUMNS, "g", 0)


def test_weighted_trees_find_boxes(boxes):
    cohort, chance = boxes
    found = fitted(cohort)[0].probabilities(Dense(cohort.X.to_scipy()))[:, 0]
    assert np.mean(np.abs(found - chance)) < 0.06
    assert np.mean(np.abs(chance.mean() - chance)) > 0.2


def test_only_the_order_of_values_matters(boxes):
    cohort, _ = boxes
    x = cohort.X.to_scipy()
    bent = np.column_stack([np.exp(x[:, 0]), x[:, 1] ** 3, x[:, 2]])
    other = as_cohort(
        bent, cohort.diagnosed, groups=cohort.group_labels, sample_weight=cohort.weights
    )
    here = fitted(cohort)[1].probabilities(Dense(x))
    there = fitted(other)[1].probabilities(Dense(bent))
    # quantiles are interpolated, so a value between two neighbours may fall on the other side
    assert np.mean(np.abs(here - there)) < 1e-3


def test_few_values_are_left_alone_and_many_are_ranked(boxes):
    cohort, _ = boxes
    values = cohort.X.to_scipy()
    cuts = trees._cuts(values)
    assert cuts[2] is None
    assert len(cuts[0]) == trees.MOST_VALUES - 1
    ranked = trees._cut(values, cuts)
    np.testing.assert_array_equal(ranked[:, 2], values[:, 2])
    order = np.argsort(values[:, 0])
    assert (np.diff(ranked[order, 0]) >= 0).all()
    assert len(np.unique(ranked[:, 0])) == trees.MOST_VALUES
