from __future__ import annotations

import pytest

from relprev.sources import read_nhanes
from relprev.sources.nhanes_answers import is_answer, refusal_codes
from tests.sources.transport import demographics, write


def test_codes_for_refused_can_be_kept(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "DIQ_I", SEQN=[1, 2, 3], DIQ010=[1, 2, 9])
    kept = read_nhanes(tmp_path, refusals=True).query("SELECT DIQ010 FROM visits ORDER BY visit")
    assert kept == [(1,), (2,), (9,)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 7, 9], (7, 9)),
        ([1, 2, 9], (9,)),
        ([1, 2, 3, 7], (7,)),
        ([1, 2], ()),
        ([1, 2, 3, 4, 5, 6, 77, 99], (77, 99)),
        ([0, 1, 30, 60, 70], ()),
        ([18, 40, 77, 80], ()),
        ([1, 2, 3, 4, 5, 6, 7], ()),
        ([5, 80, 666, 999], (999,)),
        ([], ()),
        ([-1, 7], ()),
    ],
)
def test_codes_for_refused_and_unknown(values, expected):
    assert refusal_codes([float(value) for value in values]) == expected


def test_which_variables_are_answers():
    answers = ["DIQ160", "HUQ030", "DPQ090", "DMDMARTL", "SXQ260", "SMQ040", "KIQ022", "HSD010"]
    others = ["BMXBMI", "BPXDI1", "LBXHE2", "URXUMA", "RIDRETH3", "SDDSRVYR", "WTMEC2YR", "SEQN"]
    assert [name for name in (*answers, *others) if is_answer(name)] == answers
