"""Read a cohort from one table: a row a visit, columns for diagnosis, group and symptoms."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp

from relprev.cohort.cohort import Cohort
from relprev.cohort.from_arrays import as_cohort
from relprev.errors import InvalidInputError
from relprev.matrix.coerce import listed


def _read_csv(path: Path) -> pa.Table:
    gaps = pyarrow.csv.ConvertOptions(strings_can_be_null=True)  # an empty cell is a gap
    return pyarrow.csv.read_csv(path, convert_options=gaps)


READERS = {
    ".csv": _read_csv,
    ".parquet": pyarrow.parquet.read_table,
    ".feather": pyarrow.feather.read_table,
}
WORDS = {"yes": 1, "no": 0, "true": 1, "false": 0, "1": 1, "0": 0}
SPARSE_BELOW = 0.2  # share of entries that are not zero


def read_table(
    path: str | Path,
    *,
    diagnosed: str,
    group: str,
    features: Sequence[str],
    weight: str | None = None,
    cluster: str | None = None,
) -> Cohort:
    r"""Read a CSV, Parquet or Feather file.

    Parameters
    ----------
    path : str or Path
        The file: .csv, .parquet or .feather.
    diagnosed : str
        Column with the recorded diagnosis: 0/1, true/false or yes/no.
    group : str
        Column with the group.
    features : sequence of str
        Patterns of the symptom columns, such as ``"dx_*"``.
    weight, cluster : str, optional
        Columns with sampling weights and patients.

    Returns
    -------
    Cohort
        One row a visit.

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
    table = _read(Path(path))
    named = {"diagnosed": diagnosed, "group": group, "weight": weight, "cluster": cluster}
    special = {name for name in named.values() if name is not None}
    for role, name in named.items():
        if name is not None:
            _require(table, path, role, name)
            _no_gaps(table, path, name)
    columns = [
        name
        for name in table.column_names
        if name not in special and any(fnmatch.fnmatchcase(name, p) for p in features)
    ]
    if not columns:
        others = [repr(name) for name in table.column_names if name not in special]
        raise InvalidInputError(
            f"{path}: no column matches --features {' '.join(map(repr, features))}; other columns: "
            f"{listed(others) if others else 'none'}"
        )
    return as_cohort(
        _matrix(table, path, columns),
        _zero_one(table, path, diagnosed),
        groups=table[group].to_pandas(),
        sample_weight=None if weight is None else _weights(table, path, weight),
        clusters=None if cluster is None else table[cluster].to_pandas(),
        feature_names=columns,
    )


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
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidInputError(
            f"{path} is not a readable {path.suffix[1:]} file ({_without_data(error)})"
        ) from None


def _without_data(error: Exception) -> str:
    """The reader's message up to where it starts quoting rows of the file."""
    lines = str(error).splitlines()
    return ": ".join(lines[0].split(": ")[:2]) if lines else type(error).__name__


def _require(table: pa.Table, path: str | Path, role: str, name: str) -> None:
    if name in table.column_names:
        return
    close = difflib.get_close_matches(name, table.column_names, 3)
    hint = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else "columns are " + listed([repr(column) for column in table.column_names])
    )
    raise InvalidInputError(f"{path}: there is no column {name!r} (--{role}); {hint}")


def _no_gaps(table: pa.Table, path: str | Path, name: str) -> None:
    column = table[name]
    missing = np.asarray(column.is_null(nan_is_null=True))
    if missing.any():
        raise InvalidInputError(
            f"{path}: column {name!r} is missing in {int(missing.sum()):,} rows, first in data row "
            f"{int(missing.argmax()) + 1}; drop those rows or give them a value of their own"
        )


def _zero_one(table: pa.Table, path: str | Path, name: str) -> np.ndarray:
    column = table[name]
    if pa.types.is_boolean(column.type):
        return np.asarray(column).astype(np.uint8)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = np.asarray(column)
        valid = np.isin(values, (0, 1))
    else:
        text = [WORDS.get(str(value).strip().lower(), -1) for value in column.to_pylist()]
        values = np.array(text)
        valid = values >= 0
    if not valid.all():
        raise InvalidInputError(
            f"{path}: column {name!r} (--diagnosed) must hold 0/1, true/false or yes/no, but "
            f"{int((~valid).sum()):,} rows hold something else, first data row "
            f"{int((~valid).argmax()) + 1}"
        )
    return values.astype(np.uint8)


def _numbers(table: pa.Table, path: str | Path, name: str) -> np.ndarray:
    kind = table[name].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InvalidInputError(
            f"{path}: column {name!r} must be numeric, it holds {kind}; drop it or encode it as "
            "numbers (for categories: one 0/1 column each)"
        )
    return np.asarray(table[name]).astype(np.float64, copy=False)


def _weights(table: pa.Table, path: str | Path, name: str) -> np.ndarray:
    values = _numbers(table, path, name)
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        raise InvalidInputError(
            f"{path}: column {name!r} (--weight) must be positive and finite, but "
            f"{int(bad.sum()):,} rows are not, first data row {int(bad.argmax()) + 1}; drop rows "
            "of weight zero, they carry no information"
        )
    return values


def _matrix(table: pa.Table, path: str | Path, columns: list[str]) -> sp.csr_array | np.ndarray:
    """The features, sparse if most entries are zero."""
    parts = []
    for name in columns:
        _no_gaps(table, path, name)
        values = _numbers(table, path, name)
        bad = ~np.isfinite(values)
        if bad.any():
            raise InvalidInputError(
                f"{path}: column {name!r} is infinite in {int(bad.sum()):,} rows, first data row "
                f"{int(bad.argmax()) + 1}"
            )
        parts.append(sp.csc_array(values[:, None]))
    stacked = sp.hstack(parts, format="csr")
    if stacked.nnz < SPARSE_BELOW * stacked.shape[0] * stacked.shape[1]:
        return stacked
    return stacked.toarray()
