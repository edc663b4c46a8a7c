import numpy as np
import pytest
from scipy.special import expit

from relprev.errors import InvalidInputError
from relprev.simulate import gauss_synth


def _parts(data):
    return data.cohort.X.values, data.cohort.groups, data.cohort.diagnosed, data.condition


def test_paper_variant_follows_the_text():
    data = gauss_synth((0.5, 0.2), seed=0)
    x, g, s, y = _parts(data)
    assert np.bincount(g).tolist() == [10_000, 20_000]
    np.testing.assert_allclose(x[g == 0].mean(axis=0), -1, atol=0.15)
    np.testing.assert_allclose(x[g == 1].mean(axis=0), 1, atol=0.1)
    np.testing.assert_allclose(x.std(axis=0), np.hypot(4, np.sqrt(8 / 9)), atol=0.1)
    np.testing.assert_allclose(data.condition_probability, expit(x.sum(axis=1) / np.sqrt(5)))
    assert not s[y == 0].any()
    for group, rate in ((0, 0.5), (1, 0.2)):
        assert s[(g == group) & (y == 1)].mean() == pytest.approx(rate, abs=0.02)


def test_published_variant_follows_the_code():
    data = gauss_synth((0.5, 0.2), variant="published", seed=0)
    x, g, s, y = _parts(data)
    np.testing.assert_allclose(x[g == 0].mean(axis=0), 1, atol=0.15)
    np.testing.assert_allclose(data.condition_probability, expit(x.mean(axis=1)))
    for group, rate in ((0, 0.5), (1, 0.2)):
        sick = int(y[g == group].sum())
        assert s[g == group].sum() == int(rate * sick)
    truth = data.relative_prevalence("b").to_frame().loc[0, "estimate"]
    assert truth == pytest.approx(1.9, abs=0.1)


def test_separable_data_lose_the_band_around_the_boundary():
    paper = gauss_synth(separable=True, seed=0)
    assert paper.cohort.n == pytest.approx(0.6 * 30_000, abs=2)
    assert set(paper.condition_probability) == {0.0, 1.0}
    score = paper.cohort.X.values.sum(axis=1)
    assert np.abs(score).min() > 1
    published = gauss_synth(separable=True, variant="published", seed=0)
    assert 1 - published.cohort.n / 30_000 == pytest.approx(0.59, abs=0.01)


def test_gap_of_zero_makes_groups_alike():
    truth = gauss_synth(group_gap=0.0, seed=0).relative_prevalence("b").to_frame()
    assert truth.loc[0, "estimate"] == pytest.approx(1, abs=0.03)


def test_ceiling_and_alpha_scale_the_probabilities():
    plain, low = gauss_synth(seed=0), gauss_synth(ceiling=0.75, alpha=0.4, seed=0)
    factor = low.condition_probability / plain.condition_probability
    np.testing.assert_allclose(factor, np.where(low.cohort.groups == 1, 0.3, 0.75))


def test_false_positives_are_the_given_share_of_the_diagnosed():
    data = gauss_synth(false_positives=0.2, seed=0)
    _, g, s, y = _parts(data)
    for group in (0, 1):
        diagnosed = (g == group) & (s == 1)
        assert (y[diagnosed] == 0).mean() == pytest.approx(0.2, abs=0.001)


def test_selective_diagnosis_follows_the_first_feature():
    x, _, s, y = _parts(gauss_synth(selective=1.0, seed=0))
    sick = y == 1
    assert s[sick & (x[:, 0] > 2)].mean() > 3 * s[sick & (x[:, 0] < -2)].mean()


def test_seed_decides_everything():
    a, b, other = gauss_synth(seed=1), gauss_synth(seed=1), gauss_synth(seed=2)
    assert a.cohort.X.values.tobytes() == b.cohort.X.values.tobytes()
    assert a.cohort.X.values.tobytes() != other.cohort.X.values.tobytes()


@pytest.mark.parametrize(
    "bad", [{"variant": "text"}, {"alpha": 0.0}, {"ceiling": 1.5}, {"false_positives": 1.0}]
)
def test_bad_parameters_are_named(bad):
    with pytest.raises(InvalidInputError, match=next(iter(bad))):
        gauss_synth(**bad)


def test_negative_gap_makes_a_the_more_affected_group():
    ratios = [
        gauss_synth(group_gap=gap, seed=1).relative_prevalence("b").to_frame()["estimate"].iloc[0]
        for gap in (2.0, -2.0)
    ]
    assert ratios[0] < 1 < ratios[1]


def test_published_gap_moves_group_b_only():
    for gap in (0.0, 0.5, 2.0):
        cohort = gauss_synth(group_gap=gap, variant="published", seed=1).cohort
        means = [cohort.X.to_scipy()[cohort.groups == g].mean() for g in (0, 1)]
        assert means == pytest.approx([1.0, 1.0 - gap], abs=0.05)
