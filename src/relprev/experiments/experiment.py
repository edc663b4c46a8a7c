"""What an experiment is: a grid of cells, each of which yields one row of results."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.errors import RelprevError, RelprevWarning, TooFewCasesError
from relprev.estimates import RelativePrevalence
from relprev.experiments.methods import METHODS, REFERENCE, Parts
from relprev.model.splits import split
from relprev.simulate import Simulation
from relprev.store.digests import digest

SHARES = (0.6, 0.2, 0.2)
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A family of simulated data sets and the methods tried on them.

    Parameters
    ----------
    name : str
        As on the command line.
    title : str
    scenarios : function of (quick, variant, data)
        Returns the settings of every data set; values are strings, numbers or booleans.
    simulate : function of (settings, seed)
    methods : names of methods, see `relprev.experiments.methods`
    x, x_label : setting on the horizontal axis of the figure, and its label
    panel : setting with one panel per value, or ""
    series : setting with one line per value, or "" for one line per method
    seeds, splits : number of data sets per scenario, and of splits per data set
    variants : the paper's text, the authors' code
    published_methods : methods that replace others in the variant of the authors' code
    write_extras : function of (folder, source, variant) that writes further tables, optional
    """

    name: str
    title: str
    scenarios: Callable[[bool, str, str], Sequence[Settings]]
    simulate: Callable[[Settings, int], Simulation]
    methods: tuple[str, ...]
    x: str
    x_label: str
    panel: str = ""
    series: str = ""
    seeds: int = 20
    splits: int = 5
    variants: tuple[str, ...] = ("paper", "published")
    published_methods: Mapping[str, str] = field(default_factory=dict)
    write_extras: Callable[[Path, str, str], None] | None = None

    def methods_in(self, variant: str) -> tuple[str, ...]:
        """Names of the methods tried in a variant."""
        other = self.published_methods if variant == "published" else {}
        return tuple(other.get(name, name) for name in self.methods)


@dataclass(frozen=True)
class Cell:
    """One method on one split of one data set.

    ``source`` says where real data are. It replaces the setting ``data`` in the simulation, and
    is not part of the results.
    """

    experiment: str
    settings: Settings
    method: str
    seed: int
    split: int
    source: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """What identifies the cell, as columns of the results."""
        place = {"method": self.method, "seed": self.seed, "split": self.split}
        return {"experiment": self.experiment, **self.settings, **place}

    def key(self, provenance: Mapping[str, str]) -> str:
        """Name of the cell's file, determined by the cell and its provenance."""
        return digest(provenance, self.columns)


def compute(cell: Cell, simulate: Callable[[Settings, int], Simulation]) -> dict[str, Any]:
    """One row of results: settings, estimate, truth, their ratio, CPU seconds and warnings.

    If a method refuses the data, the estimate is NaN and ``notes`` says why. If the data are too
    few to simulate or to split, the truth is NaN too.
    """
    place = {"data": cell.source} if cell.source else {}
    try:
        data = simulate({**cell.settings, **place}, cell.seed)
        train, validation, test = split(data.cohort, SHARES, cell.split)
    except TooFewCasesError as error:
        return _row(cell, float("nan"), float("nan"), 0.0, {_words(error)})
    fit = np.sort(np.concatenate([train, validation]))
    parts = Parts(
        train=data.cohort.take(train),
        validation=data.cohort.take(validation),
        test=data.cohort.take(test),
        fit=data.cohort.take(fit),
        condition=data.condition[fit],
    )
    method = METHODS[cell.method]
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RelprevWarning)
        try:
            estimate = _first(method.estimate(parts))
            notes = {type(w.message).__name__ for w in caught}
        except RelprevError as error:
            estimate, notes = float("nan"), {_words(error)}
    seconds = time.process_time() - started
    truth = _truth(data, test if method.judged_on == "test" else fit)
    return _row(cell, estimate, truth, seconds, notes)


def _row(
    cell: Cell, estimate: float, truth: float, seconds: float, notes: set[str]
) -> dict[str, Any]:
    return {
        **cell.columns,
        "estimate": estimate,
        "truth": truth,
        "ratio": estimate / truth,
        "seconds": round(seconds, 3),
        "notes": "; ".join(sorted(notes)),
    }


def _words(error: RelprevError) -> str:
    return f"{type(error).__name__}: {error}"


def _truth(data: Simulation, rows: NDArray[np.int64]) -> float:
    """True relative prevalence of a versus b in the given rows, from p(y=1|x)."""
    part = Simulation(
        data.cohort.take(rows),
        data.condition_probability[rows],
        data.condition[rows],
        data.diagnosis_rates,
    )
    return _first(part.relative_prevalence(REFERENCE))


def _first(result: RelativePrevalence) -> float:
    """The only contrast: a versus b."""
    return float(result.to_frame()["estimate"].iloc[0])
