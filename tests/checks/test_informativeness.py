"""Do the symptoms predict the condition at all?"""

import numpy as np
import pytest

from relprev import PURPLE, DebiasedPURPLE, as_cohort
from relprev.checks import Verdict, check_agreement, check_informativeness, check_leakage
from relprev.checks.informativeness import ALL, as_seen, withheld_groups
from relprev.errors import InvalidInputError
from tests.checks.conftest import FAST, make_cohort


def noise(n=20_000, seed=0, informative_in=None):
    """A true ratio of 2 and random codes, the first of which may predict in one group."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 2, n)
    X = (rng.random((n, 10)) < 0.3).astype(float)
    risk = np.where(g == 1, 0.2, 0.1)
    if informative_in is not None:
        risk = np.where(g == informative_in, 0.05 + 0.4 * X[:, 0], risk)
    s = rng.random(n) < 0.5 * risk
    return as_cohort(X, s.astype(int), groups=np.array(["b", "a"])[g])


def test_symptoms_that_predict_are_no_concern(steady):
    found = check_informativeness(steady[2])
    assert found.verdict is Verdict.NO_CONCERN
    assert found.withhold is None
    assert withheld_groups(found) == {}
    assert 0.6 < found.interval[0] < found.statistic < found.interval[1]
    assert found.table["group"].tolist() == [ALL, "a", "b"]
    assert (found.table["lift"] > 1.2).all()


def test_random_codes_are_withheld():
    """The estimate was 1.00 (1.00 to 1.00), and no check had a concern."""
    fitted = DebiasedPURPLE(**FAST).fit(noise())
    found = check_informativeness(fitted)
    assert fitted.relative_prevalence("b").rows[0]["observed_ratio"] > 1.7
    assert found.verdict is Verdict.CONCERN
    assert "do not predict" in str(found.withhold)
    assert found.withhold.counts() == []  # nothing in it that disclosure would have to hide
    assert set(withheld_groups(found)) == {"a", "b"}


def test_a_model_without_symptoms_is_withheld():
    fitted = DebiasedPURPLE(strengths=[3.0], lambdas=10.0).fit(make_cohort(n=4000)[0])
    found = check_informativeness(fitted)
    assert found.interval == pytest.approx((0.5, 0.5), abs=1e-12)
    assert found.withhold is not None
    assert "Calibration slope" not in str(found.effect)


def test_a_group_in_which_symptoms_say_nothing_is_withheld_alone():
    fitted = DebiasedPURPLE(**FAST).fit(noise(40_000, informative_in=0))
    found = check_informativeness(fitted)
    assert found.verdict is Verdict.CONCERN
    assert found.withhold is None
    assert set(withheld_groups(found)) == {"a"}


def test_a_group_with_few_cases_is_not_judged():
    cohort, _ = make_cohort(n=20_000)
    quiet = (cohort.groups == 0) & (np.cumsum((cohort.groups == 0) & (cohort.diagnosed == 1)) > 8)
    cohort = cohort.with_values(diagnosed=np.where(quiet, 0, cohort.diagnosed).astype(np.uint8))
    with pytest.warns(Warning, match="few"):
        fitted = DebiasedPURPLE(**FAST).fit(cohort)
    row = check_informativeness(fitted).table.set_index("group").loc["a"]
    assert row["verdict"] == "cannot tell"
    assert row[["auc", "ci_low", "ci_high", "lift"]].isna().all()


def test_weight_2_is_a_duplicated_patient():
    cohort, _ = make_cohort(n=4000)
    twice = cohort.take(np.sort(np.concatenate([np.arange(cohort.n)] * 2)))
    folds = np.arange(cohort.n) % 3
    once = DebiasedPURPLE(**(FAST | {"folds": folds})).fit(cohort)
    known = twice.with_values(clusters=np.arange(twice.n) // 2)
    again = DebiasedPURPLE(**(FAST | {"folds": np.repeat(folds, 2)})).fit(known)
    one, two = check_informativeness(once), check_informativeness(again)
    assert two.statistic == pytest.approx(one.statistic, abs=1e-3)
    assert two.interval == pytest.approx(one.interval, abs=2e-3)


def test_a_risk_model_is_needed():
    fitted = DebiasedPURPLE(risk=None, strengths=(3.0,)).fit(make_cohort(n=3000)[0])
    with pytest.raises(InvalidInputError, match="risk=None"):
        check_informativeness(fitted)


def test_estimators_that_agree_on_one_by_construction_are_no_reassurance():
    cohort = noise()
    fitted = DebiasedPURPLE(**FAST).fit(cohort)
    agreed = check_agreement(PURPLE(lambdas=1e-4).fit(cohort), fitted)
    assert agreed.verdict is Verdict.NO_CONCERN
    found = as_seen([check_informativeness(fitted), agreed, check_leakage(cohort)])
    assert [str(one.verdict) for one in found] == ["concern", "cannot tell", "no concern"]
    assert "could not have shown a violation" in str(found[1].effect)
    assert as_seen([agreed]) == [agreed]
