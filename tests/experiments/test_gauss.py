import pytest

from relprev.experiments import EXPERIMENTS, gauss
from relprev.experiments.methods import METHODS

COUNTS = {"gauss": 10, "group-gap": 5, "alpha": 15, "false-positives": 5, "selective-diagnosis": 5}


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


def test_published_variant_has_negative_without_intercept() -> None:
    experiment = EXPERIMENTS["gauss"]
    assert "negative-no-intercept" in experiment.methods_in("published")
    assert "negative" not in experiment.methods_in("published")
    assert "negative-no-intercept" not in experiment.methods_in("paper")
