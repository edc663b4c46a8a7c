import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from relprev import PURPLE
from relprev.baselines import SAREM
from relprev.baselines.sar_em import most_likely, one_group
from relprev.errors import DataWarning, InvalidInputError
from relprev.model.em import fit_em
from relprev.simulate import gauss_synth


@pytest.fixture(scope="module")
def problem():
    cohort = gauss_synth((0.5, 0.4), n=(100, 3000), variant="published", seed=2).cohort
    return one_group(cohort.take(cohort.groups == 1))


def test_em_climbs_to_the_direct_maximum(problem) -> None:
    best = most_likely(problem)
    p = np.full(problem.n, 0.5)
    em = fit_em(
        problem, LogisticRegression(C=1e6, max_iter=1000), p, np.array([0.9]), tolerance=1e-9,
        max_iterations=2000,
    )  # fmt: skip
    assert em.losses[-1] == pytest.approx(best.certificate.objective, abs=2e-5)
    assert em.c[0] == pytest.approx(best.parameters.c[0], abs=0.02)


def test_prevalence_is_the_recorded_share_over_the_rate(problem) -> None:
    best = most_likely(problem)
    expected = problem.diagnosed_rate[0] / best.parameters.c[0]
    assert best.evaluation.condition[0] == pytest.approx(expected, rel=1e-3)


def test_group_as_propensity_feature_is_purple_without_its_penalty(gauss) -> None:
    ours = SAREM(propensity="group", C=np.inf).fit(gauss.cohort).relative_prevalence("b")
    purple = PURPLE(lambdas=0.0).fit(gauss.cohort).relative_prevalence("b")
    assert ours.to_frame().loc[0, "estimate"] == pytest.approx(
        purple.to_frame().loc[0, "estimate"], rel=1e-4
    )


def test_a_group_without_diagnoses_does_not_disturb_the_others(gauss) -> None:
    cohort = gauss.cohort
    X, s = cohort.X.to_scipy(), cohort.diagnosed.copy()
    labels = np.array(cohort.group_labels).astype("U4")
    labels[: cohort.n // 10] = "none"
    s[labels == "none"] = 0
    with pytest.warns(DataWarning, match="'none' gets no estimate"):
        all_groups = SAREM(propensity="group").fit(X, s, groups=labels)
    rest = labels != "none"
    two = SAREM(propensity="group").fit(X[rest], s[rest], groups=labels[rest])
    found, expected = (
        m.relative_prevalence("b").to_frame().set_index("group") for m in (all_groups, two)
    )
    assert np.isnan(found.loc["none", "estimate"])
    assert found.loc["a", "estimate"] == pytest.approx(expected.loc["a", "estimate"], rel=1e-6)


def test_ridge_flattens_the_curve(problem) -> None:
    free, held = (most_likely(problem, C).parameters.w for C in (np.inf, 3.0))
    assert np.abs(held).max() < 0.9 * np.abs(free).max()


def test_published_is_a_regression_with_reweighted_diagnoses(gauss) -> None:
    cohort = gauss.cohort.take(gauss.cohort.groups == 0)
    X, s = cohort.X.to_scipy(), cohort.diagnosed
    model = LogisticRegression(tol=1e-8, max_iter=1000)
    model.fit(X, s, sample_weight=np.where(s == 1, 1 / s.mean(), 1))
    expected = model.predict_proba(X)[:, 1].mean()
    found = SAREM(compat="published").fit(gauss.cohort)._summary.condition[0]
    assert found == pytest.approx(expected, rel=1e-3)


def test_unknown_compat_is_refused(gauss) -> None:
    with pytest.raises(InvalidInputError, match="compat must be None or 'published'"):
        SAREM(compat="old").fit(gauss.cohort)
    with pytest.raises(InvalidInputError, match="leave classifier out"):
        SAREM(LogisticRegression(), compat="published").fit(gauss.cohort)
    with pytest.raises(InvalidInputError, match="leave propensity out"):
        SAREM(propensity="group", compat="published").fit(gauss.cohort)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"propensity": "x"}, "propensity must be 'constant' or 'group', got 'x'"),
        ({"C": 0}, "C must be above 0, got 0"),
    ],
)
def test_unknown_options_are_refused(gauss, options, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SAREM(**options).fit(gauss.cohort)
