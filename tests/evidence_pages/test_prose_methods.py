"""What the page says of data and of how methods are called, checked against the code and results.

Every test quotes the sentence that it checks, so that neither changes without the other.
"""

from __future__ import annotations

import numpy as np
import pytest
from evidence import parity, printed, store

from relprev.baselines import km2
from relprev.cohort.feature_rules import Features
from relprev.experiments.methods import KM2_AS_PUBLISHED
from relprev.experiments.visits import SIMULATED_VISITS
from relprev.simulate import gauss_synth
from relprev.study.file.source import SOURCES
from relprev.study.file.template import study_template
from tests.evidence_pages.test_prose import cells, error, say

SIMULATED = "semisynthetic-simulated"


def halved(upper: bool) -> float:
    """Where a bisection of KM2 ends that goes the same way in every step."""
    low, high = 1.0, km2.LARGEST
    while high - low > km2.WIDTH:
        middle = (low + high) / 2
        low, high = (middle, high) if upper else (low, middle)
    return 1 - 2 / (low + high)


def test_limits_of_km2_are_those_of_its_bisection() -> None:
    say("the limits of its search (0.0135 and 0.8748)")
    assert (round(halved(False), 4), round(halved(True), 4)) == (0.0135, 0.8748)


def test_km2_is_called_as_published_with_fewer_rows() -> None:
    say('(`KM2(component="mixture", compat="published")`), with 800 rows per group in place')
    called = KM2_AS_PUBLISHED
    assert (called.component, called.compat, called.max_rows) == ("mixture", "published", 800)


def test_solver_of_km2_decides_its_estimate_on_nhds() -> None:
    say("it gives {{ km2-early }} where the authors' solver stops and {{ km2-optimum }} at")
    found = parity.reference().query("sample == 'nhds'").set_index("method")
    for method in ("KM2", "KM2 published"):
        assert found.loc[method, "ours"] == pytest.approx(found.loc[method, "value"], abs=5e-7)


def test_data_of_the_text() -> None:
    say("10,000 points around −1 and 20,000 around +1 in five dimensions")
    say("the 40% of the points nearest the boundary are removed")
    world = gauss_synth(seed=3)
    assert [int((world.cohort.groups == g).sum()) for g in (0, 1)] == [10_000, 20_000]
    assert world.cohort.n_cols == 5
    assert gauss_synth(separable=True, seed=3).cohort.n == pytest.approx(0.6 * 30_000, rel=1e-3)


def test_data_as_coded() -> None:
    """The page gave 1.9 as the true ratio of both kinds of data."""
    say("the true ratio is about 1.9 (3.1 in the separable data)")
    say("about 59% of the points are removed")
    rows = store.load("gauss-published").results
    truth = rows.groupby("separable")["truth"].mean()
    assert (round(truth[False], 1), round(truth[True], 1)) == (1.9, 3.1)
    left = gauss_synth(variant="published", separable=True, seed=3).cohort.n / 30_000
    assert 1 - left == pytest.approx(0.59, abs=0.005)


def test_certain_cases_are_common_in_the_data_of_the_text_and_rare_as_coded() -> None:
    say("$p(y \\mid x)$ comes close to 1 at the edge and their assumption nearly holds")
    say("because $p(y \\mid x)$ rarely comes near 1")
    near = [
        np.mean(gauss_synth(variant=variant, seed=3).condition_probability > 0.99)
        for variant in ("paper", "published")
    ]
    assert near[0] > 0.1
    assert near[1] < 0.02


def test_a_logistic_curve_is_a_little_too_flat_for_a_step() -> None:
    say("has to imitate a step and is a little too flat for it")
    found = cells("gauss", "purple-no-penalty", separable=True)
    assert found.between(0.98, 1.0).all()  # the ratio of the less affected group: too near 0 or 1
    assert error("gauss", "debiased", separable=True).max() < 0.003


def test_negative_imitates_the_recorded_ratio() -> None:
    say("Negative, and the recorded ratio that it imitates, are off by the diagnosis-rate ratio")
    for separable in (True, False):
        both = [cells("gauss", method, separable=separable) for method in ("negative", "observed")]
        assert (both[0] - both[1]).abs().max() < 0.005


def test_simulated_visits_have_the_size_the_page_says() -> None:
    say("### Simulated visits (60,000 visits, 1,500 codes)")
    assert SIMULATED_VISITS["simulated"] == (60_000, 1_500)


def test_flat_stretches_are_those_the_page_names() -> None:
    say("it is one over the true ratio there (0.62, 1.08 and 0.95)")
    for setting, ratio in {"high-rp": 0.62, "endometriosis": 1.08, "ipv": 0.95}.items():
        row = {one[0]: one[1:] for one in printed.figure()[setting]}["KM2"]
        assert abs(float(row[1]) / float(row[0]) - 1) < 0.03  # the same for several rates, as read
        assert abs(float(row[0]) * ratio - 1) < 0.05


def test_rare_codes_are_kept_by_default_and_left_out_by_templates() -> None:
    say("relprev's default (`min_count = 0`) keeps every code too")
    say("say `min_count = 10`")
    assert Features().min_count == 0
    assert all("min_count = 10" in study_template(kind) for kind in SOURCES)
