"""Parts of a cohort on disk: a folder with one Arrow file per part.

    cohort.json          what all parts share, and each part's rows, size and checksum
    part-00000.arrow     one record batch, uncompressed so that it can be memory-mapped:
                         codes (one list per visit) or values, diagnosed, groups and, if the
                         cohort has them, weights, clusters, strata, psus

The numbers of groups, clusters (patients), strata and PSUs mean the same in all parts; a
patient's visits may be spread over several.
"""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relprev.cohort.cohort import Cohort
from relprev.cohort.part import ROW_FIELDS, CohortPart
from relprev.errors import ClusterError, InvalidInputError
from relprev.matrix import BinaryCSR, Dense, FloatCSR, Matrix
from relprev.parallel.threads import map_threads
from relprev.rows.disk import map_file
from relprev.sources.fingerprint import file_fingerprint

FORMAT = 3
HEADER = "cohort.json"
KEPT_FIELDS = tuple(name for name in ROW_FIELDS if name != "ids")


def write_parts(cohorts: Iterable[Cohort], folder: str | Path) -> None:
    """Write cohorts as the parts of one, in order; the folder appears when it is complete.

    Parameters
    ----------
    cohorts : iterable of Cohort
        With the same groups, features and fields. Only one is held in memory at a time.
    folder : path
        Must not exist. Only its owner can read it.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.cohort import Cohort
    >>> from relprev.simulate import ed_visits
    >>> years = [ed_visits(1_000, n_codes=50, seed=seed).cohort for seed in (1, 2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parts(years, folder + "/visits")
    ...     print(Cohort.open(folder + "/visits").n)
    2000
    """
    with PartsWriter(folder) as writer:
        for cohort in cohorts:
            writer.add(cohort, "write_parts")


class PartsWriter:
    """Writes the parts of a cohort one by one; see `write_parts`."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._common: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []

    def __enter__(self) -> PartsWriter:
        if self._folder.exists():
            raise InvalidInputError(
                f"{self._folder} exists already; choose another name or remove it"
            )
        parent = self._folder.parent
        parent.mkdir(parents=True, exist_ok=True)
        self._temporary = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}-", dir=parent))
        return self

    def add(self, cohort: Cohort, what: str = "PartsWriter") -> None:
        """Write a cohort in memory as a part; groups, features and fields must be the others'."""
        part, feature_names = cohort.in_memory(what), cohort.feature_names
        own = {
            "kind": type(part.X).__name__,
            "n_cols": part.n_cols,
            "group_names": list(part.group_names),
            "control_names": list(cohort.control_names),
            "sampled_psus": list(cohort.sampled_psus),
            "feature_names": None if feature_names is None else list(feature_names),
            "fields": [name for name in part.fields if name in KEPT_FIELDS],
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
        _write_part(part, file)
        counts = {"rows": part.n, "diagnosed": int(part.diagnosed.sum())}
        self._parts.append(file_fingerprint(file) | counts)

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:
                if not self._parts:
                    raise InvalidInputError("no parts were given, so there is no cohort to write")
                header = {"relprev_partitioned_cohort": FORMAT, **self._common}
                text = json.dumps(header | {"parts": self._parts}, indent=1)
                (self._temporary / HEADER).write_text(text, encoding="utf-8")
                self._temporary.rename(self._folder)
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)


def verify_parts(folder: str | Path) -> None:
    """Read all parts and check them against their checksums; an error names one that differs."""
    folder = Path(folder)
    verify_files([(folder / part["file"], part) for part in read_header(folder)["parts"]])


def verify_files(files: Sequence[tuple[Path, dict[str, Any]]]) -> None:
    """Check files against their checksums in the header, on all threads.

    A process reads each file once, unless it has changed since.
    """
    map_threads(_verify, files)


_verified: set[tuple[Any, ...]] = set()


def _verify(file: tuple[Path, dict[str, Any]]) -> None:
    path, about = file
    try:
        found = path.stat()
        key = (str(path), found.st_mtime_ns, found.st_size, found.st_ino, about["blake2b"])
        if key in _verified:
            return
        same = file_fingerprint(path)["blake2b"] == about["blake2b"]
    except OSError as error:
        raise unreadable(path, error) from None
    if not same:
        raise InvalidInputError(
            f"{path} is damaged: its content has changed since it was written; write the cohort "
            "again"
        )
    _verified.add(key)


