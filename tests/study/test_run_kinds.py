"""Kinds of features and the tested column in study files, in check and in results."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from relprev.cli import app
from relprev.errors import InvalidInputError
from relprev.sources import SOURCES
from relprev.study import Study
from relprev.study.file.template import study_template
from tests.study.conftest import TABLES, write_tables

NHAMCS = """\
condition = {name = "asthma", codes = ["ICD10:J45*"]}

[source]
kind = "nhamcs"
paths = "ed2019.dta"

[features]
min_count = 10
kinds = ["reasons", "vitals"]
exclude = ["RFV:2625.0"]

[[groups]]
column = "race"
[groups.recode]
White = ["White, non-Hispanic"]
Black = ["Black, non-Hispanic"]

[estimate]
methods = ["debiased", "purple"]

[inference]
design = false

[checks]
run = ["leakage"]
"""
FEATURES = "reasons for visit (RFV) 2, bins of vital signs at arrival (VITAL) 2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A survey: wheezing and a fast heart are signs of asthma, RFV 2625.0 is its name."""
    folder = tmp_path_factory.mktemp("nhamcs")
    rng = np.random.default_rng(5)
    n = 4000
    race = rng.integers(1, 3, n)
    wheezing, pulse = rng.random(n) < 0.15, rng.choice([70, 80, 100, 120], n)
    p = 1 / (1 + np.exp(3 - 3 * wheezing - 1.5 * (pulse > 90)))
    asthma = rng.random(n) < p * np.where(race == 1, 0.8, 0.4)
    pd.DataFrame({
        "YEAR": 2019, "AGE": 40, "SEX": 1, "RACERETH": race, "PAYTYPER": 1, "PATWT": 1.0,
        "CSTRATM": 1, "CPSUM": rng.integers(0, 40, n), "DIAG1": np.where(asthma, "J459", "R05-"),
        "RFV1": np.where(wheezing, 14250, 14400),
        "RFV2": np.where(asthma & (rng.random(n) < 0.9), 26250, -9),
        "PULSE": pulse, "TEMPF": 986, "RESPR": 16, "BPSYS": 120, "BPDIAS": 80,
        "POPCT": 99,
    }).to_stata(folder / "ed2019.dta", write_index=False)  # fmt: skip
    return folder


def study(folder, text=NHAMCS):
    (folder / "study.toml").write_text(text)
    return Study.from_toml(folder / "study.toml")


def test_a_study_of_reasons_and_vital_signs_from_file_to_report(folder, tmp_path):
    results = study(folder).run(tmp_path / "results", verbose=False)
    report = results.report
    (found,) = report.variables
    symptoms = found.symptoms.set_index("feature")
    assert symptoms["description"]["RFV:14250"] == "Wheezing"
    assert symptoms["description"]["VITAL:HEART_RATE_HIGH"].startswith("Heart rate 91 to")
    assert report.features == FEATURES
    methods = " ".join((tmp_path / "results/methods.txt").read_text().split())
    assert f"served as symptoms, without the condition's own codes: {FEATURES}." in methods
    manifest = json.loads((tmp_path / "results/manifest.json").read_text())
    assert manifest["study"]["cohort"]["features"]["kinds"] == ["reasons", "vitals"]
    (leakage,) = found.checks
    assert {"RFV:14250", "VITAL:HEART_RATE_HIGH"} <= set(leakage.table["feature"])


def test_leakage_names_a_reason_for_visit_that_is_the_condition(folder, tmp_path):
    text = NHAMCS.replace('exclude = ["RFV:2625.0"]', "")
    results = study(folder, text).run(tmp_path / "results", verbose=False)
    (leakage,) = results.report.variables[0].checks
    assert leakage.table.loc[leakage.table["suspicious"], "feature"].tolist() == ["RFV:26250"]


def test_check_counts_features_by_kind(folder):
    text = NHAMCS.replace('"RFV:2625.0"', '"RFV:2625.0", "RFV:1"')
    study(folder, text)
    ran = CliRunner().invoke(app, ["check", str(folder / "study.toml")])
    assert ran.exit_code == 0
    assert f"Features: {FEATURES}" in " ".join(ran.output.split())
    assert "features.exclude[2]: no code that was read matches RFV:1; prefixes are" in ran.output


