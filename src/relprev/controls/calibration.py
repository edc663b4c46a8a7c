"""Calibration: what control conditions say about the estimate of another.

A control is a condition that is hardly ever missed, in any group, so that its recorded ratio is
the truth and whatever the correction does to it is an error. The errors e_k of the controls are
modelled as draws from N(mu, tau^2) (`relprev.controls.random_effects`). If the condition of
interest is one more such draw, its ratio is

    log rho = log rho^ - mu +- t sqrt(v + tau^2 + var(mu)),

with v the variance of log rho^. That it is such a draw cannot be tested; whether the controls
are draws of one another can: each is predicted from the others, and its interval should hold its
own truth about 95 times in 100. Where the features predict the condition better than the
controls (`relprev.controls.likeness`), it is no such draw, and the estimate is not calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from relprev.controls.estimates import control_estimates
from relprev.controls.likeness import BETTER, Likeness
from relprev.controls.random_effects import RandomEffects
from relprev.estimates import COMPLEMENT
from relprev.inference.discrimination import discrimination
from relprev.parallel.threads import one_blas_thread

if TYPE_CHECKING:
    from relprev.cohort import Cohort
    from relprev.inference import DebiasedPURPLE

LEAST_CONTROLS = 5
WIDEST_BAND = 4.0  # factor either way that controls may err by and still calibrate
TOO_FEW = "too few controls could be estimated"
DISAGREE = "the controls disagree too much with one another"
UNLIKE = "the features predict the condition better than they predict the controls"
NAN = float("nan")


@dataclass(frozen=True)
class Calibration:
    """Estimates corrected by the errors of control conditions.

    Parameters
    ----------
    estimates : pandas.DataFrame
        Rows of `InferredPrevalence.to_frame`.
    controls : pandas.DataFrame
        From `control_estimates`, for the same contrasts.
    level : float
        Of the intervals.
    auc : (float, float)
        How well the features predict the condition, within groups, and the standard error of that;
        NaN if it is not known.

    Notes
    -----
    Formula: :mod:`relprev.controls.calibration`, :mod:`relprev.controls.likeness`.

    Examples
    --------
    >>> from relprev.simulate import visits_with_controls
    >>> from relprev import DebiasedPURPLE, calibrate
    >>> world = visits_with_controls(20_000, n_controls=8, n_codes=60, spread=0.3, seed=2)
    >>> fitted = DebiasedPURPLE(lambdas=1e-4, strengths=[3.0]).fit(world.cohort)
    >>> calibration = calibrate(fitted, world.cohort, versus="Group B")
    >>> table = calibration.to_frame()
    >>> bool((table["calibrated_ci_high"] > table["ci_high"]).all())
    True
    >>> calibration.leave_one_out().columns[:3].to_list()
    ['control', 'group', 'versus']
    >>> calibration.effects("Group A", "Group B").count
    8
    >>> list(calibration.log_alpha)
    [('Group A', 'Group B')]
    >>> calibration.likeness("Group A", "Group B").words
    'alike'
    """

    estimates: pd.DataFrame
    controls: pd.DataFrame
    level: float = 0.95
    auc: tuple[float, float] = (NAN, NAN)

    def effects(self, group: str, versus: str, without: str = "") -> RandomEffects | None:
        """Mean and spread of the controls' errors of one contrast.

        Parameters
        ----------
        group, versus : str
            The contrast, as in the tables.
        without : str
            A control to leave out.

        Returns
        -------
        RandomEffects or None
            None if fewer than two controls have an estimate.
        """
        rows = self._of(group, versus)
        rows = rows[rows["control"] != without]
        if len(rows) < 2:
            return None
        return RandomEffects.of(rows["log_error"], rows["std_error"] ** 2)

    def likeness(self, group: str, versus: str) -> Likeness:
        """How well the features predict the condition, beside the controls of one contrast.

        Parameters
        ----------
        group, versus : str
            The contrast, as in the tables.
        """
        return Likeness.of(*self.auc, self._of(group, versus), self.level)

    @property
    def log_alpha(self) -> dict[tuple[str, str], tuple[float, float]]:
        """Mean and standard deviation of log alpha by (group, versus), where controls can tell.

        The true ratio is alpha times the estimate, so log alpha is minus the error.
        """
        found = {}
        for group, versus in zip(self.estimates["group"], self.estimates["versus"], strict=True):
            effects = self.effects(group, versus)
            unlike = self.likeness(group, versus).words == BETTER
            if effects is not None and effects.count >= LEAST_CONTROLS and not unlike:
                spread = np.sqrt(effects.spread**2 + effects.mean_variance)
                found[group, versus] = (-effects.mean, float(spread))
        return found

    def to_frame(self) -> pd.DataFrame:
        """Table with one row per contrast.

        Returns
        -------
        pandas.DataFrame
            group, versus, estimate, ci_low, ci_high: as estimated. calibrated, calibrated_ci_low,
            calibrated_ci_high, calibrated_p_value: set right by the controls, with the prediction
            interval; NaN if not ``calibrated_withheld`` is empty, which says why. mean_error (a
            factor), spread (of log errors), band (factor either way that holds the error of
            an exact estimate), n_controls, and how many of these the intervals hold: held, as
            estimated, and held_calibrated, each predicted from the others. auc (of the condition,
            within groups), where the controls expect it (auc_low, auc_high), and likeness:
            "better" or "worse" predicted than the controls, or "alike"; empty if not known.
        """
        checked = self.leave_one_out()
        rows = []
        for row in self.estimates.to_dict("records"):
            same = (checked["group"] == row["group"]) & (checked["versus"] == row["versus"])
            counts: dict[str, Any] = {
                "n_controls": int(same.sum()),
                "held": int(checked.loc[same, "holds"].sum()),
                "held_calibrated": int(checked.loc[same, "holds_calibrated"].sum()),
            }
            like = self.likeness(row["group"], row["versus"])
            counts |= {"auc": like.auc, "auc_low": like.low, "auc_high": like.high}
            counts |= {"likeness": like.words}
            names = ("group", "versus", "estimate", "ci_low", "ci_high", "observed_ratio")
            rows.append({name: row[name] for name in names} | self._calibrated(row, like) | counts)
        return pd.DataFrame(rows)

    def leave_one_out(self) -> pd.DataFrame:
        """The controls one by one, each predicted from the others.

        Returns
        -------
        pandas.DataFrame
            One row per control and contrast with an estimate: auc (how well the features predict
            it, within groups), error (corrected over recorded ratio), its interval ci_low and
            ci_high, and that predicted from the other controls (predicted_low, predicted_high).
            ``holds``: the control's own interval holds 1; ``holds_calibrated``: the predicted one
            holds its error.
        """
        rows = []
        for row in self.controls[self.controls["std_error"].notna()].to_dict("records"):
            error, spread, df = row["log_error"], row["std_error"], row["degrees_of_freedom"]
            half = stats.t.ppf(0.5 + self.level / 2, df) * spread
            others = self.effects(row["group"], row["versus"], without=row["control"])
            ends = (NAN, NAN) if others is None else others.predicted(spread**2, df, self.level)
            own = {
                "error": np.exp(error), "ci_low": np.exp(error - half),
                "ci_high": np.exp(error + half), "predicted_low": np.exp(ends[0]),
                "predicted_high": np.exp(ends[1]), "holds": abs(error) <= half,
                "holds_calibrated": bool(ends[0] <= error <= ends[1]),
            }  # fmt: skip
            kept = (
                "control", "group", "versus", "n_recorded", "observed_ratio", "effective_cases",
                "auc",
            )  # fmt: skip
            rows.append({name: row[name] for name in kept} | own)
        columns = [
            "control", "group", "versus", "n_recorded", "observed_ratio", "effective_cases", "auc",
            "error", "ci_low", "ci_high", "predicted_low", "predicted_high", "holds",
            "holds_calibrated",
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def _of(self, group: str, versus: str) -> pd.DataFrame:
        table = self.controls
        same = (table["group"] == group) & (table["versus"] == versus)
        return table[same & table["std_error"].notna()]

    def _calibrated(self, row: dict[Any, Any], like: Likeness) -> dict[str, Any]:
        """What the controls make of an estimate."""
        names = (
            "calibrated", "calibrated_ci_low", "calibrated_ci_high", "calibrated_p_value",
            "mean_error", "spread", "band", "calibrated_withheld",
        )  # fmt: skip
        effects = self.effects(row["group"], row["versus"])
        if effects is None:
            return dict(zip(names, (*[NAN] * 7, TOO_FEW), strict=True))
        band = float(np.exp(effects.half_width(0.0, np.inf, self.level)))
        found = (np.exp(effects.mean), effects.spread, band)
        reasons = {
            TOO_FEW: effects.count < LEAST_CONTROLS, DISAGREE: band > WIDEST_BAND,
            UNLIKE: like.words == BETTER, "": not row["std_error"] > 0,
        }  # fmt: skip
        for why, applies in reasons.items():
            if applies:
                return dict(zip(names, (*[NAN] * 4, *found, why), strict=True))
        variance, df = row["std_error"] ** 2, row["degrees_of_freedom"]
        log_ratio = np.log(row["estimate"]) - effects.mean
        half = effects.half_width(variance, df, self.level)
        ends = np.exp([log_ratio, log_ratio - half, log_ratio + half])
        p_value = effects.p_value(float(log_ratio), variance, df)
        return dict(zip(names, (*map(float, ends), p_value, *found, ""), strict=True))


@one_blas_thread()
def calibrate(
    fitted: DebiasedPURPLE, cohort: Cohort, *, versus: str = COMPLEMENT, level: float = 0.95,
    verbose: bool = False,
) -> Calibration:  # fmt: skip
    """Judge and correct an estimate by control conditions.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted to the cohort.
    cohort : Cohort
        With ``controls`` (see `as_cohort`). Codes that define the condition or a control must not
        be among the features.
    versus : str
        As in ``relative_prevalence``.
    level : float
        Of the intervals.
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    Calibration
        Controls one by one, and the estimates as they are and calibrated.

    Notes
    -----
    Formula: :mod:`relprev.controls.calibration`.

    Examples
    --------
    >>> from relprev.simulate import visits_with_controls
    >>> from relprev import DebiasedPURPLE
    >>> world = visits_with_controls(20_000, n_controls=8, n_codes=60, seed=1)
    >>> fitted = DebiasedPURPLE(lambdas=1e-4, strengths=[3.0]).fit(world.cohort)
    >>> calibrate(fitted, world.cohort).to_frame()["n_controls"].unique()
    array([8])
    """
    estimates = fitted.relative_prevalence(versus, level=level).to_frame()
    controls = control_estimates(fitted, cohort, versus=versus, verbose=verbose)
    ranked = discrimination(fitted.score_data_, fitted.folds_, fitted.design_)
    auc = float(ranked.auc[0]), float(ranked.std_error[0])
    return Calibration(estimates, controls, level, (NAN, NAN) if fitted.risk is None else auc)
