"""Compute cells in several processes; keep every finished one; start again where it stopped.

A finished cell is one small file, written whole or not at all. A killed run
therefore loses only the cells under way, and the next run computes what is missing.
Cells do not share random numbers, so the results do not depend on the order or on
the number of processes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.experiments.experiment import Cell
from relprev.files import written_whole
from relprev.parallel.processes import in_processes
from relprev.progress import progress

PACKAGES = ("relprev", "numpy", "scipy", "scikit-learn")
SOURCE = Path(__file__).parents[1]
AFTER_CELLS = ("checks/", "cli/", "demo.py", "report/", "study/", "experiments/figures.py",
               "experiments/summary.py")  # fmt: skip
Work = Callable[[Cell], dict[str, Any]]


def run_cells(
    cells: Sequence[Cell], work: Work, folder: Path, *, jobs: int = 1, verbose: bool = False
) -> pd.DataFrame:
    """Results of all cells, in their order; also written as ``results.parquet`` and ``.csv``.

    Parameters
    ----------
    cells : sequence of Cell
    work : function from a cell to its row, importable by other processes
    folder : Path
        Finished cells are kept in ``folder/cells``.
    jobs : int
        Processes.
    verbose : bool
        Show progress and time left on standard error.
    """
    made_with = provenance()
    store = folder / "cells"
    store.mkdir(parents=True, exist_ok=True)
    paths = [store / f"{cell.key(made_with)}.json" for cell in cells]
    missing = [(cell, path) for cell, path in zip(cells, paths, strict=True) if not path.is_file()]
    with progress("Cells", len(missing), verbose) as advance:
        advance(f"{len(cells) - len(missing)} more kept from an earlier run")
        for (cell, _), _ in in_processes(_finish, work, missing, jobs):
            advance(f"{cell.experiment}, {cell.method}")
    for unfinished in store.glob(".*.json"):  # of a killed run
        unfinished.unlink(missing_ok=True)
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    results = pd.DataFrame(rows).assign(**made_with)
    results["estimate"] = results["estimate"].astype(float)  # null is NaN
    results["ratio"] = results["ratio"].astype(float)
    with written_whole(folder / "results.parquet") as path:
        results.to_parquet(path, index=False)
    with written_whole(folder / "results.csv") as path:
        results.to_csv(path, index=False)
    return results


def provenance() -> dict[str, str]:
    """Versions of packages, and ``source_digest``, which changes with relprev's own source.

    A cell is kept only for the same provenance: no result outlives the code that gave it. Modules
    that only read results do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(path for kind in ("*.py", "*.toml") for path in SOURCE.rglob(kind)):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(AFTER_CELLS):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    versions = {name: version(name) for name in PACKAGES}
    return {**versions, "source_digest": digest.hexdigest()[:12]}


def _finish(work: Work, missing: tuple[Cell, Path]) -> None:
    cell, path = missing
    row = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in work(cell).items()
    }
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(row), encoding="utf-8")
