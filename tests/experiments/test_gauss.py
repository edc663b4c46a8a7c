import pytest

from relprev.experiments import EXPERIMENTS, gauss
from relprev.experiments.methods import METHODS

COUNTS = {"gauss": 10, "group-gap": 5, "alpha": 30, "false-positives": 5, "selective-diagnosis": 5}


@pytest.mark.parametrize("name", COUNTS)
def test_grid_is_the_declared_one(name: str) -> None:
    experiment = EXPERIMENTS[name]
    full = experiment.scenarios(False, "paper", "simulated")
    quick = experiment.scenarios(True, "paper", "simulated")
    assert len(full) == COUNTS[name]
    assert all(scenario in full for scenario in quick)
    assert {scenario[experiment.x] for scenario in quick} < {s[experiment.x] for s in full}
    assert set(experiment.methods) <= set(METHODS)


def test_variant_reaches_the_simulation() -> None:
    paper, published = (
        gauss.simulate({"variant": variant, "n": (500, 500)}, 0).relative_prevalence("b").to_frame()
        for variant in ("paper", "published")
    )
    assert paper.loc[0, "estimate"] < 1 < published.loc[0, "estimate"]


def test_rate_of_group_b_reaches_the_simulation() -> None:
    assert gauss.simulate({"rate_b": 0.3}, 0).diagnosis_rates.tolist() == [0.5, 0.3]


@pytest.mark.parametrize(
    ("theirs", "ours"), [("negative-no-intercept", "negative"), ("sar-em-published", "sar-em")]
)
def test_published_variant_calls_methods_as_published(theirs: str, ours: str) -> None:
    experiment = EXPERIMENTS["gauss"]
    assert theirs in experiment.methods_in("published")
    assert ours not in experiment.methods_in("published")
    assert theirs not in experiment.methods_in("paper")


@pytest.mark.parametrize("name", COUNTS)
def test_no_penalty_is_among_the_methods_as_in_the_paper(name: str) -> None:
    assert EXPERIMENTS[name].methods[0] == "purple-no-penalty"


def test_published_rates_of_the_distance_sweep_are_those_of_the_code() -> None:
    scenarios = EXPERIMENTS["group-gap"].scenarios
    for settings in scenarios(False, "published", ""):
        assert gauss.simulate(settings, 0).diagnosis_rates.tolist() == [0.5, 0.3]
    for settings in scenarios(True, "paper", ""):
        assert gauss.simulate(settings, 0).diagnosis_rates.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("variant", ["paper", "published"])
@pytest.mark.parametrize("alpha", [0.4, 1.0])
def test_the_bound_has_both_orientations(variant: str, alpha: float) -> None:
    ratios = {}
    for higher in (gauss.A_MORE, gauss.B_MORE):
        settings = {"variant": variant, "higher": higher, "group_gap": 2.0, "alpha": alpha}
        frame = gauss.simulate(settings, 0).relative_prevalence("b").to_frame()
        ratios[higher] = float(frame.loc[0, "estimate"])
    assert ratios[gauss.A_MORE] > 1 / alpha > ratios[gauss.B_MORE]
