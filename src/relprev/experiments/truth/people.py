"""NHANES as cohorts with a known truth: one per cell of the plan."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Extra, Features, GroupVariable, Include, build_cohorts
from relprev.cohort.controls import Controls
from relprev.experiments.truth.known import KnownTruth
from relprev.experiments.truth.plan import CellColumns, Plan, PlannedCell, columns_of, nhanes_plan
from relprev.sources.derived import with_derived
from relprev.sources.nhanes import read_nhanes
from relprev.sources.source import Source

SIDE, RECORDED, TRUTH, TAKES_PART = "_side", "_recorded", "_truth", "_takes_part"


@lru_cache(maxsize=1)
def open_people(path: str) -> Source:
    """NHANES with the plan's derived columns, read once per process."""
    source = read_nhanes(path)
    return with_derived(source, nhanes_plan().derived(source.columns("visits")))


def absent_variables(plan: Plan, cell: PlannedCell, source: Source) -> tuple[str, ...]:
    """Variables without which a cell cannot be made."""
    return columns_of(plan, cell, source.columns("visits")).absent


def known_truth(plan: Plan, cell: PlannedCell, source: Source) -> KnownTruth:
    """The cohort of a cell; raises as `build_cohorts` does where nobody is left."""
    parts = columns_of(plan, cell, source.columns("visits"))
    spec = cohort_spec_of(plan, cell, parts)
    derived = with_derived(source, spec.derive)
    built = build_cohorts(_without_derive(spec), derived, keep_ids=True)[SIDE]
    rows = dict(derived.query(f"SELECT visit_id, {TRUTH} FROM visits WHERE {TRUTH} IS NOT NULL"))
    assert built.cohort.ids is not None
    condition = np.array([rows[number] for number in built.cohort.ids.tolist()], dtype=np.uint8)
    everybody = np.ones(built.cohort.n, dtype=bool)
    return KnownTruth(built.cohort, condition, everybody, *parts.contrast.names)


def cohort_spec_of(plan: Plan, cell: PlannedCell, parts: CellColumns) -> CohortSpec:
    """A cell as anybody could write it in a study file."""
    told, measured = f"({parts.condition.told})", f"({parts.condition.measured})"
    recorded, truth = {
        "strict": (f"{told} and {measured}", measured),
        "loose": (told, f"{told} or {measured}"),
    }[cell.recording]
    (group, is_group), (versus, is_versus) = (
        *parts.contrast.group.items(), *parts.contrast.versus.items(),
    )  # fmt: skip
    controls = {name: f"_control_{number}" for number, name in enumerate(parts.controls)}
    derive = {
        RECORDED: recorded,
        TRUTH: truth,
        SIDE: f"where({is_group}, {group!r}, where({is_versus}, {versus!r}, ''))",
        TAKES_PART: f"({parts.condition.among}) and not missing({told}) "
        f"and not missing({measured}) and {SIDE} != ''",
        **{controls[name]: where for name, where in parts.controls.items()},
    }
    return CohortSpec(
        condition=CodeSet.of(cell.condition, [f"IS:{RECORDED}"]),
        groups=(GroupVariable(SIDE),),
        include=(
            Include(plan.population.age, minimum=plan.population.minimum_age),
            Include(TAKES_PART, one_of=("true",)),
        ),
        features=Features(
            extra=tuple(Extra(one.column, one.edges, missing=True) for one in parts.features)
        ),
        without_codes="keep",
        controls=Controls(conditions={name: (f"IS:{code}",) for name, code in controls.items()}),
        derive=derive,
    )


def _without_derive(spec: CohortSpec) -> CohortSpec:
    return CohortSpec(
        spec.condition, spec.groups, spec.include, spec.features, spec.without_codes, spec.controls
    )
