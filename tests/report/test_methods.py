"""A methods section that can be pasted: definitions, citations, what was and was not checked."""

import re

from relprev.report import render_page
from relprev.report.methods import methods_text
from tests.report.conftest import LONG
from tests.report.pages import Page
from tests.report.studies import study

STUDIED = {
    "condition_codes": ("ICD10:T74.1*", "ICD9:995.81"), "rules": ("age 18 or more", "sex F"),
    "features": "diagnoses (ICD10) 340", "unchecked": ("Leakage of the diagnosis",),
}  # fmt: skip


def test_definitions_are_those_of_the_study(bare):
    text = methods_text(study(bare, **STUDIED))
    assert "with one of the codes ICD10:T74.1*, ICD9:995.81" in text
    assert "Included were visits with age 18 or more and sex F." in text
    assert "served as symptoms, without the condition's own codes: diagnoses (ICD10) 340" in text
    assert "No weights were used." in text
    assert "Sampling weights were used." in methods_text(study(bare, weighted=True, **STUDIED))


def test_checks_that_were_not_made_are_named(bare):
    assert "Not made: leakage of the diagnosis." in methods_text(study(bare, **STUDIED))


def test_every_citation_is_in_the_list_and_every_work_is_cited(race):
    text = methods_text(study(race))
    cited = {int(k) for found in re.findall(r"\[([\d, ]+)\]", text) for k in found.split(",")}
    works = re.findall(r"(?m)^(\d+)\. (.+)$", text)
    assert cited == {int(k) for k, _ in works}
    for _, work in works:
        assert re.search(r"(19|20)\d\d", work), work


def test_methods_hold_the_numbers_of_the_run(folder, race):
    text = (folder / "methods.txt").read_text()
    joined = re.sub(r"\s+", " ", text)
    assert f"{int(race.attrition['visits'].iloc[-1]):,} visits" in joined
    assert "Seed 4" in joined
    assert "Shanmugam" in joined
    assert "Chernozhukov" in joined
    assert max(len(line) for line in text.splitlines() if LONG not in line) <= 90


def test_methods_say_what_standard_errors_allow_for(bare):
    words = Page(render_page(study(bare, sampling="repeat visits of patients"))).words
    assert "Standard errors allow for repeat visits of patients." in words
