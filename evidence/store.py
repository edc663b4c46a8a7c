"""Results files kept in the repository: one folder per run of an experiment."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from benchmarks.measure import write_note

from relprev.experiments import EXPERIMENTS
from relprev.experiments.experiment import Experiment
from relprev.experiments.summary import settings_of, summarise
from relprev.store.files import written_whole

FOLDER = Path(__file__).parent
RUNS = {  # name: experiment, variant, data
    "gauss": ("gauss", "paper", ""),
    "gauss-published": ("gauss", "published", ""),
    "group-gap": ("group-gap", "paper", ""),
    "group-gap-published": ("group-gap", "published", ""),
    "alpha": ("alpha", "paper", ""),
    "false-positives": ("false-positives", "paper", ""),
    "selective-diagnosis": ("selective-diagnosis", "paper", ""),
    "semisynthetic-simulated": ("semisynthetic", "paper", "simulated"),
    "semisynthetic-nhds": ("semisynthetic", "paper", "nhds"),
}


@dataclass(frozen=True)
class Stored:
    """Results of a run, their summary and the machine they were made on."""

    name: str
    experiment: Experiment
    results: pd.DataFrame
    table: pd.DataFrame
    machine: dict[str, Any]


def load(name: str, results: Path | None = None) -> Stored:
    """A run by its name."""
    folder = (results or FOLDER) / name
    experiment = EXPERIMENTS[RUNS[name][0]]
    results = pd.read_parquet(folder / "results.parquet")
    about = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    return Stored(name, experiment, results, summarise(results), about)


def add(name: str, folder: Path, results: Path | None = None) -> int:
    """Keep the results of a folder that ``relprev reproduce`` wrote; return the number of rows."""
    new = pd.read_parquet(folder / "results.parquet")
    _check(name, new, reduced=results not in (None, FOLDER))
    kept = (results or FOLDER) / name / "results.parquet"
    if kept.is_file():
        old = pd.read_parquet(kept)
        new = pd.concat([old[~old["method"].isin(new["method"].unique())], new])
    experiment, variant, _ = RUNS[name]
    methods = EXPERIMENTS[experiment].methods_in(variant)
    by = [*_scenario(new), "seed", "split"]
    order = new["method"].map({method: k for k, method in enumerate(methods)})
    new = new.assign(order=order).sort_values([*by, "order"], kind="stable").drop(columns="order")
    with written_whole(kept) as path:
        new.to_parquet(path, index=False)
    with written_whole(kept.with_name("table.csv")) as path:
        summarise(new).round(4).to_csv(path, index=False)
    write_note(kept.with_name("machine.json"))
    if (folder / "symptoms.csv").is_file():
        with written_whole(kept.with_name("symptoms.csv")) as path:
            shutil.copyfile(folder / "symptoms.csv", path)
    return len(new)


def _check(name: str, results: pd.DataFrame, reduced: bool) -> None:
    if name not in RUNS:
        raise SystemExit(f"there is no run {name!r}; there are {', '.join(RUNS)}")
    experiment, variant, data = RUNS[name]
    found = {
        (row["experiment"], row["variant"], row.get("data", ""))
        for row in results.drop_duplicates(_scenario(results)).to_dict("records")
    }
    if reduced:  # "relprev reproduce --quick" marks smaller data
        found = {(name, kind, source.removesuffix("-small")) for name, kind, source in found}
    if found != {(experiment, variant, data)}:
        raise SystemExit(f"{name} is {(experiment, variant, data)}, the folder holds {found}")


def _scenario(results: pd.DataFrame) -> list[str]:
    return ["experiment", *settings_of(results)]
