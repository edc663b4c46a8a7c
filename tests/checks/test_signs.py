"""Features that are not signs of the condition."""

import numpy as np

from relprev import as_cohort
from relprev.checks.signs import warn_of_no_signs


def cohort(X, s):
    return as_cohort(X, s, groups=np.arange(len(s)) % 2)


def test_codes_that_compete_for_the_principal_diagnosis_are_remarked_upon():
    rng = np.random.default_rng(1)
    reason = rng.integers(0, 6, 5000)  # every visit has one reason; the condition is one of them
    others = np.eye(6)[reason][:, 1:]
    background = rng.random((5000, 1)) < 0.5
    said = warn_of_no_signs(cohort(np.hstack([others, background]), (reason == 0).astype(int)))
    assert any("look like signs of something else" in str(one) for one in said)


def test_a_diagnosis_that_stands_alone_is_remarked_upon():
    rng = np.random.default_rng(2)
    s = (rng.random(4000) < 0.2).astype(int)
    X = (rng.random((4000, 5)) < 0.4) * (1 - s)[:, None]
    said = warn_of_no_signs(cohort(X.astype(float), s))
    assert any("principal diagnosis only" in str(one) for one in said)


def test_signs_are_not():
    rng = np.random.default_rng(3)
    s = (rng.random(4000) < 0.2).astype(int)
    X = rng.random((4000, 5)) < np.where(s, 0.6, 0.3)[:, None]
    assert warn_of_no_signs(cohort(X.astype(float), s)) == []


def test_numbers_are_not_judged():
    """Low values are signs here: as a code it would be rarer among the diagnosed."""
    rng = np.random.default_rng(4)
    s = (rng.random(4000) < 0.2).astype(int)
    x = np.where((s == 1) & (rng.random(4000) < 0.8), 0.0, rng.uniform(0.1, 5, 4000))
    code = rng.random(4000) < 0.5
    assert warn_of_no_signs(cohort(np.column_stack([x, code]), s)) == []
