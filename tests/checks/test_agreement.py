"""PURPLE and DebiasedPURPLE, contrast by contrast."""

import numpy as np
import pytest

from relprev import PURPLE, DebiasedPURPLE
from relprev.checks import Verdict, check_agreement
from relprev.errors import DataWarning
from tests.checks.conftest import FAST, make_cohort


def test_agreement_is_found_when_the_model_holds(steady):
    cohort, _, fitted = steady
    found = check_agreement(PURPLE(lambdas=1e-4).fit(cohort), fitted, "b")
    assert found.verdict is Verdict.NO_CONCERN
    assert found.p_value > 0.05
    assert found.interval[0] < found.table["ratio"][0] < found.interval[1]
    row = found.table.iloc[0]
    assert row["z"] == pytest.approx(np.log(row["purple"] / row["debiased"]) / row["std_error"])


def test_estimators_that_may_differ_beyond_the_margin_cannot_be_told(steady):
    cohort, _, fitted = steady
    found = check_agreement(PURPLE(lambdas=1e-4).fit(cohort), fitted, "b", margin=1.001)
    assert found.verdict is Verdict.CANNOT_TELL


def test_agreement_counts_a_ratio_and_its_inverse_once(steady):
    cohort, _, fitted = steady
    purple = PURPLE(lambdas=1e-2).fit(cohort)
    one, both = (check_agreement(purple, fitted, versus) for versus in ("b", "pairwise"))
    assert len(both.table) == 2
    assert one.p_value < 1
    assert both.p_value == pytest.approx(one.p_value)


def test_agreement_notices_a_shrunken_purple(steady):
    cohort, _, fitted = steady
    close = check_agreement(PURPLE(lambdas=1e-5).fit(cohort), fitted, "b")
    shrunken = check_agreement(PURPLE(lambdas=1e-2).fit(cohort), fitted, "b")
    assert abs(np.log(close.table["ratio"][0])) < 0.1
    assert abs(shrunken.statistic) > abs(close.statistic)


def test_estimates_that_were_withheld_cannot_be_compared():
    cohort, _ = make_cohort(n=20_000, shift=0.6)
    with pytest.warns(DataWarning, match="withheld"):
        fitted = DebiasedPURPLE(**FAST).fit(cohort)
    found = check_agreement(PURPLE(lambdas=1e-4).fit(cohort), fitted, "b")
    assert found.verdict is Verdict.CANNOT_TELL
    assert "nothing to compare" in str(found.effect)
    assert np.isnan(found.p_value)
