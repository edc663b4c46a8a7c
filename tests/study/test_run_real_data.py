"""The shipped examples on real data, where there are any: NHAMCS, MIMIC-IV demo, OMOP, NHDS."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from relprev.disclosure import Rule
from relprev.study import Study
from relprev.study.file.template import study_template
from relprev.study.inspect import inspect_study
from tests.sources.conftest import TABLES

HYPERTENSION = 'condition = {name = "hypertension", codes = ["ICD10:I10", "ICD9:401*"]}'
SINUSITIS = 'condition = {name = "sinusitis", codes = ["SNOMED:444814009", "SNOMED:195662009"]}'

BANDS = """
[[strata]]
column = "age"
edges = [45, 65]
labels = ["young", "middle", "old"]
standard = {young = 0.5, middle = 0.3, old = 0.2}
"""
STANDARD = {"young": 0.5, "middle": 0.3, "old": 0.2}
SIGNS = {"LBXGH": [5.0, 5.4, 5.8, 6.3, 6.8, 7.5, 9.0], "LBXSGL": [80, 94, 102, 115, 135, 170]}
STRICT_DIABETES = """
condition = {name = "diabetes", codes = ["IS:recorded"]}
without_codes = "keep"
[source]
kind = "nhanes"
path = "@DATA@"
[derive]
recorded = "DIQ010 == 1 and LBXGH >= 6.5"
takes_part = "DIQ010 in [1, 2] and not missing(LBXGH)"
[[include]]
column = "takes_part"
one_of = ["true"]
@FEATURES@
[[groups]]
column = "race"
[groups.recode]
White = ["Non-Hispanic White"]
Black = ["Non-Hispanic Black"]
Hispanic = ["Mexican American", "Other Hispanic"]
[estimate]
methods = ["debiased"]
versus = "reference"
[inference]
lonely_psu = "adjust"
[checks]
run = []
"""
RECORDED = ["observed_ratio", "observed_ci_low", "observed_ci_high"]


def example(folder, kind, *changes):
    """The example of a source with some of its lines replaced."""
    text = study_template(kind)
    for old, new in changes:
        assert old in text
        text = text.replace(old, str(new))
    file = folder / f"{kind}.toml"
    file.write_text(text)
    return Study.from_toml(file)


def test_nhamcs_uses_its_survey_design(real_data, tmp_path):
    """Migraine by race and payer, 2018 and 2019; weights, strata and PSUs at work."""
    study = example(
        tmp_path,
        "nhamcs",
        ("ED2018-stata.zip", real_data("nhamcs-ed/ED2018-stata.zip")),
        ("ED2019-stata.zip", real_data("nhamcs-ed/ED2019-stata.zip")),
        ('condition = "ipv"', 'condition = {name = "migraine", codes = ["ICD10:G43*"]}'),
        (
            '"constant_ratio", "calibration", "unconstrained", "models",'
            '\n  "overlap", "leakage", "agreement", "sensitivity", "benchmarks", "bias_analysis",',
            '"constant_ratio", "overlap", "leakage", "agreement",',
        ),
    )
    out = tmp_path / "results"
    study.run(out, verbose=False)
    table = pd.read_csv(out / "estimates.csv")
    debiased = table[table["method"] == "DebiasedPURPLE"]
    assert set(debiased["variable"]) == {"race", "payer"}
    assert debiased["estimate"].notna().all()
    # PSUs less strata, far fewer than visits
    known = debiased["degrees_of_freedom"].dropna()  # hidden where counts are
    assert len(known) > 2
    assert (known < 400).all()
    assert (debiased["ci_low"] < debiased["estimate"]).all()
    attrition = pd.read_csv(out / "attrition.csv")
    assert attrition["visits"].iloc[0] == 20_291 + 19_481


def test_the_ipv_example_of_nhamcs_is_inspected_as_it_is(real_data, tmp_path):
    study = example(
        tmp_path,
        "nhamcs",
        ("ED2018-stata.zip", real_data("nhamcs-ed/ED2018-stata.zip")),
        ("ED2019-stata.zip", real_data("nhamcs-ed/ED2019-stata.zip")),
    )
    seen = inspect_study(study)
    assert seen.codes["ICD10:T741"] == 1
    assert "primary sampling units" in seen.words["race"]
    assert not seen.problems


def test_mimic_demo_runs_with_patients_as_clusters(real_data, tmp_path):
    """100 patients: enough to run, the report says how little it is."""
    study = example(
        tmp_path,
        "mimic-iv",
        ('"mimic-iv-2.2"', f'"{real_data("mimic-iv-demo-2.2")}"'),
        ('"mimic-iv-ed-2.2"', f'"{real_data("mimic-iv-ed-demo-2.2")}"'),
        ('condition = "ipv"', HYPERTENSION),
        ("min_count = 10", "min_count = 3"),
        ('Medicaid = ["Medicaid"]', 'Other = ["Other", "Medicaid"]'),
    )
    study = replace(
        study, cohort=replace(
            study.cohort, groups=study.cohort.groups[:1]
        )
    )  # fmt: skip
    out = tmp_path / "results"
    result = study.run(out, verbose=False)
    found = result.report.variables[0]
    assert found.attrition["visits"].iloc[-1] < 230
    assert np.isfinite(found.estimates["purple"]["estimate"]).all()
    assert len(result.report.warnings)
    report = (out / "report.html").read_text()
    assert "Medicare" in report


def test_omop_runs_on_synthetic_patients(real_data, tmp_path):
    """27 persons, sex as the group: the smallest study that still runs to the end."""
    with zipfile.ZipFile(real_data("omop-synthea27nj/Synthea27Nj_5.4.zip")) as archive:
        for table in TABLES:
            archive.extract(f"{table.upper()}.csv", tmp_path / "omop")
    study = example(
        tmp_path,
        "omop",
        ("# visit_concepts = [9203, 262]", "visit_concepts = [] #"),
        ('condition = "ipv"', SINUSITIS),
        ('[[include]]\ncolumn = "sex"\none_of = ["F"]\n', ""),
        ("min_count = 10", "min_count = 2"),
        ('[[groups]]\ncolumn = "race"\nminimum_size = 100', ""),
        ('column = "ethnicity"\nminimum_size = 100', 'column = "sex"'),
    )
    assert sum(inspect_study(study).codes.values()) == 2
    out = tmp_path / "results"
    result = study.run(out, verbose=False)
    assert set(result.table("sex")["group"]) == {"F", "M"}
    assert (out / "report.html").is_file()


def test_nhds_runs(real_data, tmp_path):
    study = example(
        tmp_path,
        "nhds",
        ('"NHDS10.PU.txt"', f'"{real_data("nhds-2010/NHDS10.PU.txt.bz2")}"'),
        ('condition = "ipv"', 'condition = "endometriosis"'),
    )
    seen = inspect_study(study)
    assert set(seen.variables[0].groups["group"]) == {"White", "Black"}
    assert not seen.problems


def test_recorded_numbers_of_nhamcs_are_those_of_a_survey_package(real_data, tmp_path):
    """Adult women with asthma, as a domain of all visits: ratios, standardised ratios, totals."""
    svy, pl = pytest.importorskip("svy"), pytest.importorskip("polars")
    study = example(
        tmp_path,
        "nhamcs",
        ("ED2018-stata.zip", real_data("nhamcs-ed/ED2018-stata.zip")),
        ("ED2019-stata.zip", real_data("nhamcs-ed/ED2019-stata.zip")),
        ('condition = "ipv"', 'condition = "asthma"'),
        ('versus = "complement"', 'versus = "reference"'),
        ("# [[strata]]", BANDS + "# [[strata]]"),
    )
    study = replace(
        study, disclosure=Rule(hide=False), checks=replace(study.checks, run=()),
        estimate=replace(study.estimate, methods=("debiased",)),
    )  # fmt: skip
    race = study.run(verbose=False).report.variables[0]
    with study.open_source() as source:
        coded = "visit IN (SELECT visit FROM codes"
        frame = source.connection.sql(
            "SELECT stratum, psu, weight, split_part(race, ',', 1) AS g, CASE WHEN age < 45 THEN "
            "'young' WHEN age < 65 THEN 'middle' ELSE 'old' END AS band, "
            f"({coded} WHERE code LIKE 'J45%'))::DOUBLE AS s, sex = 'F' AND age >= 18 AND "
            f"{coded}) AND g IN ('White', 'Black', 'Hispanic') AS inside FROM visits"
        ).pl()
    frame = frame.with_columns(
        pl.col("g").fill_null(""), (pl.col("g").fill_null("") + pl.col("band")).alias("cell"),
        pl.col("inside").fill_null(False), pl.lit(1.0).alias("one"),
    )  # fmt: skip
    sample = svy.Sample(frame, svy.Design(stratum="stratum", psu="psu", wgt="weight"))
    inside = frame.filter("inside")
    freedom = inside["psu"].n_unique() - inside["stratum"].n_unique()
    found = {}
    for by, shares in (("g", {"": 1.0}), ("cell", STANDARD)):
        made = sample.estimation.mean("s", by=by, where=pl.col("inside"))
        mean = made.to_polars()
        place = {name: k for k, name in enumerate(mean[by])}
        for g in ("Black", "Hispanic"):
            rate = {h: sum(w * mean["est"][place[h + k]] for k, w in shares.items())
                    for h in (g, "White")}  # fmt: skip
            slope = np.zeros(len(place))
            for k, w in shares.items():
                slope[place[g + k]], slope[place["White" + k]] = w / rate[g], -w / rate["White"]
            half = stats.t.ppf(0.975, freedom) * np.sqrt(slope @ made.covariance @ slope)
            ratio = rate[g] / rate["White"]
            found[by, g] = [ratio, ratio * np.exp(-half), ratio * np.exp(half)]
    standardised = next(one for one in race.analyses if one.kind == "standardised").table
    for by, table in (("g", race.main), ("cell", standardised)):
        ours = table.set_index("group")[RECORDED]
        for g in ("Black", "Hispanic"):
            np.testing.assert_allclose(ours.loc[g].to_numpy(float), found[by, g], rtol=1e-6)
    rates = {one.name: one.table.set_index("group") for one in race.analyses
             if one.kind == "recorded"}  # fmt: skip
    for by, name, shares in (("g", "crude", {"": 1.0}), ("cell", "age", STANDARD)):
        made = sample.estimation.mean("s", by=by, where=pl.col("inside"))
        mean = made.to_polars()
        place = {cell: k for k, cell in enumerate(mean[by])}
        for g in ("Black", "Hispanic", "White"):
            slope = np.zeros(len(place))
            slope[[place[g + k] for k in shares]] = list(shares.values())
            rate = float(slope @ mean["est"].to_numpy())
            error = np.sqrt(slope @ made.covariance @ slope)
            half = stats.t.ppf(0.975, freedom) * error / (rate * (1 - rate))  # as svyciprop
            ends = special.expit(special.logit(rate) + np.array([0.0, -half, half]))
            ours = rates[name].loc[g, ["rate", "rate_low", "rate_high"]].to_numpy(float)
            np.testing.assert_allclose(ours, ends, rtol=1e-6)
    everyone = race.characteristics.query("characteristic == 'age' and among == 'group'")
    _totals_agree(sample.estimation, everyone, pl)
    totals = everyone.groupby("group")["weighted"].sum()
    for g, weight in inside.group_by("g").agg(pl.col("weight").sum()).iter_rows():
        assert totals[g] == pytest.approx(weight, rel=1e-9)


def _totals_agree(estimation, ours, pl):
    """Weighted totals of groups by age, and their relative standard errors."""
    bands = {"young": ["18 to 44"], "middle": ["45 to 64"], "old": ["65 or more"]}
    made = estimation.total("one", by="cell", where=pl.col("inside")).to_polars()
    for cell, est, error in made.select("cell", "est", "se").iter_rows():
        band = next(name for name in bands if cell.endswith(name))
        rows = ours[(ours["group"] == cell.removesuffix(band)) & ours["level"].isin(bands[band])]
        assert rows["weighted"].sum() == pytest.approx(est, rel=1e-9)
        assert rows["relative_error"].item() == pytest.approx(error / est, rel=1e-6)


def test_nhanes_gives_the_same_answer_by_bins_numbers_and_splines(real_data, tmp_path):
    """Diabetes that was measured and told, by race; the ratios that were measured are known."""
    data = real_data("nhanes/nhanes_2005_2016_adults.parquet")
    text = STRICT_DIABETES.replace("@DATA@", str(data))
    found = {}
    for form in ("bins", "number", "spline"):
        folder = tmp_path / form
        folder.mkdir()
        extra = "".join(
            f'[[features.extra]]\ncolumn = "{name}"\n'
            + (f"edges = {edges}\n" if form == "bins" else f'form = "{form}"\n')
            for name, edges in SIGNS.items()
        )
        (folder / "study.toml").write_text(text.replace("@FEATURES@", extra))
        study = Study.from_toml(folder / "study.toml")
        table = study.run(verbose=False).report.variables[0].estimates["debiased"]
        found[form] = table.set_index("group")
    truth = {"Black": 1.81, "Hispanic": 1.50}  # weighted ratios of measured prevalences
    for group, ratio in truth.items():
        rows = pd.DataFrame({form: table.loc[group] for form, table in found.items()}).T
        assert (rows["ci_low"] < ratio).all()
        assert (rows["ci_high"] > ratio).all()
        spread = rows["estimate"].max() / rows["estimate"].min()
        assert spread < 1.06
