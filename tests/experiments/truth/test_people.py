from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relprev.experiments.truth.people import absent_variables, known_truth, open_people
from relprev.experiments.truth.plan import PlannedCell, nhanes_plan
from tests.experiments.truth.people import extract

PLAN = nhanes_plan()
CELL = PlannedCell("prediabetes", "strict", "findings", "black-white")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return open_people(str(extract(tmp_path_factory.mktemp("nhanes"))))


def test_strict_recording_is_told_among_the_measured(source):
    known = known_truth(PLAN, CELL, source)
    rows = source.query(
        "SELECT count(*), count(*) FILTER (LBXGH >= 5.7 AND LBXGH < 6.5), "
        "count(*) FILTER (LBXGH >= 5.7 AND LBXGH < 6.5 AND DIQ160 = 1) "
        "FROM visits WHERE DIQ160 IS NOT NULL"
    )[0]
    assert rows == (known.cohort.n, known.condition.sum(), known.cohort.diagnosed.sum())
    assert known.cohort.n == 6_000 - 20  # who does not know is left out
    assert (known.group, known.versus) == ("Black", "White")
    assert (known.cohort.diagnosed <= known.condition).all()
    assert known.known.all()


def test_loose_recording_is_told_at_all(source):
    known = known_truth(PLAN, replace(CELL, recording="loose"), source)
    told = source.query("SELECT count(*) FROM visits WHERE DIQ160 = 1")[0][0]
    assert known.cohort.diagnosed.sum() == told
    assert (known.cohort.diagnosed <= known.condition).all()
    strict = known_truth(PLAN, CELL, source)
    assert known.condition.sum() > strict.condition.sum()  # told, and 6.5 or more


def test_rows_of_cohort_and_condition_belong_together(source):
    known = known_truth(PLAN, CELL, source)
    names = known.cohort.feature_names
    high = [k for k, name in enumerate(names) if name.startswith(("LBXGH:[5.8", "LBXGH:[6,"))]
    X = known.cohort.X.to_scipy().toarray()
    assert known.condition[X[:, high].sum(axis=1) > 0].all()
    low = [k for k, name in enumerate(names) if name.startswith("LBXGH:[5,")]
    assert not known.condition[X[:, low].sum(axis=1) > 0].any()


def test_a_set_without_findings_lacks_them(source):
    findings, risk = (
        known_truth(PLAN, replace(CELL, features=name), source).cohort.feature_names
        for name in ("findings", "risk")
    )
    assert any(name.startswith("LBXGH") for name in findings)
    assert set(risk) == {name for name in findings if not name.startswith("LBXGH")}


def test_controls_are_measured_findings(source):
    cohort = known_truth(PLAN, CELL, source).cohort
    assert cohort.control_names == ("anaemia",)
    assert 0.05 < np.mean(cohort.controls & 1) < 0.5


def test_absent_variables_are_told(source):
    assert absent_variables(PLAN, replace(CELL, condition="herpes", features="risk"), source) == (
        "LBXHE2", "SXQ260",
    )  # fmt: skip
    assert absent_variables(PLAN, CELL, source) == ()
