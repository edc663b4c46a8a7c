"""DebiasedPURPLE on parts gives the numbers it gives in memory."""

import numpy as np
import pytest
from sklearn.base import clone

from relprev import DebiasedPURPLE, as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.errors import DataWarning, InvalidInputError
from relprev.simulate import ed_visits
from tests.inference.test_adaptive import bent
from tests.parts import cut

SAME = 1e-8
NEARLY_THE_SAME = 1e-4  # products of features make rounding show
LINEAR = {"propensity": "ridge", "risk": "purple"}
COLUMNS = [
    "estimate", "ci_low", "ci_high", "observed_ratio", "diagnosis_ratio", "n", "n_diagnosed",
    "std_error", "effective_cases", "degrees_of_freedom",
]  # fmt: skip


def fitted(cohort, models=LINEAR, **options):
    estimator = DebiasedPURPLE(strengths=[30.0, 10.0], lambdas=[1e-3, 1e-4], n_repeats=1, **models)
    return estimator.fit(cohort, **options)


def in_parts(cohort, folder, rows=3_001):
    write_parts(cut(cohort, rows), folder)
    return Cohort.open(folder)


def assert_same(one, other, same=SAME):
    first, second = (fit.relative_prevalence().to_frame() for fit in (one, other))
    assert first["group"].tolist() == second["group"].tolist()
    np.testing.assert_allclose(
        second[COLUMNS].to_numpy(float), first[COLUMNS].to_numpy(float), rtol=same
    )
    assert (one.strength_, one.lambda_) == (other.strength_, other.lambda_)
    assert one.risk_slope_ == pytest.approx(other.risk_slope_, rel=1e-6)


@pytest.fixture(scope="module")
def patients():
    """Repeat patients whose visits lie in several parts."""
    cohort = ed_visits(12_000, n_codes=60, prevalence=0.2, seed=6).cohort
    return cohort.take(np.random.default_rng(0).permutation(cohort.n))


@pytest.fixture(scope="module")
def survey():
    return ed_visits(12_000, n_codes=60, prevalence=0.2, survey=True, seed=7).cohort


def test_patients_in_several_parts_are_one_cluster(patients, tmp_path):
    parts = in_parts(patients, tmp_path / "visits")
    numbers = [set(values.tolist()) for values in parts.map(lambda part: part.clusters)]
    assert numbers[0] & numbers[1]
    assert_same(fitted(patients), fitted(parts))


def test_survey_design(survey, tmp_path):
    assert_same(fitted(survey), fitted(in_parts(survey, tmp_path / "visits")))


def test_expanded_models(tmp_path):
    cohort, _ = bent(6_000)
    parts = in_parts(cohort, tmp_path / "visits", 1_999)
    one, other = fitted(cohort, {}), fitted(parts, {})
    assert "expanded" in one.propensity_model_
    assert (one.propensity_model_, one.risk_model_) == (other.propensity_model_, other.risk_model_)
    assert_same(one, other, NEARLY_THE_SAME)


def test_codes_whose_products_matter(patients, tmp_path):
    fewer = patients.take(np.arange(5_000))
    one, other = fitted(fewer, {}), fitted(in_parts(fewer, tmp_path / "visits"), {})
    np.testing.assert_array_equal(one.expansion_.pairs, other.expansion_.pairs)
    assert_same(one, other, NEARLY_THE_SAME)


def test_domain_keeps_the_design(survey, tmp_path):
    domain = np.arange(survey.n) % 3 != 0
    domain[:3_001] = False  # a part without rows
    parts = in_parts(survey, tmp_path / "visits")
    assert_same(fitted(survey, domain=domain), fitted(parts, domain=domain))


def test_group_with_too_few_cases(patients, tmp_path):
    hit = (patients.group_labels == "Group D") & (patients.diagnosed == 1)
    rows = np.flatnonzero(~hit | (np.cumsum(hit) <= 1))
    thin = patients.take(rows)
    parts = in_parts(thin, tmp_path / "visits")
    with pytest.warns(DataWarning, match="no estimate for Group D"):
        one = fitted(thin)
    with pytest.warns(DataWarning, match="no estimate for Group D"):
        other = fitted(parts)
    first, second = (fit.relative_prevalence("Group B").to_frame() for fit in (one, other))
    np.testing.assert_allclose(second["estimate"], first["estimate"], rtol=SAME)


def test_without_a_risk_model(patients, tmp_path):
    parts = in_parts(patients, tmp_path / "visits")
    estimator = DebiasedPURPLE("ridge", None, strengths=[10.0], n_repeats=1)
    one, other = (clone(estimator).fit(c) for c in (patients, parts))
    a, b = (fit.relative_prevalence().to_frame()["std_error"] for fit in (one, other))
    np.testing.assert_allclose(b, a, rtol=SAME)


def test_values_of_rows_are_not_at_hand(patients, tmp_path):
    other = fitted(in_parts(patients, tmp_path / "visits"))
    with pytest.raises(InvalidInputError, match="kept in parts"):
        _ = other.propensity_


def test_on_a_cluster(patients, tmp_path):
    distributed = pytest.importorskip("distributed")
    write_parts(cut(patients, 3_001), tmp_path / "visits")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert_same(fitted(patients), fitted(Cohort.open(tmp_path / "visits", client)))
        fewer = patients.take(np.arange(4_000))
        write_parts(cut(fewer, 2_001), tmp_path / "fewer")
        there = Cohort.open(tmp_path / "fewer", client)
        assert_same(fitted(fewer, {}), fitted(there, {}), NEARLY_THE_SAME)


def test_rows_need_not_be_cut_evenly(tmp_path):
    rng = np.random.default_rng(2)
    g = rng.choice(["a", "b"], 900)
    x = rng.random((900, 3)) < np.where(g == "a", 0.5, 0.3)[:, None]
    s = rng.random(900) < 0.1 + 0.3 * x[:, 0]
    cohort = as_cohort(x.astype(float), s, groups=g, clusters=rng.integers(0, 400, 900))
    pieces = [cohort.take(np.arange(a, b)) for a, b in ((0, 500), (500, 501), (501, 900))]
    write_parts(pieces, tmp_path / "visits")
    assert_same(fitted(cohort), fitted(Cohort.open(tmp_path / "visits")))
