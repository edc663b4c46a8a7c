"""The result that every estimator returns: relative prevalences of groups.

A contrast compares one group with another, or with its complement (everybody
else). With m_g the mean p(y=1|x) of group g and W_g its weight,

    versus a group h:     rho = m_g / m_h
    versus complement:    rho = m_g / (sum_{h != g} W_h m_h / sum_{h != g} W_h)

Only ratios of the m_g matter, so p(y=1|x) need only be known up to a constant factor.
The recorded ratio is the same contrast of the diagnosed shares mu_g, and the
diagnosis-rate ratio that of the c_g, where a complement's rate is the share of its
(estimated) cases that are diagnosed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from relprev.arrays import FloatArray
from relprev.display import HEADINGS, cell, heading, with_interval
from relprev.errors import InvalidInputError
from relprev.units import VISIT, Unit

COMPLEMENT = "complement"
PAIRWISE = "pairwise"
COLUMNS = (
    "group", "versus", "estimate", "ci_low", "ci_high",
    "observed_ratio", "diagnosis_ratio", "n", "n_diagnosed",
)  # fmt: skip
REPR = (
    "group", "versus", "observed_ratio", "diagnosis_ratio", "estimate", "ci_low", "ci_high",
)  # fmt: skip  # columns that a prompt shows
READ = (
    "group", "versus", "observed_ratio", "diagnosis_ratio", "estimate", "split_sd", "truth", "n",
    "n_diagnosed", "note",
)  # fmt: skip  # columns for people to read


@dataclass(frozen=True)
class GroupSummary:
    """What the data and a model say about each group; all arrays have shape (n_groups,).

    Parameters
    ----------
    names : group names
    weight : total weight
    diagnosed_rate : weighted share diagnosed, mu_g
    condition : mean p(y=1|x) up to one common factor, m_g
    diagnosis_rate : c_g up to one common factor
    n, n_diagnosed : unweighted counts
    """

    names: tuple[str, ...]
    weight: FloatArray
    diagnosed_rate: FloatArray
    condition: FloatArray
    diagnosis_rate: FloatArray
    n: NDArray[np.int64]
    n_diagnosed: NDArray[np.int64]


@dataclass(frozen=True)
class RelativePrevalence:
    """Relative prevalences, one row per contrast.

    Parameters
    ----------
    rows : tuple of dict
        One per contrast, with the columns of `to_frame`.
    method : str
        Name of the estimator.
    settings : dict
        What is needed to reproduce the numbers.

    Notes
    -----
    Contrasts and complements: :mod:`relprev.estimates`.

    Examples
    --------
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> data = gauss_synth((0.5, 0.1), seed=1)
    >>> result = PURPLE(lambdas=1e-4).fit(data.cohort).relative_prevalence(versus="b")
    >>> result.to_frame()[["group", "versus", "estimate", "n_diagnosed"]].round(1)
      group versus  estimate  n_diagnosed
    0     a      b       0.4         1473
    """

    rows: tuple[dict[str, Any], ...]
    method: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        frame = self.to_frame()
        shown = [name for name in REPR if name in frame and frame[name].notna().any()]
        table = frame[shown].to_string(index=False, float_format=lambda value: f"{value:.2f}")
        return f"<{type(self).__name__} by {self.method}>\n{table}"

    def to_frame(self) -> pd.DataFrame:
        """Table with one row per contrast, NaN where a value is not available.

        Columns: group, versus, estimate, ci_low, ci_high, observed_ratio, diagnosis_ratio, n,
        n_diagnosed, and any others that the estimator adds.
        """
        return pd.DataFrame(list(self.rows), columns=list(COLUMNS))

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return readable(self.to_frame()).to_html(index=False, border=0, justify="left")


def readable(frame: pd.DataFrame, unit: Unit = VISIT) -> pd.DataFrame:
    """The columns of ``to_frame`` that a reader needs, as text; a dash for what is not shown.

    Examples
    --------
    >>> frame = pd.DataFrame({"group": ["a"], "versus": COMPLEMENT, "estimate": 2.0, "n": 1200})
    >>> readable(frame).iloc[0].tolist()
    ['a', 'everyone else', '2.00', '1,200']
    """
    shown = frame.assign(versus=frame["versus"].map(versus_words))
    columns = [name for name in READ if name in shown]
    if "note" in columns and not shown["note"].fillna("").any():
        columns.remove("note")
    texts = {heading(name, unit): [cell(value, name) for value in shown[name]] for name in columns}
    if {"ci_low", "ci_high"} <= set(shown) and "estimate" in shown:
        triples = zip(shown["estimate"], shown["ci_low"], shown["ci_high"], strict=True)
        texts[HEADINGS["estimate"]] = [with_interval(*values) for values in triples]
    return pd.DataFrame(texts)


def answers(frame: pd.DataFrame) -> pd.DataFrame:
    """The estimates without the numbers of rows whose ``note`` says that they are no answer."""
    if "note" not in frame:
        return frame
    silent = frame["note"].fillna("") != ""
    return frame.assign(
        **{name: frame[name].mask(silent) for name in ("estimate", "ci_low", "ci_high")}
    )


def versus_words(versus: str) -> str:
    """The other side of a contrast, in words."""
    return "everyone else" if versus == COMPLEMENT else versus


FEW_WORDS = "Few cases inform this"
WITHHELD = {  # why a row has no estimate or no interval, with the groups responsible
    "few diagnosed": "too few patients are diagnosed in {}",
    "told apart": "symptoms tell {} almost completely apart",
    "no data": "there are no data on {}",
    "no logarithm": "it has no finite logarithm",
    "few replicates": "too few replicates gave an estimate to have a standard error",
}


def withheld(reasons: Mapping[str, Sequence[str]]) -> str:
    """Why a row has no estimate or no interval, for its column ``withheld``.

    Parameters
    ----------
    reasons : mapping of reason to names
        Reasons are keys of `WITHHELD`; names are those of groups.

    Returns
    -------
    str
        JSON; empty if there are no reasons.

    Examples
    --------
    >>> withheld({"few diagnosed": ["c"]}), withheld({})
    ('{"few diagnosed": ["c"]}', '')
    """
    return json.dumps(dict(reasons), ensure_ascii=False) if reasons else ""


def sentence(row: Mapping[Any, Any], level: float = 0.95, condition: str = "the condition") -> str:
    """What a row of ``to_frame`` says, in one to four sentences.

    Parameters
    ----------
    row : mapping
        Values by column; those that are missing or hidden are not mentioned.
    level : float
        Level of the interval.
    condition : str
        Name of the condition.

    Examples
    --------
    >>> import textwrap
    >>> row = {"group": "a", "versus": COMPLEMENT, "estimate": 2.0, "ci_low": 1.5, "ci_high": 2.7,
    ...        "observed_ratio": 1.0, "diagnosis_ratio": 0.5}
    >>> print(textwrap.fill(sentence(row, condition="asthma"), 90))
    Asthma is estimated to be 2.00 times as common in a as among everybody else (95% interval
    1.50 to 2.70). Recorded diagnoses alone give 1.00, so that a case in a would be 0.50 times
    as likely to be diagnosed.
    >>> sentence({"group": "b", "versus": "c", "estimate": float("nan"),
    ...           "withheld": withheld({"few diagnosed": ["c"]})})
    'No estimate for b versus c: too few patients are diagnosed in c.'
    """
    estimate, low, high = (
        float(row.get(name, np.nan)) for name in ("estimate", "ci_low", "ci_high")
    )
    if isinstance(row.get("note"), str) and row["note"]:
        recorded = _recorded({**row, "diagnosis_ratio": np.nan})
        return f"{_first_up(row['note'])} {_asked(row, condition)}. {recorded}"
    why = why_missing(row)
    which = f"{row['group']} versus {versus_words(row['versus'])}"
    if np.isnan(estimate):
        return f"No estimate for {which}{f': {why}' if why else ''}."
    if why:
        return f"No interval for {which} (estimate {estimate:.2f}): {why}."
    other = "among everybody else" if row["versus"] == COMPLEMENT else f"in {row['versus']}"
    interval = "no interval" if np.isnan(low) else f"{level:.0%} interval {low:.2f} to {high:.2f}"
    said = [
        f"{_first_up(condition)} is estimated to be {estimate:.2f} times as common "
        f"in {row['group']} as {other} ({interval}).",
        _recorded(row),
    ]
    if low <= 1 <= high:
        said.append("The interval includes 1: the data do not show a difference.")
    if _is_shorter(row):
        said.append(
            "The interval is shorter than that of the recorded ratio because it rests on the "
            "symptoms of everybody, not on the recorded cases alone; it is right only as far as "
            "the assumptions are."
        )
    if has_few_cases(row):
        cases = row.get("effective_cases", np.nan)
        about = (
            "" if pd.isna(cases) else f": about {cases:.0f}, because few are diagnosed or the "
            "groups differ in almost all symptoms"
        )  # fmt: skip
        said.append(f"{FEW_WORDS}{about}.")
    return " ".join(said)


def _asked(row: Mapping[Any, Any], condition: str) -> str:
    other = "among everybody else" if row["versus"] == COMPLEMENT else f"in {row['versus']}"
    return f"how much more common {condition} is in {row['group']} than {other}"


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_shorter(row: Mapping[Any, Any]) -> bool:
    """Whether the interval is clearly shorter than that of the recorded ratio."""
    names = ("ci_low", "ci_high", "observed_ci_low", "observed_ci_high")
    ends = [float(row.get(name, np.nan)) for name in names]
    if not np.isfinite(ends).all() or min(ends) <= 0:
        return False
    return bool(np.log(ends[1] / ends[0]) < 0.9 * np.log(ends[3] / ends[2]))


def has_few_cases(row: Mapping[Any, Any]) -> bool:
    """Whether the estimator marked a row as resting on few cases."""
    few = row.get("few_cases")
    return few is not None and not pd.isna(few) and bool(few)


def why_missing(row: Mapping[Any, Any]) -> str:
    """Why a row has no estimate or no interval, in words; empty if it says nothing.

    Examples
    --------
    >>> why_missing({"withheld": withheld({"few diagnosed": ["c"]})})
    'too few patients are diagnosed in c'
    """
    text = row.get("withheld")
    if not isinstance(text, str) or not text:
        return ""
    reasons = [
        WITHHELD[reason].format(name)
        for reason, names in json.loads(text).items() for name in names or [""]
    ]  # fmt: skip
    return "; ".join(reasons)


def _recorded(row: Mapping[Any, Any]) -> str:
    ratio, rates = row.get("observed_ratio", np.nan), row.get("diagnosis_ratio", np.nan)
    if pd.isna(ratio):
        return "The recorded ratio is not shown."
    words = f"Recorded diagnoses alone give {ratio:.2f}"
    if pd.isna(rates):
        return f"{words}."
    if _may_be_right(row):
        return (
            f"{words}, which the interval does not exclude: the data do not show that the groups "
            "are diagnosed at different rates."
        )
    likely = f"{rates:.2f} times as likely to be diagnosed"
    return f"{words}, so that a case in {row['group']} would be {likely}."


def _may_be_right(row: Mapping[Any, Any]) -> bool:
    """Whether the recorded ratio may be right: the diagnosis rates, or the ratios, may agree."""
    for value, names in (
        (1.0, ("diagnosis_ci_low", "diagnosis_ci_high")),
        (row["observed_ratio"], ("ci_low", "ci_high")),
    ):
        low, high = (row.get(name, np.nan) for name in names)
        if not (pd.isna(low) or pd.isna(high)):
            return bool(low <= value <= high)
    return False


def contrasts(names: Sequence[str], versus: str) -> list[tuple[int, int | None]]:
    """Pairs (group, other group) of positions; the other is None for the complement.

    Examples
    --------
    >>> contrasts(["a", "b", "c"], "c")
    [(0, 2), (1, 2)]
    """
    names = list(names)
    count = len(names)
    if versus in names:
        other = names.index(versus)
        return [(g, other) for g in range(count) if g != other]
    if versus == COMPLEMENT:
        return [(g, None) for g in range(count)]
    if versus == PAIRWISE:
        return [(g, h) for g in range(count) for h in range(count) if g != h]
    raise InvalidInputError(
        f"versus={versus!r} is not 'complement', 'pairwise' or a group; groups: {names}"
    )


def ratio(value: ArrayLike, weight: ArrayLike, group: int, other: int | None) -> float:
    """``value[group]`` over ``value[other]``, or over the weighted mean of all other groups."""
    v = np.asarray(value, dtype=float)
    if other is not None:
        return _divide(v[group], v[other])
    w = np.asarray(weight, dtype=float)
    rest = (np.arange(len(v)) != group) & (w > 0)  # a group without rows adds nothing
    return _divide(v[group] * w[rest].sum(), v[rest] @ w[rest])


def _divide(top: float, bottom: float) -> float:
    return float(top / bottom) if bottom > 0 else float("nan")


def relative_prevalence(
    groups: GroupSummary, versus: str = COMPLEMENT, method: str = "", **settings: Any
) -> RelativePrevalence:
    """The result for ``versus``: ``"complement"``, ``"pairwise"`` or the name of a group.

    ``settings`` are what a reader needs to reproduce the result.
    """
    cases = groups.weight * groups.condition
    rows = tuple(
        {
            "group": groups.names[g],
            "versus": COMPLEMENT if h is None else groups.names[h],
            "estimate": ratio(groups.condition, groups.weight, g, h),
            "ci_low": float("nan"),
            "ci_high": float("nan"),
            "observed_ratio": ratio(groups.diagnosed_rate, groups.weight, g, h),
            "diagnosis_ratio": ratio(groups.diagnosis_rate, cases, g, h),
            "n": int(groups.n[g]),
            "n_diagnosed": int(groups.n_diagnosed[g]),
        }
        for g, h in contrasts(groups.names, versus)
    )
    return RelativePrevalence(rows, method, dict(settings))
