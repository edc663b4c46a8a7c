"""Keep cohorts in a folder, and open them again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relprev.cohort import BuiltCohort, Cohort, StratumOfRows
from relprev.cohort.part_files import HEADER, verify_parts
from relprev.errors import InvalidInputError
from relprev.store.digests import digest, file_digest
from relprev.store.files import written_whole
from relprev.store.stages import Outcome

PARTS = "parts-"  # begins the name of a folder of cohorts kept in parts


def is_whole(folder: Path, found: Outcome) -> bool:
    """Whether all cohorts that an outcome names are still there as they were written."""
    return all(_is_kept(folder, about) for about in found.values["variables"].values())


def open_cohort(path: Path, client: Any = None) -> Cohort:
    """The cohort kept there: in memory, in parts on disk or, with a client, on its cluster."""
    if path.suffix == ".npz":
        return Cohort.load(path)
    return Cohort.open(path, client, scratch=path.parent)


def keep_cohort(cohort: Cohort, folder: Path, position: int) -> dict[str, Any]:
    """Save a cohort unless it is on disk already; its digest, file and the file's checksum."""
    file = folder / f"cohort-{position}"
    if file.exists():
        mark = checksum = file_digest(file / HEADER)
    else:
        mark = cohort.digest()
        file = folder.parent / f"cohort-{mark}.npz"
        cohort.save(file)
        checksum = file_digest(file)
    place = file.relative_to(folder.parent).as_posix()
    return {"digest": mark, "file": place, "checksum": checksum}


def keep_strata(item: BuiltCohort, folder: Path) -> dict[str, Any]:
    """Save the stratum of every row; names of strata, file and checksum, empty without strata."""
    if not item.strata:
        return {}
    arrays = [own.number for own in item.strata.values()]
    file = folder / f"strata-{digest(item.name, list(item.strata), *arrays)}.npz"
    with written_whole(file) as temporary, temporary.open("wb") as opened:
        np.savez_compressed(opened, *arrays)
    names = {name: list(own.names) for name, own in item.strata.items()}
    return {"names": names, "file": file.name, "checksum": file_digest(file)}


def open_strata(folder: Path, about: Mapping[str, Any]) -> dict[str, StratumOfRows]:
    """The strata that a cohort's outcome names."""
    if not about:
        return {}
    with np.load(folder / about["file"]) as kept:
        arrays = [kept[key] for key in kept.files]
    pairs = zip(about["names"].items(), arrays, strict=True)
    return {name: StratumOfRows(tuple(names), number) for (name, names), number in pairs}


def _is_kept(folder: Path, about: dict[str, Any]) -> bool:
    file = folder / about["file"]
    strata = about["strata"]
    if strata and not (folder / strata["file"]).is_file():
        return False
    if strata and file_digest(folder / strata["file"]) != strata["checksum"]:
        return False
    try:
        if file.suffix == ".npz":
            return file_digest(file) == about["checksum"]
        verify_parts(file)
        return file_digest(file / HEADER) == about["checksum"]
    except (OSError, InvalidInputError):
        return False
