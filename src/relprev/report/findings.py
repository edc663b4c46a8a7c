"""What a study found, and the report of it that may be shown.

A study fills in the findings, `relprev.report.disclosed` turns them into a report, and the page and
the files are made from that. Nothing here depends on how the numbers were obtained, so findings can
also be written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from relprev.checks.check import CheckResult
from relprev.disclosure import Rule
from relprev.disclosure.nesting import Nesting
from relprev.messages import Message
from relprev.report.analyses import Analysis
from relprev.units import VISIT, Unit


@dataclass(frozen=True)
class VariableFindings:
    """What was found for one group variable.

    Parameters
    ----------
    name : str
        The group variable, such as ``"race"``.
    estimates : Mapping of method to DataFrame
        ``to_frame()`` of every estimator's result; the one to trust comes first.
    attrition : DataFrame
        Columns step, visits, patients.
    checks : tuple of CheckResult
        Including sensitivity analyses.
    symptoms : DataFrame
        Features that carry the estimate: feature, description, weight, visits, and patients
        where they are known.
    left_out : Mapping of group to Message
        Groups without an estimate, and why. Plain text is not shown.
    groups : DataFrame, optional
        Columns group, n, n_diagnosed: visits and diagnosed visits of every group of the cohort,
        including a reference group without a row among the estimates. Without it, what would
        reveal small counts of a reference group cannot be hidden. Where patients are known,
        columns patients and patients_diagnosed, and patients_undiagnosed (who have an undiagnosed
        visit): few of them are hidden, however many their visits.
    column : str
        Column of the data, where it is known: two variables of one column are recodes of it.
    characteristics : DataFrame, optional
        Counts for Table 1, from `relprev.cohort.characteristics.characteristics_table`.
    analyses : tuple of Analysis
        Analyses beside the estimates, such as those within strata.

    Examples
    --------
    >>> from relprev import PURPLE
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
    left_out: Mapping[str, Message | str] = field(default_factory=dict)
    groups: pd.DataFrame | None = None
    column: str = ""
    characteristics: pd.DataFrame | None = None
    analyses: tuple[Analysis, ...] = ()

    @property
    def counts(self) -> pd.DataFrame:
        """Counts of every known group: ``groups``, or else those of the estimates."""
        if self.groups is not None:
            return self.groups
        frames = [frame[["group", "n", "n_diagnosed"]] for frame in self.estimates.values()]
        return pd.concat(frames, ignore_index=True).drop_duplicates("group", ignore_index=True)

    @property
    def main(self) -> pd.DataFrame:
        """The estimates by the method to trust."""
        return next(iter(self.estimates.values()))


@dataclass(frozen=True)
class StudyFindings:
    """Everything a study found, small counts and all.

    Parameters
    ----------
    title : str
        Title of the report.
    condition : str
        In words, such as ``"intimate partner violence"``.
    population : str
        Whom the answer is about, in words.
    source : str
        In words, such as ``"NEDS 2019"``.
    variables : tuple of VariableFindings
        One for every group variable.
    manifest : mapping
        Versions, specification, data fingerprints, seed, timings. Written as it is, so it must
        hold no counts of people.
    warnings : tuple of Message
        Issued while the study ran. Plain text is not shown: it may hold counts.
    level : float
        Level of the confidence intervals.
    sampling : str
        What the standard errors allow for, in words, such as ``"repeat visits of patients"``.
    inside : tuple of (variable, group, other variable, other group), optional
        Groups that lie within a group of another variable, from
        `relprev.disclosure.nested_groups`. If None, this is not known, and groups of two recodes of
        one column that differ by few people are taken to be nested.
    levels : tuple of (variable, characteristic, strata, inner, its name, outer, its name)
        Strata within levels of Table 1 and levels within strata; inner and outer are "stratum" and
        "level", or the other way round.
    exclusive : tuple of tuple of str
        Features of which a visit has at most one, such as the bins of one measurement.
    features : str
        What the features are, in words, such as ``"reasons for visit (RFV) 340"``.
    unit : Unit
        What a row of the data is, a visit or a person; see :mod:`relprev.units`.
    descriptions : mapping of feature to text
        What features mean, to be shown beside their codes.
    condition_codes : tuple of str
        Codes and patterns of the condition, as the study has them.
    rules : tuple of str
        Who is included, rule by rule, in words; those on who is left out begin with ``"not: "``.
    case : str
        When a row counts as diagnosed, in words, if one of the codes is not enough.
    weighted : bool
        Whether the data have sampling weights.
    unchecked : tuple of str
        Checks that were not made.

    Examples
    --------
    >>> from relprev.report import disclosed
    >>> found = StudyFindings("A study", "endometriosis", "women", "records", (), {})
    >>> disclosed(found).title
    'A study'
    """

    title: str
    condition: str
    population: str
    source: str
    variables: tuple[VariableFindings, ...]
    manifest: Mapping[str, Any]
    warnings: tuple[Message | str, ...] = ()
    level: float = 0.95
    sampling: str = ""
    inside: tuple[Nesting, ...] | None = None
    levels: tuple[tuple[str, ...], ...] = ()
    exclusive: tuple[tuple[str, ...], ...] = ()
    features: str = ""
    unit: Unit = VISIT
    descriptions: Mapping[str, str] = field(default_factory=dict)
    condition_codes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    case: str = ""
    weighted: bool = False
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyReport(StudyFindings):
    """What may be shown of a study's findings, made by `relprev.report.disclosed`.

    It is what `StudyFindings` is, but hidden numbers are missing from its tables, and warnings and
    reasons are plain text.

    Parameters
    ----------
    title, condition, population, source : str
    variables : tuple of VariableFindings
    manifest : mapping
    warnings : tuple of str
    level : float
    sampling : str
    inside, levels, exclusive : tuple
    features : str
    unit : Unit
    descriptions : mapping
    condition_codes, rules : tuple of str
    case : str
    weighted : bool
    unchecked : tuple of str
    rule : Rule
        What was hidden.

    Examples
    --------
    >>> from relprev.report import disclosed
    >>> report = disclosed(StudyFindings("A study", "endometriosis", "women", "records", (), {}))
    >>> type(report).__name__, report.rule.threshold
    ('StudyReport', 10)
    """

    rule: Rule = field(default_factory=Rule)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        from relprev.report.page.rendering import render_frame

        return render_frame(self)
