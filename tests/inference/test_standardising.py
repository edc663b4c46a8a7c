"""Standardised relative prevalence: special cases, finite differences, survey formulas."""

from dataclasses import replace

import numpy as np
import pytest
from simulations.standardised import draw

from relprev import DebiasedPURPLE
from relprev.cohort import as_cohort
from relprev.errors import InvalidInputError
from relprev.estimates import why_missing
from relprev.inference import standardise
from relprev.inference.moments import inverse_slope
from relprev.inference.score import ScoreData, solve_score
from relprev.inference.standardising import _cells, _influence, _log_total


@pytest.fixture(scope="module")
def world():
    drawn = draw(0, n=6000)
    fitted = DebiasedPURPLE(risk=None, strengths=[1.0], n_repeats=1).fit(drawn.cohort)
    return drawn, fitted


def test_one_stratum_is_the_unadjusted_estimate(world):
    drawn, fitted = world
    plain = fitted.relative_prevalence("b").to_frame().iloc[0]
    row = standardise(fitted, np.full(drawn.cohort.n, "all"), "b").iloc[0]
    for name in ("estimate", "ci_low", "ci_high", "observed_ratio", "observed_ci_low", "std_error"):
        assert row[name] == pytest.approx(plain[name], rel=1e-10), name
    assert row["unadjusted"] == plain["estimate"]


def test_recorded_ratio_is_the_directly_standardised_one(world):
    drawn, fitted = world
    share = {"young": 0.2, "middle": 0.3, "old": 0.5}
    row = standardise(fitted, drawn.strata, "b", standard=share).iloc[0]
    labels, s = np.asarray(drawn.cohort.group_labels), drawn.cohort.diagnosed
    rate = [sum(w * s[(labels == g) & (drawn.strata == k)].mean() for k, w in share.items())
            for g in "ab"]  # fmt: skip
    assert row["observed_ratio"] == pytest.approx(rate[0] / rate[1], rel=1e-12)
    variance = sum(
        w**2 * s[at].var() / at.sum() / total**2
        for g, total in zip("ab", rate, strict=True)
        for k, w in share.items()
        for at in [(labels == g) & (drawn.strata == k)]
    )
    half = np.log(row["observed_ci_high"] / row["observed_ratio"])
    assert half == pytest.approx(1.959964 * np.sqrt(variance), rel=2e-3)


@pytest.mark.parametrize("pooled", [True, False])
def test_gradients_are_finite_differences(world, pooled):
    drawn, fitted = world
    number = np.unique(drawn.strata, return_inverse=True)[1]
    data = fitted.score_data_
    P, D = data.total(_cells, 2, 3, each=data.cut(number.astype(np.int32)))
    theta = fitted.moments_.theta

    def value(P, D, theta):
        w = P.sum(axis=0) / P.sum() if pooled else np.array([0.2, 0.3, 0.5])
        return _log_total(P, D, w, np.exp(-theta), [0, 1], pooled)

    at = value(P, D, theta)
    for k, step in enumerate((1e-7, 1e-8)):
        for cell in np.ndindex(P.shape):
            moved = [P.copy(), D.copy()]
            moved[k][cell] += step
            slope = (value(*moved, theta)[0] - at[0]) / step
            assert slope == pytest.approx(at[1 + k][cell], rel=1e-4, abs=1e-4)
    for g in range(2):
        moved = theta.copy()
        moved[g] += 1e-6
        assert (value(P, D, moved)[0] - at[0]) / 1e-6 == pytest.approx(at[3][g], rel=1e-4)


def test_influence_is_the_derivative_in_the_weights(world):
    """The estimate is made again with a row's weight changed a little, nuisances kept."""
    drawn, fitted = world
    part = replace(fitted.scores_in_memory(), missed=None)
    number = np.unique(drawn.strata, return_inverse=True)[1].astype(np.int32)

    def data_of(omega):
        rest = (part.propensity, part.risk, part.reference)
        return ScoreData.of(part.g, part.s, omega / omega.sum(), *rest)

    def estimate(omega):
        theta = solve_score(data_of(omega))
        P, D = _cells(replace(part, omega=omega / omega.sum()), number, 2, 3)
        w = P.sum(axis=0) / P.sum()
        a, b = (_log_total(P, D, w, np.exp(-theta), [g], True)[0] for g in (0, 1))
        return a - b, theta, P, D, w

    value, theta, P, D, w = estimate(part.omega)
    one, two = (_log_total(P, D, w, np.exp(-theta), [g], True) for g in (0, 1))
    of_P, of_D, of_theta = (a - b for a, b in zip(one[1:], two[1:], strict=True))
    inverse = inverse_slope(data_of(part.omega), theta)
    (found,) = _influence(part, number, theta, [(of_P, of_D, of_theta @ inverse)])
    sick = np.flatnonzero(part.s)[:10]
    for row in [*range(10), *sick]:
        step = 0.05 * part.omega[row]
        moved = part.omega.copy()
        moved[row] += step
        slope = (estimate(moved)[0] - value) / step
        assert slope == pytest.approx(found[row] / part.omega[row], rel=0.01, abs=0.02)


