"""Save and load a cohort: one uncompressed .npz archive of plain arrays.

No pickle: arrays are numbers or fixed-width text, names are JSON. The file is
written beside its target and renamed when complete, so an interrupted save
leaves what was there before.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from relprev.cohort.cohort import ROW_FIELDS, Cohort
from relprev.errors import InvalidInputError
from relprev.matrix import BinaryCSR, Dense, FloatCSR, Matrix
from relprev.store.files import written_whole

FORMAT = 1
KINDS = {"BinaryCSR": BinaryCSR, "FloatCSR": FloatCSR, "Dense": Dense}


def save(cohort: Cohort, path: str | Path) -> None:
    """Write ``cohort`` to ``path``, whole or not at all."""
    header = {
        "relprev_cohort": FORMAT,
        "kind": type(cohort.X).__name__,
        "shape": list(cohort.X.shape),
        "group_names": list(cohort.group_names),
        "feature_names": None if cohort.feature_names is None else list(cohort.feature_names),
    }
    arrays = {f"X_{name}": array for name, array in cohort.X.to_arrays().items()}
    for name in ROW_FIELDS:
        values = getattr(cohort, name)
        if values is not None:
            arrays[name] = np.asarray(values, dtype=str) if values.dtype == object else values
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load(path: str | Path) -> Cohort:
    """Read a cohort written by `save`."""
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError(f"there is no cohort file at {path}")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
        header = json.loads(bytes(arrays.pop("header")))
        version = header["relprev_cohort"]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"{path} is not a cohort file or is damaged ({type(error).__name__}); write it again "
            "with Cohort.save"
        ) from error
    if version != FORMAT:
        raise InvalidInputError(
            f"{path} has cohort format {version}, this version of relprev reads format {FORMAT}"
        )
    names = header["feature_names"]
    return Cohort(
        X=_design(header, {k[2:]: v for k, v in arrays.items() if k.startswith("X_")}),
        group_names=tuple(header["group_names"]),
        feature_names=None if names is None else tuple(names),
        **{name: arrays.get(name) for name in ROW_FIELDS},  # type: ignore[arg-type]
    )


def _design(header: dict[str, Any], parts: dict[str, np.ndarray]) -> Matrix:
    kind = header["kind"]
    if kind == "Dense":
        return Dense(parts["values"])
    if kind == "FloatCSR":
        return FloatCSR(parts["indptr"], parts["indices"], parts["values"], header["shape"][1])
    return BinaryCSR(parts["indptr"], parts["indices"], header["shape"][1])
