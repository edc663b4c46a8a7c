import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks

from relprev import PURPLE, Cohort, as_cohort
from relprev.errors import DataWarning, InvalidInputError
from relprev.messages import message_of
from relprev.simulate import ed_visits, gauss_synth

COLUMNS = [
    "group", "versus", "estimate", "ci_low", "ci_high",
    "observed_ratio", "diagnosis_ratio", "n", "n_diagnosed",
]  # fmt: skip


def _arrays(simulated):
    cohort = simulated.cohort
    return cohort.X.to_scipy(), cohort.diagnosed, cohort.group_labels


def _estimates(est, versus="complement"):
    return est.relative_prevalence(versus).to_frame().set_index("group")["estimate"]


@pytest.mark.parametrize("rates", [(0.5, 0.1), (0.5, 0.9)])
def test_known_ratio_is_recovered_where_the_recorded_one_misleads(rates):
    data = gauss_synth(rates, seed=2)
    table = PURPLE(lambdas=0.0).fit(data.cohort).relative_prevalence("b").to_frame()
    truth = data.relative_prevalence("b").to_frame()
    assert table.loc[0, "estimate"] == pytest.approx(truth.loc[0, "estimate"], rel=0.04)
    assert abs(np.log(truth.loc[0, "observed_ratio"] / truth.loc[0, "estimate"])) > 0.5


def test_sparse_codes_of_four_groups_are_recovered():
    data = ed_visits(150_000, n_codes=400, prevalence=0.1, seed=1)
    est = PURPLE().fit(data.cohort)
    truth = data.relative_prevalence().to_frame().set_index("group")["estimate"]
    np.testing.assert_allclose(_estimates(est) / truth, 1, atol=0.05)
    rates = pd.Series(data.diagnosis_rates, index=data.cohort.group_names)
    np.testing.assert_allclose(est.diagnosis_ratios_, rates / rates["Group B"], rtol=0.1)
    assert est.reference_ == "Group B"  # the largest


def test_result_table_has_the_promised_columns(visits):
    table = PURPLE(lambdas=1e-4).fit(visits.cohort).relative_prevalence().to_frame()
    assert list(table.columns) == COLUMNS
    assert table["ci_low"].isna().all()
    assert table["n"].sum() == visits.cohort.n
    assert table["n_diagnosed"].sum() == visits.cohort.diagnosed.sum()


def test_contrasts_agree_with_each_other(visits):
    est = PURPLE(lambdas=1e-4).fit(visits.cohort)
    pairs = (
        est.relative_prevalence("pairwise").to_frame().set_index(["group", "versus"])["estimate"]
    )
    assert len(pairs) == 12
    assert pairs["Group A", "Group B"] * pairs["Group B", "Group A"] == pytest.approx(1)
    versus_b = _estimates(est, "Group B")
    assert versus_b["Group C"] == pytest.approx(pairs["Group C", "Group B"])
    assert "Group B" not in versus_b


def test_complement_is_everybody_else_pooled(visits):
    est = PURPLE(lambdas=1e-4).fit(visits.cohort)
    p = est.predict_condition(visits.cohort.X)
    inside = visits.cohort.groups == 0
    assert _estimates(est)["Group A"] == pytest.approx(p[inside].mean() / p[~inside].mean())


def test_estimates_on_other_rows_use_their_means(visits):
    est = PURPLE(lambdas=1e-4).fit(visits.cohort)
    half = visits.cohort.take(np.arange(0, visits.cohort.n, 2))
    p = est.predict_condition(half.X)
    found = est.relative_prevalence("Group B", on=half).to_frame().set_index("group")["estimate"]
    expected = p[half.groups == 0].mean() / p[half.groups == 1].mean()
    assert found["Group A"] == pytest.approx(expected)


def _reordered(cohort):
    """The same visits, groups numbered the other way round."""
    return cohort.with_groups(np.arange(cohort.n_groups)[::-1])


def test_order_of_groups_in_validation_and_test_rows_does_not_matter(visits):
    """Rates are looked up by number: reversed, every group was scored with another's rate."""
    train, validation = (visits.cohort.take(np.arange(k, visits.cohort.n, 2)) for k in (0, 1))
    one = PURPLE([1e-3, 1e-4]).fit(train, validation=validation)
    other = PURPLE([1e-3, 1e-4]).fit(train, validation=_reordered(validation))
    np.testing.assert_allclose(other.selection_["score"], one.selection_["score"], rtol=1e-12)
    expected = one.relative_prevalence(on=validation).to_frame()
    found = one.relative_prevalence(on=_reordered(validation)).to_frame()
    np.testing.assert_allclose(found["estimate"], expected["estimate"], rtol=1e-12)
    assert found["group"].tolist() == expected["group"].tolist()


