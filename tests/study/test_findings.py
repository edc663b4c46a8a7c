"""What a study's checks make of its estimates."""

import numpy as np
import pandas as pd
import pytest

from relprev import Study
from relprev.report import render_page
from relprev.report.page.layout import lay_out
from relprev.report.sentences.answers import question
from tests.cli.commands import invoke
from tests.report.pages import Page
from tests.study.conftest import WARDS

STUDY = f"""{WARDS.replace('"it"', '"COPD"')}
[checks]
run = ["informativeness", "constant_ratio", "leakage", "sensitivity"]
[case]
roles = ["diagnosis"]
[[exclude]]
codes = ["ICD10:B99"]
"""


@pytest.fixture(scope="module")
def random_codes(tmp_path_factory):
    """True ratio 2, equal diagnosis rates, codes that say nothing: the records are right."""
    place = tmp_path_factory.mktemp("random")
    rng = np.random.default_rng(5)
    ward = rng.integers(0, 2, 12_000)
    s = rng.random(12_000) < np.where(ward == 1, 0.10, 0.05)
    visit, code = np.nonzero(rng.random((12_000, 30)) < 0.1)
    rows = [
        pd.DataFrame({"visit": visit, "code": [f"A{one:02}" for one in code]}),
        pd.DataFrame({"visit": np.flatnonzero(s), "code": "Z99"}),
    ]
    pd.concat(rows).assign(version="10").to_csv(place / "codes.csv", index=False)
    visits = pd.DataFrame({"visit": range(12_000), "ward": np.array(["b", "a"])[ward]})
    visits.to_csv(place / "visits.csv", index=False)
    (place / "study.toml").write_text(STUDY)
    return Study.from_toml(place / "study.toml").run(place / "out", verbose=False)


def test_symptoms_that_say_nothing_withhold_the_answer(random_codes):
    part = lay_out(random_codes.report).variables[0]
    assert part.answer.estimate == ""
    assert "the symptoms do not predict the condition" in part.answer.sentence.lower()
    assert "cannot tell" in part.answer.sentence
    assert "Recorded diagnoses alone give" in part.answer.sentence
    assert "times as common" not in part.answer.sentence


def test_the_number_stays_in_the_table_with_the_reason(random_codes):
    table = lay_out(random_codes.report).variables[0].estimates
    shown = table.texts()
    assert shown["Note"].iloc[1:].str.contains("do not predict").all()  # after the reference
    assert table.frame["estimate"].between(0.9, 1.1).all()


def test_the_first_page_gives_the_reason_beside_the_number(random_codes):
    """A corrected ratio of 1 stood in the table that is read first, without a word."""
    shown = lay_out(random_codes.report).variables[0].decomposition.texts()
    assert shown["Note"].iloc[1:].str.contains("do not predict").all()


def test_checks_that_look_through_the_symptoms_cannot_tell(random_codes):
    """Nothing drifts along a risk that ranks nobody: that was green."""
    verdicts = {check.kind: check.verdict for check in random_codes.report.variables[0].checks}
    assert verdicts["constant_ratio"] == "cannot tell"
    assert verdicts["leakage"] == "no concern"


def test_there_is_no_answer_to_overturn(random_codes):
    words = Page(render_page(random_codes.report)).words
    assert "there is no answer to overturn: the symptoms do not predict" in words
    assert "fragile" not in words  # it was, and so was a difference that nobody claims


def test_the_methods_section_does_not_quote_it(random_codes):
    assert "Estimates:" not in lay_out(random_codes.report).methods


def test_the_methods_section_tells_who_is_left_out_and_who_is_a_case(random_codes):
    methods = lay_out(random_codes.report).methods
    assert "Left out were visits with a code of ICD10:B99 in the visit." in methods
    assert "counted as diagnosed by a diagnosis code; the codes are ICD10:Z99" in methods


def test_the_terminal_gives_the_reason_for_each_of_several_conditions(random_codes, tmp_path):
    """It showed 1.00 (0.99 to 1.01) without a word."""
    place = random_codes.folder.parent
    one = 'condition = {name = "COPD", codes = ["ICD10:Z99"]}'
    assert one in STUDY
    other = '{name = "other", codes = ["ICD10:A00"]}'
    two = STUDY.replace(one, f'conditions = [{{name = "it", codes = ["ICD10:Z99"]}}, {other}]')
    (place / "two.toml").write_text(two)
    done = invoke("run", place / "two.toml", "--out", tmp_path / "out", "--quiet")
    assert done.exit_code == 0, done.output
    assert "do not predict" in done.output


def test_a_condition_is_called_as_the_study_file_calls_it(random_codes):
    """ "COPD" became "copd"."""
    assert question(random_codes.report).startswith("How much more common is COPD in one group")


def test_an_asterisk_is_explained_where_there_is_one(random_codes):
    assert "ICD10:Z99" in lay_out(random_codes.report).methods
    assert "asterisk" not in lay_out(random_codes.report).methods
