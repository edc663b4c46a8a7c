"""DebiasedPURPLE: recovery, invariances, learners, designs and thin groups."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from relprev import as_cohort
from relprev.checks import check_sensitivity
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.estimates import COLUMNS, sentence
from relprev.inference import DebiasedPURPLE, SamplingDesign, anchor
from relprev.inference.folds import make_folds

FAST = {"strengths": (3.0,), "lambdas": 1e-4, "folds": 3, "n_repeats": 1}
LINEAR = {"propensity": "ridge", "risk": "purple"}


def make(n=6000, rates=(0.3, 0.6, 0.4), seed=0, p=8):
    """Arrays of a cohort with known p(y|x)."""
    rng = np.random.default_rng(seed)
    K = len(rates)
    g = rng.integers(0, K, n)
    frequency = 0.15 + 0.25 * rng.random((K, p))
    x = rng.random((n, p)) < frequency[g]
    w = np.linspace(-0.5, 1.5, p)
    prob = 1 / (1 + np.exp(2.5 - x @ w))
    s = (rng.random(n) < prob) & (rng.random(n) < np.asarray(rates)[g])
    names = np.array(list("abcdef"))[g]
    truth = np.array([prob[g == k].mean() for k in range(K)])
    return {"X": sp.csr_array(x.astype(float)), "s": s.astype(int), "groups": names}, truth


def table(data, versus="a", **parameters):
    fitted = DebiasedPURPLE(**(FAST | parameters)).fit(**data)
    return fitted.relative_prevalence(versus).to_frame().set_index("group")


@pytest.mark.parametrize("m", ["purple", None])
def test_recovers_the_truth_within_its_intervals(m):
    data, truth = make(n=30_000)
    found = table(data, risk=m)
    true_ratio = truth[1:] / truth[0]
    assert (found["ci_low"] < true_ratio).all()
    assert (found["ci_high"] > true_ratio).all()
    assert np.abs(np.log(found["estimate"] / true_ratio)).max() < 0.12
    assert (np.abs(np.log(found["observed_ratio"] / true_ratio)) > 0.2).any()


def test_result_starts_with_the_columns_of_every_estimator():
    data, _ = make()
    columns = list(table(data).reset_index().columns)
    assert columns[: len(COLUMNS)] == list(COLUMNS)


def test_renaming_groups_changes_nothing_but_names():
    data, _ = make()
    one = table(data)
    renamed = data | {
        "groups": np.array([{"a": "z", "b": "y", "c": "x"}[k] for k in data["groups"]])
    }
    two = table(renamed, versus="z").rename(index={"y": "b", "x": "c"}).loc[one.index]
    # The folds differ, because groups are dealt in another order; the estimates hardly.
    np.testing.assert_allclose(np.log(one["estimate"]), np.log(two["estimate"]), atol=0.05)


def test_reference_group_hardly_matters():
    data, _ = make()
    one, two = table(data), table(data, reference="c")
    np.testing.assert_allclose(one["estimate"], two["estimate"], rtol=2e-3)
    np.testing.assert_allclose(one["std_error"], two["std_error"], rtol=2e-2)


def test_scaling_all_weights_changes_nothing():
    data, _ = make()
    one = table(data | {"sample_weight": np.ones(6000)})
    two = table(data | {"sample_weight": np.full(6000, 7.0)})
    np.testing.assert_allclose(one["estimate"], two["estimate"], rtol=1e-6)
    np.testing.assert_allclose(one["std_error"], two["std_error"], rtol=1e-6)


def test_weight_two_equals_a_patients_row_twice():
    data, _ = make(n=3000)
    patient = np.arange(3000)
    twice = np.concatenate([patient, patient[:400]])
    weighted = table(
        data | {"clusters": patient, "sample_weight": np.where(patient < 400, 2.0, 1.0)}
    )
    repeated = table(
        {
            "X": data["X"][twice], "s": data["s"][twice], "groups": data["groups"][twice],
            "clusters": patient[twice],
        }
    )  # fmt: skip
    np.testing.assert_allclose(weighted["estimate"], repeated["estimate"], rtol=2e-3)
    np.testing.assert_allclose(weighted["std_error"], repeated["std_error"], rtol=2e-3)
    np.testing.assert_allclose(weighted["effective_cases"], repeated["effective_cases"], rtol=2e-3)


def test_repeating_every_visit_of_a_patient_leaves_the_standard_error():
    """Ten copies of each visit carry no new information if patients are named."""
    data, _ = make(n=2500)
    rows = np.tile(np.arange(2500), 2)
    copies = {"X": data["X"][rows], "s": data["s"][rows], "groups": data["groups"][rows]}
    same = {"propensity": "ridge", "risk": "purple", "n_repeats": 1}  # copies lie in other folds
    one = table(data, **same)
    named = table(copies | {"clusters": rows}, **same)
    unnamed = table(copies, **same)
    np.testing.assert_allclose(named["std_error"], one["std_error"], rtol=0.01)
    np.testing.assert_allclose(named["effective_cases"], one["effective_cases"], rtol=0.01)
    np.testing.assert_allclose(unnamed["std_error"], one["std_error"] / np.sqrt(2), rtol=0.1)


def test_versus_complement_agrees_with_the_pairs():
    data, _ = make(n=20_000)
    found = table(data, versus="complement")
    pairs = table(data)["estimate"]
    share = {k: np.mean(data["groups"] == k) for k in "bc"}
    mean = (share["b"] * pairs["b"] + share["c"] * pairs["c"]) / (share["b"] + share["c"])
    assert found.loc["a", "estimate"] == pytest.approx(1 / mean, rel=1e-6)


def test_any_classifier_will_do():
    data, truth = make(n=20_000)
    dense = data | {"X": data["X"].toarray()}
    found = table(
        dense,
        propensity=LogisticRegression(),
        risk=DecisionTreeClassifier(min_samples_leaf=300, random_state=0),
    )
    true_ratio = truth[1:] / truth[0]
    assert ((found["ci_low"] < true_ratio) & (true_ratio < found["ci_high"])).all()


def test_something_that_is_no_classifier_is_refused():
    data, _ = make(n=1000)
    with pytest.raises(InvalidInputError, match="predict_proba"):
        table(data, propensity=LinearRegression())


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("risk", "logistic"), ("folds", 1), ("folds", [0, 1]), ("folds", np.full(500, 0.5)),
     ("strengths", ()), ("reference", "nobody")],
)  # fmt: skip
def test_wrong_parameters_are_named(parameter, value):
    data, _ = make(n=500)
    with pytest.raises(InvalidInputError, match=parameter):
        table(data, **{parameter: value})


def test_clone_and_same_seed_give_the_same_numbers():
    data, _ = make(n=2000)
    estimator = DebiasedPURPLE(**FAST)
    one = estimator.fit(**data).relative_prevalence().to_frame()
    two = clone(estimator).fit(**data).relative_prevalence().to_frame()
    assert one.equals(two)


@pytest.mark.parametrize("count", [0, 1])
def test_group_without_cases_is_withheld_with_words(count):
    data, _ = make()
    s = data["s"].copy()
    s[np.flatnonzero((data["groups"] == "c") & (s == 1))[count:]] = 0
    with pytest.warns(DataWarning, match="no estimate for c"):
        found = table(data | {"s": s}, versus="pairwise").reset_index()
    withheld = found[(found["group"] == "c") | (found["versus"] == "c")]
    assert len(found) == 6
    assert withheld["estimate"].isna().all()
    assert set(withheld["withheld"]) == {'{"few diagnosed": ["c"]}'}
    words = [sentence(row) for row in withheld.to_dict("records")]
    assert all(text.endswith("too few patients are diagnosed in c.") for text in words)
    assert found[~found.index.isin(withheld.index)]["estimate"].notna().all()
    assert found.loc[found["group"] == "c", "n_diagnosed"].tolist() == [count, count]


def test_group_with_five_cases_gets_a_wide_interval():
    data, _ = make()
    s = data["s"].copy()
    s[np.flatnonzero((data["groups"] == "c") & (s == 1))[5:]] = 0
    with pytest.warns(DataWarning) as caught:
        found = table(data | {"s": s}, folds=5)
    assert any("very few informative cases" in str(item.message) for item in caught)
    assert found.loc["c", "diagnosis_ci_high"] / found.loc["c", "diagnosis_ci_low"] > 4
    assert found["few_cases"].to_dict() == {"b": False, "c": True}
    assert "Few cases" in sentence(found.reset_index().to_dict("records")[1])


def test_fewer_folds_where_a_group_has_few_patients():
    data, _ = make()
    s = data["s"].copy()
    s[np.flatnonzero((data["groups"] == "c") & (s == 1))[3:]] = 0
    with pytest.warns(DataWarning) as caught:
        table(data | {"s": s}, folds=5)
    said = "fewer folds may be used: 'c' (3 diagnosed patients)"
    assert any(said in str(w.message) for w in caught)


def test_no_two_groups_with_cases_is_an_error():
    data, _ = make(n=900)
    s = np.where(data["groups"] == "a", data["s"], 0)
    with pytest.raises(TooFewCasesError, match="fewer than two groups"):
        table(data | {"s": s})


def test_survey_design_is_used_and_a_domain_keeps_it():
    data, _ = make(n=9000)
    rng = np.random.default_rng(0)
    psu = rng.integers(0, 60, 9000)
    design = data | {"strata": psu % 6, "psus": psu, "sample_weight": 1.0 + psu % 6}
    fitted = DebiasedPURPLE(**FAST).fit(**design)
    assert fitted.moments_.degrees_of_freedom == 54
    inside = psu < 50
    domain = DebiasedPURPLE(**FAST).fit(**design, domain=inside)
    assert domain.moments_.degrees_of_freedom == 50 - 6
    assert len(domain.design_.stratum) == 60
    assert domain.relative_prevalence().to_frame()["n"].sum() == inside.sum()


def test_no_patient_is_split_over_folds():
    data, _ = make(n=3000)
    patients = np.random.default_rng(0).integers(0, 800, 3000)
    cohort = as_cohort(**data, clusters=patients)
    folds = make_folds(cohort, SamplingDesign.from_cohort(cohort), 5, 0)
    seen = [set(patients[rows]) for rows in folds]
    assert sum(map(len, folds)) == 3000
    assert sum(map(len, seen)) == len(set(patients))


def test_rows_without_weight_are_refused_with_a_remedy():
    data, _ = make(n=1000)
    weight = np.ones(1000)
    weight[:10] = 0.0
    with pytest.raises(InvalidInputError, match=r"sample_weight must be positive.*drop rows"):
        DebiasedPURPLE(**FAST).fit(**data, sample_weight=weight)


def test_no_psu_is_split_over_folds():
    from relprev.inference.folds import make_folds
    from relprev.inference.sampling import SamplingDesign

    data, _ = make(n=2000)
    psu = np.random.default_rng(0).integers(0, 40, 2000)
    cohort = as_cohort(**data, psus=psu)
    folds = make_folds(cohort, SamplingDesign.from_cohort(cohort), 4, seed=0)
    of_row = np.empty(2000, dtype=int)
    for number, rows in enumerate(folds):
        of_row[rows] = number
    assert all(len(np.unique(of_row[psu == unit])) == 1 for unit in np.unique(psu))
    assert sorted(np.concatenate(folds)) == list(range(2000))


def test_domain_must_be_a_mask():
    data, _ = make(n=500)
    with pytest.raises(InvalidInputError, match="domain"):
        DebiasedPURPLE(**FAST).fit(**data, domain=np.arange(10))


def test_ridge_counts_patients_not_primary_sampling_units():
    """Strengths counted in PSUs shrank the propensities of surveys far too much."""
    data, _ = make(n=9000)
    psu = np.random.default_rng(0).integers(0, 20, 9000)
    plain = DebiasedPURPLE(**FAST).fit(**data)
    survey = DebiasedPURPLE(**FAST).fit(**data, psus=psu)
    assert np.std(survey.propensity_[:, 0]) == pytest.approx(
        np.std(plain.propensity_[:, 0]), rel=0.05
    )


def test_group_told_apart_by_its_symptoms_is_withheld():
    data, _ = make()
    marker = sp.csr_array((data["groups"] == "c").astype(float)[:, None])
    told = data | {"X": sp.hstack([data["X"], marker], format="csr")}
    with pytest.warns(DataWarning, match="completely apart.*: c"):
        found = table(told, versus="a", **LINEAR)
    assert np.isnan(found.loc["c", "estimate"])
    assert found.loc["c", "withheld"] == '{"told apart": ["c"]}'
    assert np.isfinite(found.loc["b", "estimate"])


def test_withheld_group_has_no_number_anywhere():
    data, _ = make()
    marker = sp.csr_array((data["groups"] == "c").astype(float)[:, None])
    with pytest.warns(DataWarning, match="completely apart"):
        fitted = DebiasedPURPLE(**FAST, **LINEAR).fit(
            **(data | {"X": sp.hstack([data["X"], marker], format="csr")})
        )
    assert fitted.diagnosis_ratios_.isna().to_dict() == {"a": False, "b": False, "c": True}
    table = anchor(fitted, "a", diagnosis_rate=0.2, interval=(0.2, 0.2)).set_index("group")
    assert table.loc["c"].isna().all()
    assert table.loc[["a", "b"]].notna().all(axis=None)
    with pytest.raises(InvalidInputError, match="group='c' has no estimate"):
        anchor(fitted, "c", diagnosis_rate=0.5, interval=(0.5, 0.5))
    with pytest.raises(InvalidInputError, match="versus='c' has no estimate"):
        check_sensitivity(fitted, "a", "c")


def test_lonely_psu_stops_the_fit_unless_a_policy_is_chosen():
    data, _ = make(n=4000)
    psu = np.random.default_rng(0).integers(0, 41, 4000)
    design = data | {"psus": psu, "strata": np.where(psu == 40, 9, psu % 4)}
    with pytest.raises(InvalidInputError, match="single primary sampling unit"):
        DebiasedPURPLE(**FAST).fit(**design)
    one = DebiasedPURPLE(**FAST, lonely_psu="adjust").fit(**design).relative_prevalence()
    two = DebiasedPURPLE(**FAST, lonely_psu="certainty").fit(**design).relative_prevalence()
    assert (one.to_frame()["std_error"] >= two.to_frame()["std_error"]).all()
