"""The study: one file that says everything, from the source to the report.

seed = 1
cohort = "ipv-neds"          # or condition, include, features, groups: see relprev.cohort.spec

[source]
kind = "neds"                # its reader's arguments follow
core = "NEDS_2019_Core.csv"

[estimate]                   # all of what follows has defaults
methods = ["debiased", "purple"]
versus = "complement"
level = 0.95

[inference]
lonely_psu = "adjust"

[checks]
run = ["constant_ratio", "overlap"]

[report]
title = "Intimate partner violence, NEDS 2019"

[disclosure]
threshold = 10               # counts of 1 to 10 people, and what reveals them, are hidden

[compute]
out_of_core = true           # cohorts on disk, for data larger than memory
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from relprev.cohort import CohortSpec, cohort_spec
from relprev.cohort.spec import Condition, Features, GroupVariable, Include, cohort_spec_names
from relprev.disclosure.rule import Rule
from relprev.errors import InvalidInputError
from relprev.messages import Message, message_of
from relprev.settings import (
    SETTINGS,
    KeyPath,
    located,
    parse_settings,
    settings_text,
    suggestion,
    unprintable,
)
from relprev.sources.addresses import SHOWN, is_address
from relprev.sources.source import Source
from relprev.study.options import (
    CheckOptions,
    ComputeOptions,
    EstimateOptions,
    InferenceOptions,
    ReportOptions,
)
from relprev.study.source import SourceOptions, SourceTable, source_options

if TYPE_CHECKING:
    from relprev.study.result import StudyResult

MOVED: dict[KeyPath, str] = {
    ("report", "hide_small_counts"): "[disclosure] has it now: hide = true or false"
}


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """What may stand in a study file."""

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    source: Annotated[SourceTable, Field(description="Where the data come from.")]
    cohort: Annotated[
        str, Field(description="A shipped cohort; the keys below replace parts of it.")
    ] = ""
    condition: Condition | None = None
    include: Annotated[
        tuple[Include, ...] | None, Field(description="Which visits, rule by rule.")
    ] = None
    features: Annotated[
        Features | None, Field(description="Which codes are symptoms; default all.")
    ] = None
    groups: Annotated[
        tuple[GroupVariable, ...] | None, Field(description="The groups to compare.")
    ] = None
    without_codes: Literal["drop", "keep"] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32, description="Of everything random.")] = 0
    estimate: EstimateOptions = field(default_factory=EstimateOptions)
    inference: InferenceOptions = field(default_factory=InferenceOptions)
    checks: CheckOptions = field(default_factory=CheckOptions)
    report: ReportOptions = field(default_factory=ReportOptions)
    disclosure: Rule = field(default_factory=Rule)
    compute: ComputeOptions = field(default_factory=ComputeOptions)


@dataclass(frozen=True)
class Study:
    """Source, cohort, estimates, checks and report of a study.

    Parameters
    ----------
    source : SourceOptions
        Where the data are.
    cohort : CohortSpec
        Condition, groups, visits and features.
    estimate : EstimateOptions
        Methods and comparisons.
    inference : InferenceOptions
        What standard errors account for.
    checks : CheckOptions
        Which checks are made.
    report : ReportOptions
        Words that the data cannot know.
    compute : ComputeOptions
        Where cohorts are kept.
    disclosure : Rule
        Which counts are hidden, and what shown ones are rounded to.
    seed : int
        Of everything random.
    name : str
        Of the study file, without its ending.
    file, text : str
        Path and content of the study file, for error messages.

    Examples
    --------
    >>> from relprev.codes import CodeSet
    >>> study = Study(
    ...     SourceOptions("simulated", {"visits": 5_000, "codes": 60, "prevalence": 0.2}),
    ...     CohortSpec(CodeSet.of("it", ["SIMULATED:CONDITION"]), (GroupVariable("group"),)),
    ...     EstimateOptions(methods=("purple",)), checks=CheckOptions(run=()))
    >>> result = study.run(verbose=False)
    >>> result.table("group")["group"].tolist()
    ['Group A', 'Group B', 'Group C', 'Group D']
    >>> study.open_source().n_visits, study.described()["estimate"]["methods"]
    (5000, ('purple',))
    >>> print(study.error(("estimate", "level"), "must be below 1"))
    the study: estimate.level: must be below 1
    >>> print(study.about(("source",), InvalidInputError("no such file")), study.place(("seed",)))
    the study: source: no such file the study: seed
    """

    source: SourceOptions
    cohort: CohortSpec
    estimate: EstimateOptions = field(default_factory=EstimateOptions)
    inference: InferenceOptions = field(default_factory=InferenceOptions)
    checks: CheckOptions = field(default_factory=CheckOptions)
    report: ReportOptions = field(default_factory=ReportOptions)
    compute: ComputeOptions = field(default_factory=ComputeOptions)
    disclosure: Rule = field(default_factory=Rule)
    seed: int = 0
    name: str = "study"
    file: str = field(default="", compare=False)
    text: str = field(default="", repr=False, compare=False)

    @staticmethod
    def from_toml(path: str | Path) -> Study:
        """Read a study file; a mistake in it is an error that names line and remedy.

        Parameters
        ----------
        path : str or Path
            The study file.

        Returns
        -------
        Study
            Ready to `run`.

        Examples
        --------
        >>> import tempfile
        >>> text = '''
        ... condition = {name = "it", codes = ["SIMULATED:CONDITION"]}
        ... [source]
        ... kind = "simulated"
        ... [[groups]]
        ... column = "group"
        ... '''
        >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        ...     _ = file.write(text)
        ...     file.flush()
        ...     study = Study.from_toml(file.name)
        >>> study.cohort.condition.name, study.estimate.versus
        ('it', 'complement')
        """
        path = Path(path)
        if not path.is_file():
            raise InvalidInputError(f"there is no study file {path}; 'relprev init' writes one")
        text = settings_text(path)
        content = parse_settings(text, StudyFile, str(path), folder=path.parent, moved=MOVED)
        _require_printable_name(path)
        study = Study(
            source=source_options(content.source, path.parent),
            cohort=_cohort(content, path, text),
            estimate=content.estimate,
            inference=content.inference,
            checks=content.checks,
            report=content.report,
            compute=content.compute,
            disclosure=content.disclosure,
            seed=content.seed,
            name=path.stem,
            file=str(path),
            text=text,
        )
        _check_references(study)
        return study

    def run(
        self, out: str | Path | None = None, *, force: bool = False, verbose: bool = True,
        client: Any = None,
    ) -> StudyResult:  # fmt: skip
        """Do the whole study: read, estimate, check, report.

        Parameters
        ----------
        out : path, optional
            Folder for the results, written whole or not at all. None: nothing is written.
        force : bool
            Replace results of another study.
        verbose : bool
            Show progress on standard error.
        client : distributed.Client, optional
            Work on this Dask cluster, whose workers must be able to read the folder beside ``out``
            in which cohorts are kept. The results are the same.

        Returns
        -------
        StudyResult
            Findings, and the folder they were written to.
        """
        from relprev.study.run import run_study

        return run_study(self, out, force=force, verbose=verbose, client=client)

    def open_source(self) -> Source:
        """Read the data; what is wrong with them is an error that names the study file too.

        Returns
        -------
        Source
            Visits and codes.
        """
        try:
            return self.source.open()
        except InvalidInputError as error:
            raise self.about(("source",), error) from None

    def error(self, path: KeyPath, message: str) -> InvalidInputError:
        """An error about one key of the study file.

        Parameters
        ----------
        path : tuple of str or int
            Keys from the top of the file, such as ``("estimate", "level")``.
        message : str
            What is wrong and how to mend it.

        Returns
        -------
        InvalidInputError
            With file, line and key; the caller raises it.
        """
        return located(self.text, self.file or "the study", path, message)

    def about(self, path: KeyPath, error: InvalidInputError) -> InvalidInputError:
        """An error about the data, with the key of the study file that it has to do with.

        Parameters
        ----------
        path : tuple of str or int
            Keys from the top of the file.
        error : InvalidInputError
            With a Message, or plain words on files and settings.

        Returns
        -------
        InvalidInputError
            Of the same type, with a Message if there was one; the caller raises it.
        """
        message = message_of(error)
        if message is None:
            return self.error(path, _without_addresses(str(error), self.source))
        return type(error)(Message("{where}: {why}", where=self.place(path), why=message))

    def place(self, path: KeyPath) -> str:
        """File, line and key, as errors name them."""
        return str(self.error(path, "")).removesuffix(": ")

    def described(self) -> dict[str, Any]:
        """Everything that was asked for, as plain values, without secrets and folder names.

        Returns
        -------
        dict
            Plain values, for the manifest.
        """
        cohort = asdict(self.cohort)
        cohort["condition"] = {
            "name": self.cohort.condition.name,
            "codes": [str(pattern) for pattern in self.cohort.condition.patterns],
        }
        return {
            "name": self.name, "seed": self.seed, "source": self.source.described(),
            "cohort": cohort, "estimate": asdict(self.estimate),
            "inference": asdict(self.inference), "checks": asdict(self.checks),
            "report": asdict(self.report), "compute": asdict(self.compute),
            "disclosure": asdict(self.disclosure),
        }  # fmt: skip


def study_schema() -> dict[str, Any]:
    """JSON Schema of the study file, for editors.

    Returns
    -------
    dict
        The schema; ``relprev schema`` prints it.

    Examples
    --------
    >>> sorted(study_schema()["properties"])[:3]
    ['checks', 'cohort', 'compute']
    """
    schema = TypeAdapter(StudyFile).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "relprev study",
    }


def _without_addresses(text: str, source: SourceOptions) -> str:
    """The text without addresses of databases that the study names, whole or in part."""
    for given in _texts(source.arguments.values()):
        if is_address(given):
            address = os.path.expandvars(given)
            secrets = re.findall(r"(?:password|passwd|pwd)\s*=\s*(\S+)|:([^/@\s][^@]*)@", address)
            spellings = {given, address, str(Path(address)), *filter(None, sum(secrets, ()))}
            for spelling in sorted(spellings, key=len, reverse=True):
                text = text.replace(spelling, SHOWN)
    return text


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """All texts among values and lists of them."""
    for value in values:
        yield from [value] if isinstance(value, str) else _texts(value) if isinstance(
            value, list | tuple) else ()  # fmt: skip


def _require_printable_name(path: Path) -> None:
    """The report names the study after its file."""
    if unprintable(path.stem):
        raise InvalidInputError(
            f"the name of the study file, {path.stem!r}, holds a control character; rename it"
        )


def _cohort(content: StudyFile, path: Path, text: str) -> CohortSpec:
    """The shipped cohort with the parts that the file replaces, or the file's own."""
    names = ("condition", "include", "features", "groups", "without_codes")
    given: dict[str, Any] = {
        name: getattr(content, name) for name in names if getattr(content, name) is not None
    }
    if content.cohort and content.cohort not in cohort_spec_names():
        words = f"got {content.cohort!r}; {suggestion(content.cohort, cohort_spec_names())}"
        raise located(text, str(path), ("cohort",), words)
    missing = [name for name in ("condition", "groups") if name not in given]
    if missing and not content.cohort:
        words = f"{missing[0]} is missing; give it, or a shipped cohort such as"
        raise located(text, str(path), (), f'{words} cohort = "{cohort_spec_names()[0]}"')
    try:
        if content.cohort:
            return replace(cohort_spec(content.cohort), **given)
        return CohortSpec(**given, name=path.stem)
    except InvalidInputError as error:
        raise located(text, str(path), ("groups",), str(error)) from None


def _check_references(study: Study) -> None:
    groups = {group.name: group for group in study.cohort.groups}
    for name, reference in study.estimate.reference.items():
        at: KeyPath = ("estimate", "reference", name)
        if name not in groups:
            words = f"there is no group variable of that name; {suggestion(name, list(groups))}"
            raise study.error(at, words)
        known = [*groups[name].recode, *filter(None, [groups[name].missing])]
        if groups[name].recode and reference not in known:
            raise study.error(at, f"got {reference!r}; {suggestion(reference, known)}")
