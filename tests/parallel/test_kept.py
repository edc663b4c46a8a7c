"""Pieces of work are done once and kept whole; see also ``tests/experiments/test_engine.py``."""

from pathlib import Path

import pandas as pd

from relprev.parallel.kept import kept_outcomes
from relprev.store.stages import Outcome


def squared(number: int) -> Outcome:
    table = pd.DataFrame({"square": [number**2]})
    return Outcome({"number": number}, {"squares": table})


def refused(number: int) -> Outcome:
    raise AssertionError(f"{number} was computed again")


def test_values_and_tables_come_back_by_key(tmp_path: Path) -> None:
    found = kept_outcomes(squared, {"a": 2, "b": 3}, tmp_path)
    assert {key: outcome.values["number"] for key, outcome in found.items()} == {"a": 2, "b": 3}
    assert found["b"].tables["squares"]["square"].tolist() == [9]


def test_what_is_kept_is_not_computed_again(tmp_path: Path) -> None:
    first = kept_outcomes(squared, {"a": 2, "b": 3}, tmp_path, processes=2)
    again = kept_outcomes(refused, {"b": 3}, tmp_path)
    assert list(again) == ["b"]
    pd.testing.assert_frame_equal(again["b"].tables["squares"], first["b"].tables["squares"])


def test_a_damaged_table_is_computed_again(tmp_path: Path) -> None:
    kept_outcomes(squared, {"a": 2}, tmp_path)
    (table,) = tmp_path.glob("*.parquet")
    table.write_bytes(table.read_bytes()[:-1])
    assert kept_outcomes(squared, {"a": 5}, tmp_path)["a"].values == {"number": 5}


def test_what_a_killed_run_was_writing_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".partial-cell-x.json").write_text("half")
    kept_outcomes(squared, {"a": 2}, tmp_path)
    assert not list(tmp_path.glob(".partial-*"))
