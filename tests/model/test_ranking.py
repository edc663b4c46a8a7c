"""AUC and average precision are those of scikit-learn, also with ties, weights and parts."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from relprev.model.ranking import ranking
from relprev.rows import Rows
from relprev.rows.memory import InMemory


@pytest.mark.parametrize("digits", [1, 6])  # with one digit, most predictions are tied
@pytest.mark.parametrize("sizes", [(500,), (200, 1, 299)])
def test_ranking_equals_scikit_learn(digits, sizes):
    rng = np.random.default_rng(0)
    p, weight = rng.random(500).round(digits), rng.uniform(0.5, 2.0, 500)
    s = (rng.random(500) < p / 3).astype(np.uint8)
    edges = np.cumsum(sizes)[:-1]
    parts = list(zip(*(np.split(values, edges) for values in (p, s, weight)), strict=True))
    found = ranking(Rows(InMemory(parts), sizes), tuple)
    assert found.auc == pytest.approx(roc_auc_score(s, p, sample_weight=weight))
    expected = average_precision_score(s, p, sample_weight=weight)
    assert found.average_precision == pytest.approx(expected)
