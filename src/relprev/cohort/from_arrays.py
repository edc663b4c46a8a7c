"""Turn plain arrays and frames into a `Cohort`: the one place where input is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import LARGEST
from relprev.cohort.cohort import MAX_CONTROLS, MAX_GROUPS, Cohort, control_dtype, group_dtype
from relprev.errors import InvalidInputError
from relprev.matrix import as_matrix
from relprev.matrix.coerce import listed
from relprev.messages import Count, Message, Number


def as_cohort(
    X: Any,
    s: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    strata: Any = None,
    psus: Any = None,
    feature_names: Any = None,
    ids: Any = None,
    controls: Any = None,
) -> Cohort:
    """Check the input and turn it into a `Cohort`.

    Parameters
    ----------
    X : array, sparse matrix, pandas or polars frame, `Matrix` or `Cohort`, shape (n, p)
        Symptoms. A `Cohort`, in memory or in parts, is returned unchanged and excludes all other
        arguments.
    s : array of shape (n,)
        Recorded diagnosis, 0/1 or boolean.
    groups : array of shape (n,)
        Group of each row, two or more in all: text, numbers or a categorical.
    sample_weight : array of shape (n,), optional
        Positive weights.
    clusters, strata, psus : arrays of shape (n,), optional
        Patient, stratum and primary sampling unit of each row.
    feature_names : sequence of str, optional
        One for each column of X. Default: column names of a frame.
    ids : array of shape (n,), optional
        Visit identifiers. Kept, never printed.
    controls : frame or mapping of name to array of shape (n,), optional
        One 0/1 column for each control condition: conditions recorded equally well in
        all groups, by which `relprev.calibrate` judges the estimate. At most 64.

    Returns
    -------
    Cohort
        Validated. Arrays that needed no conversion are not copied.

    Examples
    --------
    >>> import numpy as np
    >>> as_cohort(np.eye(4), [1, 0, 0, 1], groups=["a", "a", "b", "b"])
    <Cohort of 4 visits x 4 features, groups a, b>
    """
    given = {"s": s, "groups": groups, "sample_weight": sample_weight, "clusters": clusters,
             "strata": strata, "psus": psus, "ids": ids, "controls": controls}  # fmt: skip
    if isinstance(X, Cohort):
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise InvalidInputError(
                f"X is a Cohort, which already holds everything; leave out {', '.join(extra)}"
            )
        return X
    design, names = as_matrix(X)
    if feature_names is not None:
        names = tuple(str(name) for name in feature_names)
    n = design.n_rows
    if n == 0 or design.n_cols == 0:
        what = "0 rows" if n == 0 else "no features"
        raise InvalidInputError(f"X has {what} (shape {design.shape}); nothing can be estimated")
    if s is None or groups is None:
        missing = "s (recorded diagnosis)" if s is None else "groups"
        raise InvalidInputError(
            f"{missing} is required, with one value per row: as in (X, s, groups=groups)"
        )
    for name, value in given.items():
        if value is not None and name != "controls" and len(value) != n:
            raise InvalidInputError(f"{name} has {len(value):,} values, X has {n:,} rows")
    numbers, group_names = _group_numbers(groups)
    diagnosed = _diagnosed(s)
    control_names, bits = _controls(controls, diagnosed)
    return Cohort.of(
        X=design,
        diagnosed=diagnosed,
        groups=numbers,
        group_names=group_names,
        weights=_weights(sample_weight),
        clusters=_codes(clusters, "clusters"),
        strata=_codes(strata, "strata"),
        psus=_codes(psus, "psus"),
        feature_names=names,
        ids=None if ids is None else np.asarray(ids),
        controls=bits,
        control_names=control_names,
    )


def _vector(values: Any, name: str) -> pd.Series:
    """Any one-dimensional input as a pandas series; an error if values are missing."""
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    array = values if isinstance(values, pd.Series | pd.Categorical) else np.asarray(values)
    if np.ndim(array) != 1:
        raise InvalidInputError(f"{name} must have one dimension, got {np.ndim(array)}")
    series = pd.Series(array).reset_index(drop=True)
    missing = series.isna()
    if missing.any():
        raise InvalidInputError(
            Message(
                "{name} is missing in {rows}, first in row {first}; drop those rows or give them a "
                "value of their own",
                name=name, rows=Count(int(missing.sum()), "row"),
                first=Count(int(missing.to_numpy().argmax())),
            )
        )  # fmt: skip
    return series


def _diagnosed(s: Any, name: str = "s") -> NDArray[np.uint8]:
    series = _vector(s, name)
    values = series.to_numpy()
    valid = np.isin(values, (0, 1)) if values.dtype.kind in "buif" else np.zeros(len(values), bool)
    if not valid.all():
        row = int((~valid).argmax())
        raise InvalidInputError(
            Message(
                "{name} must be 0 or 1 (recorded diagnosis no or yes), but {rows} hold something "
                "else, first in row {first}; recode it, for example s == 'yes'",
                name=name, rows=Count(int((~valid).sum()), "row"), first=Count(row),
            )
        )  # fmt: skip
    if not values.any():
        raise InvalidInputError(
            f"{name} holds no 1: nobody is diagnosed, so nothing can be estimated; check "
            "that it is the recorded diagnosis"
        )
    if values.all():
        raise InvalidInputError(
            f"{name} holds no 0: everybody is diagnosed; is it really the diagnosis?"
        )
    return values.astype(np.uint8)


def _controls(
    controls: Any, diagnosed: NDArray[Any]
) -> tuple[tuple[str, ...], NDArray[Any] | None]:
    """Names of the control conditions, and a bit for each of them in every row."""
    if controls is None:
        return (), None
    if not (hasattr(controls, "columns") or isinstance(controls, Mapping)) or not len(controls):
        raise InvalidInputError(
            "controls must be a frame or a mapping with one named 0/1 column per control "
            f"condition, got {type(controls).__name__}"
        )
    names = list(getattr(controls, "columns", controls))
    if len(names) > MAX_CONTROLS:
        raise InvalidInputError(f"at most {MAX_CONTROLS} controls are possible, got {len(names)}")
    n = len(diagnosed)
    bits = np.zeros(n, dtype=control_dtype(len(names)))
    for number, name in enumerate(names):
        if len(controls[name]) != n:
            raise InvalidInputError(
                f"controls[{name!r}] has {len(controls[name]):,} values, X has {n:,} rows"
            )
        recorded = _diagnosed(controls[name], f"controls[{name!r}]")
        if np.array_equal(recorded, diagnosed):
            raise InvalidInputError(
                f"controls[{name!r}] is the recorded diagnosis s itself; a control is another "
                "condition, one that is hardly ever missed: leave it out"
            )
        bits |= recorded.astype(bits.dtype) << number
    return tuple(str(name) for name in names), bits


def _group_numbers(groups: Any) -> tuple[NDArray[Any], tuple[str, ...]]:
    series = _vector(groups, "groups")
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.cat.remove_unused_categories()
        numbers, labels = series.cat.codes.to_numpy(), list(series.cat.categories)
    else:
        numbers, uniques = pd.factorize(series, sort=True)
        labels = list(uniques)
    names = tuple(str(label) for label in labels)
    if len(names) < 2:
        raise InvalidInputError(
            f"groups holds only one group ({names[0]!r}); a relative prevalence needs two or more"
        )
    if len(names) > MAX_GROUPS:
        raise InvalidInputError(
            f"groups holds {len(names):,} different values, more than {MAX_GROUPS:,}; if it is an "
            "identifier or a measurement, cut it into a few groups first"
        )
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InvalidInputError(
            f"groups holds different values that print alike: {listed(twice)}; recode them"
        )
    return numbers.astype(group_dtype(len(names))), names


def _weights(sample_weight: Any) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    series = _vector(sample_weight, "sample_weight")
    values = series.to_numpy()
    if values.dtype.kind not in "buif":
        raise InvalidInputError(f"sample_weight must be numeric, got {series.dtype}")
    values = values.astype(np.float64)
    bad = ~((values > 0) & (values <= LARGEST))
    if bad.any():
        raise InvalidInputError(
            Message(
                "sample_weight must be positive and finite (at most {most}), but {rows} are not, "
                "first in row {first}; drop rows of weight zero, which carry no information",
                most=Number(LARGEST), rows=Count(int(bad.sum()), "row"),
                first=Count(int(bad.argmax())),
            )
        )  # fmt: skip
    return values


def _codes(values: Any, name: str) -> NDArray[Any] | None:
    """The labels as whole numbers; the labels themselves are not kept."""
    if values is None:
        return None
    numbers = pd.factorize(_vector(values, name))[0]
    return numbers.astype(np.int32 if len(numbers) < 2**31 else np.int64)