def test_check_names_features_that_name_the_condition(folder):
    study(folder, NHAMCS.replace('exclude = ["RFV:2625.0"]', ""))
    ran = CliRunner().invoke(app, ["check", str(folder / "study.toml")])
    words = "features that name the condition in words: RFV:26250 (Asthma); take them out"
    assert words in " ".join(ran.output.split())


def test_bins_of_a_vital_sign_are_known_to_be_exclusive(folder, tmp_path):
    results = study(folder, NHAMCS.replace('"vitals"]', '"vitals", "triage"]')).run(
        tmp_path / "results", verbose=False
    )
    bins = ("VITAL:HEART_RATE_HIGH", "VITAL:HEART_RATE_VERY_HIGH")
    assert results.report.exclusive == (bins,)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"vitals"', '"vital"', r"line 9: features.kinds\[2\]: the nhamcs source has no kind"),
        ('"vitals"', "7", "features.kinds"),
        ('"RFV:2625.0"', '"2625.0"', "features: exclude: a code must be written VERSION:code"),
        ('kind = "nhamcs"\npaths', 'kind = "nhds"\npath', "the nhds source has no kind 'reasons'"),
    ],
)
def test_mistakes_are_found_with_their_line(folder, old, new, words):
    with pytest.raises(InvalidInputError, match=words):
        study(folder, NHAMCS.replace(old, new))


@pytest.mark.parametrize("kind", SOURCES)
def test_templates_name_every_kind(kind):
    text = study_template(kind)
    kinds = SOURCES[kind].kinds
    for one in kinds if len(kinds) > 1 else ():
        assert f"#   {one.name} " in text
    assert "# exclude = [" in text


# -- the tested column ------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path):
    write_tables(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits["screened"] = np.where(visits["visit"] % 4 == 0, "no", "yes")
    visits.to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path


def with_tested(more):
    text = TABLES.replace('attributes = ["ward"]', 'attributes = ["ward", "screened"]')
    return text + f"\n[tested]\ncolumn = 'screened'\n{more}"


def test_dropped_visits_are_in_the_attrition_of_the_report(tables):
    results = study(tables, with_tested("not_tested = 'drop'")).run(
        tables / "results", verbose=False
    )
    steps = results.report.variables[0].attrition
    row = steps[steps["step"] == "looked at for the condition (screened)"].iloc[0]
    before = steps["visits"].shift()[row.name]
    assert 0.7 < row["visits"] / before < 0.8


def test_kept_visits_are_counted_apart_by_group_in_percent(tables):
    study(tables, with_tested(""))
    ran = CliRunner().invoke(app, ["check", str(tables / "study.toml")])
    output = " ".join(ran.output.split())
    assert "ward: looked at for the condition (screened), the rest is not known: North 7" in output
    assert "of the diagnosed were not looked at (screened)" in output


def test_a_group_of_which_few_were_not_looked_at_is_hidden(tables):
    visits = pd.read_csv(tables / "visits.csv")
    visits["screened"] = "yes"
    visits.loc[visits["ward"].eq("N").idxmax(), "screened"] = "no"
    adults = visits["age"] >= 18
    visits.loc[visits["ward"].eq("N") & adults & (visits["visit"] < 20), "screened"] = "no"
    visits.to_csv(tables / "visits.csv", index=False)
    study(tables, with_tested(""))
    ran = CliRunner().invoke(app, ["check", str(tables / "study.toml")])
    output = " ".join(ran.output.split())
    assert "North hidden, South 100% yes, 0% no" in output


def test_a_tested_column_that_lacks_is_found_with_its_line(tables):
    text = TABLES + "\n[tested]\ncolumn = 'looked'\n"
    given = study(tables, text)
    with pytest.raises(InvalidInputError, match=r"tested\.column: the tables source has no column"):
        given.run(tables / "results", verbose=False)