def unreadable(path: Path, error: OSError) -> ClusterError:
    """The error for a part that cannot be opened."""
    return ClusterError(
        f"{path} cannot be read on {socket.gethostname()} ({error.strerror}); on a cluster, "
        "every worker must see the folder under this path"
    )


def read_header(folder: Path) -> dict[str, Any]:
    """What ``cohort.json`` says, once the files it names are known to exist in full size."""
    path = folder / HEADER
    if not path.is_file():
        raise InvalidInputError(
            f"{folder} is not a cohort in parts: it has no {HEADER}; give a folder written by "
            "write_parts or build_cohorts"
        )
    try:
        header: dict[str, Any] = json.loads(path.read_text())
        version = header["relprev_partitioned_cohort"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{path} is damaged ({type(error).__name__}); write the cohort again"
        ) from error
    if version != FORMAT:
        raise InvalidInputError(
            f"{folder} has format {version}, but this version of relprev reads format {FORMAT}; "
            "write the cohort again"
        )
    for part in header["parts"]:
        file = folder / part["file"]
        if not file.is_file():
            raise InvalidInputError(f"{file} is missing; write the cohort again")
        if file.stat().st_size != part["bytes"]:
            raise InvalidInputError(
                f"{file} is damaged: it has {file.stat().st_size:,} bytes, expected "
                f"{part['bytes']:,}; write the cohort again"
            )
    return header


def _write_part(part: CohortPart, path: Path) -> None:
    columns = _design_columns(part.X)
    columns |= {
        name: pa.array(np.ascontiguousarray(getattr(part, name)))
        for name in part.fields if name in KEPT_FIELDS
    }  # fmt: skip
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _design_columns(X: Matrix) -> dict[str, pa.Array]:
    arrays = X.to_arrays()
    if isinstance(X, Dense):
        return {"values": pa.FixedSizeListArray.from_arrays(pa.array(X.values.ravel()), X.n_cols)}
    offsets = pa.array(arrays["indptr"].astype(np.int32))
    columns = {"codes": pa.ListArray.from_arrays(offsets, pa.array(arrays["indices"]))}
    if "values" in arrays:
        columns["values"] = pa.ListArray.from_arrays(offsets, pa.array(arrays["values"]))
    return columns


def open_part(
    path: Path, part: dict[str, Any], kind: str, n_cols: int, group_names: tuple[str, ...]
) -> CohortPart:
    """A part whose arrays lie in its memory-mapped file."""
    try:
        memory = map_file(path)
    except OSError as error:
        raise unreadable(path, error) from None
    whole = pa.py_buffer(memory)
    try:
        batch = pa.ipc.open_file(pa.BufferReader(whole)).get_batch(0)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{path} is damaged ({type(error).__name__}); write the cohort again"
        ) from None

    def flat(array: pa.Array, buffer: int, dtype: Any, count: int) -> NDArray[Any]:
        """A column's memory as an array in the mapped file itself, so that it can be released."""
        if not count:
            return np.empty(0, dtype)
        place = array.buffers()[buffer].address - whole.address
        return np.frombuffer(memory, dtype, count, place)

    def plain(array: pa.Array) -> NDArray[Any]:
        return flat(array, 1, array.type.to_pandas_dtype(), len(array))

    rows = part["rows"]
    if kind == "Dense":
        values = batch.column("values").values
        X: Matrix = Dense(plain(values).reshape(rows, n_cols))
    else:
        codes = batch.column("codes")
        indptr, indices = flat(codes, 1, np.uint32, rows + 1), plain(codes.values)
        if kind == "FloatCSR":
            X = FloatCSR(indptr, indices, plain(batch.column("values").values), n_cols)
        else:
            X = BinaryCSR(indptr, indices, n_cols)
    fields = {name: plain(batch.column(name)) for name in KEPT_FIELDS if name in batch.schema.names}
    return CohortPart(X=X, group_names=group_names, **fields)
