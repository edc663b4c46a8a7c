import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from relprev.controls.likeness import Likeness
from relprev.controls.random_effects import RandomEffects

AUCS = [0.6, 0.65, 0.7, 0.62, 0.68, 0.71]


def controls(aucs, std_error=0.02):
    return pd.DataFrame({"auc": aucs, "auc_std_error": std_error})


@pytest.mark.parametrize(("auc", "words"), [(0.66, "alike"), (0.95, "better"), (0.51, "worse")])
def test_the_condition_is_compared_with_the_controls(auc, words):
    assert Likeness.of(auc, 0.01, controls(AUCS), 0.95).words == words


def test_the_interval_is_the_prediction_of_random_effects_of_log_odds():
    value = np.array(AUCS)
    effects = RandomEffects.of(logit(value), (0.02 / (value * (1 - value))) ** 2)
    low, high = effects.predicted((0.03 / (0.8 * 0.2)) ** 2, np.inf, 0.9)
    found = Likeness.of(0.8, 0.03, controls(AUCS), 0.9)
    assert [logit(found.low), logit(found.high)] == pytest.approx([low, high])


@pytest.mark.parametrize(
    ("auc", "aucs"), [(np.nan, AUCS), (1.0, AUCS), (0.7, [0.6]), (0.7, [np.nan, 1.0, 0.6])]
)
def test_nothing_is_said_where_nothing_is_known(auc, aucs):
    assert Likeness.of(auc, 0.01, controls(aucs), 0.95).words == ""


def test_a_draw_of_the_same_kind_is_called_unlike_in_one_of_twenty_cases():
    rng = np.random.default_rng(5)
    unlike = 0
    for _ in range(400):
        true = 1 / (1 + np.exp(-rng.normal(1.0, 0.4, 21)))
        aucs = true + rng.normal(0, 0.02, 21)
        unlike += Likeness.of(aucs[0], 0.02, controls(aucs[1:]), 0.95).words != "alike"
    assert 8 <= unlike <= 34  # 20 expected, three standard deviations either way
