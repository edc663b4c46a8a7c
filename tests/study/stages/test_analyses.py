from __future__ import annotations

import re

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.study import Study
from tests.cli.commands import refused
from tests.report.pages import Page
from tests.study.conftest import TABLES, write_tables

ANCHOR = """
[anchor.ward]
group = "South"
diagnosis_rate = 0.6
interval = [0.55, 0.65]
source = "a chart review"
"""


def study(folder, text):
    file = write_tables(folder)
    file.write_text(TABLES.replace('run = ["overlap", "leakage"]', "run = []") + text)
    return Study.from_toml(file)


def test_an_outside_value_gives_absolute_rates_with_its_own_uncertainty(tmp_path):
    result = study(tmp_path, ANCHOR).run(tmp_path / "out", verbose=False)
    (found,) = result.report.variables[0].analyses
    rates = found.table.set_index("group")
    assert rates["diagnosis_rate"]["South"] == pytest.approx(0.6)
    assert rates["diagnosis_rate_low"]["South"] == pytest.approx(0.55, abs=0.01)
    ratio = result.table("ward").set_index("group")["diagnosis_ratio"]["North"]
    assert rates["diagnosis_rate"]["North"] == pytest.approx(0.6 * ratio)
    counts = result.report.variables[0].counts.set_index("group")
    recorded = counts["n_diagnosed"] / counts["n"]
    product = rates["diagnosis_rate"] * rates["prevalence"]
    pd.testing.assert_series_equal(product, recorded.astype(float), check_names=False)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "outside value: diagnosis rate 0.6 (0.55 to 0.65) in South, from a chart review" in page
    assert (tmp_path / "out" / "tables" / "absolute-ward-south.csv").is_file()


def test_without_an_outside_value_no_absolute_rate_is_published(tmp_path):
    result = study(tmp_path, "").run(tmp_path / "out", verbose=False)
    assert not result.report.variables[0].analyses
    assert "revalence of" in (tmp_path / "out" / "report.html").read_text()
    assert not list((tmp_path / "out").rglob("absolute*"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("anchor.ward", "anchor.wrd", "there is no group variable.*'ward'"),
        ("diagnosis_rate = 0.6", "", "exactly one outside value"),
        ("diagnosis_rate = 0.6", "diagnosis_rate = 0.6\nprevalence = 0.1", "exactly one"),
        ("diagnosis_rate = 0.6", "diagnosis_rate = 1.6", "less than or equal to 1"),
        ("interval = [0.55, 0.65]", "", "interval is missing: how sure"),
        ("interval = [0.55, 0.65]", "interval = [0.65, 0.7]", "interval must hold diagnosis_rate"),
    ],
)
def test_impossible_outside_values_are_refused_with_their_line(old, new, words, tmp_path):
    with pytest.raises(InvalidInputError) as refused:
        study(tmp_path, ANCHOR.replace(old, new))
    assert re.search(rf"pain.toml, line \d+: anchor.*{words}", str(refused.value))


def test_an_unknown_group_is_refused_with_its_line(tmp_path):
    with pytest.raises(InvalidInputError, match=r"anchor.ward.group: 'West' is not in the cohort"):
        study(tmp_path, ANCHOR.replace("South", "West")).run(verbose=False)
    said = refused("check", tmp_path / "pain.toml")
    assert "anchor.ward.group: 'West' is not in the cohort (no visits); its groups are" in said


def test_absolute_rates_need_the_debiased_estimator(tmp_path):
    file = write_tables(tmp_path)
    file.write_text(TABLES.replace('"debiased", "purple"', '"purple"') + ANCHOR)
    with pytest.raises(InvalidInputError, match=r'\[anchor\] needs the method "debiased"'):
        Study.from_toml(file)


STRATA = """
[[strata]]
column = "age"
edges = [45]
labels = ["younger", "older"]
standard = {younger = 0.7, older = 0.3}
"""


