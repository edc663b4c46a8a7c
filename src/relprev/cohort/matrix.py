"""Codes to a sparse design matrix, in one pass over the source's codes.

Every recorded code is a pair (row, feature). Pairs of included visits are gathered, batch
by batch, as one number each,

    key = row * K + feature        (K features),

sorted, and freed of repetitions; then key // K is the row and key % K the column. Memory
is that of the result, whatever the size of the source, and the order of its rows does
not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from relprev.codes import roll_up
from relprev.cohort.selection import Selected
from relprev.cohort.spec import CohortSpec, Extra
from relprev.design import BinaryCSR
from relprev.sources.source import Source, quoted

BATCH_ROWS = 1_000_000
NUMBER_BITS = 32  # of a code's number, below the row's
Keys = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CodeMatrix:
    """X, its feature names, and what else the codes say of every row.

    ``diagnosed`` and ``has_code`` are of shape (n,).
    """

    X: BinaryCSR
    feature_names: tuple[str, ...]
    diagnosed: NDArray[np.uint8]
    has_code: NDArray[np.bool_]


def code_matrix(spec: CohortSpec, source: Source, selected: Selected) -> CodeMatrix:
    """The design matrix of the included visits; the condition's codes become ``diagnosed``."""
    codes, parts = _recorded(source, selected)
    condition = spec.condition.cut_to(source.code_lengths)
    is_label = np.array([(version, code) in condition for version, code, _ in codes], dtype=bool)
    feature, names = _features(spec, codes, is_label)
    extra_names, extra_keys = _extra_features(spec.features.extra, selected, len(names))
    names += extra_names
    diagnosed = np.zeros(selected.n, dtype=np.uint8)
    has_code = np.zeros(selected.n, dtype=bool)
    for k, part in enumerate(parts):
        row, number = part >> NUMBER_BITS, part & (2**NUMBER_BITS - 1)
        has_code[row] = True
        diagnosed[row[is_label[number]]] = 1
        column = feature[number]
        used = column >= 0
        parts[k] = row[used] * len(names) + column[used]
    parts += [rows * len(names) + column for rows, column in extra_keys]
    X, kept = _matrix(parts, selected.n, len(names), spec.features.min_count)
    return CodeMatrix(X, tuple(names[k] for k in kept), diagnosed, has_code)


def _recorded(source: Source, selected: Selected) -> tuple[list[tuple[str, str, str]], list[Keys]]:
    """The different (version, code, role), and the recorded ones as row * 2**32 + number."""
    numbers: dict[tuple[str, str, str], int] = {}
    parts = []
    for version, role in source.query("SELECT DISTINCT version, role FROM codes ORDER BY ALL"):
        same_role = "role IS NULL" if role is None else f"role = {quoted(role)}"
        reader = source.connection.sql(
            f"SELECT visit, code FROM codes WHERE version = {quoted(version)} AND {same_role}"
        ).to_arrow_reader(BATCH_ROWS)
        for batch in reader:
            code = batch.column(1).dictionary_encode()
            number = np.array(
                [numbers.setdefault((version, text, role), len(numbers))
                 for text in code.dictionary.to_pylist()], dtype=np.int64,
            )  # fmt: skip
            row = selected.row_of_visit[batch.column(0).to_numpy()]
            kept = row >= 0
            key = row[kept].astype(np.int64) << NUMBER_BITS
            key |= number[code.indices.to_numpy()[kept]]
            parts.append(key)
    return list(numbers), parts


def _features(
    spec: CohortSpec, codes: list[tuple[str, str, str]], is_label: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], list[str]]:
    """Feature number of every code (-1: not a feature) and the features' names."""
    roles = spec.features.roles
    used = [not label and (not roles or role in roles)
            for (_, _, role), label in zip(codes, is_label, strict=True)]  # fmt: skip
    labels = roll_up([(version, code) for version, code, _ in codes], spec.features.roll_up)
    names = sorted({f"{v}:{c}" for (v, c), use in zip(labels, used, strict=True) if use})
    position = {name: k for k, name in enumerate(names)}
    numbers = [
        position[f"{v}:{c}"] if use else -1 for (v, c), use in zip(labels, used, strict=True)
    ]
    return np.array(numbers, dtype=np.int64), names


def _extra_features(
    extras: tuple[Extra, ...], selected: Selected, first: int
) -> tuple[list[str], list[tuple[Keys, Keys]]]:
    """Names, and (rows, columns) of the ones, of features that are not codes."""
    names: list[str] = []
    keys = []
    for extra in extras:
        values = selected.table.column(f"extra:{extra.column}").combine_chunks()
        position, labels = _ranges(extra, values) if extra.edges else _values(extra, values)
        rows = np.flatnonzero(position >= 0)
        keys.append((rows, first + len(names) + position[rows]))
        names += labels
    return names, keys


def _ranges(extra: Extra, values: pa.Array) -> tuple[Keys, list[str]]:
    edges = np.array(extra.edges)
    number = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
    position = np.where(np.isnan(number), -1, np.searchsorted(edges, number, side="right") - 1)
    ends = [f"{edge:g}" for edge in edges[1:]] + ["inf"]
    return position, [
        f"{extra.column}:[{edge:g},{end})" for edge, end in zip(edges, ends, strict=True)
    ]


def _values(extra: Extra, values: pa.Array) -> tuple[Keys, list[str]]:
    """The commonest value is the reference: it has no column."""
    text = pc.cast(values, pa.string())
    counts = sorted(
        ((item["counts"], item["values"]) for item in pc.value_counts(text).to_pylist()
         if item["values"] is not None),
        key=lambda pair: (-pair[0], pair[1]),
    )  # fmt: skip
    kept = sorted(value for _, value in counts[1:])
    index = pc.index_in(text, value_set=pa.array(kept, pa.string()))
    position = pc.fill_null(index, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return position, [f"{extra.column}={value}" for value in kept]


def _matrix(
    parts: list[Keys], n_rows: int, n_features: int, min_count: int
) -> tuple[BinaryCSR, NDArray[np.int64]]:
    """X with the features seen more than ``min_count`` times, and their numbers."""
    keys = np.concatenate(parts) if parts else np.empty(0, np.int64)
    parts.clear()
    keys.sort()
    if len(keys):
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    width = max(n_features, 1)
    column = keys % width
    count = np.bincount(column, minlength=n_features)
    kept = np.flatnonzero(count > min_count)
    new_number = np.full(width, -1, dtype=np.int64)
    new_number[kept] = np.arange(len(kept))
    column = new_number[column]
    row = keys // width
    if len(kept) < n_features:
        row, column = row[column >= 0], column[column >= 0]
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n_rows), out=indptr[1:])
    return BinaryCSR(indptr, column, len(kept)), kept
