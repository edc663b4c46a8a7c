"""Compute the cells of an experiment in parallel, and resume an interrupted run.

Every finished cell is stored. A killed run loses only the cells in progress, and the next run
computes what is missing or damaged. Cells do not share random numbers, so results do not depend
on their order or on the number of processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from relprev.parallel.processes import in_processes
from relprev.progress import progress
from relprev.store.files import remove_unfinished, written_whole
from relprev.store.modules import source_digest
from relprev.store.stages import Outcome, Store
from relprev.store.versions import versions

STAGE = "cell"
MODULES = ("relprev.experiments.gauss", "relprev.experiments.semisynthetic",
           "relprev.experiments.methods", "relprev.experiments.experiment")  # fmt: skip
DATA = ("code_sets", "plans")  # folders of relprev's data that results depend on
Work = Callable[[Any], dict[str, Any]]


class Keyed(Protocol):
    """What the engine needs of a cell: a key that its results are kept under, and words."""

    @property
    def experiment(self) -> str: ...
    @property
    def method(self) -> str: ...
    def key(self, provenance: Mapping[str, str]) -> str: ...


def run_cells(
    cells: Sequence[Keyed], work: Work, folder: Path, *, jobs: int = 1, verbose: bool = False,
    modules: Sequence[str] = MODULES,
) -> pd.DataFrame:  # fmt: skip
    """Results of all cells, in order; also written as ``results.parquet`` and ``.csv``.

    Parameters
    ----------
    cells : sequence of `Keyed`
    work : function from a cell to its row
        Called for every cell that is not stored yet; other processes must be able to import it.
    folder : Path
        Finished cells are stored in ``folder/cells``.
    jobs : int
        Number of processes.
    verbose : bool
        Show progress and time left on standard error.
    modules : sequence of str
        The modules that a cell's result depends on, with all that they import.
    """
    made_with = provenance(modules)
    damaged: list[str] = []
    store = Store(folder / "cells", damaged.append)
    keys = [cell.key(made_with) for cell in cells]
    found = {key: store.find(STAGE, key) for key in keys}
    missing = [(cell, key) for cell, key in zip(cells, keys, strict=True) if found[key] is None]
    with progress("Cells", len(missing), verbose) as advance:
        kept = f"{len(cells) - len(missing)} more kept from an earlier run"
        advance(f"{kept}, {len(damaged)} damaged ones computed again" if damaged else kept)
        for (cell, key), made in in_processes(_finish, (work, store.folder), missing, jobs):
            found[key] = made
            advance(f"{cell.experiment}, {cell.method}")
    remove_unfinished(store.folder)
    results = pd.DataFrame([found[key].values for key in keys]).assign(**made_with)  # type: ignore[union-attr]
    numbers = [name for name in ("estimate", "truth", "ratio") if name in results]
    results[numbers] = results[numbers].astype(float)  # null becomes NaN
    with written_whole(folder / "results.parquet") as path:
        results.to_parquet(path, index=False)
    with written_whole(folder / "results.csv") as path:
        results.to_csv(path, index=False)
    return results


def provenance(modules: Sequence[str] = MODULES) -> dict[str, str]:
    """Package versions, and a digest of the relprev modules that cells depend on.

    A stored cell is valid only for the same provenance: no result outlives its code.
    """
    return versions() | {"source_digest": source_digest(*modules, data=DATA)[:12]}


def _finish(shared: tuple[Work, Path], missing: tuple[Keyed, str]) -> Outcome:
    work, folder = shared
    cell, key = missing
    row = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in work(cell).items()
    }
    return Store(folder).keep(STAGE, key, Outcome(row))
