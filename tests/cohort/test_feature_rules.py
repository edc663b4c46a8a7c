import pytest

from relprev.cohort import Extra, Features
from relprev.errors import InvalidInputError


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ((50, 35), "edges must be increasing"),
        ((35, 35), "edges must be increasing"),
        (("old",), "edges must be numbers"),
        ((float("nan"),), "edges must be numbers"),
    ],
)
def test_impossible_edges_are_refused(edges, words):
    with pytest.raises(InvalidInputError, match=words):
        Extra("age", edges)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"roll_up": "chapter"}, "roll_up must be one of"),
        ({"min_count": -1}, "min_count must be 0 or more, got -1"),
        ({"extra": (Extra("age"), Extra("age", (3,)))}, "columns must be distinct"),
    ],
)
def test_impossible_features_are_refused(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        Features(**settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"form": "log"}, "form must be one of .*, got 'log'"),
        ({"form": "number", "edges": (3,)}, "edges are for form = 'bins', got form = 'number'"),
        ({"form": "spline", "edges": (3,)}, "edges are for form = 'bins', got form = 'spline'"),
        ({"knots": (3,)}, "knots are for form = 'spline', got form = 'bins'"),
        ({"form": "number", "knots": (3,)}, "knots are for form = 'spline', got form = 'number'"),
        ({"form": "spline", "knots": (3, 2)}, "knots must be increasing"),
        ({"form": "spline", "knots": ("a",)}, "knots must be numbers"),
        ({"form": "spline", "knots": tuple(range(11))}, "at most 10 knots are possible, got 11"),
    ],
)
def test_impossible_forms_are_refused(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        Extra("age", **settings)
