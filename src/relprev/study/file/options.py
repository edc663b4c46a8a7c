"""The options of a study beside source and cohort: how to estimate, check and report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from relprev.checks.inputs import MARGIN, MAX_VISITS
from relprev.checks.registry import CHECKS
from relprev.cohort.build import ROWS_PER_PART
from relprev.errors import InvalidInputError
from relprev.settings import Declared

Method = Literal["debiased", "purple", "paper"]
Format = Literal["svg", "png", "pdf", "html", "latex", "docx"]
if TYPE_CHECKING:
    CheckName = str
else:
    CheckName = Literal[tuple(CHECKS)]  # so that a study file is checked against the registry
METHODS: tuple[Method, ...] = ("debiased", "purple")


@dataclass(frozen=True)
class EstimateOptions(Declared):
    """How relative prevalences are estimated.

    Parameters
    ----------
    methods : tuple of "debiased", "purple" and "paper"
        The one to trust comes first. ``"debiased"`` has confidence intervals; ``"purple"`` is the
        published estimator, fitted to all visits with the penalty chosen by likelihood;
        ``"paper"`` follows the paper's protocol: the penalty chosen by AUC, mean and standard
        deviation over five random splits.
    versus : "complement", "pairwise" or "reference"
        What a group is compared with: everybody else, every other group, or the reference group.
    reference : mapping of group variable to group
        Default: the largest group.
    level : float
        Confidence level of the intervals.

    Examples
    --------
    >>> EstimateOptions(versus="reference", reference={"race": "White"}).methods
    ('debiased', 'purple')
    """

    methods: Annotated[
        tuple[Method, ...],
        Field(min_length=1, description="Estimators, the one to trust first."),
    ] = METHODS
    versus: Annotated[
        Literal["complement", "pairwise", "reference"],
        Field(description="Compare a group with everybody else, every other, or the reference."),
    ] = "complement"
    reference: Annotated[
        Mapping[str, str],
        Field(description="Reference group of a group variable; default the largest."),
    ] = field(default_factory=dict)
    level: Annotated[
        float, Field(gt=0.5, lt=1, description="Level of the confidence intervals.")
    ] = 0.95


@dataclass(frozen=True)
class InferenceOptions(Declared):
    """What the standard errors account for.

    Parameters
    ----------
    clusters : bool
        Treat visits of one patient as dependent, where the source identifies patients.
    design : bool
        Use strata and primary sampling units, where the source is a survey. Sampling weights are
        used either way.
    lonely_psu : "fail", "adjust" or "certainty"
        What to do with a stratum of one primary sampling unit.
    folds : int
        Folds for cross-fitting the debiased estimator.

    Examples
    --------
    >>> InferenceOptions(lonely_psu="adjust").folds
    5
    """

    clusters: Annotated[bool, Field(description="Visits of one patient belong together.")] = True
    design: Annotated[bool, Field(description="Use strata and primary sampling units.")] = True
    lonely_psu: Annotated[
        Literal["fail", "adjust", "certainty"],
        Field(description="What to do with a stratum of one primary sampling unit."),
    ] = "fail"
    folds: Annotated[int, Field(ge=2, le=50, description="Folds of the debiased estimator.")] = 5


@dataclass(frozen=True)
class AnchorOptions(Declared):
    """An outside value of one group, by which ratios become absolute rates.

    Parameters
    ----------
    group : str
        The group whose value is known.
    diagnosis_rate, prevalence : float
        Exactly one of the two: the share of its cases that are diagnosed, or its prevalence.
    interval : (low, high)
        Confidence interval of that value at the study's level; (value, value) if it is exact.
    source : str
        Where the value comes from, for the report.

    Examples
    --------
    >>> AnchorOptions("White", prevalence=0.031, interval=(0.028, 0.034)).given
    'prevalence'
    """

    group: Annotated[str, Field(description="The group whose value is known.")]
    diagnosis_rate: Annotated[
        float | None, Field(gt=0, le=1, description="Share of its cases that are diagnosed.")
    ] = None
    prevalence: Annotated[
        float | None, Field(gt=0, le=1, description="Share of its visits with the condition.")
    ] = None
    interval: Annotated[
        tuple[float, float] | None,
        Field(description="Confidence interval of the value, at the study's level."),
    ] = None
    source: Annotated[str, Field(description="Where the value comes from.")] = ""

    def __post_init__(self) -> None:
        if (self.diagnosis_rate is None) == (self.prevalence is None):
            raise InvalidInputError("give exactly one outside value: diagnosis_rate or prevalence")
        if self.interval is None:
            raise InvalidInputError(
                "interval is missing: how sure is the outside value? If it is exact, give the "
                "value twice"
            )
        low, high = self.interval
        if not 0 < low <= self.value <= high <= 1:
            raise InvalidInputError(
                f"interval must hold {self.given} and lie between 0 and 1, got {low:g} to {high:g} "
                f"around {self.value:g}"
            )

    @property
    def given(self) -> str:
        """Which value is known."""
        return "prevalence" if self.diagnosis_rate is None else "diagnosis_rate"

    @property
    def value(self) -> float:
        """The diagnosis rate or prevalence that is known."""
        return float(getattr(self, self.given))


@dataclass(frozen=True)
class CheckOptions(Declared):
    """Which checks of the assumptions to run.

    Parameters
    ----------
    run : tuple of str
        Default: all. An empty list runs none.
    max_visits : int
        Checks that refit models (calibration, unconstrained) use at most this many visits, drawn
        at random by whole patients or sampling units, and say so.
    margin : float
        A violation of an assumption by less than this factor is taken as too small to matter.
    blocks : mapping of name to features
        Blocks of features that benchmarks leave out, by name or pattern (``"ICD10:S*"``). Default:
        chapters of the codes.

    Examples
    --------
    >>> CheckOptions(run=("overlap", "leakage")).run
    ('overlap', 'leakage')
    """

    run: Annotated[tuple[CheckName, ...], Field(description="Checks to make; default all.")] = (
        tuple(CHECKS)
    )
    max_visits: Annotated[
        int, Field(ge=1000, description="Most visits that checks which fit models again use.")
    ] = MAX_VISITS
    margin: Annotated[
        float, Field(gt=1, le=100, description="Factor below which a violation cannot matter.")
    ] = MARGIN
    blocks: Annotated[
        Mapping[str, tuple[str, ...]],
        Field(description="Blocks of features for benchmarks; default chapters of the codes."),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class AtlasOptions(Declared):
    """What the conditions of an atlas are. Used by ``relprev atlas`` only.

    Parameters
    ----------
    conditions : tuple of str
        ``"ccsr"``: CCSR categories (CCS for ICD-9); ``"category"`` or ``"chapter"``: those of ICD.
        Or maps of ICD codes to phecodes (.csv files, relative to the study file); or code sets, by
        name or as .toml files; or patterns of features such as ``"CCS:*"``.

    Examples
    --------
    >>> AtlasOptions(("Phecode_map_v1_2_icd10cm_beta.csv",)).conditions
    ('Phecode_map_v1_2_icd10cm_beta.csv',)
    """

    conditions: Annotated[
        tuple[str, ...],
        Field(min_length=1, description="CCSR, ICD categories, chapters, phecodes or code sets."),
    ] = ("ccsr",)


@dataclass(frozen=True)
class ComputeOptions(Declared):
    """Where cohorts are kept while a study runs. The results are the same.

    Parameters
    ----------
    out_of_core : bool
        Keep cohorts on disk, in parts read one after another, for data that do not fit in memory.
    rows_per_part : int
        Visits per part. Memory holds one part and a few bytes per visit.

    Examples
    --------
    >>> ComputeOptions(out_of_core=True).rows_per_part
    1000000
    """

    out_of_core: Annotated[
        bool, Field(description="Keep cohorts on disk, for data larger than memory.")
    ] = False
    rows_per_part: Annotated[
        int, Field(ge=1000, description="Visits of a part of a cohort on disk.")
    ] = ROWS_PER_PART


@dataclass(frozen=True)
class ReportOptions(Declared):
    """Wording of the report that the data cannot supply.

    Parameters
    ----------
    title, condition, population : str
        In words; where empty, derived from the rest of the study.
    formats : tuple of "svg", "png", "pdf", "html", "latex" and "docx"
        Of further files: figures as SVG, PNG (300 dpi) or PDF; tables as HTML, LaTeX or one Word
        document. The page has figures and tables of its own, and tables are always written as CSV.

    Examples
    --------
    >>> ReportOptions(condition="endometriosis").condition
    'endometriosis'
    """

    title: Annotated[str, Field(description="Title of the report.")] = ""
    condition: Annotated[str, Field(description="The condition in words.")] = ""
    population: Annotated[str, Field(description="Whom the answer is about, in words.")] = ""
    formats: Annotated[
        tuple[Format, ...],
        Field(description="Further files: figures as svg, png, pdf; tables as html, latex, docx."),
    ] = ()
