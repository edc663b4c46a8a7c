"""The atlas: every condition, group and contrast, with p- and q-values.

For each condition k and contrast, theta_k is the log ratio of diagnosis rates and s_k its standard
error (`relprev.atlas.scan`). Two p-values stand side by side:

    p_value          that theta_k is zero, as if the assumptions held exactly
    null_p_value     that theta_k is a draw from the empirical null of all conditions of the same
                     contrast (`relprev.atlas.null`)

and with each the q-values of Benjamini and Hochberg, over all conditions of the contrast. The
interval of the corrected ratio rho is that of chance alone. Beside it stands what the null makes
of it: the errors of a further condition are a draw from it, so that, with its centre mu and spread
tau,

    log calibrated = log rho + mu,    variance = that of log rho + tau^2 + var(mu),

as control conditions would have it (`relprev.controls.calibration`). Conditions that the features
do not predict (`relprev.atlas.informative`) have no answer: they keep their recorded ratio only,
and count neither for the null nor among the hypotheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from relprev.arrays import FloatArray
from relprev.atlas.conditions import Conditions, blocks_of_conditions
from relprev.atlas.informative import says_something
from relprev.atlas.null import empirical_null
from relprev.atlas.scan import HEAD, Scan
from relprev.cohort import Cohort
from relprev.errors import InvalidInputError
from relprev.estimates import COMPLEMENT
from relprev.progress import progress
from relprev.report.tables.table import csv_bytes
from relprev.store.files import written_whole

SCANNED, FOLLOWED = "case-only", "doubly robust"
FEW, SILENT = "too few cases", "features do not predict it"
TABLE, NULLS = "atlas", "nulls"
COLUMNS = (
    *HEAD, "observed_ratio", "diagnosis_ratio", "diagnosis_ci_low", "diagnosis_ci_high",
    "estimate", "ci_low", "ci_high", "calibrated", "calibrated_ci_low", "calibrated_ci_high",
    "effective_cases", "auc", "auc_low", "auc_high", "p_value", "q_value",
    "null_p_value", "null_q_value", "method", "withheld",
)  # fmt: skip
CALIBRATED = ("calibrated", "calibrated_ci_low", "calibrated_ci_high")
NULL_COLUMNS = ("group", "versus", "centre", "spread", "conditions")
ANSWERS = (
    "diagnosis_ratio", "log_diagnosis_error", "estimate", "std_error", "effective_cases",
    "degrees_of_freedom",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Atlas:
    """Conditions of a cohort, and how differently groups may be diagnosed with them.

    Parameters
    ----------
    table : DataFrame
        One row per condition and contrast. ``n_recorded`` and ``n_recorded_versus`` are visits
        with the condition on either side; ratios, intervals and p-values as the module says;
        ``method`` tells how the row was estimated and ``withheld`` why it was not.
    nulls : DataFrame
        Centre and spread of the empirical null of every contrast, as logarithms.
    level : float
        Of the intervals.

    Notes
    -----
    Formula: :mod:`relprev.atlas.result`, :mod:`relprev.atlas.scan`, :mod:`relprev.atlas.null`.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.simulate import visits_with_conditions
    >>> world = visits_with_conditions(20_000, n_conditions=30, n_codes=60, seed=1)
    >>> atlas = scan_conditions(world.cohort, conditions=["CONDITION*"], versus="Group B")
    >>> "case-only" in set(atlas.table["method"]), len(atlas.found(q=0.05)) <= len(atlas.table)
    (True, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atlas.save(folder)
    ...     Atlas.load(folder).table.equals(atlas.table)
    True
    """

    table: pd.DataFrame
    nulls: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*NULL_COLUMNS]))
    level: float = 0.95

    def __repr__(self) -> str:
        conditions = self.table["condition"].nunique()
        count = len(self.table[["group", "versus"]].drop_duplicates())
        plural = "" if count == 1 else "s"
        return f"<Atlas of {conditions} conditions, {count} contrast{plural}>"

    def found(self, q: float = 0.05) -> pd.DataFrame:
        """Rows that stand out from the empirical null, the most certain first.

        Parameters
        ----------
        q : float
            Largest ``null_q_value``: about this share of the rows stands out by chance.
        """
        rows = self.table[self.table["null_q_value"] <= q]
        return rows.sort_values("null_p_value", kind="stable")

    def save(self, folder: str | Path) -> None:
        """Write atlas and nulls into a folder, as CSV and as Parquet, each whole or not at all."""
        folder = Path(folder)
        for name, table in ((TABLE, self.table), (NULLS, self.nulls)):
            with written_whole(folder / f"{name}.csv") as temporary:
                temporary.write_bytes(csv_bytes(table))
            with written_whole(folder / f"{name}.parquet") as temporary:
                table.assign(level=self.level).to_parquet(temporary, index=False)

    @staticmethod
    def load(folder: str | Path) -> Atlas:
        """Read what `save` wrote."""
        files = [Path(folder) / f"{name}.parquet" for name in (TABLE, NULLS)]
        missing = [file.name for file in files if not file.is_file()]
        if missing:
            raise InvalidInputError(
                f"{folder} holds no atlas: there is no file {missing[0]}; give a folder written by "
                "Atlas.save or 'relprev atlas'"
            )
        table, nulls = (pd.read_parquet(file) for file in files)
        level = float(table["level"].iloc[0]) if len(table) else 0.95
        return Atlas(table.drop(columns="level"), nulls.drop(columns="level"), level)


def scan_conditions(
    cohort: Cohort,
    *,
    conditions: Conditions = "ccsr",
    versus: str = COMPLEMENT,
    folds: int = 5,
    level: float = 0.95,
    lonely_psu: str = "fail",
    random_state: int = 0,
    verbose: bool = False,
) -> Atlas:
    """Ask of every condition of a cohort in which groups it may be recorded less often.

    Parameters
    ----------
    cohort : Cohort
        With names of features (0 or 1), among them the codes that define conditions. Its diagnoses
        are not used.
    conditions : "ccsr", "category", "chapter", sequence of str, or mapping
        What the conditions are, see `relprev.atlas.blocks_of_conditions`.
    versus : str
        ``"complement"``, ``"pairwise"`` or the name of a group.
    folds : int
        Folds for cross-fitting the propensities.
    level : float
        Of the intervals.
    lonely_psu : "fail", "adjust" or "certainty"
        What to do with a stratum of one primary sampling unit.
    random_state : int
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    Atlas
        Conditions with too few cases in all groups are left out.

    Notes
    -----
    Formula: :mod:`relprev.atlas.scan`.

    Examples
    --------
    >>> from relprev.simulate import visits_with_conditions
    >>> cohort = visits_with_conditions(20_000, n_conditions=30, n_codes=60, seed=1).cohort
    >>> atlas = scan_conditions(cohort, conditions=["CONDITION*"], versus="Group B")
    >>> atlas.nulls[["group", "versus"]].values.tolist()
    [['Group A', 'Group B']]
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"level must be between 0 and 1, got {level}")
    if cohort.feature_names is None:
        raise InvalidInputError(
            "the cohort's features have no names, so conditions cannot be found among them; give "
            "as_cohort(..., feature_names=...)"
        )
    blocks = blocks_of_conditions(cohort.feature_names, conditions)
    scan = Scan(cohort, folds, lonely_psu, random_state)
    with progress("Atlas", len(blocks) + 1, verbose) as advance:
        advance("propensities")
        start = scan.start()
        tables = []
        for block in blocks:
            advance(block.name)
            tables.append(scan.table(block, start, versus))
    return atlas_of(tables, level)


