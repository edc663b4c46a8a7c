"""Save and load a cohort in memory: one uncompressed .npz archive of plain arrays.

Nothing is pickled: arrays are numbers or fixed-width text, names are JSON. The file is
written beside its target and renamed when complete, so an interrupted save leaves the
previous file intact. Loading verifies a checksum of everything in the file.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from relprev.cohort.cohort import Cohort
from relprev.cohort.part import ROW_FIELDS
from relprev.errors import InvalidInputError
from relprev.matrix import BinaryCSR, Dense, FloatCSR, Matrix
from relprev.store.files import written_whole

FORMAT = 3


def save(cohort: Cohort, path: str | Path) -> None:
    """Write ``cohort`` to ``path``, whole or not at all."""
    part = cohort.in_memory("Cohort.save")
    header = {
        "relprev_cohort": FORMAT,
        "kind": type(part.X).__name__,
        "shape": list(part.X.shape),
        "group_names": list(cohort.group_names),
        "control_names": list(cohort.control_names),
        "sampled_psus": list(cohort.sampled_psus),
        "feature_names": None if cohort.feature_names is None else list(cohort.feature_names),
    }
    arrays: dict[str, Any] = {f"X_{name}": array for name, array in part.X.to_arrays().items()}
    for name in part.fields:
        values = getattr(part, name)
        arrays[name] = np.asarray(values, dtype=str) if values.dtype == object else values
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays["checksum"] = np.frombuffer(_checksum(arrays), dtype=np.uint8)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # NumPy 1.26 would take allow_pickle=False for one more array


def load(path: str | Path) -> Cohort:
    """Read a cohort written by `save`."""
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError(f"there is no file at {path}; expected one written by Cohort.save")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
        header = json.loads(bytes(arrays["header"]))
        version = header["relprev_cohort"]
    except Exception as error:  # a damaged archive fails in many ways
        raise InvalidInputError(
            f"{path} is not a cohort file or is damaged ({type(error).__name__}); write it again "
            "with Cohort.save"
        ) from error
    if version != FORMAT:
        raise InvalidInputError(
            f"{path} has cohort format {version}, but this version of relprev reads format "
            f"{FORMAT}; write it again with Cohort.save"
        )
    if bytes(arrays.pop("checksum", b"")) != _checksum(arrays):
        raise InvalidInputError(
            f"{path} is damaged: its content has changed since it was written; write it again "
            "with Cohort.save"
        )
    names = header["feature_names"]
    return Cohort.of(
        X=_matrix(header, {k[2:]: v for k, v in arrays.items() if k.startswith("X_")}),
        group_names=tuple(header["group_names"]),
        control_names=tuple(header["control_names"]),
        sampled_psus=tuple(header.get("sampled_psus", ())),
        feature_names=None if names is None else tuple(names),
        **{name: arrays.get(name) for name in ROW_FIELDS},
    )


def _checksum(arrays: dict[str, np.ndarray]) -> bytes:
    """Checksum of the arrays' names, types, shapes and contents, in order of name."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.digest()


def _matrix(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Matrix:
    kind = header["kind"]
    if kind == "Dense":
        return Dense(arrays["values"])
    if kind == "FloatCSR":
        return FloatCSR(arrays["indptr"], arrays["indices"], arrays["values"], header["shape"][1])
    return BinaryCSR(arrays["indptr"], arrays["indices"], header["shape"][1])
