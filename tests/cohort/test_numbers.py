"""Columns that are features as numbers and as curves: values, missing ones, parts, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relprev import PURPLE, DebiasedPURPLE
from relprev.codes import CodeSet
from relprev.cohort import Cohort, CohortSpec, Extra, Features, GroupVariable, build_cohorts
from relprev.cohort.numbers import NumberFeature
from relprev.errors import DataWarning, InvalidInputError
from relprev.matrix import BinaryCSR, FloatCSR
from relprev.matrix.curves import KNOTS, curve
from relprev.sources import read_tables

CONDITION = CodeSet.of("abuse", ["ICD10:T74*"])
N = 400
ESTIMATES = ["estimate", "ci_low", "ci_high", "std_error"]


def tables(n=N, **columns):
    """Visits with a pulse that a fifth lack, and codes; the condition follows the pulse."""
    rng = np.random.default_rng(1)
    pulse = rng.normal(80, 12, n)
    ward = rng.choice(["north", "south"], n)
    sick = rng.random(n) < 1 / (1 + np.exp(-(pulse - 80) / 8))
    told = sick & (rng.random(n) < np.where(ward == "north", 0.7, 0.4))
    visits = pd.DataFrame({
        "id": range(n), "ward": ward, "age": rng.integers(18, 90, n),
        "pulse": np.where(rng.random(n) < 0.2, np.nan, pulse),
        "weight": rng.uniform(1, 5, n),
    }).assign(**columns)  # fmt: skip
    some = rng.random(n) < 0.4
    codes = pd.DataFrame({
        "id": np.r_[np.arange(n), np.flatnonzero(some), np.flatnonzero(told)],
        "dx": ["R51", "R10"] * (n // 2) + ["R11"] * some.sum() + ["T7411XA"] * told.sum(),
    })  # fmt: skip
    return visits, codes


def source(visits, codes, **more):
    return read_tables(
        visits, codes, visit_id="id", code="dx", version="ICD10", age="age",
        attributes=["ward", *(set(visits) - {"id", "age", "ward", "weight"})], **more,
    )  # fmt: skip


def spec(*extra, min_count=0):
    features = Features(extra=extra, min_count=min_count)
    return CohortSpec(CONDITION, (GroupVariable("ward"),), features=features)


def built(*extra, min_count=0, data=None, **options):
    data = tables() if data is None else data
    return build_cohorts(spec(*extra, min_count=min_count), source(*data), **options)["ward"]


def column(cohort, name):
    return cohort.X.to_scipy().toarray()[:, cohort.feature_names.index(name)]


def test_without_numbers_the_matrix_is_binary():
    found = built(Extra("age", (30, 50)))
    assert isinstance(found.cohort.X, BinaryCSR)
    assert found.numbers == {}
    assert "numbers" not in found.kinds


def test_a_number_is_less_its_median_and_in_units_of_its_spread():
    found = built(Extra("pulse", form="number"))
    x = tables()[0]["pulse"].to_numpy()
    low, centre, high = np.nanquantile(x, [0.25, 0.5, 0.75])
    expected = (x - centre) / ((high - low) / (stats.norm.ppf(0.75) * 2))
    assert isinstance(found.cohort.X, FloatCSR)
    assert found.cohort.feature_names == ("ICD10:R10", "ICD10:R11", "ICD10:R51", "pulse:number")
    np.testing.assert_allclose(column(found.cohort, "pulse:number"), np.nan_to_num(expected))
    assert found.kinds == {"diagnoses": 3, "numbers": 1}
    assert found.numbers["pulse"].centre == centre


def test_codes_beside_a_number_are_those_without_it():
    with_it, without = built(Extra("pulse", form="number")).cohort, built().cohort
    for name in without.feature_names:
        np.testing.assert_array_equal(column(with_it, name), column(without, name))


@pytest.mark.parametrize("form", ["number", "spline"])
def test_missing_values_say_nothing_unless_they_have_a_feature(form):
    missing = tables()[0]["pulse"].isna().to_numpy()
    plain = built(Extra("pulse", form=form)).cohort
    names = [name for name in plain.feature_names if name.startswith("pulse:")]
    assert all((column(plain, name)[missing] == 0).all() for name in names)
    marked = built(Extra("pulse", form=form, missing=True)).cohort
    np.testing.assert_array_equal(column(marked, "pulse:missing"), missing)
    assert set(marked.feature_names) - set(plain.feature_names) == {"pulse:missing"}


def test_a_spline_is_the_curve_of_the_normal_score():
    found = built(Extra("age", form="spline"))
    names = tuple(f"age:spline{k}" for k in range(1, 3 + len(KNOTS)))
    assert found.cohort.feature_names[-len(names) :] == names
    x = tables()[0]["age"].to_numpy(float)
    rank = stats.rankdata(x)
    made = np.column_stack([column(found.cohort, name) for name in names])
    t = stats.norm.ppf((rank - 0.5) / len(x))
    middle = found.numbers["age"].score.of(np.array([np.median(x)]))
    np.testing.assert_allclose(made, curve(t) - curve(middle), atol=1e-10)


def test_knots_are_in_the_units_of_the_column():
    found = built(Extra("age", form="spline", knots=(40, 60)))
    x = tables()[0]["age"].to_numpy()
    for name, knot in (("age:spline3", 40), ("age:spline4", 60)):
        bend = column(found.cohort, name)
        assert len(set(bend[x <= knot].round(12))) == 1
        assert (np.diff(np.unique(bend[x > knot])) > 0).all()


def test_min_count_drops_no_number():
    found = built(Extra("pulse", form="number", missing=True), min_count=100_000)
    assert found.cohort.feature_names == ("pulse:number",)


def test_numbers_come_after_bins_in_any_order():
    found = built(Extra("pulse", form="number", missing=True), Extra("age", (40, 65)))
    assert found.cohort.feature_names[-4:] == (
        "pulse:missing", "age:[40,65)", "age:[65,inf)", "pulse:number"
    )  # fmt: skip
    assert found.kinds == {"diagnoses": 3, "extra": 3, "numbers": 1}


def test_weights_do_not_move_the_median():
    visits, codes = tables()
    weighted = build_cohorts(
        spec(Extra("pulse", form="number")), source(visits, codes, weight="weight")
    )["ward"]
    assert weighted.cohort.weights is not None
    assert weighted.numbers["pulse"] == built(Extra("pulse", form="number")).numbers["pulse"]


def test_true_and_false_are_numbers():
    data = tables(smokes=np.arange(N) % 3 == 0)
    values = column(built(Extra("smokes", form="number"), data=data).cohort, "smokes:number")
    assert len(np.unique(values)) == 2
    assert (values != 0).sum() == (np.arange(N) % 3 == 0).sum()


def test_a_number_that_is_mostly_the_same_has_the_standard_deviation_as_spread():
    rare = np.where(np.arange(N) < 40, np.arange(N), 0.0)
    found = built(Extra("rare", form="number"), data=tables(rare=rare)).numbers["rare"]
    assert (found.centre, found.scale) == (0, rare.std())


def test_values_far_out_count_as_ten_spreads():
    far = np.r_[np.random.default_rng(0).normal(size=N - 2), 1e9, -1e9]
    z = column(built(Extra("far", form="number"), data=tables(far=far)).cohort, "far:number")
    assert z[-2:].tolist() == [10, -10]
    assert np.abs(z[:-2]).max() < 5


# -- parts, files, estimates ---------------------------------------------------------------

BOTH = (Extra("pulse", form="number", missing=True), Extra("age", form="spline"))


@pytest.fixture(scope="module")
def whole_and_parts(tmp_path_factory):
    data = tables(3_000)
    folder = tmp_path_factory.mktemp("parts")
    parts = built(*BOTH, data=data, folder=folder / "cohorts", rows_per_part=701).cohort
    return built(*BOTH, data=data).cohort, parts


def test_parts_hold_the_same_numbers(whole_and_parts):
    whole, parts = whole_and_parts
    assert len(parts.sizes) == 5
    together = parts.collected()
    assert together.feature_names == whole.feature_names
    for name, values in whole.X.to_arrays().items():
        np.testing.assert_array_equal(together.X.to_arrays()[name], values)


def test_estimates_from_parts_are_the_same(whole_and_parts):
    for estimator in (
        PURPLE(lambdas=[1e-3]),
        DebiasedPURPLE("ridge", "purple", strengths=[10.0], lambdas=[1e-3], folds=2),
    ):
        one, other = (
            estimator.fit(cohort).relative_prevalence("south").to_frame()
            for cohort in whole_and_parts
        )
        columns = [name for name in ESTIMATES if name in one]
        np.testing.assert_allclose(
            other[columns].to_numpy(float), one[columns].to_numpy(float), rtol=1e-10
        )


def test_numbers_are_saved_and_loaded(whole_and_parts, tmp_path):
    whole, _ = whole_and_parts
    whole.save(tmp_path / "cohort.npz")
    loaded = Cohort.load(tmp_path / "cohort.npz")
    np.testing.assert_array_equal(loaded.X.values, whole.X.values)
    assert loaded.feature_names == whole.feature_names


def test_an_estimate_does_not_depend_on_the_units():
    visits, codes = tables(3_000)
    other = visits.assign(pulse=visits["pulse"] / 60 + 1000)
    fits = [
        DebiasedPURPLE("ridge", "purple", folds=2, n_repeats=1).fit(
            built(Extra("pulse", form="number"), data=(one, codes)).cohort
        )
        for one in (visits, other)
    ]
    one, two = (fit.relative_prevalence("south").to_frame()["estimate"] for fit in fits)
    np.testing.assert_allclose(one, two, rtol=1e-6)


# -- what cannot be used -------------------------------------------------------------------


@pytest.mark.parametrize("form", ["number", "spline"])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["low"] * N, "features.extra: lab holds text, not numbers, so form = '.*' cannot"),
        ([np.nan] * N, "features.extra: lab holds no number in the included visits"),
        ([7.5] * N, "features.extra: lab holds the same number in all included visits"),
        ([np.inf] * 12 + [1.0, 2.0] * (N // 2 - 6), "12 infinite values, expected finite"),
        ([np.inf] + [1.0] * (N - 1), "infinite value"),
    ],
)
def test_columns_without_usable_numbers_are_refused(form, values, words):
    with pytest.raises(InvalidInputError, match=words):
        built(Extra("lab", form=form), data=tables(lab=values))


def test_a_spline_needs_several_values():
    with pytest.raises(InvalidInputError, match="fewer than 5 different numbers"):
        built(Extra("lab", form="spline"), data=tables(lab=np.arange(N) % 4))


@pytest.mark.parametrize("knots", [(5,), (40, 500)])
def test_a_knot_needs_values_on_both_sides(knots):
    with pytest.raises(InvalidInputError, match="a knot has hardly any visits on one of its sides"):
        built(Extra("age", form="spline", knots=knots))


def test_text_among_numbers_is_missing_and_told():
    lab = np.where(np.arange(N) % 20 == 0, "<5", (np.arange(N) % 50).astype(str))
    with pytest.warns(DataWarning, match="lab holds text besides numbers, in 20 visits"):
        found = built(Extra("lab", form="number", missing=True), data=tables(lab=lab))
    np.testing.assert_array_equal(column(found.cohort, "lab:missing"), np.arange(N) % 20 == 0)


def test_few_visits_with_text_are_not_counted():
    lab = np.where(np.arange(N) < 10, "<5", (np.arange(N) % 50).astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        built(Extra("lab", form="number"), data=tables(lab=lab))


def test_features_are_described():
    x = np.arange(100.0)
    number, curved = (NumberFeature.of(Extra("x", form=form), x) for form in ("number", "spline"))
    assert number.descriptions() == {"x:number": "x, per standard deviation"}
    assert curved.descriptions()["x:spline3"] == "curve of x: bend 1"
