"""Build cohorts, one per group variable, from a source and a specification.

Two passes over the included visits first count them, then build the cohorts. A cohort in
memory is a single part. Larger cohorts are written part by part, so that memory holds only
one part and a few bytes per visit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path

from relprev.cohort.cohort import Cohort
from relprev.cohort.features import coded_visits
from relprev.cohort.group_variable import GroupVariable
from relprev.cohort.grouped import BuiltCohort, CohortMaker, VisitsPart, coded_parts
from relprev.cohort.inclusion import select_visits
from relprev.cohort.part_files import PartsWriter
from relprev.cohort.spec import CohortSpec
from relprev.errors import InvalidInputError
from relprev.progress import progress
from relprev.rows.disk import Scratch
from relprev.sources.database import reading
from relprev.sources.derived import with_derived
from relprev.sources.source import Source, memory_limited

ROWS_PER_PART = 1_000_000
DATABASE_MEMORY = "2GB"  # while parts are written


@reading("the source")
def build_cohorts(
    spec: CohortSpec,
    source: Source,
    *,
    groups: Sequence[str] | None = None,
    keep_ids: bool = False,
    folder: str | Path | None = None,
    rows_per_part: int = ROWS_PER_PART,
    verbose: bool = False,
) -> dict[str, BuiltCohort]:
    """Build the cohorts of a specification, in memory or, with ``folder``, in parts on disk.

    All cohorts have the same features. Whether a feature is common enough is decided on the
    included visits, before any group variable excludes some of them.

    Parameters
    ----------
    spec : CohortSpec
        Condition, inclusion rules, features and groups.
    source : Source
        Visits and codes.
    groups : sequence of str, optional
        Names of the group variables to use. Default: all.
    keep_ids : bool
        Keep the identifiers of visits; only for cohorts in memory.
    folder : path, optional
        Where to write the cohorts, in parts, if data are larger than memory.
    rows_per_part : int
        Visits per part, with ``folder``.
    verbose : bool
        Show progress on standard error.

    Returns
    -------
    dict of str to BuiltCohort
        Cohorts by the name of their group variable.

    Examples
    --------
    >>> import pandas as pd
    >>> from relprev.codes import CodeSet
    >>> from relprev.cohort import GroupVariable, Include
    >>> from relprev.sources import read_tables
    >>> visits = pd.DataFrame({"id": [1, 2, 3, 4, 5], "age": [30, 41, 17, 52, 60],
    ...                        "ward": ["a", "a", "a", "b", "b"]})
    >>> codes = pd.DataFrame({"id": [1, 1, 2, 3, 4, 5], "version": ["10"] * 6,
    ...                       "dx": ["N80.1", "R10.2", "R10.2", "R51", "R51", "R11"]})
    >>> source = read_tables(visits, codes, visit_id="id", age="age", code="dx",
    ...                      version="version", attributes=["ward"])
    >>> spec = CohortSpec(CodeSet.of("endometriosis", ["ICD10:N80*"]), (GroupVariable("ward"),),
    ...               (Include("age", minimum=18),))
    >>> built = build_cohorts(spec, source)["ward"]
    >>> built.cohort.feature_names, built.cohort.diagnosed.tolist()
    (('ICD10:R102', 'ICD10:R11', 'ICD10:R51'), [1, 0, 0, 0])
    >>> built.attrition.to_frame()["visits"].tolist()
    [5, 4, 4, 4]
    """
    variables = _wanted(spec, groups)
    source = with_derived(source, spec.derive)
    if folder is not None:
        folder = Path(folder)
        if keep_ids:
            raise InvalidInputError(
                "keep_ids cannot be combined with folder: identifiers are never written"
            )
        if rows_per_part < 1:
            raise InvalidInputError(f"rows_per_part must be 1 or more, got {rows_per_part}")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    spared = nullcontext() if folder is None else memory_limited(source, DATABASE_MEMORY)
    with progress("Cohort", 4, verbose) as advance, spared:
        advance("inclusion rules")
        size = None if folder is None else rows_per_part
        selected = select_visits(spec, source, variables, size, keep_ids)
        with closing(selected):
            advance("codes")
            coded = coded_visits(
                spec, source, selected, None if folder is None else Scratch(folder)
            )
            if not coded.feature_names:
                raise InvalidInputError(
                    "no features remain: apart from the condition's own codes, no code with the "
                    "requested roles is common enough in the included visits (min_count is "
                    f"{spec.features.min_count}); check roles and min_count"
                )
            makers = [CohortMaker(spec, variable, selected, coded) for variable in variables]
            advance("groups")
            columns = [f"group:{variable.name}" for variable in variables]
            columns += ["tested"] if spec.tested is not None else []
            for part in coded_parts(selected, coded.parts, columns):
                for maker in makers:
                    maker.count(part)
            for maker in makers:
                maker.decide()
            advance("cohorts")
            columns += ["visit", *selected.design, *(["visit_id"] if keep_ids else [])]
            cohorts = _made(makers, coded_parts(selected, coded, columns), folder)
    return {maker.name: maker.built(cohort) for maker, cohort in zip(makers, cohorts, strict=True)}


def _wanted(spec: CohortSpec, groups: Sequence[str] | None) -> tuple[GroupVariable, ...]:
    if groups is None:
        return spec.groups
    names = [variable.name for variable in spec.groups]
    unknown = sorted(set(groups) - set(names))
    if unknown:
        raise InvalidInputError(f"groups must be among {names}, got {unknown}")
    return tuple(variable for variable in spec.groups if variable.name in groups)


def _made(
    makers: Sequence[CohortMaker], parts: Iterator[VisitsPart], folder: Path | None
) -> Sequence[Cohort]:
    """The cohorts: in memory if there is no folder, otherwise written part by part."""
    if folder is None:
        (only,) = parts
        return [maker.make(only) for maker in makers]
    places = [folder / f"cohort-{number}" for number in range(len(makers))]
    with ExitStack() as stack:
        writers = [stack.enter_context(PartsWriter(place)) for place in places]
        for part in parts:
            for maker, writer in zip(makers, writers, strict=True):
                if maker.has_rows(part):
                    writer.add(maker.make(part))
    return [Cohort.open(place) for place in places]
