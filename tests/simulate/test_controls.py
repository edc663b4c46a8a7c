import numpy as np
import pytest

from relprev.errors import InvalidInputError
from relprev.simulate import visits_with_controls
from relprev.simulate.controls import CONTROL_RATE


def recorded(world, number):
    return (world.cohort.controls >> number) & 1


def test_controls_are_recorded_alike_in_all_groups_and_the_condition_is_not():
    world = visits_with_controls(60_000, n_controls=3, n_codes=60, prevalence=0.03, seed=2)
    y, s, g = world.condition == 1, world.cohort.diagnosed, world.cohort.groups
    rates = [s[y & (g == k)].mean() for k in range(2)]
    assert rates == pytest.approx([0.25, 0.5], abs=0.05)
    assert not s[~y].any()
    for number in range(3):
        share = recorded(world, number).mean()
        assert 2 * 0.03 * 0.8 < share / CONTROL_RATE < 8 * 0.03 * 1.2


def test_a_broken_assumption_raises_the_risk_of_the_first_group_by_its_mean():
    settings = {"n_controls": 1, "n_codes": 60, "prevalence": 0.02, "seed": 2}
    plain = visits_with_controls(5_000, **settings).condition_probability
    world = visits_with_controls(5_000, mean=0.4, **settings)
    first = world.cohort.groups == 0
    assert np.log(world.condition_probability / plain)[first] == pytest.approx(0.4)
    assert world.condition_probability[~first] == pytest.approx(plain[~first])


@pytest.mark.parametrize("wrong", [{"n_controls": 0}, {"prevalence": 0.0}, {"prevalence": 0.05}])
def test_settings_without_room_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="n_controls must be 1 or more and prevalence"):
        visits_with_controls(1_000, n_codes=50, **wrong)
