"""How far would the answer move if a block of symptoms had not been recorded?

No check can see a symptom that nobody recorded. But leaving out a block B of those that were
recorded (all injury codes, say) and estimating again shows what *that* would have done,

    movement = log(estimate / estimate without B),

which gives the tipping points of `relprev.checks.sensitivity` a unit: an unmeasured symptom
would have to matter so many times as much as the strongest block: log alpha over the largest
movement, both without sign.

The estimate moves because the propensities do. At the true propensities every risk model leads to
the same theta (`relprev.inference.score`), so the movement is that of the case-only estimate, which
needs no risk. Propensities are fitted out of fold, in two halves and with the strength of the
estimator, with all features and then without each block, started from the former. What both have in
common, such as the luck of the draw, cancels in their ratio; so a sample is enough: all diagnosed
rows and at most 50,000 others, weighted for those left out.

An answer that the absence of the strongest block would have tipped is a concern; one that would
take twice as much is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.checks.blocks import default_blocks, given_blocks
from relprev.checks.check import Axes, Check, CheckResult, Verdict
from relprev.checks.feature_counts import feature_labels
from relprev.checks.sensitivity import Pair, compared, interval_of, recorded_cells, tipping_alpha
from relprev.cohort import Cohort
from relprev.cohort.origin import about, origin_of
from relprev.disclosure.columns import Column
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.estimates import COMPLEMENT, versus_words
from relprev.inference import DebiasedPURPLE
from relprev.inference.moments import GroupMoments
from relprev.inference.nuisance import score_data
from relprev.inference.propensity import (
    STRENGTHS,
    PropensityModel,
    PropensityProblem,
    fit_propensity,
)
from relprev.inference.score import solve_score
from relprev.matrix import as_matrix
from relprev.messages import Message, Number
from relprev.model.likelihood import Problem
from relprev.rows import one_part

OTHERS = 50_000  # undiagnosed rows that are enough
MOST_BLOCKS = 25
DRAWN = 15  # blocks in the figure
FIRM = 2.0  # strongest blocks that an answer should withstand
N_FOLDS = 2  # the estimator's folds, dealt to two: fits on half of the rows cost least
TOLERANCE = 1e-2
Columns = Mapping[str, Sequence[int]]


def check_benchmarks(
    fitted: DebiasedPURPLE, cohort: Cohort, blocks: Mapping[str, Sequence[str]] | None = None,
    versus: str = COMPLEMENT, *, level: float = 0.95, random_state: int = 0,
) -> CheckResult:  # fmt: skip
    """Leave out blocks of features one after another, and see how far the estimates move.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted to ``cohort``, with propensities by ridge.
    cohort : Cohort
        All rows that were passed to ``fit``.
    blocks : mapping of name to features, optional
        Names of features, or patterns such as ``"ICD10:S*"``. Default: chapters of the codes,
        see ``relprev.checks.blocks``.
    versus : str
        As in ``relative_prevalence``.
    level : float
        Of the intervals whose tipping points are compared.
    random_state : int
        Seed of the sample.

    Returns
    -------
    CheckResult
        ``table`` has a row for every comparison and block. ``statistic`` is the tipping point of
        the weakest comparison in units of the strongest block.

    Notes
    -----
    Formula: :mod:`relprev.checks.benchmarks`.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> fitted = DebiasedPURPLE(lambdas=1e-4, strengths=[1.0]).fit(cohort)
    >>> found = check_benchmarks(fitted, cohort, {"first": ["column 0"]}, "b")
    >>> found.table[["block", "features"]].to_dict("records")
    [{'block': 'first', 'features': 1}]
    """
    if not isinstance(fitted.propensity, str):
        raise InvalidInputError(
            "benchmarks fit propensities by ridge, but the estimator has a classifier of its own; "
            "fit it with propensity='ridge'"
        )
    names = feature_labels(cohort)
    columns: Columns = default_blocks(names) if blocks is None else given_blocks(blocks, names)
    columns = dict(list(columns.items())[:MOST_BLOCKS])
    pairs = compared(fitted, versus)
    if not columns or not pairs:
        nothing = Message("There is no estimate to move.") if columns else Message(
            "There is nothing to leave out: features have no chapters; name blocks of them."
        )  # fmt: skip
        table = pd.DataFrame(columns=list(CHECK.table))
        return CHECK.result(Verdict.CANNOT_TELL, nothing, table)
    moved = movements(fitted, cohort, columns, pairs, random_state)
    return _result(fitted, pairs, columns, moved, level)


def _result(
    fitted: DebiasedPURPLE, pairs: Sequence[Pair], columns: Columns, moved: FloatArray,
    level: float,
) -> CheckResult:  # fmt: skip
    tables = []
    for pair, own in zip(pairs, moved, strict=True):
        base, recorded = interval_of(fitted.moments_, pair, level)
        tip = abs(np.log(tipping_alpha(base, recorded)))
        strongest = np.nanmax(np.abs(own)) if np.isfinite(own).any() else np.nan
        tables.append(
            pd.DataFrame(
                {
                    "group": pair[0], "versus": pair[1], "block": list(columns),
                    "features": [len(one) for one in columns.values()],
                    "movement": np.exp(own), "without": base[0] * np.exp(-own),
                    "tip": tip / strongest if strongest > 0 else np.nan,
                }
            )
        )  # fmt: skip
    table = pd.concat(tables, ignore_index=True)
    size = np.abs(np.log(table["movement"]))
    tips = table["tip"].where(table["tip"] > 0)
    if tips.isna().all():
        top = table.loc[size.idxmax()] if size.notna().any() else None
        return CHECK.result(Verdict.CANNOT_TELL, _unmoved(top), table)
    weakest = table[table["tip"] == tips.min()]
    row = weakest.loc[size[weakest.index].idxmax()]
    (_, low, high), _ = interval_of(fitted.moments_, (row["group"], row["versus"]), level)
    effect = _effect(row, fitted.moments_.names, differs=not low <= 1 <= high)
    return CHECK.result(_verdict(row["tip"]), effect, table, statistic=float(row["tip"]))


def _verdict(tip: float) -> Verdict:
    if tip < 1:
        return Verdict.CONCERN
    return Verdict.NO_CONCERN if tip >= FIRM else Verdict.CANNOT_TELL


def _effect(row: pd.Series, names: Sequence[str], *, differs: bool) -> Message:
    cells = recorded_cells((row["group"], row["versus"]), names)
    return Message(
        "Without {block}, the estimate for {group} versus {versus} would have been {without}: a "
        "change by a factor of {movement}, the largest of any block. Something unmeasured would "
        "have to matter {tip} times as much for {point}.",
        block=row["block"], group=row["group"], versus=versus_words(row["versus"]),
        without=Number(row["without"], ".2f"), movement=Number(row["movement"], ".2f"),
        tip=Number(row["tip"], ".1f", cells),
        point="the interval to reach 1" if differs else "the recorded ratio to be right",
    )  # fmt: skip


def _unmoved(row: pd.Series | None) -> Message:
    if row is None:
        return Message("No block could be left out: without it the groups cannot be compared.")
    return Message(
        "No answer is there to tip: every interval includes 1 and the recorded ratio. The largest "
        "change, by a factor of {movement}, is without {block} ({group} versus {versus}).",
        movement=Number(row["movement"], ".2f"), block=row["block"], group=row["group"],
        versus=versus_words(row["versus"]),
    )  # fmt: skip


# -- estimating again ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    """Rows to estimate on, the folds' row positions, and what the propensities are fitted with."""

    problem: Problem
    folds: list[NDArray[np.int64]]
    strength: float
    units: float  # independent units for each row
    reference: int

    def without(self, columns: Sequence[int]) -> _Sample:
        """The same rows without some features."""
        part = self.problem.in_memory()
        X = as_matrix(part.X.to_scipy()[:, _others(part.X.n_cols, columns)])[0]
        rows = one_part(replace(part, X=X), self.problem.n)
        return replace(self, problem=Problem.made_of(rows, X.n_cols, self.problem.n_groups))

    def models(self, start: Sequence[PropensityModel] | None = None) -> list[PropensityModel]:
        """Propensities for every fold."""
        found: list[PropensityModel] = []
        for k, own in enumerate(self.folds):
            train = np.setdiff1d(np.arange(self.problem.n), own, assume_unique=True)
            rows = self.problem.take(train)
            units = max(1, round(self.units * len(train)))
            begin = start[k] if start is not None else found[0] if found else None
            problem = PropensityProblem(rows, units)
            found.append(fit_propensity(problem, self.strength, begin, tolerance=TOLERANCE))
        return found

    def theta(self, models: list[PropensityModel]) -> FloatArray:
        """The case-only root; NaN if there is none."""
        data = score_data(self.problem, self.folds, models, None, self.reference)
        try:
            return solve_score(data)
        except TooFewCasesError:
            return np.full(self.problem.n_groups, np.nan)


