"""Do the symptoms predict the condition at all?

The corrected ratio compares groups by their mean risk given the symptoms, E_a[m] / E_b[m]. If the
symptoms say nothing about the condition, m is the same for everybody and the ratio is 1 by
construction, with a short interval, whatever the truth is. So the first question is how well the
out-of-fold risk ranks the diagnosed above the undiagnosed *of the same group*
(`relprev.inference.discrimination`): an AUC, one half if the symptoms say nothing. Differences
between groups do not count, because they are what is asked for.

    concern        the interval of the AUC reaches 0.5, or lies below 0.55: estimates are withheld
    no concern     it lies above 0.6
    cannot tell    otherwise

The limits follow from what a risk can show at most. If log-odds of the risk were normal with
standard deviation d, then AUC = Phi(d / sqrt 2), and a group in which everybody looked like the
diagnosed would have exp(d^2) times the mean risk: 1.03 at AUC 0.55, 1.14 at 0.6, 1.73 at 0.7. A
ratio of 2 cannot show through symptoms with an AUC of 0.55. The *lift*, the mean risk of the
diagnosed over that of everybody in their group, is that factor as observed.

The interval is on the log-odds scale, with no more degrees of freedom than there are diagnosed
rows less one. Groups are judged one by one only where their interval excludes more than 0.55: a
wide interval says that a group has few cases, not that its symptoms say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit

from relprev.arrays import FloatArray
from relprev.checks.check import NAN, Axes, Check, CheckResult, Verdict
from relprev.disclosure.columns import Column
from relprev.errors import InvalidInputError
from relprev.inference import DebiasedPURPLE
from relprev.inference.discrimination import Discrimination, discrimination
from relprev.messages import Message, Number, joined

ALL = "all groups"
NOTHING = 0.5  # AUC of symptoms that say nothing
LITTLE = 0.55  # AUC of symptoms through which no difference shows
FAIR = 0.6  # AUC above which nothing is said
SAME = 1e-9  # an interval shorter than this is that of a risk that ranks nobody
MIN_CASES = 11  # diagnosed rows that a group needs to be judged on its own


def check_informativeness(fitted: DebiasedPURPLE, *, level: float = 0.95) -> CheckResult:
    """Discrimination and calibration of the out-of-fold risk, within groups.

    Parameters
    ----------
    fitted : DebiasedPURPLE
        Fitted with a risk model (``risk`` not None).
    level : float
        Confidence level of the intervals.

    Returns
    -------
    CheckResult
        A concern if the symptoms do not predict the condition; ``withhold`` then says why
        estimates should not be shown as an answer. ``statistic`` is the AUC of all groups
        together and ``interval`` its interval.

    Notes
    -----
    Formula: :mod:`relprev.checks.informativeness`, :mod:`relprev.inference.discrimination`.

    Examples
    --------
    >>> import numpy as np
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> found = check_informativeness(DebiasedPURPLE(lambdas=1e-4, strengths=[1.0]).fit(cohort))
    >>> print(found.verdict, found.withhold)
    no concern None

    Symptoms that belong to somebody else:

    >>> rng = np.random.default_rng(0)
    >>> X, s = rng.random((5_000, 3)), rng.random(5_000) < 0.1
    >>> noise = DebiasedPURPLE(strengths=[1.0]).fit(X, s, groups=rng.integers(0, 2, 5_000))
    >>> found = check_informativeness(noise)
    >>> print(found.verdict)
    concern
    >>> print(found.withhold)
    the symptoms do not predict the condition, so these data cannot tell
    """
    data = fitted.score_data_
    if fitted.risk is None:
        raise InvalidInputError(
            "informativeness needs a risk model, but the estimator was fitted with risk=None; fit "
            "it with risk='purple'"
        )
    found = discrimination(data, fitted.folds_, fitted.design_)
    low, high = _intervals(found, fitted.design_.degrees_of_freedom, level)
    names = fitted.moments_.names
    few = np.append(False, found.cases[1:] < MIN_CASES)
    verdicts = [_verdict(low[0], high[0])]
    verdicts += [_own_verdict(low[k], high[k], few[k]) for k in range(1, len(low))]
    table = pd.DataFrame(
        {
            "group": [ALL, *names], "auc": found.auc, "ci_low": low, "ci_high": high,
            "lift": found.lift, "verdict": [str(verdict) for verdict in verdicts],
        }
    )  # fmt: skip
    table.loc[few, ["auc", "ci_low", "ci_high", "lift"]] = NAN
    slope = fitted.risk_slope_ if high[0] - low[0] > SAME else NAN  # else it compares folds
    withhold = None
    if verdicts[0] is Verdict.CONCERN:
        withhold = Message("the symptoms do not predict the condition, so these data cannot tell")
    return CHECK.result(
        Verdict.CONCERN if Verdict.CONCERN in verdicts else verdicts[0],
        _effect(table, slope), table, statistic=float(found.auc[0]),
        interval=(float(low[0]), float(high[0])), withhold=withhold,
    )  # fmt: skip


def withheld_groups(result: CheckResult) -> dict[str, Message]:
    """Groups whose comparisons should not be shown as an answer, and why.

    Parameters
    ----------
    result : CheckResult
        Of `check_informativeness`.

    Returns
    -------
    dict of group to Message
        All groups if the symptoms predict nothing; otherwise those in which they do not.
    """
    groups = result.table.loc[result.table["group"] != ALL]
    if result.withhold is not None:
        return dict.fromkeys(groups["group"], result.withhold)
    reason = Message(
        "the symptoms do not predict the condition in this group, so these data cannot tell"
    )
    return {
        group: reason
        for group, verdict in zip(groups["group"], groups["verdict"], strict=True)
        if verdict == Verdict.CONCERN
    }


def as_seen(results: Sequence[CheckResult]) -> list[CheckResult]:
    """The checks of one group variable, none of them reassuring about what it could not see.

    Where the symptoms predict nothing, the two estimators agree on 1 by construction, and no
    violation shows through the risk. Checks that look there *cannot tell* then.

    Parameters
    ----------
    results : sequence of CheckResult

    Returns
    -------
    list of CheckResult
        In the same order.

    Examples
    --------
    >>> from relprev.simulate import gauss_synth
    >>> from relprev.checks import check_constant_ratio
    >>> cohort = gauss_synth((0.5, 0.1), n=(20_000, 40_000), seed=1).cohort
    >>> fitted = DebiasedPURPLE(lambdas=1e-4, strengths=[1.0]).fit(cohort)
    >>> found = [check_informativeness(fitted), check_constant_ratio(fitted)]
    >>> [str(one.verdict) for one in as_seen(found)]
    ['no concern', 'no concern']
    >>> found[0] = replace(found[0], withhold=Message("the symptoms do not predict the condition"))
    >>> [str(one.verdict) for one in as_seen(found)]
    ['no concern', 'cannot tell']
    """
    from relprev.checks.registry import CHECKS

    if all(one.withhold is None for one in results):
        return list(results)
    return [_blind(one, CHECKS[one.kind]) for one in results]


def _blind(result: CheckResult, check: Check) -> CheckResult:
    """What is left of a result if the symptoms predict nothing."""
    if not check.by_symptoms or result.verdict is Verdict.CANNOT_TELL:
        return result
    if check.assumption and result.verdict is Verdict.CONCERN:
        return result
    why = Message(
        "The symptoms do not predict the condition, so that this could not have shown a violation."
    ) if check.assumption else Message(
        "The symptoms do not predict the condition, so that there is no answer to overturn."
    )  # fmt: skip
    return replace(result, verdict=Verdict.CANNOT_TELL, effect=joined([result.effect, why]))


def _intervals(found: Discrimination, df: int, level: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the intervals; without spread, the AUC itself."""
    auc, error = found.auc, found.std_error
    inside = (auc > 0) & (auc < 1) & (error > 0)
    scale = np.where(inside, error / np.where(inside, auc * (1 - auc), 1.0), 0.0)
    freedom = np.clip(found.cases - 1, 1, df)
    middle = logit(np.clip(auc, 1e-300, 1 - 1e-16))
    half = stats.t.ppf(0.5 + level / 2, freedom) * scale
    low, high = (np.where(inside, expit(middle + side * half), auc) for side in (-1, 1))
    return low, high