def test_weights_of_two_are_rows_written_twice(world):
    drawn, _ = world
    cohort, n = drawn.cohort, 1500
    rows = np.arange(n)
    twice = np.concatenate([rows, rows])
    X, s, g = np.asarray(cohort.X.to_scipy()), cohort.diagnosed, np.asarray(cohort.group_labels)
    folds = rows % 5
    made = [
        (as_cohort(X[rows], s[rows], groups=g[rows], sample_weight=np.full(n, 2.0)), rows),
        (as_cohort(X[twice], s[twice], groups=g[twice]), twice),
    ]
    found = []
    for one, at in made:
        fitted = DebiasedPURPLE(risk=None, strengths=[1.0], folds=folds[at]).fit(one)
        found.append(standardise(fitted, drawn.strata[at], "b").iloc[0])
    assert found[0]["observed_ratio"] == pytest.approx(found[1]["observed_ratio"], rel=1e-12)


@pytest.mark.parametrize(
    ("standard", "words"),
    [
        ("census", "standard must be 'pooled'"),
        ({"young": 1.0, "ancient": 1.0}, "have no rows: ancient; there are middle, old, young"),
        ({"young": -1.0, "old": 2.0}, "shares of 0 or more"),
        ({"young": 0.0}, "some of them positive"),
    ],
)
def test_impossible_standards_are_refused(world, standard, words):
    drawn, fitted = world
    with pytest.raises(InvalidInputError, match=words):
        standardise(fitted, drawn.strata, "b", standard=standard)


def test_a_group_without_visits_in_a_stratum_is_named(world):
    drawn, fitted = world
    labels = np.asarray(drawn.cohort.group_labels)
    strata = np.where((drawn.strata == "old") & (labels == "a"), "middle", drawn.strata)
    row = standardise(fitted, strata, "b").iloc[0]
    assert np.isnan(row["estimate"])
    assert row["unadjusted"] > 0
    assert why_missing(row) == "there are no data on a in old"
    share = {"young": 0.5, "middle": 0.5}
    assert standardise(fitted, strata, "b", standard=share)["estimate"].notna().all()


@pytest.fixture(scope="module")
def three(world):
    """Groups a, b and c, of which c has nobody in the stratum "old"; and strata in which it has."""
    cohort, strata = world[0].cohort, world[0].strata
    labels = np.asarray(cohort.group_labels)
    labels = np.where((labels == "b") & (np.arange(cohort.n) % 2 == 0), "c", labels)
    cohort = as_cohort(cohort.X.to_scipy(), cohort.diagnosed, groups=labels)
    fitted = DebiasedPURPLE(risk=None, strengths=[1.0], n_repeats=1).fit(cohort)
    lacking = np.where((strata == "old") & (labels == "c"), "middle", strata)
    return fitted, labels, strata, lacking


def test_comparisons_without_the_group_that_lacks_a_stratum_stand(three):
    """One group without visits in one stratum took the standardised ratios of all away."""
    fitted, _, strata, lacking = three
    share = {"young": 0.2, "middle": 0.3, "old": 0.5}
    keys = ["group", "versus"]
    full, part = (standardise(fitted, at, "pairwise", standard=share).set_index(keys)
                  for at in (strata, lacking))  # fmt: skip
    missing = part["estimate"].isna()
    assert sorted(part.index[missing]) == [("a", "c"), ("b", "c"), ("c", "a"), ("c", "b")]
    np.testing.assert_allclose(
        part.loc[~missing].drop(columns="withheld").astype(float),
        full.loc[~missing].drop(columns="withheld").astype(float),
    )
    assert {why_missing(row) for _, row in part[missing].iterrows()} == {
        "there are no data on c in old"
    }


@pytest.mark.parametrize("standard", ["pooled", {"young": 0.2, "middle": 0.3, "old": 0.5}])
def test_everyone_else_has_the_strata_of_all_its_groups(three, standard):
    """Of everyone else together, a group counts in the strata that it has."""
    fitted, labels, _, strata = three
    rate = dict(zip(fitted.moments_.names, fitted.moments_.theta, strict=True))
    found = standardise(fitted, strata, standard=standard).set_index("group")
    assert why_missing(found.loc["c"]) == "there are no data on c in old"
    assert np.isnan(found["estimate"]["c"])
    cases = fitted.scores_in_memory().s * np.exp(-np.array([rate[g] for g in labels]))
    w = {k: (strata == k).mean() if standard == "pooled" else standard[k]
         for k in ("young", "middle", "old")}  # fmt: skip
    for group in "ab":
        one, rest = (
            sum(v * cases[side & (strata == k)].mean() for k, v in w.items())
            for side in (labels == group, labels != group)
        )
        assert found["estimate"][group] == pytest.approx(one / rest, rel=1e-9)