@pytest.fixture(scope="module")
def stratified(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strata")
    return study(folder, STRATA).run(folder / "out", verbose=False)


def test_strata_are_estimated_on_their_own_and_tested_for_differences(stratified):
    found = stratified.report.variables[0]
    strata, standardised = found.analyses
    assert (strata.kind, standardised.kind) == ("strata", "standardised")
    sums = strata.table.groupby("group")[["n", "n_diagnosed"]].sum()
    counts = found.counts.set_index("group")[["n", "n_diagnosed"]]
    pd.testing.assert_frame_equal(sums, counts, check_dtype=False)
    assert strata.table["estimate"].notna().all()
    whole = stratified.table("ward").set_index("group")["estimate"]["North"]
    parts = strata.table.set_index("group").loc["North", "estimate"]
    assert parts.min() < whole < parts.max()
    words = "North versus everyone else: test that all strata have the same ratio, p = 0"
    assert str(strata.words[0]).startswith(words)
    page = (stratified.folder / "report.html").read_text()
    assert "Estimates within strata, by ward: age" in page
    assert (stratified.folder / "tables" / "strata-ward-age.csv").is_file()


def test_warnings_of_a_stratum_name_it(tmp_path):
    """ "Very few informative cases" was said without saying where."""
    strata = STRATA.replace("45", "77").replace("standard = {younger = 0.7, older = 0.3}", "")
    found = study(tmp_path, strata).run(tmp_path / "out", verbose=False)
    said = [str(one) for one in found.report.warnings]
    assert any(one.startswith("ward, age older: ") for one in said), said


def test_a_stratum_without_visits_leaves_the_others_their_estimates(tmp_path):
    """It took all of them away, for a reason that could not be shown."""
    strata = STRATA.replace("45", "200").replace("standard = {younger = 0.7, older = 0.3}", "")
    found = study(tmp_path, strata).run(tmp_path / "out", verbose=False)
    table = found.report.variables[0].analyses[0].table.set_index("stratum")
    assert table.loc["younger", "estimate"].notna().all()
    assert table.loc["older", "estimate"].isna().all()
    assert table.loc["older", "note"].str.startswith("no estimate").all()


@pytest.mark.parametrize("wards", [2, 3])
def test_groups_that_have_all_strata_are_standardised_without_those_that_lack_one(tmp_path, wards):
    """A group without visits in one stratum of the standard took everything away."""
    file = write_tables(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits = visits[(visits["ward"] != "N") | (visits["age"] < 45)]
    east = (visits["ward"] == "S") & (visits["person"] % wards == 2)
    visits.assign(ward=visits["ward"].mask(east, "E"), w=1.0).to_csv(
        tmp_path / "visits.csv", index=False
    )
    codes = pd.read_csv(tmp_path / "codes.csv")
    codes[codes["visit"].isin(visits["visit"])].to_csv(tmp_path / "codes.csv", index=False)
    text = TABLES.replace('run = ["overlap", "leakage"]', "run = []").replace(
        'age = "age"', 'age = "age"\nweight = "w"'
    )
    file.write_text(text.replace('South = ["S"]', 'South = ["S"]\nEast = ["E"]') + STRATA)
    report = Study.from_toml(file).run(tmp_path / "out", verbose=False).report
    parts = {one.kind: one for one in report.variables[0].analyses if one.name == "age"}
    strata, ratios, rates = (parts[kind] for kind in ("strata", "standardised", "recorded"))
    assert strata.table.set_index("stratum").loc["younger", "estimate"].notna().any()
    table = ratios.table.set_index("group")
    assert table["estimate"].notna().to_dict() == {
        "North": False, "South": wards == 3, **({"East": True} if wards == 3 else {}),
    }  # fmt: skip
    assert table["unadjusted"].notna().all()
    assert table["note"]["North"].startswith("there are no data on North in older")
    assert rates.table.set_index("group")["rate"].notna().to_dict() == {
        group: group != "North" for group in table.index
    }
    said = [str(one) for one in report.warnings]
    why = "ward: not all ratios are standardised by age: there are no data on North in older"
    assert any(one.startswith(why) and "merge strata or groups" in one for one in said), said
    shown = Page((tmp_path / "out" / "report.html").read_text()).words
    assert shown.count("there are no data on North in older") >= 3
    methods = (tmp_path / "out" / "methods.txt").read_text()
    assert "except comparisons without data (North in older)" in " ".join(methods.split())


def test_the_standardised_ratio_has_the_unadjusted_one_beside_it(stratified):
    table = stratified.report.variables[0].analyses[1].table.set_index("group")
    whole = stratified.table("ward").set_index("group")
    assert table["unadjusted"]["North"] == pytest.approx(whole["estimate"]["North"])
    assert table["ci_low"]["North"] < table["estimate"]["North"] < table["ci_high"]["North"]
    assert "std_error" not in table  # from which hidden counts could follow


def test_years_as_strata_have_a_test_for_trend(tmp_path):
    file = write_tables(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits.assign(year=2016 + visits["person"] % 3).to_csv(tmp_path / "visits.csv", index=False)
    text = TABLES.replace('age = "age"', 'age = "age"\nyear = "year"')
    text = text.replace('run = ["overlap", "leakage"]', "run = []")
    file.write_text(text + '\n[[strata]]\ncolumn = "year"\n')
    words = Study.from_toml(file).run(verbose=False).report.variables[0].analyses[0].words
    assert any("per unit of year, p = " in str(one) for one in words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('column = "age"', 'column = "agee"', r"strata\[1\].column: the tables source has no"),
        ("younger = 0.7", "young = 0.7", r"strata\[1\]: .*standard names young; there are younger"),
        ("{younger = 0.7, older = 0.3}", '"census"', "standard must be 'pooled' or a table"),
    ],
)
def test_impossible_strata_are_refused_with_their_line(old, new, words, tmp_path):
    with pytest.raises(InvalidInputError) as refused:
        study(tmp_path, STRATA.replace(old, new)).run(verbose=False)
    assert re.search(rf"pain.toml, line \d+: .*{words}", str(refused.value))


@pytest.mark.parametrize("methods", ['"debiased"', '"purple"'])
def test_weighted_visits_have_recorded_rates(methods, tmp_path):
    """Also where a stratum of the survey has one sampling unit, which PURPLE does not mind."""
    file = write_tables(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits = visits.assign(w=1.0 + visits["person"] % 3, layer=visits["person"] % 4)
    if methods == '"purple"':
        visits["layer"] = visits["visit"] == visits["visit"].iloc[0]
    visits.assign(unit=visits["person"] % 40 * (visits["layer"] < 1)).to_csv(
        tmp_path / "visits.csv", index=False
    )
    design = 'age = "age"\nweight = "w"'
    design += '\nstratum = "layer"\npsu = "unit"' if methods == '"purple"' else ""
    text = TABLES.replace('age = "age"', design).replace('"debiased", "purple"', methods)
    file.write_text(text.replace('run = ["overlap", "leakage"]', "run = []"))
    found = Study.from_toml(file).run(tmp_path / "out", verbose=False).report.variables[0]
    if methods == '"purple"':
        assert not found.analyses
        return
    (rates,) = found.analyses
    table = rates.table
    assert (table["rate_low"] < table["rate"]).all()
    assert (table["rate"] < table["rate_high"]).all()
    assert "Recorded rates, by ward: crude" in (tmp_path / "out" / "report.html").read_text()
