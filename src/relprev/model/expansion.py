"""Features made of features, so that a linear model of them need not be linear in x.

For every numeric feature, t is its normal score (`relprev.matrix.curves`). Binary features (codes)
are their own t. Added to x are

    t_j, t_j^2 and (t_j - k)_+, k = -0.84, 0, 0.84       of every numeric feature
    1(number of codes = 0), 1(number of codes >= k)      k at the fifths of that number
    t_i t_j                                              pairs, all or the most telling ones

Where more than `MOST_PAIRS` pairs are possible, those are taken whose product is related to what
the linear models leave over, by

    z = sum_i v_i r_i f_i / sqrt(sum_i v_i^2 max(r_i^2, w_i) f_i^2),    f = t_i t_j less its mean,

with residuals r = 1(g) - pi_g(x) for each group and r = s - m(x) e^theta for the risk, out of
fold, and weights v and w as in `relprev.inference.adaptive` (PURPLE's own residuals are r = s - c_g
p(y=1|x), with w = c_g p). A pair is taken if abs(z) exceeds what
the largest of all pairs would exceed once in twenty times by chance: few are taken that say
nothing, and which ones hardly depends on chance.

In a sparse matrix t is shifted to be 0 where x is, so that sparse features stay sparse; of codes
alone all that is added is 0 or 1. The recipe is learned from at most 20,000 visits, evenly spread,
and applied part by part: it is the same in memory, on disk and on a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from relprev.arrays import FloatArray
from relprev.matrix import BinaryCSR, Dense, FloatCSR, Matrix
from relprev.matrix.csr import stacked
from relprev.matrix.curves import KNOTS, NormalScore, curve, normal_score
from relprev.model.likelihood import Parameters, Problem, ProblemPart, linear_predictor
from relprev.parallel.threads import map_threads, use_threads

MOST_ROWS = 250_000  # rows with and without a diagnosis in which residuals are looked at
AT_ONCE = 250_000  # rows of a sparse matrix that are expanded at a time
SAMPLE = 20_000  # visits from which quantiles are taken
MOST_PAIRS = 120  # that are added without asking the residuals
MOST_BASES = 200  # features whose pairs are looked at
MOST_TAKEN = 100  # pairs taken where there are more
CHANCE = 0.05
ROWS_PER_FEATURE = 20  # that a new feature needs
FEWEST_WITH = 20  # visits with a product of two codes
COUNT_SHARES = (0.2, 0.4, 0.6, 0.8, 0.95)


@dataclass(frozen=True)
class Expansion:
    """A recipe for new features.

    Parameters
    ----------
    n_in : int
        Features it starts from.
    scores : tuple of NormalScore
        Of the numeric features.
    codes : boolean array of shape (n_in,)
        Binary features, whose number is counted.
    edges : tuple of int
        Numbers of codes; 0 stands for none at all, k for k or more.
    pairs : integer array of shape (q, 2)
        Features to multiply.
    """

    n_in: int
    scores: tuple[NormalScore, ...]
    codes: NDArray[np.bool_]
    edges: tuple[int, ...]
    pairs: NDArray[np.int64]

    @property
    def n_added(self) -> int:
        """Number of new features."""
        return (2 + len(KNOTS)) * len(self.scores) + len(self.edges) + len(self.pairs)

    def with_pairs(self, pairs: NDArray[np.int64]) -> Expansion:
        """The same recipe with other products."""
        return Expansion(self.n_in, self.scores, self.codes, self.edges, pairs)

    def with_telling_pairs(self, X: Matrix, residuals: FloatArray, noise: FloatArray) -> Expansion:
        """The same recipe with the products that residuals ask for, or all if they are few.

        Parameters
        ----------
        X : Matrix of shape (n, p)
        residuals, noise : arrays of shape (n, q)
            v r and v^2 w of the module's formula.
        """
        often = X.nonzero_squares()[1]
        numeric = np.array([score.column for score in self.scores], dtype=np.int64)
        bases = np.union1d(numeric, np.flatnonzero(self.codes & (often > 0)))
        bases = np.sort(bases[np.argsort(-often[bases], kind="stable")][:MOST_BASES])
        pairs = all_pairs(bases)
        if len(pairs) > MOST_PAIRS:
            pairs = telling_pairs(self.bases(X), bases, residuals, noise)
        return self.with_pairs(pairs)

    def is_too_large_for(self, n: int) -> bool:
        """Whether n rows could not tell what so many new features are worth."""
        return self.n_added > n / ROWS_PER_FEATURE

    def of(self, problem: Problem) -> Problem:
        """The problem with the new features after its own."""
        rows = problem.derive(_expanded_part, self)
        return Problem.made_of(rows, self.n_in + self.n_added, problem.n_groups)

    def matrix(self, X: Matrix) -> Matrix:
        """X with the new features after its own."""
        if isinstance(X, Dense):
            return Dense(np.hstack([X.values, self._dense(X.values)]))

        def one_span(start: int) -> Matrix:
            with use_threads(1):  # the spans keep all of them busy
                return self._expanded(X.take(np.arange(start, min(start + AT_ONCE, X.n_rows))))

        return stacked(map_threads(one_span, range(0, max(X.n_rows, 1), AT_ONCE)))

    def _expanded(self, X: Matrix) -> Matrix:
        """Some rows of a sparse matrix with the new features; needs ten times their memory."""
        own = _as_csr(X)
        both = sp.hstack([own, self._sparse(own)], format="csr")
        both.sort_indices()
        if self.scores or isinstance(X, FloatCSR):
            return FloatCSR(both.indptr, both.indices, both.data, both.shape[1])
        return BinaryCSR(both.indptr, both.indices, both.shape[1])

    @cached_property
    def _of_column(self) -> dict[int, NormalScore]:
        return {score.column: score for score in self.scores}

    def bases(self, X: Matrix) -> Any:
        """t of every feature, an array or sparse columns of shape (n, n_in)."""
        if isinstance(X, Dense):
            return self._dense_bases(X.values)
        return self._sparse_bases(_as_csr(X).tocsc())

    def _dense_bases(self, values: FloatArray) -> FloatArray:
        t = values.copy()
        for score in self.scores:
            t[:, score.column] = score.of(values[:, score.column])
        return t

    def _sparse_bases(self, columns: Any) -> Any:
        t = columns.copy()
        for score in self.scores:
            own = slice(*columns.indptr[score.column : score.column + 2])
            t.data[own] = score.of(columns.data[own]) - score.of(np.zeros(1))
        return t

    def _dense(self, values: FloatArray) -> FloatArray:
        t = self._dense_bases(values)
        pieces = [curve(t[:, score.column]) for score in self.scores]
        counted = self._counted(values[:, self.codes].sum(axis=1))
        products = [t[:, self.pairs[:, 0]] * t[:, self.pairs[:, 1]]]
        return np.hstack([*pieces, counted, *products])

    def _sparse(self, own: Any) -> Any:
        columns = own.tocsc()
        t = self._sparse_bases(columns)
        added = []
        for score in self.scores:
            rows = columns.indices[slice(*columns.indptr[score.column : score.column + 2])]
            zero = score.of(np.zeros(1))
            at = t.data[slice(*t.indptr[score.column : score.column + 2])] + zero
            pieces = curve(at) - curve(zero)
            added += [_column(rows, piece, own.shape[0]) for piece in pieces.T]
        count = np.asarray(own @ self.codes.astype(float)).ravel()
        added.append(sp.csc_array(self._counted(count)))
        if len(self.pairs):
            added.append(t[:, self.pairs[:, 0]].multiply(t[:, self.pairs[:, 1]]))
        made = sp.hstack(added, format="csr")
        made.eliminate_zeros()
        return made

    def _counted(self, count: FloatArray) -> FloatArray:
        columns = [count == 0 if edge == 0 else count >= edge for edge in self.edges]
        return np.array(columns, dtype=float).reshape(len(columns), len(count)).T


def _column(rows: NDArray[Any], values: FloatArray, n: int) -> Any:
    return sp.csc_array((values, rows, np.array([0, len(rows)])), shape=(n, 1))


def _as_csr(X: Matrix) -> Any:
    """The values that products are taken with: those less the origin."""
    arrays = X.to_arrays()
    values = arrays["values"] if isinstance(X, FloatCSR) else np.ones(X.nnz)
    index = np.int32 if max(X.nnz, X.n_cols) < 2**31 else np.int64
    parts = values, arrays["indices"].astype(index), arrays["indptr"].astype(index)
    return sp.csr_array(parts, shape=X.shape)


def _expanded_part(part: ProblemPart, recipe: Expansion) -> ProblemPart:
    X = recipe.matrix(part.X)
    return ProblemPart(X, part.s, part.g, part.omega, part.n_groups, part.first_row)


def basic_expansion(problem: Problem) -> Expansion:
    """The recipe without products of two features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = Dense(np.column_stack([np.exp(rng.normal(size=500)), rng.random(500) < 0.3]))
    >>> s, g = np.zeros(500, np.uint8), np.zeros(500, np.uint8)
    >>> recipe = basic_expansion(Problem.of(X, s, g, np.full(500, 1 / 500), n_groups=1))
    >>> [score.column for score in recipe.scores], recipe.edges, recipe.n_added
    ([0], (), 5)
    """
    sample = problem.take(evenly(problem.n, SAMPLE)).together().X
    values = sample.values if isinstance(sample, Dense) else _as_csr(sample).tocsc()
    columns = [_values_of(values, j) for j in range(sample.n_cols)]
    binary = np.array([bool(np.isin(column, (0.0, 1.0)).all()) for column in columns])
    if isinstance(sample, BinaryCSR):
        binary[:] = True
    scores = tuple(
        score
        for j in np.flatnonzero(~binary)
        if (score := normal_score(int(j), columns[j], sample.n_rows)) is not None
    )
    return Expansion(
        sample.n_cols, scores, binary, _edges(values, binary), np.empty((0, 2), dtype=np.int64)
    )


def recipe_for(problem: Problem, at: Parameters) -> Expansion:
    """The recipe with the products that the residuals of a fit of PURPLE ask for.

    Parameters
    ----------
    problem : Problem
        The rows it was fitted to, of which at most `MOST_ROWS` with, and as many without, a
        diagnosis are looked at.
    at : Parameters

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, s, g = rng.normal(size=(500, 3)), np.zeros(500, np.uint8), np.zeros(500, np.uint8)
    >>> problem = Problem.of(Dense(X), s, g, np.full(500, 1 / 500), n_groups=1)
    >>> recipe_for(problem, Parameters(np.zeros(3), -2.0, np.ones(1))).pairs.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    rows, share = some_of_each(problem.gathered(_is_diagnosed), MOST_ROWS)
    part = problem.take(rows).together()
    v = part.omega / share
    p = at.c[part.g] * expit(linear_predictor(part, at))
    basic = basic_expansion(problem)
    return basic.with_telling_pairs(part.X, (v * (part.s - p))[:, None], (v**2 * p)[:, None])


