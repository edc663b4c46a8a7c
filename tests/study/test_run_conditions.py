"""A study of several conditions: each as if studied alone, one report, counts hidden together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.inference.intervals import holm
from relprev.study import Study, read_studies, run_conditions
from relprev.study import run as run_module
from tests.cli.commands import invoke, refused
from tests.study.conftest import TABLES, nothing_made_again, write_tables

SEVERAL = TABLES.replace(
    'condition = {name = "pain", codes = ["ICD10:R52*"]}',
    'conditions = [{name = "pain", codes = ["ICD10:R52*"]}, '
    '{name = "=pain or code 3", codes = ["ICD10:R52*", "ICD10:A03*"]}]',
).replace("[checks]", '[report]\ntitle = "Two conditions"\n\n[checks]')
ANCHOR = '[anchor.ward]\ngroup = "North"\nprevalence = 0.1\ninterval = [0.1, 0.1]\n'


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    made = write_tables(tmp_path_factory.mktemp("several"))
    made.write_text(SEVERAL)
    return made


@pytest.fixture(scope="module")
def out(file):
    folder = file.parent / "results"
    done = invoke("run", file, "--out", folder, "--quiet")
    assert done.exit_code == 0, done.output
    assert "Relative prevalence by ward" in done.output
    assert "pain or code 3: " in done.output
    assert f"Report: {folder / 'report.html'}" in done.output
    return folder


def test_every_condition_has_a_report_of_its_own(out):
    names = {"report.html", "estimates.csv", "estimates.parquet", "comparisons.csv",
             "manifest.json", "run.log", "pain", "pain-or-code-3"}  # fmt: skip
    assert {path.name for path in out.iterdir() if not path.name.startswith(".")} == names
    page = (out / "report.html").read_text()
    for folder in ("pain", "pain-or-code-3"):
        assert f'href="{folder}/report.html"' in page
        assert "Two conditions: " in (out / folder / "report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_estimates_are_those_of_the_conditions_alone(file, out):
    together = pd.read_csv(out / "estimates.csv").set_index("condition")
    assert together.index.unique().tolist() == ["pain", "'=pain or code 3"]  # no formula
    alone = file.parent / "alone.toml"
    alone.write_text(TABLES)
    table = Study.from_toml(alone).run(verbose=False).table("ward")
    own = together.loc["pain"]
    own = own[own["method"] == "DebiasedPURPLE"]
    np.testing.assert_allclose(own["estimate"], table["estimate"], rtol=1e-12)


def test_p_values_are_adjusted_for_all_conditions(out):
    table = pd.read_csv(out / "comparisons.csv")
    assert table["condition"].tolist() == ["pain", "'=pain or code 3"]  # two wards: once each
    known = table["p_value"].notna().all()
    assert known
    np.testing.assert_allclose(table["p_adjusted"], holm(table["p_value"].to_numpy()))


def test_a_second_run_makes_nothing_again(file, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    studies = read_studies(file)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "write_conditions", stop)
        with pytest.raises(KeyboardInterrupt):
            run_conditions(studies, tmp_path / "out", verbose=False)
    with nothing_made_again(monkeypatch):
        found = run_conditions(studies, tmp_path / "out", verbose=False)
    assert [one.condition for one in found.report.each] == ["pain", "=pain or code 3"]
    assert "Two conditions" in repr(found)


def test_check_tells_of_every_condition(file):
    said = invoke("check", file)
    assert said.exit_code == 0, said.output
    assert said.output.count("Codes of the condition that occur") == 2
    assert said.output.count("Ready") == 1


def test_dummy_data_have_all_conditions(file, tmp_path):
    done = invoke("simulate", "--like", file, "--visits", "3000", "--out", tmp_path / "dummy")
    assert done.exit_code == 0, done.output
    codes = set(pd.read_csv(tmp_path / "dummy" / "codes.csv", dtype=str)["code"])
    assert any(code.startswith("R52") for code in codes)
    assert any(code.startswith("A03") for code in codes)


@pytest.mark.parametrize(("more", "said"), [
    ('condition = "asthma"\n', "condition: conditions are given too"),
    (ANCHOR, "anchor: conditions are given too"),
    ('[report]\ncondition = "pain"\n', "report.condition: there are several"),
], ids=["condition", "anchor", "words"])  # fmt: skip
def test_what_goes_with_one_condition_only(file, tmp_path, more, said):
    text = SEVERAL.replace('[report]\ntitle = "Two conditions"\n\n', "")
    (tmp_path / "study.toml").write_text(more + text if more.startswith("c") else text + more)
    assert said in refused("run", tmp_path / "study.toml")


def test_one_study_is_not_read_from_several_conditions(file):
    with pytest.raises(InvalidInputError, match=r"conditions: the study has several.*read_studies"):
        Study.from_toml(file)


def test_two_conditions_of_the_same_name(file):
    first = read_studies(file)[0]
    with pytest.raises(InvalidInputError, match="the same name: pain, pain"):
        run_conditions([first, first], verbose=False)


def test_conditions_that_share_codes_do_not_tell_small_differences(tmp_path):
    """Codes of few people more: counts of the two conditions are never both shown."""
    study = write_tables(tmp_path)
    codes = pd.read_csv(tmp_path / "codes.csv", dtype=str)
    visits = pd.read_csv(tmp_path / "visits.csv", dtype=str)
    few = visits[visits["ward"] == "N"].drop_duplicates("person")["visit"].iloc[5:9]
    more = pd.DataFrame({"visit": few, "code": "B99"})
    pd.concat([codes, more]).to_csv(tmp_path / "codes.csv", index=False)
    study.write_text(SEVERAL.replace("ICD10:A03*", "ICD10:B99"))
    report = run_conditions(read_studies(study), verbose=False).report
    shown = [one.variables[0].counts.set_index("group")["n_diagnosed"] for one in report.each]
    gaps = [abs(a - b) for a, b in zip(*shown, strict=True) if not (pd.isna(a) or pd.isna(b))]
    assert all(gap == 0 or gap > 10 for gap in gaps)
    assert len(gaps) < 2
    assert any(pd.notna(value) for one, value in product(shown, range(2)) for value in one)
