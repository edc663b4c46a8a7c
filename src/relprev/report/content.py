"""What a study found, before it is laid out as a page, tables and figures.

The study fills these; `relprev.report` hides small counts in them and writes them. Nothing
in here depends on how the numbers were obtained, so a report can also be made by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from relprev.checks.check import CheckResult


@dataclass(frozen=True)
class VariableFindings:
    """What was found for one group variable.

    Parameters
    ----------
    name : str
        Of the group variable, such as ``"race"``.
    estimates : Mapping of method to DataFrame
        ``to_frame()`` of every estimator's result, the one to trust first.
    attrition : DataFrame
        Columns step, visits, patients.
    checks : tuple of CheckResult
        The sensitivity analysis among them.
    symptoms : DataFrame
        Features that carry the estimate: feature, description, weight, visits, and patients
        where they are known.
    left_out : Mapping of group to reason
        Groups of the data that got no estimate, and why.
    groups : DataFrame, optional
        Columns group, n, n_diagnosed: visits and diagnosed visits of every group of the cohort,
        a reference group that has no row of its own among the estimates too. Without it, what
        would reveal a reference group's small counts cannot be hidden. Where patients are known,
        columns patients and patients_diagnosed: counts of 1 to 10 of them are hidden too.
    column : str
        Of the data, where it is known: two variables of one column are recodes of it, and what
        they give away together is hidden.

    Examples
    --------
    >>> from relprev import PURPLE, checks
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), seed=1).cohort
    >>> table = PURPLE(lambdas=1e-4).fit(cohort).relative_prevalence("b").to_frame()
    >>> steps = pd.DataFrame({"step": ["all visits"], "visits": [30_000], "patients": [30_000]})
    >>> symptoms = pd.DataFrame({"feature": ["x0"], "description": [""], "weight": [0.4],
    ...                          "visits": [30_000]})
    >>> found = VariableFindings("group", {"PURPLE": table}, steps, (), symptoms)
    >>> list(found.estimates)
    ['PURPLE']
    """

    name: str
    estimates: Mapping[str, pd.DataFrame]
    attrition: pd.DataFrame
    checks: tuple[CheckResult, ...]
    symptoms: pd.DataFrame
    left_out: Mapping[str, Any] = field(default_factory=dict)
    groups: pd.DataFrame | None = None
    column: str = ""

    @property
    def counts(self) -> pd.DataFrame:
        """Counts of every group that is known: ``groups``, or else those of the estimates."""
        if self.groups is not None:
            return self.groups
        frames = [frame[["group", "n", "n_diagnosed"]] for frame in self.estimates.values()]
        return pd.concat(frames, ignore_index=True).drop_duplicates("group", ignore_index=True)


@dataclass(frozen=True)
class StudyReport:
    """Everything a report says.

    Parameters
    ----------
    title : str
    condition : str
        In words, such as ``"intimate partner violence"``.
    population : str
        Whom the answer is about, in words.
    source : str
        In words, such as ``"NEDS 2019"``.
    variables : tuple of VariableFindings
    manifest : mapping
        Versions, specification, data fingerprints, seed, timings. Written as it is, so it must
        hold no counts of people.
    warnings : tuple of str
        Said while the study ran.
    hide_small_counts : bool
        Hide counts of 1 to 10 people and what would reveal them.
    level : float
        Of the confidence intervals.
    sampling : str
        What the standard errors allow for, in words, such as ``"repeat visits of patients"``.

    Examples
    --------
    A study makes its report; a small one, without checks:

    >>> from dataclasses import replace
    >>> from relprev.study.demo import demo_study
    >>> from relprev.study import CheckOptions, EstimateOptions
    >>> small = replace(demo_study(5_000), estimate=EstimateOptions(methods=("purple",)),
    ...                 checks=CheckOptions(run=()))
    >>> report = small.run(verbose=False).report
    >>> report.title, [found.name for found in report.variables]
    ('Demonstration: a simulated condition', ['group'])
    """

    title: str
    condition: str
    population: str
    source: str
    variables: tuple[VariableFindings, ...]
    manifest: Mapping[str, Any]
    warnings: tuple[Any, ...] = ()
    hide_small_counts: bool = True
    level: float = 0.95
    sampling: str = ""

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        from relprev.report.page import render_frame

        return render_frame(self)
