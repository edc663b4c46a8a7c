"""What a row of an atlas says in words."""

import numpy as np
import pytest

from relprev.atlas.words import null_words, reading

NULL = {"group": "a", "versus": "b", "centre": 0.0, "spread": 0.25, "conditions": 200}
ROW = {
    "group": "a", "versus": "b", "method": "case-only", "withheld": "", "observed_ratio": 1.2,
    "diagnosis_ratio": 0.4, "estimate": 3.0, "ci_low": 2.0, "ci_high": 4.5, "auc": 0.71,
    "auc_low": 0.66, "auc_high": 0.76, "effective_cases": 80.0, "robust_diagnosis_ratio": 0.5,
    "robust_diagnosis_ci_low": 0.3, "robust_diagnosis_ci_high": 0.7, "robust_estimate": 2.4,
    "robust_ci_low": 0.9, "robust_ci_high": 5.0,
}  # fmt: skip


def said(**changed):
    found = reading(ROW | changed, NULL)
    return " ".join([found.answer, *found.checks, *found.changes])


def test_a_row_by_cases_alone():
    text = said()
    assert "Recorded 1.20 times as often in “a” as in “b”" in text
    assert "3.00 times as common, so that a case would be 0.40 times as likely" in text
    assert "0.40, lies outside of what is usual among all conditions (0.61 to 1.63" in text
    assert "AUC within groups is 0.71 (0.66 to 0.76)" in text
    assert "None was fitted" in text
    assert "0.40 times as likely in “a” as in “b”" in text
    assert "would reach 1 if it were 0.50 times as likely" in text  # 1 / 2.0


def test_a_row_with_a_risk_model_has_its_numbers():
    text = said(method="doubly robust")
    assert "2.40 times as common, so that a case would be 0.50 times" in text
    assert "ratio is 0.50 (0.30 to 0.70); by cases alone it was 0.40" in text
    assert "holds 1 already" in text


def test_few_cases_are_called_few():
    assert "These are few" in said(effective_cases=12.0)
    assert "These are few" not in said()
    assert "enough cases" not in said(effective_cases=np.nan)  # hidden


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"withheld": "too few cases"}, "No answer: too few cases."),
     ({"diagnosis_ratio": np.nan}, "The numbers are hidden.")],
)  # fmt: skip
def test_without_an_answer_nothing_is_checked(changed, words):
    found = reading(ROW | changed, NULL)
    assert (found.answer, found.checks, found.changes) == (words, [], [])


def test_what_is_usual():
    assert "95% of them lie between 0.61 and 1.63, around 1.00" in null_words(NULL)
    assert "too few to say" in null_words(NULL | {"spread": np.nan, "centre": np.nan})
    without = reading(ROW, NULL | {"spread": np.nan})
    assert not any("unusual" in line for line in without.checks)
