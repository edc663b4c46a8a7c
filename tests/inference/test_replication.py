"""Bootstrap and replicate weights."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relprev import PURPLE, as_cohort
from relprev.baselines import Observed
from relprev.errors import DataWarning, InvalidInputError
from relprev.inference import DebiasedPURPLE, SamplingDesign, bootstrap, replicate_weights
from relprev.inference.replication import Replication, rao_wu
from tests.inference.samples import blocks, halves, jackknife, survey


def test_factors_of_a_stratum_add_up_to_its_size():
    cohort = as_cohort(**survey())
    design = SamplingDesign.from_cohort(cohort)
    factor = rao_wu(design, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(design.stratum, factor), 5)


def test_jackknife_equals_the_survey_package():
    svy, pl = pytest.importorskip("svy"), pytest.importorskip("polars")
    data = survey()
    weights = jackknife(data)
    count = weights.shape[1]
    found = replicate_weights(Observed(), as_cohort(**data), weights, "b", kind="jk1")
    a, b = (data["groups"] == name for name in "ab")
    frame = pl.DataFrame(
        {"a": (a * data["s"]).astype(float), "b": (b * data["s"]).astype(float),
         "in_a": a.astype(float), "w": data["sample_weight"]}
        | {f"rw{r + 1}": weights[:, r] for r in range(count)}
    )  # fmt: skip
    replicates = svy.JackknifeWgts(prefix="rw", n_reps=count, kind="jk1", wgt="w")
    sample = svy.Sample(frame, svy.Design(wgt="w", rep_wgts=replicates))
    oracle = sample.estimation.ratio(
        y="a", x="in_a", method="replication", variance_center="estimate"
    ).to_polars()
    # The package knows a's recorded rate, a ratio; ours of a against b is compared by hand.
    rates = (weights * a[:, None] * data["s"][:, None]).sum(0) / (weights * a[:, None]).sum(0)
    full = np.average(data["s"][a], weights=data["sample_weight"][a])
    by_hand = np.sqrt((count - 1) / count * ((rates - full) ** 2).sum())
    assert oracle["se"][0] == pytest.approx(by_hand, rel=1e-6)
    other = (weights * b[:, None] * data["s"][:, None]).sum(0) / (weights * b[:, None]).sum(0)
    full_other = np.average(data["s"][b], weights=data["sample_weight"][b])
    log = np.log(rates / other) - np.log(full / full_other)
    assert found.std_errors()[0] == pytest.approx(np.sqrt((count - 1) / count * (log**2).sum()))


def test_fay_is_brr_scaled():
    data = survey()
    cohort, weights = as_cohort(**data), jackknife(data)
    brr = replicate_weights(Observed(), cohort, weights, "b", kind="brr")
    fay = replicate_weights(Observed(), cohort, weights, "b", kind="fay", fay=0.5)
    given = replicate_weights(
        Observed(), cohort, weights, "b", kind="given", coefficients=np.full(30, 1 / 30)
    )
    np.testing.assert_allclose(fay.std_errors(), 2 * brr.std_errors())
    np.testing.assert_allclose(given.std_errors(), brr.std_errors())


def test_bootstrap_agrees_with_linearisation():
    cohort = as_cohort(**survey(n=3000))
    linear = DebiasedPURPLE(risk=None, strengths=(1.0,)).fit(cohort)
    row = linear.relative_prevalence("b").to_frame().iloc[0]
    expected = np.log(row["observed_ci_high"] / row["observed_ratio"])
    found = bootstrap(Observed(), cohort, "b", replicates=400).result().to_frame().iloc[0]
    assert np.log(found["ci_high"] / found["estimate"]) == pytest.approx(expected, rel=0.15)


def test_bootstrap_of_the_debiased_estimator_agrees_with_its_standard_error():
    rng = np.random.default_rng(0)
    n = 4000
    g = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 2)) + 0.7 * g[:, None]
    s = (rng.random(n) < 1 / (1 + np.exp(1 - x[:, 0]))) & (rng.random(n) < np.where(g, 0.3, 0.6))
    cohort = as_cohort(x, s.astype(int), groups=np.array(["a", "b"])[g])
    estimator = DebiasedPURPLE(strengths=(1.0,), lambdas=1e-4, folds=3)
    own = estimator.fit(cohort).relative_prevalence("b").to_frame()["std_error"][0]
    found = bootstrap(estimator, cohort, "b", replicates=60)
    assert found.std_errors()[0] == pytest.approx(own, rel=0.3)


@pytest.mark.parametrize("lonely", ["fail", "certainty"])
def test_two_psus_a_stratum_can_be_replicated(lonely):
    """A half-sample has one PSU a stratum: no variance of its own, but an estimate."""
    cohort, weights = halves()
    estimator = DebiasedPURPLE(risk=None, strengths=(1.0,), folds=4, lonely_psu=lonely)
    linear = estimator.fit(cohort).relative_prevalence("b").to_frame()["std_error"][0]
    brr = replicate_weights(estimator, cohort, weights, "b", kind="brr")
    again = bootstrap(estimator, cohort, "b", replicates=16)
    assert np.isfinite(brr.replicates["estimate"]).all()
    assert brr.std_errors()[0] == pytest.approx(linear, rel=0.4)
    assert again.std_errors()[0] == pytest.approx(linear, rel=0.4)


def test_purple_gets_intervals_too():
    data = survey()
    found = bootstrap(PURPLE(lambdas=1e-2), as_cohort(**data), "b", replicates=15).result()
    table = found.to_frame()
    assert (table["ci_low"] < table["estimate"]).all()
    assert (table["ci_high"] > table["estimate"]).all()
    assert "times as common in a as in b" in found.sentences[0]


def replication(estimates, centred=False, base=None):
    """Of groups a and b versus c, from their estimates in every replicate."""
    R = len(estimates)
    rows = pd.DataFrame(
        {"replicate": np.repeat(np.arange(R), 2), "group": ["a", "b"] * R, "versus": "c",
         "estimate": np.ravel(estimates)}
    )  # fmt: skip
    full = pd.DataFrame(
        {"group": ["a", "b"], "versus": "c", "estimate": [2.0, 1.0] if base is None else base,
         "ci_low": np.nan, "ci_high": np.nan, "observed_ratio": 1.5, "diagnosis_ratio": 1.2,
         "n": 50, "n_diagnosed": 20}
    )  # fmt: skip
    return Replication(full, rows, np.full(R, 1 / R), 5, centred, "mine")


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("lost", [3, 4])
def test_too_few_replicates_have_no_standard_error(centred, lost):
    estimates = np.array([[1.8, 0.9], [2.1, 1.1], [2.2, 1.2], [1.9, 0.8]])
    estimates[:lost, 1] = np.nan
    found = replication(estimates, centred)
    assert found.std_errors()[0] > 0
    assert np.isnan(found.std_errors()[1])
    row = found.result().rows[1]
    assert np.isnan([row[key] for key in ("ci_low", "ci_high", "p_value", "std_error")]).all()
    assert row["estimate"] == 1.0
    assert found.result().sentences[1] == (
        "No interval for b versus c (estimate 1.00): too few replicates gave an estimate to have a "
        "standard error."
    )
    assert np.isfinite(found.result().simultaneous()["ci_low"][0])


@pytest.mark.parametrize("centred", [True, False])
def test_a_withheld_row_stays_withheld(centred):
    found = replication([[1.8, 0.9], [2.1, 1.1], [2.2, 1.2]], centred, base=[2.0, np.nan])
    np.testing.assert_array_equal(np.isnan(found.std_errors()), [False, True])
    assert found.result().sentences[1] == "No estimate for b versus c."


def test_an_estimate_of_zero_has_no_interval():
    found = replication([[1.8, 0.9], [2.1, 1.1], [2.2, 1.2]], base=[2.0, 0.0]).result()
    assert found.sentences[1].startswith("No interval for b versus c (estimate 0.00): it has no")
    assert found.rows[1]["estimate"] == 0.0


def test_a_withheld_row_keeps_its_reason():
    rng = np.random.default_rng(0)
    s = np.tile([0, 0, 1], 200)
    groups = np.array(["a", "b", "c"])[rng.integers(0, 3, 600)]
    s[np.flatnonzero((groups == "c") & (s == 1))[1:]] = 0
    cohort = as_cohort(rng.normal(size=(600, 2)), s, groups=groups)
    estimator = DebiasedPURPLE(risk=None, strengths=(1.0,), folds=2)
    with pytest.warns(DataWarning, match="no estimate for c") as caught:
        found = bootstrap(estimator, cohort, "a", replicates=4).result()
    assert found.sentences[1] == "No estimate for c versus a: too few patients are diagnosed in c."
    assert not any("replicates" in str(warning.message) for warning in caught)


def test_diagnosis_ratios_have_standard_errors_too():
    cohort, weights = blocks(1000, 10)
    estimator = DebiasedPURPLE(risk=None, strengths=(1.0,))
    found = replicate_weights(estimator, cohort, weights, "b", kind="jk1")
    linear = estimator.fit(cohort).relative_prevalence("b").to_frame().iloc[0]
    half = np.log(linear["diagnosis_ci_high"] / linear["diagnosis_ratio"])
    expected = half / stats.t.ppf(0.975, linear["degrees_of_freedom"])
    assert found.std_errors("diagnosis_ratio")[0] == pytest.approx(expected, rel=0.4)


@pytest.mark.parametrize("column", ["diagnosis_ratio", "n"])
def test_a_column_without_replicates_is_named(column):
    with pytest.raises(InvalidInputError, match=f"column must be one of .* got '{column}'"):
        replication([[1.8, 0.9], [2.1, 1.1]]).std_errors(column)


@pytest.mark.parametrize(
    ("keywords", "name"),
    [({"kind": "jk9"}, "kind"), ({"kind": "fay", "fay": 1.0}, "fay"),
     ({"kind": "given"}, "coefficients")],
)  # fmt: skip
def test_wrong_parameters_are_named(keywords, name):
    data = survey()
    with pytest.raises(InvalidInputError, match=name):
        replicate_weights(Observed(), as_cohort(**data), jackknife(data), **keywords)


def test_weights_of_the_wrong_shape_are_refused():
    data = survey()
    with pytest.raises(InvalidInputError, match="weights must have shape"):
        replicate_weights(Observed(), as_cohort(**data), np.ones((10, 3)))
