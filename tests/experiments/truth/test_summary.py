from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relprev.experiments.truth.plan import nhanes_plan
from relprev.experiments.truth.summary import (
    by,
    by_likeness,
    by_method,
    compared,
    gammas,
    judged_aims,
    spread,
    write_truth_summary,
)

AIMS = nhanes_plan().aims


def cell(estimate: float, verdict: str = "no concern", **more) -> dict:
    return {
        "condition": "x", "features": "findings", "recording": "strict", "verdict": verdict,
        "truth": 2.0, "truth_se": 0.05, "degrees_of_freedom": 90, "recorded": 1.5,
        "debiased": estimate, "debiased_low": estimate / 1.1, "debiased_high": estimate * 1.1,
        "calibrated": estimate, "calibrated_low": estimate / 1.2,
        "calibrated_high": estimate * 1.2, "purple": 2.2, "alpha": 1.1, "gamma_group": 2.0,
        "gamma_versus": 1.5, "notes": "",
    } | more  # fmt: skip


def rows(*cells: dict) -> pd.DataFrame:
    return compared(pd.DataFrame(cells))


def test_errors_and_holding():
    found = rows(cell(2.1), cell(1.2), cell(2.25))
    assert found["nearer"].tolist() == [True, False, True]
    assert found["off"].tolist() == [False, True, False]
    assert found["holds"].tolist() == [1.0, 0.0, 0.0]
    assert found["holds_allowing"].tolist() == [1.0, 0.0, 1.0]  # 2.05 to 2.0 +- 0.2
    assert found["calibrated_holds"].tolist() == [1.0, 0.0, 1.0]


def test_a_cell_without_an_estimate_is_not_compared():
    found = rows(cell(2.0), cell(np.nan), cell(2.0, truth=np.nan))
    assert len(found) == 1


def test_what_is_not_calibrated_is_not_counted_as_missed():
    nothing = {"calibrated": np.nan, "calibrated_low": np.nan, "calibrated_high": np.nan}
    found = rows(cell(2.0, **nothing), cell(2.0))
    table = by(found, "features")
    assert table.loc[0, "calibrated"] == 1
    assert table.loc[0, "calibrated_holds"] == 1.0


def test_typical_errors_are_factors_either_way():
    found = rows(cell(1.0), cell(4.0), cell(2.0))
    table = by_method(found, "verdict")
    assert table.loc[0, "debiased"] == pytest.approx(2.0)
    assert table.loc[0, "recorded"] == pytest.approx(2 / 1.5)


def test_aims_are_met_or_not():
    good = rows(*[cell(2.0)] * 9, cell(1.0))
    held, nearer, warned = judged_aims(good, AIMS)
    assert (held["count"], held["cells"], held["met"]) == (9, 10, "met")
    assert (nearer["count"], nearer["met"]) == (9, "met")
    assert (warned["count"], warned["cells"], warned["met"]) == (0, 1, "not met")
    warning = rows(cell(1.0, "concern"), cell(1.0, "cannot tell"))
    held, nearer, warned = judged_aims(warning, AIMS)
    assert (held["met"], nearer["met"], warned["met"]) == ("no such cell", "no such cell", "met")


def test_spread_is_that_of_logarithms():
    found = rows(*[cell(2.0, alpha=a) for a in (0.5, 1.0, 2.0)])
    assert spread(found, "alpha")["median"] == pytest.approx(1.0)
    assert spread(found, "alpha")["size"] == pytest.approx(np.std(np.log([0.5, 1.0, 2.0])))
    assert found["left"].tolist() == pytest.approx([0.5, 1.0, 2.0])
    assert len(gammas(found)) == 6


def test_files_are_written(tmp_path):
    results = pd.DataFrame([cell(2.1), cell(1.2, "concern", features="risk")])
    table = write_truth_summary("nhanes", results, tmp_path)
    assert len(table) == 2
    assert {file.name for file in tmp_path.iterdir()} == {
        "table.csv", "aims.csv", "figure.svg", "figure.png", "figure.pdf",
    }  # fmt: skip


def test_nothing_to_compare_is_no_error(tmp_path):
    absent = pd.DataFrame([{"condition": "copd", "notes": "not in the data: SPXNFEV1"}])
    assert write_truth_summary("nhanes", absent, tmp_path).empty


def test_calibration_is_judged_by_likeness_also_where_a_study_would_not_calibrate():
    more = {"calibrated": np.nan, "calibrated_low": np.nan, "calibrated_high": np.nan}
    far = {"anyway": 4.0, "anyway_low": 3.0, "anyway_high": 5.0, "likeness": "better"}
    near = {"anyway": 2.0, "anyway_low": 1.0, "anyway_high": 4.0, "likeness": "alike"}
    found = by_likeness(rows(cell(2.1, **more, **far), cell(2.2, **near), cell(2.1, **near)))
    assert found["likeness"].tolist() == ["alike", "better"]
    assert found["cells"].tolist() == [2, 1]
    assert found["nearer"].tolist() == [2, 0]
    assert found["anyway_holds"].tolist() == [1.0, 0.0]
    assert found["error_anyway"].tolist() == pytest.approx([1.0, 2.0])