def test_other_groups_or_features_in_validation_and_test_rows_are_refused(visits, gauss):
    cohort = visits.cohort
    other = as_cohort(cohort.X, cohort.diagnosed, groups=[f"x{g}" for g in cohort.groups])
    with pytest.raises(InvalidInputError, match=r"of validation differ .*'x0'.*'Group A'"):
        PURPLE([1e-3, 1e-4]).fit(cohort, validation=other)
    fitted = PURPLE(1e-3).fit(cohort)
    with pytest.raises(InvalidInputError, match=r"of on differ .*'x0'.*'Group A'"):
        fitted.relative_prevalence(on=other)
    with pytest.raises(InvalidInputError, match=r"on has \d+ features, expected 300 as in fit"):
        fitted.relative_prevalence(on=gauss.cohort)


def test_an_unknown_reference_is_refused_before_the_fit(small, monkeypatch):
    X, s, groups = small
    monkeypatch.setattr("relprev.model.logistic.fit_best", lambda *_, **__: pytest.fail("fitted"))
    with pytest.raises(InvalidInputError, match=r"reference='nobody' is not a group; groups: \("):
        PURPLE(1e-3, reference="nobody").fit(X, s, groups=groups)


def test_predicted_diagnosis_is_condition_times_rate(visits):
    cohort = visits.cohort
    est = PURPLE(lambdas=1e-4).fit(cohort)
    p = est.predict_diagnosis(cohort.X, cohort.group_labels)
    ratio = p / est.predict_condition(cohort.X)
    by_group = pd.Series(ratio).groupby(cohort.group_labels).agg(["min", "max"])
    np.testing.assert_allclose(by_group["min"], by_group["max"])
    assert p.sum() == pytest.approx(cohort.diagnosed.sum(), rel=0.05)


def test_scaling_the_diagnosis_rates_leaves_the_ratio_unchanged():
    """Only p(y|x) up to a factor is known; the ratio must not depend on that factor."""
    ratios = []
    for factor in (1.0, 0.5):
        data = gauss_synth((0.8 * factor, 0.4 * factor), n=(40_000, 40_000), seed=1)
        ratios.append(_estimates(PURPLE(lambdas=0.0).fit(data.cohort), "b")["a"])
    assert ratios[0] == pytest.approx(ratios[1], rel=0.04)


@pytest.mark.parametrize("kind", ["sparse", "dense", "pandas", "polars"])
def test_kind_of_input_does_not_change_the_estimate(visits, kind):
    X, s, g = _arrays(visits)
    names = list(visits.cohort.feature_names)
    given = {
        "sparse": lambda: X,
        "dense": lambda: X.toarray(),
        "pandas": lambda: pd.DataFrame(X.toarray(), columns=names),
        "polars": lambda: pl.DataFrame(X.toarray(), schema=names),
    }[kind]()
    est = PURPLE(lambdas=1e-4, tolerance=1e-7).fit(given, s, groups=g)
    reference = PURPLE(lambdas=1e-4, tolerance=1e-7).fit(visits.cohort)
    np.testing.assert_allclose(_estimates(est), _estimates(reference), rtol=1e-5)
    assert hasattr(est, "feature_names_in_") == (kind in ("pandas", "polars"))


def test_weight_two_equals_duplicated_rows(visits):
    X, s, g = _arrays(visits)
    weights = np.where(np.arange(len(s)) < 5000, 2.0, 1.0)
    rows = np.concatenate([np.arange(len(s)), np.arange(5000)])
    a = PURPLE(lambdas=1e-4, tolerance=1e-7).fit(X, s, groups=g, sample_weight=weights)
    b = PURPLE(lambdas=1e-4, tolerance=1e-7).fit(X[rows], s[rows], groups=g[rows])
    np.testing.assert_allclose(_estimates(a), _estimates(b), rtol=1e-5)


def test_scale_of_weights_does_not_matter(visits):
    X, s, g = _arrays(visits)
    w = np.random.default_rng(0).uniform(0.5, 2, len(s))
    a, b = (PURPLE(lambdas=1e-4).fit(X, s, groups=g, sample_weight=k * w) for k in (1.0, 1e4))
    np.testing.assert_allclose(_estimates(a), _estimates(b), rtol=1e-6)


