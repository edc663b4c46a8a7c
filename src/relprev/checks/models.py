"""Do the two models behind the estimate miss something that the features know?

The estimate is right if either the model of the groups or that of the diagnoses is, and precise if
both are. This check asks each of them whether its out-of-fold residuals r, 1(g) - pi_g(x) or
s - m(x) e^theta, are related to curves and products of features (`relprev.model.expansion`), or
to gradient-boosted trees. Patients are split in halves. A function h(x) is learned from the
residuals of one half, by ridge regression or by trees (products of features are picked there too),
and tested on the other half, after its projection on the features Z that the model uses has been
taken away,

    z = sum_i v_i r_i h'_i / sqrt(sum_u (sum_{i in u} v_i r_i h'_i)^2),
    h' = h - Z b,    b = argmin sum_i v_i w_i (h_i - Z_i b)^2,    w = pi (1 - pi) or m e^theta,

with sums over patients u. Errors of the coefficients of Z then cancel in first order (a residual's
mean is w Z times the error), so that z is standard normal if the model is right, and positive if h
has found something. The halves swap places. One-sided p-values of both halves, of the two kinds of
h, of all groups and of both models are combined by Cauchy's rule (Liu and Xie 2020),

    p = 1/2 - arctan(t) / pi,    t = mean_k tan((1/2 - p_k) pi),

which needs no knowledge of how the tests depend on each other: where p is small, t has the same
tail for independent tests as for equal ones.

How much is missed is the standard deviation, under the weights v w, of the part of the logarithm of
the odds (or of the risk) that h explains and the model does not,

    D = sum_i v_i r_i h'_i / sqrt(sum_i v_i w_i h'_i^2 sum_i v_i w_i),    standard error D / z.

The estimate is off by a mean, over cases, of the product of what both models miss, so by no more
than D of the groups times D of the diagnoses (Cauchy and Schwarz; the second is 1 without a model
of the diagnoses). Let B be that product, with the upper end of both intervals. The check is a
concern if the test rejects and B exceeds a quarter of the smallest standard error of a log ratio:
with a bias below that, a 95% interval still holds the truth 94% of the time. In large data a test
finds something in every model, which may be far too small to matter. It is no concern otherwise,
if at least `ENOUGH_CASES` patients are diagnosed; with fewer, a wrong model of the diagnoses is
often not seen, and the check cannot tell. B sees only what h has found. Trees learn slowly and are
too cautious, all in the same direction, so that h, which is learned in half of the rows, finds
little of what they miss: where they are used, a test that rejects is a concern, and one that does
not cannot tell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from relprev.arrays import FloatArray
from relprev.checks.check import Axes, Check, CheckResult, Verdict
from relprev.cohort import Cohort
from relprev.cohort.origin import about, origin_of
from relprev.cohort.summary import diagnosed_patients
from relprev.disclosure.columns import Column
from relprev.inference import DebiasedPURPLE
from relprev.inference.adaptive import Look, residual_z
from relprev.inference.estimable import rows_used
from relprev.inference.trees import PROBE, columns_of, compact
from relprev.messages import Message, Number
from relprev.model.expansion import Expansion, evenly
from relprev.model.likelihood import Problem
from relprev.parallel.threads import one_blas_thread

GROUPS, DIAGNOSES = "model of the groups", "model of the diagnoses"
SEED = 11
ENOUGH_CASES = 200  # diagnosed patients with whom a wrong model would mostly be seen
SMALL_SHARE = 0.25  # of a standard error; a bias below this cannot be seen in an interval
MOST_ROWS = 25_000  # with and without a diagnosis
TREE_ROWS = 10_000  # to fit trees to
MOST_P_VALUE = 0.99  # a single test that is sure of the contrary must not outweigh all others
NOTHING_NEW = 1e-6  # share of h's variance beyond the model's features that is rounding
ACCURACY = 1e-6  # of regressions, so that rows in memory and in parts give the same
RIDGE_SHARE = 0.01  # of the weight, as the ridge of standardised features


@one_blas_thread()
def check_models(fitted: DebiasedPURPLE, cohort: Cohort, *, level: float = 0.95) -> CheckResult:
    """Test whether a richer model would tell the groups apart, or predict diagnoses, better.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted to the cohort.
    cohort : Cohort
    level : float
        The test rejects below ``1 - level``.

    Returns
    -------
    CheckResult
        A concern if one of the models misses something that may matter. ``table`` has one row per
        model; ``missed`` is the factor by which its odds, or risks, are typically off.

    Notes
    -----
    Formula: :mod:`relprev.checks.models`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), n=(2_000, 4_000), seed=1).cohort
    >>> fitted = DebiasedPURPLE(n_repeats=1).fit(cohort)
    >>> print(check_models(fitted, cohort).verdict)
    no concern
    """
    tests = _Tests.of(fitted, cohort, level)
    rows = [tests.row(GROUPS, fitted.propensity_model_)]
    if fitted.risk is not None:
        rows.append(tests.row(DIAGNOSES, fitted.risk_model_))
    table = pd.DataFrame(rows)
    worst = table.iloc[int(np.argmin(table["p_value"].to_numpy()))]
    p_value = combined_p_value(table["p_value"].to_numpy())
    moved = float(np.prod(np.log(table["missed_high"])))
    found = p_value < 1 - level
    trees = any("trees" in words for words in table["fitted"])
    enough = tests.n_cases >= ENOUGH_CASES and not trees
    verdict = Verdict.NO_CONCERN if enough else Verdict.CANNOT_TELL
    if found and (trees or moved > SMALL_SHARE * _smallest_error(fitted)):
        verdict = Verdict.CONCERN
    return CHECK.result(
        verdict, _effect(verdict, found, worst, moved, trees), table,
        statistic=float(worst["z"]), p_value=p_value,
    )  # fmt: skip


def _smallest_error(fitted: DebiasedPURPLE) -> float:
    """The smallest standard error of a log ratio of diagnosis rates."""
    moments = fitted.moments_
    variance = np.diag(moments.covariance)[2 * len(moments.names) :]
    known = variance[moments.has_estimate & (variance > 0)]
    return float(np.sqrt(known.min())) if len(known) else float("inf")


def combined_p_value(p: FloatArray) -> float:
    """One p-value for several, by Cauchy's rule; 1 for none. See the module.

    Examples
    --------
    >>> round(combined_p_value(np.array([0.02, 0.02])), 3)
    0.02
    >>> round(combined_p_value(np.array([0.02, 0.5])), 3)
    0.04
    """
    if not len(p):
        return 1.0
    within = np.clip(p, 1e-15, MOST_P_VALUE)
    return float(stats.cauchy.sf(np.mean(np.tan((0.5 - within) * np.pi))))


class _Missed(NamedTuple):
    """What a kind of h finds: p-values of the halves, D and the standard error of D.

    Where h says nothing that the model's own features do not, there is nothing to test.
    """

    p_values: FloatArray
    size: float
    error: float


class _Tests:
    """Rows to test on, and what the models leave over there."""

    def __init__(self, look: Look, recipe: Expansion, n_cases: int, level: float) -> None:
        self.look, self.recipe, self.n_cases = look, recipe, n_cases
        self.quantile = float(stats.norm.ppf(0.5 + level / 2))
        unit = look.unit
        self.half = np.random.default_rng(SEED).random(int(unit.max()) + 1)[unit] < 0.5
        self.expanded = self.recipe.matrix(look.X).to_scipy()
        self.by_half = {train: self._expanded_by(train) for train in (True, False)}

    def _expanded_by(self, train: bool) -> Any:
        """Features expanded by what one half of the rows asks for, shape (n, q)."""
        own = self.look.take(np.flatnonzero(self.half == train))
        return own.with_telling_pairs(self.recipe).matrix(self.look.X).to_scipy()

    @staticmethod
    def of(fitted: DebiasedPURPLE, cohort: Cohort, level: float) -> _Tests:
        kept = rows_used(fitted, cohort)
        problem = Problem.from_cohort(about(kept, origin_of(kept)))
        patient = fitted.design_.patient
        look = Look.at(problem, fitted.score_data_, fitted.score_theta_, patient, most=MOST_ROWS)
        recipe = fitted.expansion_ or look.recipe(problem)
        return _Tests(look, recipe, int(diagnosed_patients(kept).sum()), level)

    def row(self, model: str, words: str) -> dict[str, Any]:
        """All tests of one model as one p-value, and the most telling kind of them."""
        of_groups = model == GROUPS
        residuals = self.look.groups if of_groups else self.look.diagnoses
        weights = self.look.group_weights if of_groups else self.look.diagnosis_weights
        features = self.expanded if "expanded" in words else self.expanded[:, : self.recipe.n_in]
        numeric = np.array([score.column for score in self.recipe.scores], dtype=np.int64)
        noise = (self.look.v * weights).T
        each = zip(residuals.T, noise, strict=True)
        z = np.array([residual_z(self.look.X, *one) for one in each])
        trees = columns_of(self.look.X, compact(z, numeric))
        first = 1 if of_groups and residuals.shape[1] == 2 else 0  # two groups mirror each other
        found = {
            (kind, k): self._z(kind, trees, features, residuals[:, k], weights[:, k])
            for k in range(first, residuals.shape[1])
            for kind in ("curves and products", "trees")
        }
        best = min(found, key=lambda key: combined_p_value(found[key].p_values))
        p_value = combined_p_value(np.concatenate([one.p_values for one in found.values()]))
        high = max(max(one.size, 0.0) + self.quantile * one.error for one in found.values())
        return {
            "model": model, "fitted": words, "found_by": best[0],
            "z": float(stats.norm.isf(p_value)), "p_value": p_value,
            "missed": float(np.exp(max(found[best].size, 0.0))), "missed_high": float(np.exp(high)),
        }  # fmt: skip

    def _z(
        self, kind: str, trees: FloatArray, features: Any, residual: FloatArray, weight: FloatArray
    ) -> _Missed:
        """What is found in each half by what was learned in the other."""
        each = []
        for half in (True, False):
            train = self.half == half
            test = np.flatnonzero(~train)
            if kind == "trees":
                h = _by_trees(trees, residual, train)
            else:
                h = _by_ridge(self.by_half[half], residual, weight, train)
            beyond = _without_projection(h, features[test], weight[test])
            if _spread(beyond, weight[test]) > NOTHING_NEW * _spread(h, weight[test]):
                each.append(self._judged(residual[test] * beyond, beyond, weight[test], test))
        if not each:
            return _Missed(np.empty(0), 0.0, 0.0)
        z, size, error = np.array(each).T
        return _Missed(stats.norm.sf(z), float(size.mean()), float(error.mean()))

    def _judged(
        self, terms: FloatArray, h: FloatArray, weight: FloatArray, rows: NDArray[np.int64]
    ) -> tuple[float, float, float]:
        total = np.bincount(self.look.unit[rows], terms)
        spread = float(np.sqrt(max(float(total @ total), 1e-300)))
        scale = float(np.sqrt(max(float(weight @ h**2) * float(weight.sum()), 1e-300)))
        return float(total.sum()) / spread, float(total.sum()) / scale, spread / scale


def _spread(h: FloatArray, weight: FloatArray) -> float:
    """sum w (h - its mean)^2."""
    away = h - float(weight @ h) / max(float(weight.sum()), 1e-300)
    return float(weight @ away**2)


def _by_ridge(
    expanded: Any, residual: FloatArray, weight: FloatArray, train: NDArray[np.bool_]
) -> FloatArray:
    """h in the other half, by a ridge regression of residual over weight."""
    safe = np.maximum(weight, 1e-12 * weight.max())
    scale = _sizes(expanded)
    own = expanded[train] @ sp.diags_array(1 / scale) if sp.issparse(expanded) else (
        expanded[train] / scale
    )  # fmt: skip
    strength = float(safe[train].sum()) * RIDGE_SHARE
    solver = "sparse_cg" if sp.issparse(own) else "cholesky"
    model = Ridge(alpha=strength, solver=solver, tol=ACCURACY)
    model.fit(own, residual[train] / safe[train], sample_weight=safe[train])
    other = expanded[~train] @ (model.coef_ / scale)
    return np.asarray(other).ravel() + float(model.intercept_)


def _sizes(expanded: Any) -> FloatArray:
    square = expanded.multiply(expanded) if sp.issparse(expanded) else expanded**2
    size = np.sqrt(np.asarray(square.mean(axis=0)).ravel())
    return np.where(size > 0, size, 1.0)


def _by_trees(values: FloatArray, residual: FloatArray, train: NDArray[np.bool_]) -> FloatArray:
    r = residual / (float(np.sqrt(np.mean(residual**2))) or 1.0)
    with threadpool_limits(1, user_api="openmp"):
        forest = HistGradientBoostingRegressor(**PROBE, random_state=SEED)
        rows = np.flatnonzero(train)
        rows = rows[evenly(len(rows), TREE_ROWS)]
        found: FloatArray = forest.fit(values[rows], r[rows]).predict(values[~train])
    return found


def _without_projection(h: FloatArray, Z: Any, weight: FloatArray) -> FloatArray:
    """h less its weighted projection on Z and a constant."""
    root, scale = np.sqrt(np.maximum(weight, 0.0)), _sizes(Z)
    n, p = Z.shape

    def forward(b: FloatArray) -> FloatArray:
        found: FloatArray = root * (np.asarray(Z @ (b[:-1] / scale)).ravel() + b[-1])
        return found

    def back(r: FloatArray) -> FloatArray:
        own = root * r
        return np.append(np.asarray(Z.T @ own).ravel() / scale, own.sum())

    system = LinearOperator((n, p + 1), matvec=forward, rmatvec=back, dtype=float)
    b = lsmr(system, root * h, atol=ACCURACY, btol=ACCURACY, maxiter=500)[0]
    return h - np.asarray(Z @ (b[:-1] / scale)).ravel() - b[-1]


def _effect(verdict: Verdict, found: bool, worst: pd.Series, moved: float, trees: bool) -> Message:
    factor = Number(float(np.exp(moved)), ".3f")
    if not found and verdict is Verdict.NO_CONCERN:
        return Message("No richer model was found that would do better than the two models used.")
    if not found:
        why = "with so few diagnosed patients it might not have been"
        if trees:
            why = "what trees, which are among them, still miss can hardly be found by other trees"
        return Message(
            "No richer model was found that would do better than the two models used, but {why}.",
            why=why,
        )
    better = (
        "tell the groups apart better" if worst["model"] == GROUPS else "predict diagnoses better"
    )
    said = Message(
        "A richer model ({kind}) would {better} than the one used ({words}; z = {z}).",
        kind=worst["found_by"], better=better, words=worst["fitted"], z=Number(worst["z"], ".1f"),
    )  # fmt: skip
    if verdict is not Verdict.CONCERN:
        return Message(
            "{said} This is detectable, but what both models miss could move ratios by a factor of "
            "no more than {factor}: too little to matter.",
            said=said, factor=factor,
        )  # fmt: skip
    return Message(
        "{said} Together with what the other model may miss, this could move ratios by a factor of "
        "{factor}, and by more if neither was found out in full. Give features in the form in "
        "which they matter, or name a learner as propensity or risk.",
        said=said, factor=factor,
    )  # fmt: skip


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    position = np.arange(len(table))[::-1]
    ax.barh(position, table["z"], color="C0")
    ax.axvline(float(stats.norm.isf(0.025)), color="grey", linewidth=1)
    ax.set_yticks(position, table["model"])
    ax.set_xlabel("what a richer model finds in the residuals (z)")


CHECK = Check(
    kind="models",
    title="Models of the groups and of the diagnoses",
    explained=(
        "Asks whether curves and products of features, or trees, find something that the model of "
        "the groups or that of the diagnoses has missed. If one of them is right the estimate is, "
        "but neither is known to be. Missed: the factor by which odds or risks are typically off; "
        "the estimate is off by what both miss at the same symptoms."
    ),
    run=lambda given: [check_models(given.debiased, given.cohort, level=given.level)],
    needs=("debiased",),
    table=dict.fromkeys(["model", "fitted", "found_by"], Column.NAME)
    | dict.fromkeys(["z", "p_value", "missed", "missed_high"], Column.FREE),
    columns=("model", "fitted", "found_by", "z", "p_value", "missed", "missed_high"),
    draw=_draw,
    seconds=30.0,
)
