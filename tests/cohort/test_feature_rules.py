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