def test_names_and_order_of_groups_do_not_matter(visits):
    X, s, g = _arrays(visits)
    renamed = pd.Series(g).map({"Group A": "z", "Group B": "y", "Group C": "x", "Group D": "w"})
    a = _estimates(PURPLE(lambdas=1e-4, tolerance=1e-7).fit(X, s, groups=g))
    b = _estimates(PURPLE(lambdas=1e-4, tolerance=1e-7).fit(X, s, groups=renamed))
    np.testing.assert_allclose(a[["Group A", "Group B"]], b[["z", "y"]], rtol=1e-5)


def test_same_seed_gives_the_same_bits(visits):
    a, b = (PURPLE(random_state=3).fit(visits.cohort) for _ in range(2))
    assert a.coef_.tobytes() == b.coef_.tobytes()


def test_survey_weights_enter_fit_and_estimate():
    data = ed_visits(60_000, n_codes=200, prevalence=0.15, survey=True, seed=6)
    est = PURPLE(lambdas=1e-5).fit(data.cohort)
    truth = data.relative_prevalence().to_frame().set_index("group")["estimate"]
    np.testing.assert_allclose(_estimates(est) / truth, 1, atol=0.12)
    p, w = est.predict_condition(data.cohort), data.cohort.weights
    inside = data.cohort.groups == 0
    expected = np.average(p[inside], weights=w[inside]) / np.average(p[~inside], weights=w[~inside])
    assert _estimates(est)["Group A"] == pytest.approx(expected)


# -- bad input -----------------------------------------------------------------------------


def test_every_kind_of_bad_input_gets_a_clear_error(small):
    X, s, g = small
    broken = X.copy()
    broken[7, 2] = np.nan
    bad_s = s.copy()
    bad_s[9] = 2
    gap = pd.Series(g, dtype=object)
    gap[5] = None
    weights = np.ones(300)
    weights[3] = 0
    cases = [
        ({"X": broken}, "1 missing or infinite value, first in row 7"),
        ({"s": bad_s}, "s must be 0 or 1 .* first in row 9"),
        ({"s": np.array(["yes", "no"] * 150)}, "s must be 0 or 1"),
        ({"s": np.zeros(300)}, "nobody is diagnosed"),
        ({"s": np.ones(300)}, "everybody is diagnosed"),
        ({"s": None}, "s .* is required"),
        ({"groups": None}, "groups is required"),
        ({"groups": np.repeat("a", 300)}, "only one group"),
        ({"groups": gap}, "groups is missing in 1 row, first in row 5"),
        ({"sample_weight": weights}, "positive and finite.*row 3"),
        ({"sample_weight": -np.ones(300)}, "positive and finite"),
        ({"s": s[:-1]}, "s has 299 values, X has 300 rows"),
        ({"groups": g[:10]}, "groups has 10 values"),
        ({"clusters": np.arange(5)}, "clusters has 5 values"),
        ({"X": X[:0], "s": s[:0], "groups": g[:0]}, r"X has 0 rows \(shape \(0, 4\)\)"),
        ({"X": X[:, :0]}, "no features"),
        ({"X": pd.DataFrame({"age": ["x"] * 300})}, "not numeric: 'age'"),
        ({"X": np.column_stack([X, s])}, "column 4 equals s"),
    ]
    for change, message in cases:
        given = {"X": X, "s": s, "groups": g} | change
        with pytest.raises(InvalidInputError, match=message):
            PURPLE(lambdas=0.01).fit(given.pop("X"), given.pop("s"), **given)


def test_identifiers_as_groups_are_refused(small):
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="if it is an identifier"):
        PURPLE().fit(rng.normal(size=(1500, 2)), np.arange(1500) % 2, groups=np.arange(1500))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"validation_share": 1.5}, "validation_share"),
        ({"folds": 1}, "folds"),
        ({"n_starts": 0}, "n_starts"),
        ({"l2": -1.0}, "l2"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"reference": "zz"}, "reference='zz' is not a group"),
        ({"lambdas": "many"}, "lambdas"),
    ],
)
def test_bad_parameters_are_named(small, parameters, message):
    X, s, g = small
    with pytest.raises(InvalidInputError, match=message):
        PURPLE(**({"lambdas": 0.01} | parameters)).fit(X, s, groups=g)


@pytest.mark.parametrize("count", [1, 2, 10, 11])
def test_up_to_ten_diagnosed_rows_are_met_with_one_warning_and_no_refusal(small, count):
    """One was refused, for want of another to hold out: whoever read of it knew that it was one."""
    X, s, g = small
    s = np.where((g == "a") & (np.cumsum((g == "a") & (s == 1)) > count), 0, s)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        est = PURPLE(lambdas=[1e-3, 1e-2]).fit(X, s, groups=g)
    assert np.isfinite(est.relative_prevalence().to_frame()["estimate"]).all()
    said = ["few diagnosed rows or none: 'a'" in str(item.message) for item in caught]
    assert any(said) == (count <= 10)


