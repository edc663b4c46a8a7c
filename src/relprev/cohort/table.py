"""Read a cohort from a table with one row per visit: diagnosis, group and symptoms."""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp
from numpy.typing import NDArray

from relprev.arrays import LARGEST
from relprev.cohort.cohort import Cohort
from relprev.cohort.from_arrays import as_cohort
from relprev.errors import InvalidInputError
from relprev.matrix.coerce import listed


def _read_csv(path: Path) -> pa.Table:
    gaps = pyarrow.csv.ConvertOptions(strings_can_be_null=True)  # an empty cell is a gap
    return pyarrow.csv.read_csv(path, convert_options=gaps)


def _read_parquet(path: Path) -> pa.Table:
    return pyarrow.parquet.ParquetFile(path).read()  # read_table adds columns for folder names


def _read_statistics(path: Path) -> pa.Table:
    """A Stata or SAS file; values stay numbers, whatever their labels."""
    from relprev.sources.database import connect  # a database, which other files do not need
    from relprev.sources.statistics_files import load_statistics_file

    with closing(connect()) as connection:
        load_statistics_file(connection, path, "visits", None)
        return connection.sql("FROM visits").to_arrow_table()


READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".feather": pyarrow.feather.read_table,
    ".dta": _read_statistics,
    ".sas7bdat": _read_statistics,
    ".xpt": _read_statistics,
}
WORDS = {"yes": 1, "no": 0, "true": 1, "false": 0, "1": 1, "0": 0}
SPARSE_BELOW = 0.2  # share of nonzero entries
BYTES_OF_SPARSE = 12  # per nonzero entry: value and column
MEMORY_USED = 3  # multiple of the matrix's size, while it is built and fitted


def read_table(
    path: str | Path,
    *,
    diagnosed: str,
    group: str,
    features: Sequence[str],
    weight: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    psu: str | None = None,
) -> Cohort:
    r"""Read a cohort from a CSV, Parquet, Feather, Stata or SAS file.

    Parameters
    ----------
    path : str or Path
        Ends in .csv, .parquet, .feather, .dta, .sas7bdat or .xpt.
    diagnosed : str
        Column with the recorded diagnosis: 0/1, true/false or yes/no.
    group : str
        Column with the group names.
    features : sequence of str
        Patterns for the names of symptom columns, such as ``"dx_*"``.
    weight, cluster : str, optional
        Columns with sampling weights and patient identifiers.
    stratum, psu : str, optional
        Columns with strata and primary sampling units of a survey.

    Returns
    -------
    Cohort
        One row per visit.

    Examples
    --------
    >>> import tempfile
    >>> text = "ipv,insurance,dx_a,dx_b\n1,Medicaid,1,0\n0,Medicare,0,1\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "visits.csv"
    ...     _ = file.write_text(text)
    ...     read_table(file, diagnosed="ipv", group="insurance", features=["dx_*"])
    <Cohort of 2 visits x 2 features, groups Medicaid, Medicare>
    """
    table = _Table(Path(path))
    named = {"diagnosed": diagnosed, "group": group, "weight": weight, "cluster": cluster,
             "stratum": stratum, "psu": psu}  # fmt: skip
    special = {role: name for role, name in named.items() if name is not None}
    for role, name in special.items():
        table.require(role, name)
    columns = [
        name
        for name in dict.fromkeys(table.names)
        if name not in special.values() and any(fnmatch.fnmatchcase(name, p) for p in features)
    ]
    if not columns:
        others = [repr(name) for name in table.names if name not in special.values()]
        raise InvalidInputError(
            f"{path}: no column matches features {' '.join(map(repr, features))}; other columns: "
            f"{listed(others) if others else 'none'}"
        )
    table.require_once([*special.values(), *columns])
    for name in special.values():
        table.require_no_gaps(name)
    return as_cohort(
        table.matrix(columns),
        table.zero_one(diagnosed),
        groups=table.column(group).to_pandas(),
        sample_weight=None if weight is None else table.weights(weight),
        clusters=None if cluster is None else table.column(cluster).to_pandas(),
        strata=None if stratum is None else table.column(stratum).to_pandas(),
        psus=None if psu is None else table.column(psu).to_pandas(),
        feature_names=columns,
    )


