"""The cohorts of a study: built in memory or in parts, kept in a folder, opened again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relprev.cohort import BuiltCohort, Cohort, build_cohorts
from relprev.cohort.part_files import HEADER, verify_parts
from relprev.errors import InvalidInputError
from relprev.sources.source import Source
from relprev.study.store import cohort_digest, digest
from relprev.study.study import Study


def study_cohorts(
    study: Study, source: Source, folder: Path, *, verbose: bool = False
) -> dict[str, BuiltCohort]:
    """The cohorts of all group variables.

    Parameters
    ----------
    study : Study
    source : Source
    folder : path
        Where they are kept if the study says so; it must not exist.
    verbose : bool
        Show progress on standard error.
    """
    if not study.compute.out_of_core:
        return build_cohorts(study.cohort, source, verbose=verbose)
    rows = study.compute.rows_per_part
    return build_cohorts(study.cohort, source, folder=folder, rows_per_part=rows, verbose=verbose)


def keep(cohort: Cohort, folder: Path, position: int) -> tuple[str, str]:
    """Save the cohort of the group variable at a position, unless it is on disk already.

    Returns
    -------
    its digest, and its place below the folder's parent
    """
    file = folder / f"cohort-{position}"
    if not file.exists():
        mark = cohort_digest(cohort)
        file = folder.parent / f"cohort-{mark}.npz"
        cohort.save(file)
    else:
        mark = digest((file / HEADER).read_text(encoding="utf-8"))
    return mark, file.relative_to(folder.parent).as_posix()


def is_kept(path: Path) -> bool:
    """Whether a cohort is there, with all its parts as they were written."""
    if path.suffix == ".npz":
        return path.is_file()
    try:
        verify_parts(path)
    except InvalidInputError:
        return False
    return True


def open_cohort(path: Path, client: Any = None) -> Cohort:
    """The cohort kept there: in memory, in parts on disk or, with a client, on its cluster."""
    if path.suffix == ".npz":
        return Cohort.load(path)
    return Cohort.open(path, client, scratch=path.parent)
