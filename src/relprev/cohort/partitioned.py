"""A cohort larger than memory: parts on disk (`relprev.cohort.part_files`) or on a cluster.

Opening a folder reads ``cohort.json`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relprev.cohort.cohort import Cohort
from relprev.cohort.part_files import KEPT_FIELDS, open_part, read_header
from relprev.matrix.csr import stacked
from relprev.parallel.cluster import require_ready
from relprev.partitions import OnCluster, OutOfCore, Partitions, Scratch


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedCohort:
    """A cohort kept in parts, on disk or on a cluster. See `PartitionedCohort.open`.

    Parameters
    ----------
    parts : Partitions
        Of `Cohort`.
    sizes : tuple of int
        Visits of every part.
    n_cols : int
        Number of features.
    group_names : tuple of str
        Names of the groups.
    feature_names : tuple of str, optional
        Names of the features.
    fields : tuple of str
        What every visit has: diagnosed, groups and perhaps weights, clusters, strata, psus.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.cohort import write_parts
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(3_000, n_codes=50, seed=0).cohort
    >>> thirds = (cohort.take(np.arange(start, start + 1_000)) for start in (0, 1_000, 2_000))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parts(thirds, folder + "/visits")
    ...     visits = PartitionedCohort.open(folder + "/visits")
    ...     print(visits)
    ...     print(visits.map(len), int(visits.gathered("diagnosed").sum()))
    ...     some = visits.take(np.flatnonzero(visits.gathered("groups") < 2))
    ...     print(some.with_groups(np.array([0, 1])).n_groups, some.n < visits.n)
    ...     print(visits.without("clusters").collected())
    <PartitionedCohort of 3,000 visits x 50 features in 3 parts, groups Group A, Group B, ...>
    [1000, 1000, 1000] 54
    2 True
    <Cohort of 3,000 visits x 50 features, groups Group A, Group B, Group C, Group D>
    """

    parts: Partitions
    sizes: tuple[int, ...]
    n_cols: int
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None
    fields: tuple[str, ...]

    @staticmethod
    def open(
        folder: str | Path, client: Any = None, *, scratch: str | Path | None = None
    ) -> PartitionedCohort:
        """Open a folder written by `write_parts` or `build_cohorts`.

        Parameters
        ----------
        folder : path
            Where a cluster is used, one that all its workers can read.
        client : distributed.Client, optional
            Keep the parts on this Dask cluster. Default: leave them on disk and read one
            after another.
        scratch : path, optional
            Folder for what is made of parts on disk while it is needed. Default: the system's
            for temporary files (``$TMPDIR``).

        Returns
        -------
        PartitionedCohort
            Its parts are read when they are needed.
        """
        folder = Path(folder).absolute()  # workers may be in another directory
        header = read_header(folder)
        shared = (header["kind"], header["n_cols"], tuple(header["group_names"]))
        files = [(folder / part["file"], part) for part in header["parts"]]
        sizes = [part["rows"] for _, part in files]
        if client is None:
            opened = [open_part(path, part, *shared) for path, part in files]
            parts: Partitions = OutOfCore(opened, Scratch(scratch))
        else:
            require_ready(client)
            batches = _batches(sizes, client.nthreads())
            sizes = [sum(stop - start for _, start, stop in batch) for _, batch in batches]
            futures = [
                client.submit(
                    _open_parts, [(*files[k], start, stop) for k, start, stop in batch], *shared,
                    pure=False, workers=[worker], allow_other_workers=True,
                )
                for worker, batch in batches
            ]  # fmt: skip
            parts = OnCluster(client, futures)
        names = header["feature_names"]
        return PartitionedCohort(
            parts, tuple(sizes), header["n_cols"], shared[2],
            None if names is None else tuple(names), tuple(header["fields"]),
        )  # fmt: skip

    @property
    def n(self) -> int:
        """Number of visits."""
        return sum(self.sizes)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)

    def map(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """Apply a function to every part.

        Parameters
        ----------
        function : function of a Cohort and ``shared``
            What to do; on a cluster it must be importable there.
        *shared : object
            Further arguments.

        Returns
        -------
        list
            What it returned for every part, in order.
        """
        return self.parts.map(function, *shared)

    def gathered(self, name: str) -> NDArray[Any] | None:
        """One value a visit, in memory.

        Parameters
        ----------
        name : str
            "diagnosed", "groups", "weights", "clusters", "strata" or "psus".

        Returns
        -------
        array of shape (n,), or None
            None if the cohort does not have it.
        """
        if name not in self.fields:
            return None
        return np.concatenate(self.map(_values, name))

    def take(self, rows: NDArray[np.int64]) -> PartitionedCohort:
        """Some of the visits, all groups kept.

        Parameters
        ----------
        rows : integer array of shape (m,)
            Positions, ascending.

        Returns
        -------
        PartitionedCohort
            Of those visits.
        """
        parts, sizes = self.parts.take(_taken, rows, self.sizes)
        return replace(self, parts=parts, sizes=sizes)

    def with_groups(self, kept: NDArray[np.int64]) -> PartitionedCohort:
        """The same visits with only these groups, renumbered; all visits must be in one.

        Parameters
        ----------
        kept : integer array of shape (k,)
            Positions in ``group_names``.

        Returns
        -------
        PartitionedCohort
            With ``k`` groups.
        """
        names = tuple(self.group_names[k] for k in kept)
        return replace(self, parts=self.parts.derive(Cohort.with_groups, kept), group_names=names)

    def without(self, *names: str) -> PartitionedCohort:
        """The same visits without some of what is known of them.

        Parameters
        ----------
        *names : str
            Of "weights", "clusters", "strata", "psus".

        Returns
        -------
        PartitionedCohort
            `gathered` gives None for them.
        """
        kept = tuple(name for name in self.fields if name not in names)
        return replace(self, parts=self.parts.derive(Cohort.without, *names), fields=kept)

    def collected(self) -> Cohort:
        """The cohort in memory.

        Returns
        -------
        Cohort
            Of all parts.
        """
        return replace(_together(self.map(_copied)), feature_names=self.feature_names)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        some = ", ".join(self.group_names[:2]) + (", ..." if self.n_groups > 2 else "")
        return (
            f"<PartitionedCohort of {self.n:,} visits x {self.n_cols:,} features in "
            f"{len(self.sizes)} parts, groups {some}>"
        )


AnyCohort = Cohort | PartitionedCohort


def _open_parts(
    pieces: Sequence[tuple[Path, dict[str, Any], int, int]], kind: str, n_cols: int,
    names: tuple[str, ...],
) -> Cohort:  # fmt: skip
    """Rows of several parts as one cohort, in memory."""
    found = []
    for path, part, start, stop in pieces:
        cohort = open_part(path, part, kind, n_cols, names)
        whole = stop - start == cohort.n
        found.append(_copied(cohort) if whole else cohort.take(np.arange(start, stop)))
    return _together(found)


def _copied(cohort: Cohort) -> Cohort:
    return cohort.with_arrays({name: np.array(values) for name, values in cohort.arrays().items()})


def _together(parts: Sequence[Cohort]) -> Cohort:
    if len(parts) == 1:
        return parts[0]
    fields = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in KEPT_FIELDS if getattr(parts[0], name) is not None
    }  # fmt: skip
    X = stacked([part.X for part in parts])
    return Cohort(X=X, group_names=parts[0].group_names, **fields)  # type: ignore[arg-type]


def _batches(
    sizes: Sequence[int], threads: dict[str, int]
) -> list[tuple[str, list[tuple[int, int, int]]]]:
    """One batch of neighbouring rows for every worker, as large as its number of threads.

    Returns
    -------
    list of (worker, [(part, first row, last row and one), ...])
    """
    first = np.cumsum([0, *sizes])
    share = np.cumsum([0, *threads.values()]) / sum(threads.values())
    cuts = np.rint(share * first[-1]).astype(np.int64)
    batches = []
    for worker, low, high in zip(threads, cuts, cuts[1:], strict=False):
        spans = zip(np.maximum(first[:-1], low) - first[:-1],
                    np.minimum(first[1:], high) - first[:-1], strict=True)  # fmt: skip
        batch = [(k, int(a), int(b)) for k, (a, b) in enumerate(spans) if a < b]
        if batch:
            batches.append((worker, batch))
    return batches


def _taken(cohort: Cohort, where: tuple[NDArray[np.int64], int]) -> Cohort:
    return cohort.take(where[0])


def _values(cohort: Cohort, name: str) -> NDArray[Any]:
    return np.array(getattr(cohort, name))