def _is_diagnosed(part: ProblemPart) -> NDArray[np.bool_]:
    return part.s > 0


def some_of_each(diagnosed: NDArray[np.bool_], most: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Rows evenly spread among those with, and without, a diagnosis, and which share was taken.

    Parameters
    ----------
    diagnosed : boolean array of shape (n,)
    most : int
        Largest number of either kind.

    Returns
    -------
    rows, share : arrays of shape (m,)
        Ascending positions, and the share of the rows of their kind that were taken.

    Examples
    --------
    >>> some_of_each(np.array([True, False, False, False, False]), 2)
    (array([0, 1, 4]), array([1. , 0.5, 0.5]))
    """
    found = [np.flatnonzero(diagnosed), np.flatnonzero(~diagnosed)]
    taken = [kind[evenly(len(kind), most)] for kind in found]
    rows = np.sort(np.concatenate(taken))
    shares = [len(few) / max(len(all_), 1) for few, all_ in zip(taken, found, strict=True)]
    return rows, np.where(diagnosed[rows], *shares)


def _values_of(values: Any, column: int) -> FloatArray:
    """The stored values of a column."""
    if isinstance(values, np.ndarray):
        return values[:, column]
    stored: FloatArray = values.data[slice(*values.indptr[column : column + 2])]
    return stored


def _edges(values: Any, codes: NDArray[np.bool_]) -> tuple[int, ...]:
    if codes.sum() < 2:
        return ()
    count = np.asarray(values @ codes.astype(float)).ravel()
    found = {int(np.ceil(value)) for value in np.quantile(count, COUNT_SHARES)}
    none = [0] if FEWEST_WITH <= (count == 0).sum() < len(count) else []
    return (*none, *sorted(k for k in found if k > 1))


def evenly(n: int, most: int) -> NDArray[np.int64]:
    """At most ``most`` of n positions, evenly spread."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).astype(np.int64)


def all_pairs(bases: NDArray[np.int64]) -> NDArray[np.int64]:
    """All pairs of these features, shape (q, 2)."""
    i, j = np.triu_indices(len(bases), k=1)
    return np.column_stack([bases[i], bases[j]])


def telling_pairs(
    t: Any, bases: NDArray[np.int64], residuals: FloatArray, noise: FloatArray
) -> NDArray[np.int64]:
    """The pairs whose product is related to a residual, the most telling ones first.

    Parameters
    ----------
    t : array or sparse matrix of shape (n, p)
    bases : integer array of shape (b,)
        Features to look at.
    residuals, noise : arrays of shape (n, q)
        v r and v^2 w of the module's formula.
    """
    own = t[:, bases]
    own = own if isinstance(own, np.ndarray) else own.tocsr()
    squared = own**2 if isinstance(own, np.ndarray) else own.multiply(own)

    def z_of(residual: FloatArray, variance: FloatArray) -> FloatArray:
        square = residual**2
        total, spread, middle = residual.sum(), square.sum(), _crossed(own, square)
        mean = middle / max(spread, 1e-300)
        top = _crossed(own, residual) - mean * total
        bottom = _crossed(squared, square) - 2 * mean * middle + mean**2 * spread
        expected = _crossed(own, variance) ** 2 / max(float(variance.sum()), 1e-300)
        bottom = np.maximum(bottom, _crossed(squared, variance) - expected)
        z = np.abs(top) / np.sqrt(np.maximum(bottom, 1e-300))
        return np.where(bottom > 1e-9 * spread, z, 0.0)

    held = _crossed(own != 0, np.ones(len(residuals)))
    each = list(zip(residuals.T, noise.T, strict=True))
    largest = np.max(map_threads(lambda one: z_of(*one), each), axis=0)
    i, j = np.triu_indices(len(bases), k=1)
    z = np.where(held[i, j] >= FEWEST_WITH, largest[i, j], 0.0)
    limit = norm.isf(CHANCE / 2 / max(len(z) * residuals.shape[1], 1))
    best = np.argsort(-z, kind="stable")[:MOST_TAKEN]
    best = best[z[best] > limit]
    return np.column_stack([bases[i[best]], bases[j[best]]])


def _crossed(own: Any, weight: FloatArray) -> FloatArray:
    """sum_i weight_i t_ij t_ik."""
    if isinstance(own, np.ndarray):
        return (own * weight[:, None]).T @ own.astype(float)
    scaled = sp.diags_array(weight) @ own.astype(float)
    return np.asarray((scaled.T @ own.astype(float)).todense())
