"""A methods section that can be pasted: definitions, citations, what was and was not checked."""

import re
from dataclasses import replace

import pandas as pd

from relprev.cohort.visit_rules import Case, Exclude
from relprev.messages import Message
from relprev.report import render_page
from relprev.report.analyses import Analysis
from relprev.report.sentences.methods import methods_text
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


def test_rules_on_cases_and_exclusions_are_told(bare):
    """A study of principal diagnoses read "counted as diagnosed with one of the codes"."""
    rules = ("age 18 or more", str(Exclude(codes=("ICD10:O*",), lookback_days=280)))
    case = str(Case(roles=("principal",), min_visits=2, within_days=365))
    text = methods_text(study(bare, **{**STUDIED, "rules": rules, "case": case}))
    assert "Included were visits with age 18 or more." in text
    assert "Left out were visits with a code of ICD10:O* in the visit or the 280 days" in text
    assert "counted as diagnosed by a principal code, in 2 visits within 365 days of one" in text
    assert "the codes are ICD10:T74.1*, ICD9:995.81 (an asterisk" in text
    assert "with one of the codes" not in text


def test_analyses_besides_the_main_one_are_told(bare):
    group = bare.main["group"].iloc[0]
    table = pd.DataFrame({"group": [group], "diagnosis_rate": [0.4], "prevalence": [0.02]})
    table["outside"] = True
    outside = Message("outside value: prevalence 0.25 in a, from a survey")
    to = Message("standardised by age to all visits")
    further = (
        Analysis("absolute", "a", table, (outside,)),
        Analysis("strata", "age", table[["group"]].assign(stratum="old", n=90, n_diagnosed=30)),
        Analysis("standardised", "age", table[["group"]].assign(versus="b"), (to,)),
    )
    text = methods_text(study(replace(bare, analyses=further)))
    assert "By race, groups were also compared within strata of age, each estimated on" in text
    assert "relative prevalences were also standardised by age to all visits" in text
    assert "By race, absolute rates rest on an outside value: prevalence 0.25 in a, from a" in text
    both = [replace(bare, name=name, analyses=further) for name in ("race", "ward")]
    twice = methods_text(study(*both))
    assert "By race and ward, groups were also compared within strata of age, each" in twice
    assert "also" not in methods_text(study(bare))


def test_the_papers_protocol_has_its_standard_deviation(bare):
    """The text promised "mean and standard deviation over the splits", and gave the mean."""
    name, main = next(iter(bare.estimates.items()))
    main = main.assign(ci_low=float("nan"), ci_high=float("nan"), estimate=1.5, split_sd=0.0636)
    text = methods_text(study(replace(bare, estimates={name: main})))
    assert "1.50 ± 0.06" in text


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