def test_prediction_refuses_other_features_and_unknown_groups(visits):
    est = PURPLE(lambdas=1e-3).fit(visits.cohort)
    with pytest.raises(InvalidInputError, match="has 3 features, expected 300 as in fit"):
        est.predict_condition(np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="groups must be among"):
        est.predict_diagnosis(visits.cohort.X.take(np.arange(2)), ["Group A", "Group Z"])
    with pytest.raises(InvalidInputError, match="versus='Group Z'"):
        est.relative_prevalence("Group Z")
    frame = pd.DataFrame(np.zeros((1, 300)), columns=[f"x{j}" for j in range(300)])
    with pytest.raises(InvalidInputError, match="in name or order"):
        est.predict_condition(frame)


def test_messages_never_show_the_data(small):
    X, s, g = small
    secret = pd.Series(np.where(g == "a", "patient-4711", "b"), dtype=object)
    secret[0] = None
    with pytest.raises(InvalidInputError) as error:
        PURPLE().fit(X, s, groups=secret)
    assert "4711" not in str(error.value)


def test_cohort_and_arrays_together_are_refused(visits):
    with pytest.raises(InvalidInputError, match=r"X is a Cohort.*leave out"):
        PURPLE().fit(visits.cohort, visits.cohort.diagnosed)


# -- scikit-learn conventions ----------------------------------------------------------------


class _ByParity(PURPLE):
    """PURPLE with groups made up from the row number, so that generic checks can fit it."""

    def fit(self, X, y=None, sample_weight=None):
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        labels = None if y is None else (np.asarray(y) == np.max(np.asarray(y))).astype(int)
        return super().fit(X, labels, groups=np.arange(rows) % 2, sample_weight=sample_weight)


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_dict_unchanged,
        estimator_checks.check_fit_check_is_fitted,
        estimator_checks.check_n_features_in,
        estimator_checks.check_estimators_overwrite_params,
        estimator_checks.check_readonly_memmap_input,
        estimator_checks.check_sample_weights_not_overwritten,
        estimator_checks.check_estimators_unfitted,
        estimator_checks.check_dont_overwrite_parameters,
        estimator_checks.check_fit_idempotent,
        estimator_checks.check_estimators_fit_returns_self,
        estimator_checks.check_estimators_nan_inf,
        estimator_checks.check_estimators_pickle,
        estimator_checks.check_f_contiguous_array_estimator,
        estimator_checks.check_fit1d,
        estimator_checks.check_sample_weights_list,
        estimator_checks.check_sample_weights_pandas_series,
        estimator_checks.check_sample_weights_shape,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.filterwarnings("ignore::relprev.errors.RelprevWarning")
def test_scikit_learn_check(check):
    check("PURPLE", _ByParity(lambdas=0.1, n_starts=1))


def test_parameters_survive_cloning():
    est = PURPLE(lambdas=[0.1, 0.0], selection="cv", folds=3, random_state=9)
    assert clone(est).get_params() == est.get_params()


def test_refitting_forgets_the_last_fit(visits, gauss):
    est = PURPLE(lambdas=1e-3).fit(visits.cohort)
    est.fit(gauss.cohort)
    assert est.n_features_in_ == 5
    assert not hasattr(est, "feature_names_in_")


def test_group_missing_from_test_rows_becomes_nan_not_gone(visits):
    est = PURPLE(lambdas=1e-3).fit(visits.cohort)
    without_d = visits.cohort.take(visits.cohort.groups != 3)
    table = est.relative_prevalence(on=without_d).to_frame().set_index("group")
    assert np.isnan(table.loc["Group D", "estimate"])
    assert np.isfinite(table.loc["Group A", "estimate"])
    assert isinstance(without_d, Cohort)


@pytest.mark.parametrize("seed", [2, 3])
def test_without_penalty_few_cases_and_many_codes_still_converge(seed):
    cohort = ed_visits(20_000, n_codes=500, prevalence=0.06, seed=seed).cohort
    fitted = PURPLE(0.0, n_starts=1).fit(cohort)  # a warning would fail the test
    assert fitted.certificate_.converged
    assert fitted.certificate_.ratio_change <= 1e-4


def test_convergence_is_said_in_messages(visits):
    with pytest.warns(UserWarning, match="the solver stopped") as caught:
        PURPLE(1e-5, max_iterations=1, n_starts=1).fit(visits.cohort)
    assert message_of(caught[0].message) is not None