def movements(
    fitted: DebiasedPURPLE, cohort: Cohort, blocks: Columns, pairs: Sequence[Pair], seed: int
) -> FloatArray:
    """log(estimate / estimate without the block), shape (comparisons, blocks).

    Parameters
    ----------
    fitted : DebiasedPURPLE
    cohort : Cohort
        All rows that were passed to ``fit``.
    blocks : mapping of name to columns
    pairs : sequence of (group, versus)
    seed : int
        Of the sample.
    """
    sample = _sample(fitted, cohort, seed)
    models = sample.models()
    whole = _log_ratios(fitted.moments_, sample.theta(models), pairs)
    out = np.empty((len(pairs), len(blocks)))
    for k, columns in enumerate(blocks.values()):
        kept = _others(cohort.n_cols, columns)
        start = [replace(one, coef=np.ascontiguousarray(one.coef[:, kept])) for one in models]
        fewer = sample.without(columns)
        theta = fewer.theta(fewer.models(start))
        out[:, k] = whole - _log_ratios(fitted.moments_, theta, pairs)
    return out


def _log_ratios(moments: GroupMoments, theta: FloatArray, pairs: Sequence[Pair]) -> FloatArray:
    """Log relative prevalences at another theta."""
    names, at = moments.names, replace(moments, theta=theta)
    found = []
    for group, versus in pairs:
        own = names.index(group)
        others = [k for k in range(len(names)) if k != own]
        others = others if versus == COMPLEMENT else [names.index(versus)]
        found.append(at.contrast(own, np.array(others)).values[0])
    return np.array(found)


