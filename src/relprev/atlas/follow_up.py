"""Estimate again, with a risk model, what the scan singles out.

The score of `relprev.inference.score` with the block's propensities and a risk m(x) of the
condition, fitted out of fold without the block's features on the condition's cases and a sample of
other visits, as for control conditions (`relprev.controls.nuisances`). Its penalty is the one of

    lambda = noise * (3, 1, 0.3, 0.1)

with the lowest out-of-fold deviance, where noise is that of a gradient over the sample. Errors of
the propensities then enter only as a product with those of the risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import group_sums
from relprev.atlas.cases import Cases
from relprev.atlas.conditions import Block
from relprev.atlas.scan import MIN_CASES, Scan, Start
from relprev.controls.estimates import ControlRows
from relprev.controls.nuisances import Sample, control_risk, with_risk
from relprev.errors import TooFewCasesError
from relprev.estimates import COMPLEMENT
from relprev.inference.intervals import infer
from relprev.inference.moments import group_moments
from relprev.inference.score import ScoreData, solve_score
from relprev.matrix import as_matrix
from relprev.model.likelihood import Problem, ProblemPart

STRENGTHS = (3.0, 1.0, 0.3, 0.1)  # penalties, in units of the noise
STREAM = 29  # of random numbers
VALUES = ("estimate", "ci_low", "ci_high", "diagnosis_ratio", "diagnosis_ci_low",
          "diagnosis_ci_high")  # fmt: skip
KEYS = ("condition", "group", "versus")
COLUMNS = tuple(f"robust_{name}" for name in VALUES)


def follow_up(
    scan: Scan, block: Block, start: Start, conditions: Sequence[str],
    versus: str = COMPLEMENT, level: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Doubly robust estimates of some conditions of a block.

    Parameters
    ----------
    scan : Scan
    block : Block
    start : Start
        Of `Scan.start`.
    conditions : sequence of str
    versus : str
        As in `relprev.atlas.scan_conditions`.
    level : float
        Of the intervals.

    Returns
    -------
    DataFrame
        Condition, group and versus, and the columns ``robust_``: estimate, diagnosis_ratio and
        their intervals; NaN where there are too few cases.
    """
    data = scan.propensities(block, start)
    keep = scan.used(block)
    fewer = Problem.made_of(
        scan.problem.derive(_with_columns, keep), len(keep), scan.cohort.n_groups
    )
    rows = ControlRows(fewer, data, scan.design, scan.fold, scan.cohort.group_names)
    cases = scan.cases(block)
    tables = [_one(scan, rows, cases, name, start, versus, level) for name in conditions]
    found = pd.concat(tables, ignore_index=True)
    return found.rename(columns=dict(zip(VALUES, COLUMNS, strict=True)))[[*KEYS, *COLUMNS]]


def _one(
    scan: Scan, rows: ControlRows, cases: Cases, name: str, start: Start, versus: str, level: float
) -> pd.DataFrame:
    names, groups = scan.cohort.group_names, scan.groups
    recorded = np.zeros(scan.cohort.n, dtype=np.uint8)
    recorded[cases.rows[cases.of[name]]] = 1
    weight = np.array([
        group_sums(groups, scan.weights, len(names)),
        group_sums(groups, scan.weights * recorded, len(names)),
    ])  # fmt: skip
    n, n_recorded = (
        np.bincount(groups[some], minlength=len(names)) for some in (recorded >= 0, recorded > 0)
    )
    kept = np.flatnonzero(cases.patients[name] >= MIN_CASES)
    own, used = rows.of_groups(kept, groups), recorded[np.isin(groups, kept)]
    rng = np.random.default_rng([scan.random_state, STREAM, int(cases.of[name][0])])
    try:
        data, theta = _with_risk(own, used, Sample.of(used, rng), start.strength)
    except TooFewCasesError:
        return pd.DataFrame([{"condition": name}]).reindex(columns=[*KEYS, *VALUES])
    moments = group_moments(data, theta, own.names, own.design)
    found = infer(moments, names, n, n_recorded, weight, versus, level=level).to_frame()
    return found.assign(condition=name)[[*KEYS, *VALUES]]


def _with_risk(
    own: ControlRows, recorded: NDArray[np.uint8], sample: Sample, strength: float
) -> tuple[ScoreData, NDArray[np.float64]]:
    """The score with the condition's risk, and its root."""
    penalties = [factor * sample.noise for factor in STRENGTHS]
    risk = control_risk(
        own.problem,
        own.data,
        own.fold,
        sample,
        penalties,
        strength,
        own.n_patients,
        own.design,
    )
    each = list(zip(own.data.cut(own.fold), own.data.cut(recorded), own.data.handles, strict=True))
    data = own.data.holding(own.problem.derive(with_risk, risk, each=each))
    return data, solve_score(data, start=risk.theta, tolerance=1e-7)


def _with_columns(part: ProblemPart, keep: NDArray[np.int64]) -> ProblemPart:
    X: Any = as_matrix(part.X.to_scipy()[:, keep])[0]
    return ProblemPart(X, part.s, part.g, part.omega, part.n_groups, part.first_row)
