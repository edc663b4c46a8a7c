"""A cohort larger than memory: one folder, one Arrow file for every part.

    cohort.json          what all parts share, and rows, size and fingerprint of every part
    part-00000.arrow     one record batch, not compressed, so that it can be memory-mapped:
                         codes (a list for every visit) or values, diagnosed, groups, and
                         where the cohort has them weights, clusters, strata, psus

Numbers of groups, clusters (patients), strata and PSUs mean the same in all parts; a
patient's visits may lie in several. Opening a folder reads ``cohort.json`` only.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relprev.cluster import require_ready
from relprev.cohort.cohort import ROW_FIELDS, Cohort
from relprev.design import BinaryCSR, Dense, Design, FloatCSR
from relprev.design.csr import stacked
from relprev.errors import ClusterError, InvalidInputError
from relprev.partitions import OnCluster, OutOfCore, Partitions, Scratch, map_file

FORMAT = 1
HEADER = "cohort.json"
KEPT_FIELDS = tuple(name for name in ROW_FIELDS if name != "ids")


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
    >>> from relprev.simulate import ed_visits
    >>> cohort = ed_visits(3_000, n_codes=50, seed=0).cohort
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parts(cut(cohort, 1_000), folder + "/visits")
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
        header = _read_header(folder)
        shared = (header["kind"], header["n_cols"], tuple(header["group_names"]))
        files = [(folder / part["file"], part) for part in header["parts"]]
        sizes = [part["rows"] for _, part in files]
        if client is None:
            opened = [_open_part(path, part, *shared) for path, part in files]
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


def cut(cohort: Cohort, rows: int) -> Iterable[Cohort]:
    """The cohort in pieces of that many visits."""
    for start in range(0, cohort.n, rows):
        yield cohort.take(np.arange(start, min(start + rows, cohort.n)))


def write_parts(cohorts: Iterable[Cohort], folder: str | Path) -> None:
    """Write cohorts as the parts of one, in their order; the folder appears when complete.

    Parameters
    ----------
    cohorts : iterable of Cohort
        With the same groups, features and fields. One is held at a time.
    folder : path
        Must not exist. Only its owner can read it.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.simulate import ed_visits
    >>> years = [ed_visits(1_000, n_codes=50, seed=seed).cohort for seed in (1, 2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parts(years, folder + "/visits")
    ...     print(PartitionedCohort.open(folder + "/visits").n)
    2000
    """
    with PartsWriter(folder) as writer:
        for cohort in cohorts:
            writer.add(cohort)


class PartsWriter:
    """Write the parts of a cohort one by one; the folder appears when complete.

    Parameters
    ----------
    folder : path
        Must not exist. Only its owner can read it.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._common: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []

    def __enter__(self) -> PartsWriter:
        if self._folder.exists():
            raise InvalidInputError(f"{self._folder} exists; choose another name or remove it")
        parent = self._folder.parent
        parent.mkdir(parents=True, exist_ok=True)
        self._temporary = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}-", dir=parent))
        return self

    def add(self, cohort: Cohort) -> None:
        """Write a part; it must have the groups, features and fields of the others."""
        own = {
            "kind": type(cohort.X).__name__,
            "n_cols": cohort.n_cols,
            "group_names": list(cohort.group_names),
            "feature_names": None if cohort.feature_names is None else list(cohort.feature_names),
            "fields": [name for name in KEPT_FIELDS if getattr(cohort, name) is not None],
        }
        self._common = self._common or own
        number = len(self._parts)
        differ = [name for name, value in own.items() if value != self._common[name]]
        if differ:
            raise InvalidInputError(
                f"part {number} differs from the first in {', '.join(differ)}; all parts must "
                "have the same groups, features and fields"
            )
        file = self._temporary / f"part-{number:05}.arrow"
        _write_part(cohort, file)
        self._parts.append(
            {
                "file": file.name,
                "rows": cohort.n,
                "diagnosed": int(cohort.diagnosed.sum()),
                "bytes": file.stat().st_size,
                "blake2b": _fingerprint(file),
            }
        )

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:
                if not self._parts:
                    raise InvalidInputError("there is no part to write")
                header = {"relprev_partitioned_cohort": FORMAT, **self._common}
                text = json.dumps(header | {"parts": self._parts}, indent=1)
                (self._temporary / HEADER).write_text(text, encoding="utf-8")
                self._temporary.rename(self._folder)
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _fingerprint(file: Path) -> str:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16))
    return digest.hexdigest()