def _sample(fitted: DebiasedPURPLE, cohort: Cohort, seed: int) -> _Sample:
    rows, fold = fitted.rows_, np.asarray(fitted.folds_)
    diagnosed = cohort.diagnosed[rows] == 1
    others = np.flatnonzero(~diagnosed)
    share = min(1.0, OTHERS / max(len(others), 1))
    if share < 1:
        rng = np.random.default_rng([seed, 7])
        others = rng.choice(others, OTHERS, replace=False)
    picked = np.sort(np.concatenate([np.flatnonzero(diagnosed), others]))
    sub = cohort.take(rows[picked]).collected()
    numbers = np.array([cohort.group_names.index(name) for name in fitted.moments_.names])
    sub = sub.with_groups(numbers) if len(numbers) < cohort.n_groups else sub
    part = sub.in_memory()
    weights = part.row_weights / np.where(part.diagnosed == 1, 1.0, share)
    sub = sub.with_values(weights=weights)
    clusters = sub.clusters
    units = 1.0 if clusters is None else len(np.unique(clusters)) / sub.n
    half = fold[picked] % N_FOLDS
    folds = [np.flatnonzero(half == k) for k in range(N_FOLDS)]
    strength = fitted.strength_
    return _Sample(
        Problem.from_cohort(about(sub, origin_of(sub))), folds,
        min(STRENGTHS) if np.isnan(strength) else strength, units,
        fitted.score_data_.reference,
    )  # fmt: skip


def _others(count: int, columns: Sequence[int]) -> NDArray[np.int64]:
    return np.setdiff1d(np.arange(count), np.asarray(columns))


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    if table.empty:
        return
    sizes = table.assign(size=np.abs(np.log(table["movement"].astype(float))))
    order = sizes.groupby("block")["size"].max().sort_values().index[-DRAWN:]
    position = {block: k for k, block in enumerate(order)}
    who = table["group"] + " vs " + table["versus"].map(versus_words)
    for label, part in table[table["block"].isin(order)].groupby(who, sort=False):
        ax.plot(part["movement"], part["block"].map(position), "o", label=str(label))
    ax.axvline(1.0, color="grey", linewidth=1)
    ax.set_yticks(range(len(order)), list(order))
    ax.set_xscale("log")
    ax.set_xlabel("factor by which the block moves the estimate")
    ax.legend()


CHECK = Check(
    kind="benchmarks",
    title="Benchmarks from recorded symptoms",
    explained=(
        "Leaves out one block of symptoms after another and estimates again. What the strongest "
        "block does to the answer is a measure for what a symptom that nobody recorded could do."
    ),
    run=lambda given: [
        check_benchmarks(
            given.debiased, given.cohort, given.blocks, given.versus, level=given.level,
            random_state=given.seed,
        )
    ],
    needs=("debiased",),
    table=dict.fromkeys(["group", "versus", "block"], Column.NAME)
    | dict.fromkeys(["features", "movement", "without"], Column.FREE)
    | {"tip": Column.REVEALING},
    columns=("group", "versus", "block", "features", "movement", "without", "tip"),
    draw=_draw,
    by_symptoms=True,
    assumption=False,
    seconds=40.0,
)  # fmt: skip