class _Table:
    """A table and its path, for messages that name columns and rows but never show values."""

    def __init__(self, path: Path) -> None:
        self.path, self._table = path, _read(path)
        self.names: list[str] = self._table.column_names

    def column(self, name: str) -> pa.ChunkedArray:
        return self._table[name]

    def error(self, words: str) -> InvalidInputError:
        return InvalidInputError(f"{self.path}: {words}")

    def require(self, role: str, name: str) -> None:
        """Fail if there is no column of that name."""
        if name in self.names:
            return
        close = difflib.get_close_matches(name, self.names, 3)
        hint = (
            f"did you mean {' or '.join(map(repr, close))}?"
            if close
            else "columns are " + listed([repr(column) for column in self.names])
        )
        raise self.error(f"there is no column {name!r} ({role}); {hint}")

    def require_once(self, used: Sequence[str]) -> None:
        counts = Counter(self.names)
        twice = [repr(name) for name in dict.fromkeys(used) if counts[name] > 1]
        if twice:
            raise self.error(
                f"more than one column is named {listed(twice)}; rename or remove the duplicates"
            )

    def require_no_gaps(self, name: str) -> None:
        missing = np.asarray(self.column(name).is_null(nan_is_null=True))
        if missing.any():
            raise self.error(
                f"column {name!r} is missing in {int(missing.sum()):,} rows, first in data row "
                f"{int(missing.argmax()) + 1}; drop those rows or give them a value of their own"
            )

    def zero_one(self, name: str) -> NDArray[np.uint8]:
        """The recorded diagnosis as 0 or 1, shape (n,)."""
        column = self.column(name)
        if _is_number(column.type):
            values = self._numbers(name)
            valid = np.isin(values, (0, 1))
        else:
            values = np.array([WORDS.get(str(v).strip().lower(), -1) for v in column.to_pylist()])
            valid = values >= 0
        self._require_rows(valid, f"column {name!r} (diagnosed) must hold 0/1, true/false or "
                           "yes/no", "recode the others, or drop their rows")  # fmt: skip
        return values.astype(np.uint8)

    def weights(self, name: str) -> NDArray[np.float64]:
        """Sampling weights."""
        values = self._numbers(name)
        self._require_rows(
            (values > 0) & (values <= LARGEST),
            f"column {name!r} (weight) must be positive and at most {LARGEST:g}",
            "drop rows of weight zero, they carry no information",
        )
        return values

    def matrix(self, columns: list[str]) -> sp.csr_array | NDArray[np.float64]:
        """The features, sparse if most entries are zero; built by column to save memory."""
        n = self._table.num_rows
        entries = sum(self._entries(name) for name in columns)
        is_sparse = entries < SPARSE_BELOW * n * len(columns)
        _require_memory(entries * BYTES_OF_SPARSE if is_sparse else n * len(columns) * 8, self.path)
        if is_sparse:
            parts = [sp.csc_array(self._numbers(name)[:, None]) for name in columns]
            return sp.hstack(parts, format="csr")
        dense = np.empty((n, len(columns)))
        for j, name in enumerate(columns):
            dense[:, j] = self._numbers(name)
        return dense

    def _entries(self, name: str) -> int:
        """Number of nonzero entries of a feature; fails if any entry cannot be used."""
        self.require_no_gaps(name)
        values = self._numbers(name)
        self._require_rows(
            np.abs(values) <= LARGEST,
            f"column {name!r} must hold finite numbers, none beyond {LARGEST:g}",
            "correct them, or drop their rows",
        )
        return int(np.count_nonzero(values))

    def _numbers(self, name: str) -> NDArray[np.float64]:
        column = self.column(name)
        if not _is_number(column.type):
            raise self.error(
                f"column {name!r} must be numeric, got {column.type}; drop it or encode it as "
                "numbers (for categories: one 0/1 column each)"
            )
        return np.asarray(pc.cast(column, pa.float64(), safe=False))

    def _require_rows(self, valid: NDArray[np.bool_], words: str, remedy: str) -> None:
        if not valid.all():
            raise self.error(
                f"{words}, but {int((~valid).sum()):,} rows hold something else, first data row "
                f"{int((~valid).argmax()) + 1}; {remedy}"
            )


def _is_number(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return any(of_kind(kind) for of_kind in kinds)


def _read(path: Path) -> pa.Table:
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidInputError(
            f"{path}: cannot read {path.suffix or 'a file without a suffix'}; expected one of "
            f"{', '.join(READERS)}"
        )
    try:
        return reader(path)
    except (MemoryError, InvalidInputError):  # Arrow's is one of its exceptions too; ours says why
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if "launch worker thread" in str(error):
            raise MemoryError from None
        raise InvalidInputError(
            f"{path} is not a readable {path.suffix[1:]} file ({_without_data(error)}); is it "
            f"whole, and of the kind that its name says ({', '.join(READERS)})? Copy or export it "
            "again"
        ) from None


def _without_data(error: Exception) -> str:
    """The reader's message, up to where it starts to quote rows of the file."""
    lines = str(error).splitlines()
    return ": ".join(lines[0].split(": ")[:2]) if lines else type(error).__name__


def _require_memory(matrix: int, path: Path) -> None:
    """Fail early if the features will not fit into memory."""
    free = available_memory()
    if free is not None and matrix * MEMORY_USED > free:
        raise InvalidInputError(
            f"{path}: its features need about {matrix * MEMORY_USED / 2**30:,.1f} GiB of memory, "
            f"but only {free / 2**30:,.1f} GiB are free; use fewer columns or rows, or a machine "
            "with more memory"
        )


def available_memory() -> int | None:
    """Free memory in bytes, or None if the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        (free,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(free) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
