"""Cells are computed once, kept whole, and add up to the same file however the run went."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import relprev
from relprev.experiments import engine
from relprev.experiments.engine import run_cells
from relprev.experiments.experiment import Cell
from relprev.experiments.reproduce import run
from relprev.store import modules
from relprev.store.stages import read_checked

CELLS = [Cell("toy", {"level": level}, "m", seed, 0) for level in (1, 2) for seed in range(3)]


def toy(cell: Cell) -> dict[str, Any]:
    estimate = float("nan") if cell.seed == 2 else cell.settings["level"] + cell.seed
    return {
        **cell.columns,
        "estimate": estimate,
        "ratio": estimate / 2,
        "seconds": 0.0,
        "notes": "",
    }


def failing(cell: Cell) -> dict[str, Any]:
    if cell.seed == 1:
        raise RuntimeError("a bug")
    return toy(cell)


def test_rows_come_in_the_order_of_the_grid(tmp_path: Path) -> None:
    results = run_cells(CELLS, toy, tmp_path)
    assert list(zip(results["level"], results["seed"], strict=True)) == [
        (level, seed) for level in (1, 2) for seed in range(3)
    ]
    assert results["estimate"].isna().tolist() == [False, False, True] * 2
    assert set(results.columns) >= {"relprev", "numpy", "scipy", "scikit-learn", "seconds"}


def test_parquet_and_csv_hold_the_same(tmp_path: Path) -> None:
    results = run_cells(CELLS, toy, tmp_path)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "results.parquet"), results)
    written = pd.read_csv(
        tmp_path / "results.csv", keep_default_na=False, na_values={"estimate": "", "ratio": ""},
        dtype={"source_digest": str},  # one in 300 looks like a number
    )  # fmt: skip
    pd.testing.assert_frame_equal(written, results, check_dtype=False)


def test_finished_cells_are_not_computed_again(tmp_path: Path) -> None:
    run_cells(CELLS[:4], toy, tmp_path)
    computed: list[Cell] = []

    def watched(cell: Cell) -> dict[str, Any]:
        computed.append(cell)
        return toy(cell)

    run_cells(CELLS, watched, tmp_path)
    assert computed == CELLS[4:]


def test_cell_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        run_cells(CELLS, failing, tmp_path)
    (file,) = (tmp_path / "cells").iterdir()
    assert json.loads(read_checked(file))["values"]["seed"] == 0
    assert not (tmp_path / "results.csv").exists()


@pytest.mark.parametrize("place", [0, 30, -2])
def test_a_damaged_cell_is_computed_again(tmp_path: Path, place: int) -> None:
    """One flipped bit anywhere in the file of a cell, which used to fail for ever."""
    first = run_cells(CELLS, toy, tmp_path)
    file = sorted((tmp_path / "cells").iterdir())[0]
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    computed: list[Cell] = []

    def watched(cell: Cell) -> dict[str, Any]:
        computed.append(cell)
        return toy(cell)

    pd.testing.assert_frame_equal(run_cells(CELLS, watched, tmp_path), first)
    assert len(computed) == 1


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    one = run_cells(CELLS, toy, tmp_path / "one", jobs=1)
    two = run_cells(CELLS, toy, tmp_path / "two", jobs=2)
    pd.testing.assert_frame_equal(one, two)


def test_another_version_or_setting_is_another_cell() -> None:
    keys = {cell.key({"relprev": "1"}) for cell in CELLS} | {CELLS[0].key({"relprev": "2"})}
    assert len(keys) == len(CELLS) + 1


def test_changed_source_computes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "relprev"
    shutil.copytree(Path(relprev.__file__).parent, source)
    monkeypatch.setattr(modules, "_root", lambda: source)
    modules._running_digest.cache_clear()
    first = run_cells(CELLS, toy, tmp_path)
    for downstream in ("report/figures.py", "cli/app.py", "experiments/figures.py"):
        with (source / downstream).open("a") as file:
            file.write("# changes no result\n")
    modules._running_digest.cache_clear()  # as in a new process
    same = run_cells(CELLS, failing, tmp_path)
    pd.testing.assert_frame_equal(same, first)
    with (source / "model" / "solver.py").open("a") as file:
        file.write("# may change results\n")
    modules._running_digest.cache_clear()
    with pytest.raises(RuntimeError, match="a bug"):
        run_cells(CELLS, failing, tmp_path)
    modules._running_digest.cache_clear()


GRID = {"quick": True, "methods": ["observed", "negative", "purple"], "seeds": 3, "splits": 2}
PROVENANCE = {"relprev": "x"}  # the same in all processes, even if the source is being edited


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A run with two workers, in a process group of its own, once it has finished a cell."""
    folder.mkdir()
    script = folder / "script.py"
    script.write_text(
        "from relprev.experiments import engine, run\n"
        f"engine.provenance = lambda *modules: {PROVENANCE!r}\n"
        "if __name__ == '__main__':\n"
        f"    run('group-gap', {str(folder)!r}, jobs=2, **{GRID!r})\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], start_new_session=True)
    deadline = time.monotonic() + 120
    while not finished(folder):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def finished(folder: Path) -> set[str]:
    return {path.name for path in (folder / "group-gap" / "cells").glob("[!.]*.json")}


def wait_until_gone(group: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)  # only asks whether any process is left
            time.sleep(0.05)
        os.killpg(group, signal.SIGKILL)
        pytest.fail("workers outlived the run that started them")


def test_killed_and_restarted_run_gives_the_same_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "provenance", lambda *modules: PROVENANCE)
    process = started(tmp_path / "killed")
    time.sleep(0.5 * random.random())
    process.kill()
    process.wait()
    wait_until_gone(process.pid, 30)
    before = finished(tmp_path / "killed")
    again = run("group-gap", tmp_path / "killed", jobs=1, **GRID).results
    calm = run("group-gap", tmp_path / "calm", jobs=1, **GRID).results
    assert 0 < len(before) < len(calm) == 36
    pd.testing.assert_frame_equal(again.drop(columns="seconds"), calm.drop(columns="seconds"))
    kept = tmp_path / "killed" / "group-gap"
    assert {path.name for path in (kept / "cells").iterdir()} == finished(tmp_path / "calm")
    pd.testing.assert_frame_equal(pd.read_parquet(kept / "results.parquet"), again)


def test_ctrl_c_ends_all_processes_and_keeps_finished_cells(tmp_path: Path) -> None:
    process = started(tmp_path / "stopped")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process
    assert process.wait(30) != 0
    wait_until_gone(process.pid, 30)
    for name in finished(tmp_path / "stopped"):
        read_checked(tmp_path / "stopped" / "group-gap" / "cells" / name)
    assert not (tmp_path / "stopped" / "group-gap" / "results.csv").exists()
