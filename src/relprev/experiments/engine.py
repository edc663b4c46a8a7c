"""Compute the cells of an experiment, resumably and in parallel, and write their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from relprev.parallel.kept import kept_outcomes
from relprev.store.files import written_whole
from relprev.store.modules import source_digest
from relprev.store.stages import Outcome
from relprev.store.versions import versions

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
    keys = [cell.key(made_with) for cell in cells]
    found = kept_outcomes(
        partial(_outcome, work), dict(zip(keys, cells, strict=True)), folder / "cells", jobs,
        words=lambda cell: f"{cell.experiment}, {cell.method}", verbose=verbose,
    )  # fmt: skip
    results = pd.DataFrame([found[key].values for key in keys]).assign(**made_with)
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


def _outcome(work: Work, cell: Keyed) -> Outcome:
    return Outcome(
        {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in work(cell).items()
        }
    )
