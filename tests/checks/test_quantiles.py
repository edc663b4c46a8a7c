import numpy as np
import pytest

from relprev.checks import quantiles as quantiles_module
from relprev.checks.quantiles import weighted_quantiles
from relprev.rows import Rows, one_part
from relprev.rows.memory import InMemory


@pytest.mark.parametrize("few", [3, 10_000])
def test_quantiles_are_those_of_the_sorted_rows(few, monkeypatch):
    monkeypatch.setattr(quantiles_module, "FEW", few)
    rng = np.random.default_rng(1)
    values = np.append(np.round(rng.normal(size=3_000), 2), np.full(500, 0.7))
    weights = rng.uniform(0.1, 2.0, len(values))
    pieces = list(zip(np.split(values, [900]), np.split(weights, [900]), strict=True))
    parts = Rows(InMemory(pieces), tuple(len(piece[0]) for piece in pieces))
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    at = [0.05, 0.3, 0.5, 0.8, 0.95, 1.0]
    place = np.searchsorted(reached, np.array(at) * reached[-1])
    expected = values[order][np.minimum(place, len(values) - 1)]
    found = weighted_quantiles(parts, lambda part: part, at)
    np.testing.assert_array_equal(found, expected)


def test_quantiles_of_one_value(monkeypatch):
    monkeypatch.setattr(quantiles_module, "FEW", 3)
    parts = one_part((np.full(50, -1.25), np.ones(50)), 50)
    assert weighted_quantiles(parts, lambda part: part, [0.1, 0.9]).tolist() == [-1.25, -1.25]