def _verdict(low: float, high: float) -> Verdict:
    if low != low:
        return Verdict.CANNOT_TELL
    if low <= NOTHING or high < LITTLE:
        return Verdict.CONCERN
    return Verdict.NO_CONCERN if low >= FAIR else Verdict.CANNOT_TELL


def _own_verdict(low: float, high: float, few: bool) -> Verdict:
    """Of one group: a wide interval is no concern of its own."""
    if few or low != low:
        return Verdict.CANNOT_TELL
    if high < LITTLE:
        return Verdict.CONCERN
    return Verdict.NO_CONCERN if low >= FAIR else Verdict.CANNOT_TELL


def _effect(table: pd.DataFrame, slope: float) -> Message:
    row = table.iloc[0]
    own = table.iloc[1:].dropna(subset=["auc"])
    where: Message | str = ""
    if len(own) > 1:
        least = own.iloc[int(own["auc"].argmin())]
        where = Message(
            ", lowest in {group} ({auc})", group=least["group"],
            auc=Number(least["auc"], ".2f", (("n_diagnosed", least["group"]),)),
        )  # fmt: skip
    said = Message(
        "Within groups, the symptoms rank a diagnosed patient above an undiagnosed one with "
        "probability {auc} ({low} to {high}; 0.5: they say nothing){where}.{slope}",
        auc=Number(row["auc"], ".2f"), low=Number(row["ci_low"], ".2f"),
        high=Number(row["ci_high"], ".2f"), where=where,
        slope="" if slope != slope
        else Message(" Calibration slope {slope} (expected: 1).", slope=Number(slope, ".2f")),
    )  # fmt: skip
    if row["verdict"] != Verdict.CONCERN:
        return said
    return Message(
        "{said} If symptoms do not predict the condition, the corrected ratio is 1 by "
        "construction, whatever the truth is: these data cannot tell.",
        said=said,
    )


def _draw(ax: Axes, table: pd.DataFrame) -> None:
    known = table[table["auc"].notna()]
    position = np.arange(len(known))[::-1]
    value = known["auc"].astype(float)
    error = [value - known["ci_low"].astype(float), known["ci_high"].astype(float) - value]
    ax.errorbar(value, position, xerr=error, fmt="o", color="C0")
    ax.axvline(NOTHING, color="grey", linewidth=1)
    ax.set_yticks(position, known["group"])
    ax.set_xlabel("AUC within groups (0.5: symptoms say nothing)")


CHECK = Check(
    kind="informativeness",
    title="Informativeness of the symptoms",
    explained=(
        "Asks whether the symptoms predict the condition within each group, for patients the model "
        "has not seen. If they do not, the corrected ratio is 1 by construction and says nothing."
    ),
    run=lambda given: [check_informativeness(given.debiased, level=given.level)],
    needs=("debiased",),
    table=dict.fromkeys(["group", "verdict"], Column.NAME)
    | dict.fromkeys(["auc", "ci_low", "ci_high", "lift"], Column.REVEALING),
    columns=("group", "auc", "lift", "verdict"),
    interval="auc",
    draw=_draw,
    references=("delong",),
    seconds=2.0,
)
