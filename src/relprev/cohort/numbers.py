"""Columns that are features as numbers, or as curves of numbers.

A number x becomes

    z = (x - median) / spread,    spread = interquartile range / 1.349,    -10 <= z <= 10,

where the spread of a normal x is its standard deviation; if the quartiles are the same, the
standard deviation is taken. Values farther than 10 spreads from the median count as 10: they are
rare, often mistakes, and under PURPLE's likelihood one of them could outweigh all others. Ridges do
not depend on units (they grow with a feature's size, see `relprev.model.path`), but the lasso of
PURPLE does: with z, a number is penalised like codes, whose size is 1. As a spline it becomes the
curve of its normal score (`relprev.matrix.curves`), less the curve at the median.

So z and all columns of a curve are 0 at the median, and a visit without a value has 0, too: it says
nothing. Quantiles are those of all included visits that have a value, each counted once, whatever
their weights; they are the same in memory and in parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from relprev.arrays import LARGEST, FloatArray
from relprev.cohort.feature_rules import Extra
from relprev.cohort.inclusion import Selected
from relprev.errors import DataWarning, InvalidInputError
from relprev.matrix.curves import KNOTS, NormalScore, curve, normal_score
from relprev.messages import SMALL, Count, Message
from relprev.sources.database import identifier

QUARTILES = (0.25, 0.5, 0.75)
NORMAL_RANGE = 1.3489795003921634  # interquartile range of the standard normal distribution
FARTHEST = 10.0  # spreads from the median; a line through values beyond decides nothing well
FEWEST_VALUES = 5  # different ones that a curve needs


@dataclass(frozen=True)
class NumberFeature:
    """How a column of numbers became features.

    Parameters
    ----------
    column : str
        The source's column.
    centre, scale : float
        Median and spread: z is (x - centre) / scale, between -10 and 10.
    score : NormalScore, optional
        Of a spline.
    knots : tuple of float
        Of a spline, as normal scores.

    Examples
    --------
    >>> pulse = NumberFeature.of(Extra("pulse", form="number"), np.array([60.0, 70, 80, 90, 100]))
    >>> pulse.names, pulse.centre, round(pulse.scale, 1)
    (('pulse:number',), 80.0, 14.8)
    >>> pulse.values(np.array([80.0, np.nan, 100.0])).ravel().round(2)
    array([0.  , 0.  , 1.35])
    """

    column: str
    centre: float
    scale: float
    score: NormalScore | None = None
    knots: tuple[float, ...] = ()

    @staticmethod
    def of(extra: Extra, x: FloatArray) -> NumberFeature:
        """Learn it from the values of all included visits that have one, shape (m,)."""
        about = f"features.extra: {extra.column}"
        beyond = int((~(np.abs(x) <= LARGEST)).sum())
        if beyond:
            raise InvalidInputError(
                Message(
                    "{about} holds {values}, expected finite numbers; correct them, or derive a "
                    "column in which they are missing ([derive])",
                    about=about, values=Count(beyond, "infinite value"),
                )
            )  # fmt: skip
        remedy = f"leave the feature out, or use form = {'bins'!r} with missing = true"
        if not len(x):
            raise InvalidInputError(f"{about} holds no number in the included visits; {remedy}")
        low, centre, high = np.quantile(x, QUARTILES)
        scale = (high - low) / NORMAL_RANGE if high > low else float(np.std(x))
        if not scale > 0 or (x == x[0]).all():
            raise InvalidInputError(
                f"{about} holds the same number in all included visits that have one, so that it "
                f"says nothing; {remedy}"
            )
        found = NumberFeature(extra.column, float(centre), float(scale))
        return found if extra.form == "number" else found._bent(extra, x)

    def _bent(self, extra: Extra, x: FloatArray) -> NumberFeature:
        about = f"features.extra: {self.column}"
        score = normal_score(0, x, len(x))
        if score is None or len(np.unique(x)) < FEWEST_VALUES:
            raise InvalidInputError(
                f"{about} has fewer than {FEWEST_VALUES} different numbers, too few for a spline; "
                "use form = 'number' or 'bins'"
            )
        t = score.of(x)
        wanted = score.of(np.array(extra.knots)).tolist() if extra.knots else KNOTS
        knots = tuple(k for k in wanted if min((t < k).sum(), (t > k).sum()) > SMALL)
        if len(knots) < len(extra.knots):
            raise InvalidInputError(
                f"{about}: a knot has hardly any visits on one of its sides; move it to where "
                "values are, or leave knots out"
            )
        return NumberFeature(self.column, self.centre, self.scale, score, knots)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its features."""
        if self.score is None:
            return (f"{self.column}:number",)
        return tuple(f"{self.column}:spline{k + 1}" for k in range(2 + len(self.knots)))

    def values(self, x: FloatArray) -> FloatArray:
        """Its features, shape (n, columns), of numbers of shape (n,); 0 where these are NaN."""
        if self.score is None:
            made = np.clip((x - self.centre) / self.scale, -FARTHEST, FARTHEST)[:, None]
        else:
            middle = self.score.of(np.array([self.centre]))
            made = curve(self.score.of(x), self.knots) - curve(middle, self.knots)
        return np.where(np.isnan(x)[:, None], 0.0, made)

    def descriptions(self) -> dict[str, str]:
        """What its features mean, by name."""
        if self.score is None:
            return {self.names[0]: f"{self.column}, per standard deviation"}
        words = ("normal score", "its square", *(f"bend {k + 1}" for k in range(len(self.knots))))
        return {
            name: f"curve of {self.column}: {what}"
            for name, what in zip(self.names, words, strict=True)
        }


@dataclass(frozen=True, eq=False)
class Numbers:
    """The features of a study that are numbers.

    Parameters
    ----------
    features : mapping of int to NumberFeature
        By the position of their column among ``features.extra``.
    selected : Selected
        The included visits.
    """

    features: dict[int, NumberFeature]
    selected: Selected

    @staticmethod
    def of(extras: Sequence[Extra], selected: Selected) -> Numbers:
        """Learn them from all included visits."""
        found = {}
        for k, extra in enumerate(extras):
            if extra.is_number:
                _warn_of_text(extra, selected)
                parts = [_read(k, selected, part) for part in range(selected.n_parts)]
                x = np.concatenate(parts)
                found[k] = NumberFeature.of(extra, x[~np.isnan(x)])
        return Numbers(found, selected)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all of them."""
        return tuple(name for one in self.features.values() for name in one.names)

    def values(self, part: int) -> FloatArray:
        """Their values in a part, shape (n, number of names)."""
        made = [one.values(_read(k, self.selected, part)) for k, one in self.features.items()]
        return np.hstack(made)


def _read(number: int, selected: Selected, part: int) -> FloatArray:
    """Numbers of a part, NaN where missing, shape (n,)."""
    column = selected.read(part, f"extra:{number}").column(0)
    values: FloatArray = pc.fill_null(column, np.nan).to_numpy()
    return values


def _warn_of_text(extra: Extra, selected: Selected) -> None:
    """Say that what is no number counts as missing."""
    column = identifier(extra.column)
    count = selected.source.query(
        f"SELECT count({column}) - count(try_cast({column} AS DOUBLE)) FROM visits"
    )[0][0]
    if count > SMALL:
        said = Message(
            "features.extra: {column} holds text besides numbers, in {visits}; it counts as "
            "missing",
            column=extra.column, visits=Count(count, "visit"),
        )  # fmt: skip
        warnings.warn(DataWarning(said), stacklevel=2)