def atlas_of(tables: Sequence[pd.DataFrame], level: float = 0.95) -> Atlas:
    """Put scanned blocks together, with intervals, p-values and q-values."""
    table = pd.concat(tables, ignore_index=True)
    table = table[table.groupby("condition")["estimate"].transform("count") > 0]
    silent = ~says_something(table["auc_low"], table["auc_high"])
    few = table["estimate"].isna()
    table = table.assign(withheld=np.select([few, silent], [FEW, SILENT], ""))
    table.loc[silent, [*ANSWERS]] = np.nan
    table = _with_intervals(table, level).assign(method=np.where(few | silent, "", SCANNED))
    judged, nulls = [], []
    for (group, versus), rows in table.groupby(["group", "versus"], sort=False):
        made, null = _judged(rows, level)
        judged.append(made)
        nulls.append(dict(zip(NULL_COLUMNS, (group, versus, *null), strict=True)))
    table = pd.concat(judged).sort_index() if judged else table
    return Atlas(
        table.reindex(columns=[*COLUMNS]).reset_index(drop=True),
        pd.DataFrame(nulls, columns=[*NULL_COLUMNS]), level,
    )  # fmt: skip


def _with_intervals(table: pd.DataFrame, level: float) -> pd.DataFrame:
    quantile = stats.t.ppf(0.5 + level / 2, table["degrees_of_freedom"])
    ends: dict[str, pd.Series] = {}
    for ratio, error, low, high in (
        ("estimate", "std_error", "ci_low", "ci_high"),
        ("diagnosis_ratio", "log_diagnosis_error", "diagnosis_ci_low", "diagnosis_ci_high"),
    ):
        half = quantile * table[error]
        ends |= {low: table[ratio] * np.exp(-half), high: table[ratio] * np.exp(half)}
    return table.assign(**ends)


def _judged(rows: pd.DataFrame, level: float) -> tuple[pd.DataFrame, tuple[float, float, int]]:
    """The rows of a contrast with p- and q-values; centre, spread and size of its null."""
    known = rows["diagnosis_ratio"].notna().to_numpy()
    x = np.log(rows["diagnosis_ratio"].to_numpy(dtype=float)[known])
    s, df = (rows[name].to_numpy(dtype=float)[known]
             for name in ("log_diagnosis_error", "degrees_of_freedom"))  # fmt: skip
    p = 2 * stats.t.sf(np.abs(x) / s, df)
    null, against = empirical_null(x, s), np.full(len(x), np.nan)
    calibrated = np.full((3, len(x)), np.nan)
    if null is not None:
        error = rows["std_error"].to_numpy(dtype=float)[known]
        against = null.p_value(x - null.mean, s**2, df)
        half = null.half_width(error**2, df, level)
        middle = np.log(rows["estimate"].to_numpy(dtype=float)[known]) + null.mean
        calibrated = np.exp([middle, middle - half, middle + half])
    values = {
        "p_value": p, "q_value": _q(p), "null_p_value": against, "null_q_value": _q(against),
        **dict(zip(CALIBRATED, calibrated, strict=True)),
    }  # fmt: skip
    for name, found in values.items():
        column = np.full(len(rows), np.nan)
        column[known] = found
        rows = rows.assign(**{name: column})
    nan = float("nan")
    return rows, (nan, nan, len(x)) if null is None else (null.mean, null.spread, len(x))


def _q(p: FloatArray) -> FloatArray:
    """Benjamini and Hochberg's adjusted p-values; NaN where p-values are."""
    if not len(p) or np.isnan(p).any():
        return np.full(len(p), np.nan)
    found: FloatArray = stats.false_discovery_control(p)
    return found
