from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relprev.messages import Count, Message
from relprev.report.analyses import Analysis
from relprev.store.stages import DamagedError, Outcome, Store, read_checked, write_checked

TABLE = pd.DataFrame({"group": ["a", "b"], "n": [1, 2], "x": [0.1, np.nan]})
SAID = Message("{group} has {n}", group="a", n=Count(3, "patient", cells=(("n", "a"),)))


@pytest.fixture
def store(tmp_path):
    said = []
    store = Store(tmp_path / "work", said.append)
    store.keep("debiased", "1f", Outcome({"lambda": 0.1}, {"estimates": TABLE}, (SAID,), 2.5))
    return store, said


def test_results_with_tables_are_given_back_by_an_outcome_that_was_kept(store):
    made = [Analysis("absolute", name, TABLE, (SAID,)) for name in ("a", "b")]
    kept = store[0].keep("analyses", "1f", Outcome.of(made))
    found = kept.results(Analysis.from_plain)
    assert found == made
    pd.testing.assert_frame_equal(found[1].table, TABLE)
    assert Outcome().results(Analysis.from_plain) == []  # the stage failed


def test_an_outcome_is_found_as_it_was_kept(store):
    found = store[0].find("debiased", "1f")
    assert found.values == {"lambda": 0.1}
    pd.testing.assert_frame_equal(found.tables["estimates"], TABLE)
    assert found.warnings == (SAID,)
    assert found.seconds == 2.5
    assert store[0].find("debiased", "2e") is None
    assert store[0].find("purple", "1f") is None
    assert not store[1]


@pytest.mark.parametrize("name", ["debiased-1f.json", "debiased-estimates-1f.parquet"])
def test_no_flipped_bit_goes_unnoticed(store, name):
    """At forty places of each file."""
    file = store[0].path(name)
    whole = file.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 40).astype(int):
        content = bytearray(whole)
        content[place] ^= 1
        file.write_bytes(content)
        assert store[0].find("debiased", "1f") is None
    assert set(store[1]) == {"debiased: what was kept is damaged; it is made again"}
    file.write_bytes(whole)
    assert store[0].find("debiased", "1f") is not None


@pytest.mark.parametrize("name", ["debiased-1f.json", "debiased-estimates-1f.parquet"])
def test_a_file_that_is_cut_short_or_gone_counts_as_damaged(store, name):
    file = store[0].path(name)
    file.write_bytes(file.read_bytes()[:-1])
    assert store[0].find("debiased", "1f") is None
    file.write_bytes(b"")
    assert store[0].find("debiased", "1f") is None
    file.unlink()
    assert store[0].find("debiased", "1f") is None


def test_checked_files_hold_any_bytes(tmp_path):
    content = bytes(range(256)) + b"\n\n"
    write_checked(tmp_path / "a", content)
    assert read_checked(tmp_path / "a") == content
    with pytest.raises(DamagedError):
        read_checked(tmp_path / "b")
