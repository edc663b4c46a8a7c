import numpy as np
import pytest
from scipy.special import expit

from relprev.errors import InvalidInputError
from relprev.parallel.threads import use_threads
from relprev.simulate import ed_visit_parts, ed_visits
from relprev.simulate import visits as module


@pytest.fixture(scope="module")
def data():
    return ed_visits(60_000, n_codes=500, prevalence=0.08, seed=2)


def test_codes_of_a_visit_are_distinct_and_sorted(data):
    X = data.cohort.X
    steps = np.diff(X.indices.astype(int))
    inside = np.ones(X.nnz, bool)
    inside[X.indptr[1:-1].astype(int)] = False
    assert (steps[inside[1:]] > 0).all()


def test_means_are_as_asked_for(data):
    assert data.cohort.X.nnz / data.cohort.n == pytest.approx(6.0, rel=0.05)
    assert data.condition_probability.mean() == pytest.approx(0.08, rel=0.1)
    patients = len(np.unique(data.cohort.clusters))
    assert data.cohort.n / patients == pytest.approx(1.6, rel=0.03)


def test_code_frequencies_fall_off_like_a_power_law(data):
    counts = np.sort(data.cohort.X.rmatvec(np.ones(data.cohort.n)))[::-1]
    assert counts[0] > 10 * counts[250]
    assert counts[-1] < 0.02 * counts[0]


def test_codes_are_correlated(data):
    X = data.cohort.X.to_scipy().toarray()[:20_000, :]
    common = np.argsort(-X.sum(axis=0))[:60]
    correlation = np.corrcoef(X[:, common], rowvar=False)
    assert (np.abs(correlation[np.triu_indices(60, 1)]) > 0.05).sum() > 20


def test_diagnosis_follows_the_rates_and_strikes_only_the_sick(data):
    cohort = data.cohort
    assert not cohort.diagnosed[data.condition == 0].any()
    for group, rate in enumerate(data.diagnosis_rates):
        sick = (cohort.groups == group) & (data.condition == 1)
        assert cohort.diagnosed[sick].mean() == pytest.approx(rate, abs=0.06)


def test_a_patient_has_one_group(data):
    first = {}
    for patient, group in zip(data.cohort.clusters[:5000], data.cohort.groups[:5000], strict=True):
        assert first.setdefault(patient, group) == group


def test_groups_with_no_shift_have_equal_prevalence():
    truth = ed_visits(60_000, n_codes=300, shift=0.0, seed=3).relative_prevalence().to_frame()
    np.testing.assert_allclose(truth["estimate"], 1, atol=0.06)


def test_the_population_is_the_one_visits_are_drawn_from():
    options = {"n_codes": 300, "prevalence": 0.08, "group_shares": (1.0, 2.0, 1.0, 1.0), "seed": 4}
    prevalences, shares = module.group_prevalences(**options)
    drawn = ed_visits(500_000, **options)
    for group, prevalence in enumerate(prevalences):
        inside = drawn.cohort.groups == group
        excess = inside * (drawn.condition_probability - prevalence)
        by_patient = np.bincount(drawn.cohort.clusters, excess)
        assert abs(excess.sum()) < 4 * np.sqrt(by_patient @ by_patient)
        assert inside.mean() == pytest.approx(shares[group], abs=0.005)
    assert prevalences.max() > 1.3 * prevalences.min()


def test_probability_is_a_logistic_function_of_the_codes(data):
    """Recover z from p: rows with the same codes have the same p, and z is additive."""
    X = data.cohort.X.to_scipy()
    z = np.log(data.condition_probability / (1 - data.condition_probability))
    design = np.hstack([X[:4000].toarray(), np.ones((4000, 1))])
    fitted = design @ np.linalg.lstsq(design, z[:4000], rcond=None)[0]
    np.testing.assert_allclose(fitted, z[:4000], atol=1e-8)
    np.testing.assert_allclose(expit(fitted), data.condition_probability[:4000], atol=1e-9)


def test_result_does_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_VISITS", 5_000)
    seen = set()
    for threads in (1, 3):
        with use_threads(threads):
            cohort = ed_visits(18_000, n_codes=100, seed=9).cohort
        seen.add(cohort.X.indices.tobytes() + cohort.diagnosed.tobytes())
    assert len(seen) == 1


def test_patients_of_different_blocks_are_different(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_VISITS", 5_000)
    clusters = ed_visits(12_000, n_codes=100, seed=9).cohort.clusters
    assert not set(clusters[:5000]) & set(clusters[5000:])


def test_parts_are_the_visits_of_the_whole(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_VISITS", 5_000)
    options = {"n_codes": 100, "survey": True, "seed": 9}
    whole = ed_visits(18_000, **options).cohort
    parts = list(ed_visit_parts(18_000, rows=7_000, **options))
    assert [part.n for part in parts] == [10_000, 8_000]
    for name in ("diagnosed", "groups", "clusters", "psus", "weights"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(whole, name))
    indices = np.concatenate([part.X.indices for part in parts])
    np.testing.assert_array_equal(indices, whole.X.indices)


def test_survey_has_weights_constant_within_strata():
    cohort = ed_visits(20_000, n_codes=100, survey=True).cohort
    for stratum in np.unique(cohort.strata):
        assert len(np.unique(cohort.weights[cohort.strata == stratum])) == 1
    assert len(np.unique(cohort.psus)) == 400


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_visits": 0}, "n_visits"),
        ({"n_codes": 5}, "n_codes"),
        ({"diagnosis_rates": {"a": 0.5}}, "at least two groups"),
        ({"diagnosis_rates": {"a": 0.5, "b": 1.5}}, r"diagnosis_rates\['b'\]"),
        ({"group_shares": (1.0, 2.0)}, "group_shares must hold 4"),
        ({"prevalence": 0.0}, "prevalence"),
        ({"visits_per_patient": 0.5}, "visits_per_patient"),
    ],
)
def test_bad_parameters_are_named(bad, message):
    with pytest.raises(InvalidInputError, match=message):
        ed_visits(**({"n_visits": 100} | bad))
