"""Survey designs: hand formulas, an independent survey package, policies, domains."""

import numpy as np
import pandas as pd
import pytest

from relprev import as_cohort
from relprev.codes import CodeSet
from relprev.cohort import Cohort, CohortSpec, GroupVariable, Include, build_cohorts, write_parts
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.inference import SamplingDesign
from relprev.inference.moments import group_moments
from relprev.inference.score import ScoreData, solve_score
from relprev.sources import read_tables


def survey(seed=0, n=1200, strata=6, psus=5):
    """Rows in PSUs that differ, with weights."""
    rng = np.random.default_rng(seed)
    psu = np.repeat(np.arange(strata * psus), n // (strata * psus))
    stratum = psu // psus
    effect = rng.normal(0, 0.5, strata * psus)[psu]
    g = (rng.random(n) < 1 / (1 + np.exp(effect))).astype(int)
    s = (rng.random(n) < 1 / (1 + np.exp(1 - effect - 0.5 * g))).astype(int)
    return {
        "X": rng.normal(size=(n, 2)), "s": s, "groups": np.array(["a", "b"])[g],
        "sample_weight": rng.uniform(0.5, 3, n), "strata": stratum, "psus": psu,
    }  # fmt: skip


def recorded_error(cohort, design, rows=slice(None)):
    """Estimate and standard error of the log recorded ratio a / b, by our linearisation."""
    omega = cohort.weights[rows] / cohort.weights[rows].sum()
    n = len(omega)
    data = ScoreData.of(
        cohort.groups[rows], cohort.diagnosed[rows].astype(float), omega,
        np.full((n, 2), 0.5), np.zeros(n),
    )  # fmt: skip
    moments = group_moments(data, solve_score(data), ("a", "b"), design)
    contrast = moments.contrast(0, np.array([1]))
    variance = contrast.gradient[1] @ moments.covariance @ contrast.gradient[1]
    return contrast.values[1], np.sqrt(variance), moments


def svy_error(data, where=None):
    svy, pl = pytest.importorskip("svy"), pytest.importorskip("polars")
    frame = pl.DataFrame({
        "s": data["s"].astype(float), "g": data["groups"], "w": data["sample_weight"],
        "stratum": data["strata"], "psu": data["psus"],
        "inside": np.ones(len(data["s"]), bool) if where is None else where,
    })  # fmt: skip
    sample = svy.Sample(frame, svy.Design(stratum="stratum", psu="psu", wgt="w"))
    found = sample.estimation.mean("s", by="g", where=pl.col("inside"))
    table = found.to_polars().sort("g")
    a, b = table["est"].to_list()
    slope = np.array([1 / a, -1 / b])
    return np.log(a / b), np.sqrt(slope @ np.asarray(found.covariance) @ slope)


def test_recorded_ratio_equals_the_survey_package():
    data = survey()
    cohort = as_cohort(**data)
    value, error, _ = recorded_error(cohort, SamplingDesign.from_cohort(cohort))
    oracle = svy_error(data)
    assert value == pytest.approx(oracle[0], rel=1e-6)
    assert error == pytest.approx(oracle[1], rel=1e-6)


def test_domain_keeps_the_design_as_the_survey_package_does():
    data = survey()
    cohort = as_cohort(**data)
    inside = (data["psus"] % 5 != 0) & (data["X"][:, 0] > -1)  # one PSU a stratum loses all rows
    rows = np.flatnonzero(inside)
    design = SamplingDesign.from_cohort(cohort).take(rows)
    value, error, _ = recorded_error(cohort, design, rows)
    oracle = svy_error(data, inside)
    assert value == pytest.approx(oracle[0], rel=1e-6)
    assert error == pytest.approx(oracle[1], rel=1e-6)
    assert design.degrees_of_freedom == 6 * 4 - 6


def test_units_whose_visits_a_study_leaves_out_were_sampled_all_the_same(tmp_path):
    """A cohort made by rules has the standard errors of the domain."""
    data = survey()
    inside = (data["psus"] % 5 != 0) & (data["X"][:, 0] > -1)
    visits = pd.DataFrame({
        "id": np.arange(len(inside)), "g": data["groups"], "w": data["sample_weight"],
        "stratum": data["strata"], "psu": data["psus"], "inside": inside.astype(int),
        "dx": np.where(data["s"] == 1, "N80", "R10"), "more": "R11",
    })  # fmt: skip
    source = read_tables(
        visits, visit_id="id", code=["dx", "more"], version="ICD10", weight="w",
        stratum="stratum", psu="psu", attributes=["g", "inside"],
    )  # fmt: skip
    spec = CohortSpec(
        CodeSet.of("it", ["ICD10:N80"]), (GroupVariable("g"),), (Include("inside", minimum=1),)
    )
    cohort = build_cohorts(spec, source)["g"].cohort
    assert cohort.sampled_psus == (5,) * 6
    _, error, _ = recorded_error(cohort, SamplingDesign.from_cohort(cohort))
    assert error == pytest.approx(svy_error(data, inside)[1], rel=1e-6)
    assert len(np.unique(cohort.psus)) == 6 * 4
    cohort.save(tmp_path / "cohort")
    write_parts([cohort], tmp_path / "parts")
    for kept in (Cohort.load(tmp_path / "cohort"), Cohort.open(tmp_path / "parts")):
        assert kept.sampled_psus == cohort.sampled_psus


def test_rows_as_units_give_the_textbook_variance():
    """Without weights or design, var log p = (1 - p) / (n p) for each group's share."""
    data = survey()
    cohort = as_cohort(data["X"], data["s"], groups=data["groups"], sample_weight=np.ones(1200))
    _, error, _ = recorded_error(cohort, SamplingDesign.from_cohort(cohort))
    parts = [data["s"][data["groups"] == name] for name in "ab"]
    textbook = sum((1 - part.mean()) / (len(part) * part.mean()) for part in parts)
    assert error == pytest.approx(np.sqrt(textbook), rel=1e-3)


def test_hand_computed_stratified_variance():
    design = SamplingDesign(np.arange(5), np.array([0, 0, 1, 1, 1]))
    totals = np.array([[1.0], [3.0], [0.0], [3.0], [6.0]])
    # stratum 0: 2/1 * (1 + 1); stratum 1: 3/2 * (9 + 0 + 9)
    np.testing.assert_allclose(design.covariance(totals), [[4 + 27]])
    assert design.degrees_of_freedom == 3


def test_a_psu_number_used_in_two_strata_means_two_psus():
    data = survey()
    renumbered = as_cohort(**(data | {"psus": data["psus"] % 5}))
    assert SamplingDesign.from_cohort(renumbered).n_psus == 30


def test_clusters_are_the_units_without_psus():
    data = survey()
    cohort = as_cohort(data["X"], data["s"], groups=data["groups"], clusters=data["psus"])
    design = SamplingDesign.from_cohort(cohort)
    assert (design.n_psus, design.n_strata) == (30, 1)


def test_lonely_psu_fails_by_default_and_says_how_to_go_on():
    with pytest.raises(InvalidInputError, match="lonely_psu='adjust'"):
        SamplingDesign(np.arange(3), np.array([0, 0, 1]))


def test_lonely_psu_policies():
    totals = np.array([[1.0], [3.0], [5.0]])
    stratum = np.array([0, 0, 1])
    certainty = SamplingDesign(np.arange(3), stratum, "certainty").covariance(totals)
    adjusted = SamplingDesign(np.arange(3), stratum, "adjust").covariance(totals)
    np.testing.assert_allclose(certainty, [[4.0]])
    np.testing.assert_allclose(adjusted, [[4.0 + (5.0 - 3.0) ** 2]])


def test_unknown_lonely_policy_is_refused():
    with pytest.raises(InvalidInputError, match="lonely_psu"):
        SamplingDesign(np.arange(2), np.zeros(2, int), "ignore")


def test_no_degree_of_freedom_is_an_error():
    with pytest.raises(TooFewCasesError, match="degree of freedom"):
        SamplingDesign(np.arange(2), np.arange(2), "certainty").covariance(np.ones((2, 1)))
