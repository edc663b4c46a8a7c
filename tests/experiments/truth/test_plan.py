from __future__ import annotations

import re
from importlib import resources

import pytest

from relprev.experiments.truth.judge import BASELINES
from relprev.experiments.truth.plan import PlannedCell, columns_of, nhanes_plan
from relprev.sources.expressions import columns_in

PLAN = nhanes_plan()
CELL = PlannedCell("diabetes", "strict", "findings", "black-white")


def test_the_plan_names_no_cycle():
    text = (resources.files("relprev") / "data" / "plans" / "nhanes.toml").read_text("utf-8")
    assert not re.search(r"(19|20)\d\d ?(-|to) ?(19|20)?\d\d|SDDSRVYR|_[A-L]\b", text)


def test_every_name_in_the_plan_is_defined():
    for condition in PLAN.conditions.values():
        assert {*condition.risk, *condition.findings} <= set(PLAN.features)
        assert not set(condition.risk) & set(condition.findings)
    for control in PLAN.controls.values():
        assert set(control.apart) <= set(PLAN.features)
        assert set(control.not_for) <= set(PLAN.conditions)
    for contrast in PLAN.contrasts.values():
        assert set(contrast.without) <= set(PLAN.features)
        assert len(contrast.group) == len(contrast.versus) == 1
    assert set(PLAN.methods.baselines) <= set(BASELINES)
    assert set(PLAN.aims) == {"held", "nearer", "warned"}


def test_every_expression_of_the_plan_can_be_read():
    texts = [one.told for one in PLAN.conditions.values()]
    texts += [one.measured for one in PLAN.conditions.values()]
    texts += [one.where for one in PLAN.controls.values()]
    for text in texts:
        assert columns_in(text)


def test_all_cells_are_there():
    cells = list(PLAN.cells())
    assert len(cells) == len(set(cells)) == (9 * 2 - 1) * 2 * 7  # herpes has no findings
    assert {cell.condition for cell in cells} == set(PLAN.conditions)


def test_a_control_never_shares_its_variables_with_the_features():
    every = {name for one in PLAN.features.values() for name in columns_in(one.column)}
    every |= {name for text in PLAN.derive.values() for one in
              ([text] if isinstance(text, str) else text) for name in columns_in(one)}  # fmt: skip
    known = {*every, *PLAN.derive, "HSD010", "LBXHGB", "LBXSGTSI", "woman", "RIDRETH1", "DIQ010"}
    known |= {name for one in PLAN.conditions.values()
              for name in columns_in(f"({one.told}) and ({one.measured})")}  # fmt: skip
    known |= {name for one in PLAN.contrasts.values()
              for text in (*one.group.values(), *one.versus.values())
              for name in columns_in(text)}  # fmt: skip
    for cell in PLAN.cells():
        parts = columns_of(PLAN, cell, known)
        assert not parts.absent
        used = {one.column for one in parts.features}
        for name, where in parts.controls.items():
            assert not (columns_in(where) - {"woman"}) & used, (cell, name)


def test_what_is_absent_is_named():
    parts = columns_of(PLAN, CELL, ["DIQ010", "RIDRETH1", "RIDAGEYR", "RIAGENDR"])
    assert parts.absent == ("LBXGH", "LBXGH", "LBXSGL")
    assert "bmi" in parts.left_out
    risk = PlannedCell("diabetes", "strict", "risk", "sex")
    parts = columns_of(PLAN, risk, ["DIQ010", "LBXGH", "RIDAGEYR", "RIAGENDR"])
    assert parts.absent == ()
    assert [one.column for one in parts.features] == ["RIDAGEYR"]  # sex tells the groups apart


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["BPXSY1", "BPXSY2", "BPXSY3"], "mean(BPXSY1, BPXSY2, BPXSY3)"),
        (["BPXOSY1", "BPXOSY2", "BPXOSY3"], "mean(BPXOSY1, BPXOSY2, BPXOSY3)"),
        (["BPXSY1"], None),
    ],
)
def test_the_first_expression_whose_variables_are_there_is_used(columns, expected):
    assert PLAN.derived(columns).get("systolic") == expected
