"""Run the cells of the NHANES or the species plan; write results, summaries and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.errors import InvalidInputError, RelprevError
from relprev.experiments.engine import run_cells
from relprev.experiments.truth.judge import judged
from relprev.experiments.truth.people import absent_variables, known_truth, open_people
from relprev.experiments.truth.plan import PlannedCell, nhanes_plan
from relprev.experiments.truth.species import enough, species_plan, species_truth
from relprev.parallel.threads import available_cores
from relprev.store.digests import digest, file_digest
from relprev.store.files import written_whole

NAMES = ("nhanes", "species")
MODULES = ("relprev.experiments.truth.run",)
QUICK = {"nhanes": 2, "species": 2}  # cells


@dataclass(frozen=True)
class TruthCell:
    """One comparison whose truth is known.

    ``data`` says which data, and is part of the key; ``path`` where they are, and is not.
    """

    experiment: str
    place: Mapping[str, str]
    data: str
    path: str

    @property
    def method(self) -> str:
        """The comparison in words, for progress."""
        return ", ".join(self.place.values())

    def key(self, provenance: Mapping[str, str]) -> str:
        """Name of the cell's file."""
        return digest(provenance, self.experiment, dict(self.place), self.data)


def run_truth(
    name: str, out: Path, data: str, *, quick: bool = False, jobs: int | None = None,
    verbose: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """Run every cell of a plan and write ``results.csv`` and ``.parquet`` to ``out/name``.

    Parameters
    ----------
    name : "nhanes" or "species"
    out : Path
    data : str
        Path of the data: a folder of NHANES transport files or a file of all variables; the
        folder of disdat's files.
    quick : bool
        Only the first cells.
    jobs : int, optional
        Number of processes. Default: all cores.
    verbose : bool
        Show progress and time left on standard error.

    Returns
    -------
    DataFrame
        One row per cell; ``notes`` says why a cell has no estimate.
    """
    if not Path(data).exists():
        raise InvalidInputError(f"data: there is nothing at {data}; {name} needs the data's path")
    mark = data_digest(Path(data))
    places: Sequence[Mapping[str, str]]
    if name == "nhanes":
        open_people(data)  # data that nothing can be read from are one error, not one a cell
        places = [asdict(cell) for cell in nhanes_plan().cells()]
    else:
        names = ("region", "parts", "species")
        places = [dict(zip(names, cell, strict=True)) for cell in enough(species_plan(), data)]
    cells = [TruthCell(name, place, mark, data) for place in places]
    if quick:
        cells = cells[: QUICK[name]]
    results = run_cells(
        cells, work, out / name, jobs=jobs or available_cores(), verbose=verbose, modules=MODULES
    )
    with written_whole(out / name / "data.txt") as path:
        path.write_text(f"{mark}\n", encoding="utf-8")
    return results


def data_digest(path: Path) -> str:
    """Digest of a file, or of all files in a folder and their names."""
    if path.is_file():
        return file_digest(path)
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in (".xpt", ".rds"))
    return digest([[file.name, file_digest(file)] for file in files])


def work(cell: TruthCell) -> dict[str, Any]:
    """The row of one cell."""
    place = dict(cell.place)
    try:
        if cell.experiment == "nhanes":
            plan, planned, source = nhanes_plan(), PlannedCell(**place), open_people(cell.path)
            absent = absent_variables(plan, planned, source)
            if absent:
                return {**place, "notes": f"not in the data: {', '.join(absent)}"}
            known, methods = known_truth(plan, planned, source), plan.methods
        else:
            of_species = species_plan()
            known, methods = (
                species_truth(of_species, cell.path, **_named(place)),
                of_species.methods,
            )
        row = judged(known, methods.baselines)
    except RelprevError as error:
        return {**place, "notes": f"{type(error).__name__}: {error}"}
    return {**place, "group": known.group, "versus": known.versus, **_plain(row), "notes": ""}


def _named(place: Mapping[str, str]) -> dict[str, str]:
    return {"region": place["region"], "cut": place["parts"], "species": place["species"]}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Values that JSON can represent."""
    return {
        name: value if isinstance(value, str | bool | int) else float(value)
        for name, value in row.items()
    }