def verify_parts(folder: str | Path) -> None:
    """Read all parts and compare them with their fingerprints; names the first that differs."""
    folder = Path(folder)
    for part in _read_header(folder)["parts"]:
        if _fingerprint(folder / part["file"]) != part["blake2b"]:
            raise InvalidInputError(
                f"{folder / part['file']} is damaged: its content has changed since it was "
                "written; write the cohort again"
            )


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        raise InvalidInputError(f"{folder} is not a partitioned cohort: it has no {HEADER}")
    try:
        header: dict[str, Any] = json.loads(path.read_text())
        version = header["relprev_partitioned_cohort"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{path} is damaged ({type(error).__name__})") from error
    if version != FORMAT:
        raise InvalidInputError(
            f"{folder} has format {version}, this version of relprev reads format {FORMAT}"
        )
    for part in header["parts"]:
        file = folder / part["file"]
        if not file.is_file():
            raise InvalidInputError(f"{file} is missing; write the cohort again")
        if file.stat().st_size != part["bytes"]:
            raise InvalidInputError(
                f"{file} is damaged: {file.stat().st_size:,} bytes, expected {part['bytes']:,}; "
                "write the cohort again"
            )
    return header


# -- one part ------------------------------------------------------------------------------


def _write_part(cohort: Cohort, path: Path) -> None:
    columns = _design_columns(cohort.X)
    columns |= {
        name: pa.array(np.ascontiguousarray(getattr(cohort, name)))
        for name in KEPT_FIELDS if getattr(cohort, name) is not None
    }  # fmt: skip
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _design_columns(X: Design) -> dict[str, pa.Array]:
    arrays = X.to_arrays()
    if isinstance(X, Dense):
        return {"values": pa.FixedSizeListArray.from_arrays(pa.array(X.values.ravel()), X.n_cols)}
    offsets = pa.array(arrays["indptr"].astype(np.int32))
    columns = {"codes": pa.ListArray.from_arrays(offsets, pa.array(arrays["indices"]))}
    if "values" in arrays:
        columns["values"] = pa.ListArray.from_arrays(offsets, pa.array(arrays["values"]))
    return columns


def _open_part(
    path: Path, part: dict[str, Any], kind: str, n_cols: int, group_names: tuple[str, ...]
) -> Cohort:
    try:
        memory = map_file(path)
    except OSError as error:
        raise ClusterError(
            f"{path} cannot be read by {socket.gethostname()} ({error.strerror}); on a cluster, "
            "all workers must see the folder under this path"
        ) from None
    whole = pa.py_buffer(memory)
    try:
        batch = pa.ipc.open_file(pa.BufferReader(whole)).get_batch(0)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"{path} is damaged ({type(error).__name__})") from None

    def flat(array: pa.Array, buffer: int, dtype: Any, count: int) -> NDArray[Any]:
        """A column's memory as an array on the mapped file itself, so that it can be released."""
        if not count:
            return np.empty(0, dtype)
        place = array.buffers()[buffer].address - whole.address
        return np.frombuffer(memory, dtype, count, place)

    def plain(array: pa.Array) -> NDArray[Any]:
        return flat(array, 1, array.type.to_pandas_dtype(), len(array))

    rows = part["rows"]
    if kind == "Dense":
        values = batch.column("values").values
        X: Design = Dense(plain(values).reshape(rows, n_cols))
    else:
        codes = batch.column("codes")
        indptr, indices = flat(codes, 1, np.uint32, rows + 1), plain(codes.values)
        if kind == "FloatCSR":
            X = FloatCSR(indptr, indices, plain(batch.column("values").values), n_cols)
        else:
            X = BinaryCSR(indptr, indices, n_cols)
    fields = {name: plain(batch.column(name)) for name in KEPT_FIELDS if name in batch.schema.names}
    return Cohort(X=X, group_names=group_names, **fields)  # type: ignore[arg-type]


def _open_parts(
    pieces: Sequence[tuple[Path, dict[str, Any], int, int]], kind: str, n_cols: int,
    names: tuple[str, ...],
) -> Cohort:  # fmt: skip
    """Rows of several parts as one cohort, in memory."""
    found = []
    for path, part, start, stop in pieces:
        cohort = _open_part(path, part, kind, n_cols, names)
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
