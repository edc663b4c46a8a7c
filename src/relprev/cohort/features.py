"""Build a sparse design matrix in one pass over the source's codes.

Every recorded code is a pair (row, feature). The pairs of included visits are collected in
batches, each pair as a single number,

    key = row * K + feature        (K features),

then sorted and deduplicated; key // K is the row and key % K the column. The order of the
source's rows does not matter. Codes of every kind (diagnoses, vital signs, ...) that the source
was read with are collected: any of them may record the condition, those of the kinds that the
study wants become features, and a visit has a code if it has one of the default kinds. Visits
are divided into parts: a single part stays in memory,
while several are stored in files and loaded one at a time. Columns that are numbers
(`relprev.cohort.numbers`) come last, and are made when a part is loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from relprev.codes import roll_up
from relprev.cohort.code_rules import cases
from relprev.cohort.controls import control_codes
from relprev.cohort.feature_rules import Extra, Features
from relprev.cohort.inclusion import BATCH_ROWS, Selected
from relprev.cohort.numbers import Numbers
from relprev.cohort.spec import CohortSpec
from relprev.errors import InvalidInputError
from relprev.matrix import BinaryCSR, FloatCSR
from relprev.matrix.csr import beside
from relprev.rows.disk import Scratch, give_back
from relprev.sources.database import quoted
from relprev.sources.kinds import Kind, kind_of_role
from relprev.sources.source import Source

MISSING = "missing"  # label of the feature of visits without a value
NUMBER_BITS = 32  # low bits of a key, which hold the number of the code
Keys = NDArray[np.int64]
Extras = list[tuple[Extra, list[str]]]  # with the values or ranges that have a column


@dataclass(frozen=True, eq=False)
class CodedPart:
    """What codes say about the rows of a part: X, and of shape (n,) the other fields.

    Bit k of ``controls`` says that control k is recorded.
    """

    X: BinaryCSR | FloatCSR
    diagnosed: NDArray[np.uint8]
    has_code: NDArray[np.bool_]
    controls: NDArray[np.unsignedinteger[Any]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows."""
        own = ("diagnosed", "has_code", "controls")
        return self.X.to_arrays() | {name: getattr(self, name) for name in own}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> CodedPart:
        """The same part, held in other arrays."""
        own = (arrays[name] for name in ("diagnosed", "has_code", "controls"))
        return CodedPart(self.X.with_arrays(arrays), *own)


@dataclass(frozen=True, eq=False)
class CodedVisits:
    """Iterates over the parts, with only those features that are common enough, and numbers.

    Parameters
    ----------
    parts : list of CodedPart
        With all features that are 0 or 1.
    number : integer array of shape (such features,)
        New number of each of them, or -1 if it is dropped.
    feature_names : tuple of str
        Names of the features kept.
    control_names : tuple of str
        Names of the controls, in the order of their bits.
    kinds : dict of str to int
        Number of features kept of every kind; those of ``features.extra`` are of the kind
        ``"extra"``, or ``"numbers"``. A code recorded as several kinds counts as the first of them.
    numbers : Numbers
        Features that are numbers.
    """

    parts: list[CodedPart]
    number: Keys
    feature_names: tuple[str, ...]
    control_names: tuple[str, ...]
    kinds: dict[str, int]
    numbers: Numbers

    def __iter__(self) -> Iterator[CodedPart]:
        for k, part in enumerate(self.parts):
            assert isinstance(part.X, BinaryCSR)
            X = self._common(part.X)
            yield replace(part, X=beside(X, self.numbers.values(k)) if self.numbers.names else X)
            for array in part.arrays().values():
                give_back(array)

    def _common(self, X: BinaryCSR) -> BinaryCSR:
        n_cols = len(self.feature_names) - len(self.numbers.names)
        if n_cols == X.n_cols:
            return X
        column = self.number[X.indices]
        kept = column >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        return BinaryCSR(before[X.indptr], column[kept], n_cols)


