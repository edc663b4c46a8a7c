import numpy as np
import pandas as pd

from relprev.experiments.summary import as_text, settings_of, summarise, write_summary

RESULTS = pd.DataFrame(
    {
        "experiment": "toy", "rate_b": [0.1] * 4 + [0.9] * 2, "method": list("ppqqpq"),
        "seed": 0, "split": 0, "estimate": 1.0, "truth": 1.0,
        "ratio": [0.9, 1.1, 2.0, np.nan, 1.0, 3.0], "seconds": 1.0, "notes": "",
    }
)  # fmt: skip


def test_mean_and_deviation_by_scenario_and_method() -> None:
    table = summarise(RESULTS)
    assert settings_of(RESULTS) == ["rate_b"]
    assert table["mean"].tolist() == [1.0, 2.0, 1.0, 3.0]
    np.testing.assert_allclose(table["sd"][0], np.sqrt(0.02))
    assert table["n"].tolist() == [2, 1, 1, 1]
    assert table["n_failed"].tolist() == [0, 1, 0, 0]


def test_text_has_one_row_a_scenario_and_one_column_a_method() -> None:
    lines = as_text(summarise(RESULTS), ["rate_b"]).splitlines()
    assert lines[0] == "| rate_b | p | q |"
    assert lines[2:] == ["| 0.1 | 1.000 ± 0.141 | 2.000 |", "| 0.9 | 1.000 | 3.000 |"]


def test_files_are_written(tmp_path) -> None:
    table = write_summary(RESULTS, tmp_path)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "table.csv"), table)
    assert (tmp_path / "table.md").read_text(encoding="utf-8").startswith("| rate_b |")
