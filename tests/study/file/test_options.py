"""Options of a study file: what they may be, and what an error says."""

from __future__ import annotations

import pytest

from relprev.checks.registry import CHECKS
from relprev.errors import InvalidInputError
from relprev.settings import parse_settings
from relprev.study import CheckOptions, ComputeOptions, EstimateOptions, InferenceOptions


@pytest.mark.parametrize(("options", "text", "words"), [
    (EstimateOptions, "level = 0.4", "level: it should be greater than 0.5, got 0.4"),
    (EstimateOptions, "level = 95", "level: it should be less than 1, got 95"),
    (EstimateOptions, 'methods = ["debiasd"]', r"methods\[1\]: got 'debiasd'; did you mean"),
    (EstimateOptions, "methods = []", "methods: .*at least 1 item"),
    (EstimateOptions, 'versus = "all"', "versus: got 'all'; available: complement, pairwise, ref"),
    (InferenceOptions, "folds = 1", "folds: it should be greater than or equal to 2, got 1"),
    (InferenceOptions, "cluster = true", "cluster: there is no such key; did you mean 'clusters'"),
    (CheckOptions, 'run = ["overlaps"]', r"run\[1\]: got 'overlaps'; did you mean 'overlap'"),
    (CheckOptions, "margin = 1", "margin: it should be greater than 1, got 1"),
    (ComputeOptions, "rows_per_part = 10", "rows_per_part: it should be greater than or equal to"),
])  # fmt: skip
def test_a_wrong_option_is_located_with_a_remedy(options, text, words):
    with pytest.raises(InvalidInputError, match=f"^study.toml, line 1: {words}"):
        parse_settings(text, options, "study.toml")


def test_a_study_makes_all_checks_unless_told_otherwise():
    assert CheckOptions().run == tuple(CHECKS)
    assert parse_settings("run = []", CheckOptions, "study.toml").run == ()