def coded_visits(
    spec: CohortSpec, source: Source, selected: Selected, scratch: Scratch | None = None
) -> CodedVisits:
    """The design matrix of the included visits.

    The condition's codes become ``diagnosed`` and those of controls ``controls``.

    With ``scratch``, parts are stored in files there.
    """
    spool = _Spool(selected, scratch)
    codes = _recorded(source, selected, spool)
    condition = spec.condition.cut_to(source.code_lengths)
    is_label = np.array([(version, code) in condition for version, code, _ in codes], dtype=bool)
    control_names, control_bits = control_codes(spec, codes, condition, source.code_lengths)
    of_kind = [kind_of_role(role, source.kinds) for _, _, role in codes]
    is_default = np.array([kind.default for kind in of_kind], dtype=bool)
    is_outcome = is_label | (control_bits > 0)
    feature, names = _features(spec, source, codes, of_kind, is_outcome)
    extras = [(extra, _labels(k, extra, selected)) for k, extra in enumerate(spec.features.extra)]
    first_extra = len(names)
    names += [_name(extra, label) for extra, labels in extras for label in labels]
    count = np.zeros(len(names), dtype=np.int64)
    is_case = _cases(spec, source, selected)
    parts = []
    for k in range(selected.n_parts):
        more = _extra_keys(extras, selected, k, first_extra, len(names))
        part = _coded(
            spool.take(k),
            more,
            is_label,
            control_bits,
            is_default,
            feature,
            selected.size(k),
            len(names),
        )
        if is_case is not None:
            part = replace(part, diagnosed=is_case[selected.rows(k)])
        count += _counted(part, keep_all=spec.without_codes == "keep")
        parts.append(part if scratch is None else part.with_arrays(scratch.spill(part.arrays())))
    kept = np.flatnonzero(count > spec.features.min_count)
    number = np.full(len(names), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    kinds = _kinds(wanted_kinds(spec.features, source), of_kind, feature, number, first_extra)
    numbers = Numbers.of(spec.features.extra, selected)
    kinds |= {"numbers": len(numbers.names)} if numbers.names else {}
    kept_names = (*(names[k] for k in kept), *numbers.names)
    return CodedVisits(parts, number, kept_names, control_names, kinds, numbers)


def _cases(spec: CohortSpec, source: Source, selected: Selected) -> NDArray[np.uint8] | None:
    """Which rows are cases by the study's rule, shape (n,); None if any code is enough."""
    found = cases(spec, source)
    if found is None:
        return None
    row = selected.row_of_visit[found]
    out = np.zeros(selected.n, dtype=np.uint8)
    out[row[row >= 0]] = 1
    return out


def _counted(part: CodedPart, *, keep_all: bool) -> NDArray[np.integer[Any]]:
    """In how many visits every feature is, leaving out those that have no code and are dropped."""
    count = part.X.nonzero_squares()[1]
    if keep_all or part.has_code.all():
        return count
    dropped = np.repeat(~part.has_code, np.diff(part.X.indptr))
    return count - np.bincount(part.X.indices[dropped], minlength=part.X.n_cols)


def wanted_kinds(features: Features, source: Source) -> tuple[Kind, ...]:
    """The kinds whose codes are features; fails if the source was read without one of them."""
    if not features.kinds:
        return tuple(kind for kind in source.kinds if kind.default)
    read = [kind.name for kind in source.kinds]
    for name in features.kinds:
        if name not in read:
            raise InvalidInputError(
                f"features.kinds: the {source.name} source was read without {name!r}, it has "
                f"{', '.join(read)}; read it with kinds={[name]}, if it offers that kind"
            )
    return tuple(kind for kind in source.kinds if kind.name in features.kinds)


def _kinds(
    wanted: Sequence[Kind], of_kind: Sequence[Kind], feature: Keys, number: Keys, first_extra: int
) -> dict[str, int]:
    """Number of features kept of every kind, in the order of the source."""
    order = {kind: k for k, kind in enumerate(wanted)}
    first: dict[int, int] = {}
    for kind, column in zip(of_kind, feature.tolist(), strict=True):
        if column >= 0 and number[column] >= 0:
            first[column] = min(order[kind], first.get(column, len(order)))
    counts = Counter(first.values())
    found = {kind.name: counts[k] for kind, k in order.items()}
    extra = int(np.count_nonzero(number[first_extra:] >= 0))
    return found | ({"extra": extra} if extra else {})


class _Spool:
    """The recorded codes of every part, as (row in the part) * 2**32 + number of the code.

    They are kept in memory or, with ``scratch``, in one file per part.
    """

    def __init__(self, selected: Selected, scratch: Scratch | None) -> None:
        self._rows_per_part = selected.rows_per_part
        self._keys: list[Keys] = []
        self._scratch = scratch

    def add(self, row: NDArray[np.int32], number: Keys) -> None:
        keys = (row.astype(np.int64) % self._rows_per_part << NUMBER_BITS) | number
        if self._scratch is None:
            self._keys.append(keys)
            return
        part = row // self._rows_per_part
        for k in np.unique(part):
            with self._file(k).open("ab") as file:
                keys[part == k].tofile(file)

    def take(self, k: int) -> Keys:
        """Remove and return the keys of a part."""
        if self._scratch is None:
            keys, self._keys = self._keys, []
            return np.concatenate(keys) if keys else np.empty(0, np.int64)
        file = self._file(k)
        found = np.fromfile(file, np.int64) if file.exists() else np.empty(0, np.int64)
        file.unlink(missing_ok=True)
        return found

    def _file(self, k: int) -> Path:
        assert self._scratch is not None
        return self._scratch.path / f"codes-{k}.bin"


def _recorded(source: Source, selected: Selected, spool: _Spool) -> list[tuple[str, str, str]]:
    """Spool the recorded codes; return the distinct (version, code, role), by number."""
    numbers: dict[tuple[str, str, str], int] = {}
    for version, role in source.code_roles():
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
            spool.add(row[kept], number[code.indices.to_numpy()[kept]])
    return list(numbers)


def _features(
    spec: CohortSpec,
    source: Source,
    codes: list[tuple[str, str, str]],
    of_kind: Sequence[Kind],
    is_outcome: NDArray[np.bool_],
) -> tuple[Keys, list[str]]:
    """Feature number of every code (-1: not a feature), and the names of the features."""
    roles, kinds = spec.features.roles, wanted_kinds(spec.features, source)
    labels = roll_up([(version, code) for version, code, _ in codes], spec.features.roll_up)
    lengths = source.code_lengths
    excluded = [pattern.cut_to(lengths[pattern.version]) if pattern.version in lengths else pattern
                for pattern in spec.features.excluded]  # fmt: skip
    used = [
        not outcome
        and kind in kinds
        and (not roles or role in roles)
        and not any(one.matches(version, code) or one.matches(*broad) for one in excluded)
        for (version, code, role), broad, kind, outcome in zip(
            codes, labels, of_kind, is_outcome, strict=True
        )
    ]
    names = sorted({f"{v}:{c}" for (v, c), use in zip(labels, used, strict=True) if use})
    position = {name: k for k, name in enumerate(names)}
    numbers = [
        position[f"{v}:{c}"] if use else -1 for (v, c), use in zip(labels, used, strict=True)
    ]
    return np.array(numbers, dtype=np.int64), names


def _coded(
    keys: Keys, extra: list[Keys], is_label: NDArray[np.bool_],
    control_bits: NDArray[np.unsignedinteger[Any]], is_default: NDArray[np.bool_],
    feature: Keys, n_rows: int, n_features: int,
) -> CodedPart:  # fmt: skip
    """One part, from its spooled codes and the keys of features that are not codes."""
    diagnosed = np.zeros(n_rows, dtype=np.uint8)
    has_code = np.zeros(n_rows, dtype=bool)
    controls = np.zeros(n_rows, dtype=control_bits.dtype)
    end = 0
    for start in range(0, len(keys), BATCH_ROWS):  # in place, to save memory
        batch = keys[start : start + BATCH_ROWS]
        row, number = batch >> NUMBER_BITS, batch & (2**NUMBER_BITS - 1)
        has_code[row if is_default.all() else row[is_default[number]]] = True
        diagnosed[row[is_label[number]]] = 1
        named = np.flatnonzero(control_bits[number])
        np.bitwise_or.at(controls, row[named], control_bits[number[named]])
        column = feature[number]
        used = row[column >= 0] * n_features + column[column >= 0]
        keys[end : end + len(used)] = used
        end += len(used)
    keys = np.concatenate([keys[:end], *extra]) if extra else keys[:end]
    return CodedPart(_matrix(keys, n_rows, n_features), diagnosed, has_code, controls)


def _matrix(keys: Keys, n_rows: int, n_features: int) -> BinaryCSR:
    """X from the keys row * n_features + column, in any order and with duplicates."""
    keys.sort()
    if len(keys):
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    width = max(n_features, 1)
    indptr = np.searchsorted(keys, np.arange(n_rows + 1) * width)
    return BinaryCSR(indptr, np.remainder(keys, width, out=keys), n_features)


# -- features that are not codes -----------------------------------------------------------


def _labels(number: int, extra: Extra, selected: Selected) -> list[str]:
    """The ranges, or all values except the most common, which is the reference."""
    if extra.is_number:
        return [MISSING] * extra.missing
    if extra.edges:
        ends = [f"{edge:g}" for edge in extra.edges[1:]] + ["inf"]
        ranges = [f"[{edge:g},{end})" for edge, end in zip(extra.edges, ends, strict=True)]
        return ranges + [MISSING] * extra.missing
    counts: Counter[Any] = Counter()
    for k in range(selected.n_parts):
        found = pc.value_counts(_text(_values(number, selected, k))).to_pylist()
        counts.update({item["values"]: item["counts"] for item in found})
    counts.pop(None, None)
    by_count = sorted(counts, key=lambda value: (-counts[value], value))
    return sorted(by_count[1:]) + [MISSING] * extra.missing


def _name(extra: Extra, label: str) -> str:
    return f"{extra.column}{':' if extra.edges or extra.is_number else '='}{label}"


def _extra_keys(
    extras: Extras, selected: Selected, part: int, first: int, n_features: int
) -> list[Keys]:
    """Keys row * n_features + column of the ones in a part, for each extra feature."""
    keys = []
    for k, (extra, labels) in enumerate(extras):
        if not labels:
            continue
        values = _values(k, selected, part)
        position = _range(extra, values) if extra.edges else _index(values, labels)
        if extra.missing:
            position[pc.is_null(values, nan_is_null=True).to_numpy(False)] = len(labels) - 1
        rows = np.flatnonzero(position >= 0)
        keys.append(rows * n_features + first + position[rows])
        first += len(labels)
    return keys


def _values(number: int, selected: Selected, part: int) -> pa.Array:
    return selected.read(part, f"extra:{number}").column(0).combine_chunks()


def _range(extra: Extra, values: pa.Array) -> Keys:
    number = pc.fill_null(values, np.nan).to_numpy(zero_copy_only=False)
    place = np.searchsorted(np.array(extra.edges), number, side="right") - 1
    return np.where(np.isnan(number), -1, place)


def _index(values: pa.Array, labels: list[str]) -> Keys:
    index = pc.index_in(_text(values), value_set=pa.array(labels, pa.string()))
    return pc.fill_null(index, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _text(values: pa.Array) -> pa.Array:
    return pc.cast(values, pa.string())
