"""Hints on a cohort, and that those with shares give no small count away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relprev.codes import CodeSet
from relprev.cohort import BuiltCohort, Screening, as_cohort
from relprev.cohort.grouped import LookedAt
from relprev.disclosure import Rule
from relprev.sources import Attrition
from relprev.study.cohorts import notes
from relprev.study.cohorts.notes import namesake_note, sibling_codes, sibling_note
from relprev.study.demo import demo_study

RULE = Rule()
ENDOMETRIOSIS = CodeSet.of("endometriosis", ["ICD9:617.9", "ICD10:N80*"])


def built(tested):
    cohort = as_cohort(np.zeros((2, 1)), [1, 0], groups=["a", "b"])
    return BuiltCohort("ward", cohort, Attrition(()), tested=tested)


def study(rule=RULE):
    demo = demo_study(2_000)
    screened = replace(demo.cohort, tested=Screening("scan"))
    return replace(demo, cohort=screened, disclosure=rule)


def texts(*arguments):
    return [str(note) for note in notes.tested_note(*arguments)]


def test_shares_of_those_looked_at_are_whole_percentages():
    looked = LookedAt({"a": (100, 300, 600), "b": (0, 50, 50)}, (0, 0, 30))
    (note,) = texts(built(looked), study())
    assert note.endswith("a 60% yes, 30% no, b 50% yes, 50% no")


def test_a_group_in_which_few_were_looked_at_is_hidden():
    looked = LookedAt({"a": (0, 990, 10), "b": (0, 50, 50)}, (0, 0, 30))
    assert "a hidden" in texts(built(looked), study())[0]
    assert "a 1% yes" in texts(built(looked), study(Rule(hide=False)))[0]


def test_diagnoses_of_those_not_looked_at_are_doubted_unless_few():
    groups = {"a": (0, 300, 700), "b": (0, 300, 700)}
    doubt = texts(built(LookedAt(groups, (0, 20, 60))), study())[1]
    assert "25% of the diagnosed were not looked at (scan)" in doubt
    assert len(texts(built(LookedAt(groups, (0, 5, 60))), study())) == 1


def test_nothing_is_said_where_those_not_looked_at_are_dropped():
    looked = LookedAt({"a": (0, 0, 600), "b": (0, 0, 50)}, (0, 0, 30))
    dropped = Screening("scan", not_tested="drop")
    own = study()
    assert texts(built(looked), replace(own, cohort=replace(own.cohort, tested=dropped))) == []


def test_nothing_is_said_where_it_is_not_known_who_was_looked_at():
    assert texts(built(None), study()) == []


def test_the_most_similar_codes_come_first():
    features = ["ICD9:6170", "ICD9:61799", "ICD9:6259", "ICD10:N801", "age"]
    assert sibling_codes(ENDOMETRIOSIS, features) == ["ICD9:61799", "ICD9:6170"]
    assert "ICD9:617" in str(sibling_note(ENDOMETRIOSIS, features)[0])
    assert sibling_note(ENDOMETRIOSIS, ["ICD9:6259"]) == []


def test_words_that_any_condition_may_have_name_none():
    disease = CodeSet.of("chronic disease", ["ICD10:J44*"])
    assert namesake_note(disease, ["RFV:1"], {"RFV:1": "Chronic disease"}) == []
    assert namesake_note(ENDOMETRIOSIS, ["ICD10:N801"], {"ICD10:N801": "Endometriosis"}) == []


def test_a_word_that_many_conditions_share_names_none():
    """Depression, "Depressive disorders", was found in "Disorders of speech"."""
    condition = CodeSet.of("depression", ["ICD10:F32*"], title="Depressive disorders")
    words = {"RFV:1": "Disorders of speech", "RFV:2": "Depression"}
    (note,) = namesake_note(condition, ["RFV:1", "RFV:2"], words)
    assert note.values["features"] == "RFV:2 (Depression)"
