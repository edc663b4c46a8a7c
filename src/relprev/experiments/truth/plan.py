"""The plan of the NHANES evidence: conditions, features, groups and aims, read from a file.

The file that comes with relprev, ``data/plans/nhanes.toml``, was written before its cells were run.
It names no survey cycle, so that it applies to any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources

from relprev.settings import Declared, parse_settings
from relprev.sources.expressions import columns_in


@dataclass(frozen=True)
class Population(Declared):
    """Who takes part: a column with the age, and the least age."""

    age: str
    minimum_age: float


@dataclass(frozen=True)
class PlannedCondition(Declared):
    """What people are told and what is measured, as expressions; names of features."""

    told: str
    measured: str
    risk: tuple[str, ...]
    findings: tuple[str, ...]
    among: str = "true"


@dataclass(frozen=True)
class PlannedFeature(Declared):
    """A column, with edges if it is a number."""

    column: str
    edges: tuple[float, ...] = ()


@dataclass(frozen=True)
class PlannedContrast(Declared):
    """Two groups, each a name and an expression, and features that would tell them apart."""

    group: Mapping[str, str]
    versus: Mapping[str, str]
    without: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """The group and what it is compared with."""
        return next(iter(self.group)), next(iter(self.versus))


@dataclass(frozen=True)
class PlannedControl(Declared):
    """A finding measured in everybody, and where it is no control."""

    where: str
    apart: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class Methods(Declared):
    """Names of methods."""

    main: tuple[str, ...]
    baselines: tuple[str, ...]


@dataclass(frozen=True)
class Aim(Declared):
    """A share that results are held to, and the aim in words."""

    share: float
    words: str
    factor: float = 1.0


@dataclass(frozen=True)
class Plan(Declared):
    """Everything that is decided before the data are looked at.

    Examples
    --------
    >>> plan = nhanes_plan()
    >>> len(plan.conditions), len(plan.contrasts), sorted(plan.aims)
    (9, 7, ['held', 'nearer', 'warned'])
    """

    version: int
    population: Population
    derive: Mapping[str, str | tuple[str, ...]]
    conditions: Mapping[str, PlannedCondition]
    features: Mapping[str, PlannedFeature]
    sets: Mapping[str, str]
    recording: Mapping[str, str]
    contrasts: Mapping[str, PlannedContrast]
    controls: Mapping[str, PlannedControl]
    methods: Methods
    aims: Mapping[str, Aim]

    def cells(self) -> Iterator[PlannedCell]:
        """Every condition with every way of recording, set of features and contrast."""
        for condition, planned in self.conditions.items():
            for features in self.sets:
                if features == "findings" and not planned.findings:
                    continue
                for recording in self.recording:
                    for contrast in self.contrasts:
                        yield PlannedCell(condition, recording, features, contrast)

    def derived(self, columns: Collection[str]) -> dict[str, str]:
        """The derived columns that data with these columns allow, and their expressions."""
        known, found = {name.upper() for name in columns}, {}
        for name, given in self.derive.items():
            for text in [given] if isinstance(given, str) else given:
                if {used.upper() for used in columns_in(text)} <= known:
                    found[name] = text
                    known.add(name.upper())
                    break
        return found


@dataclass(frozen=True)
class PlannedCell:
    """One comparison of the plan, by the names of its parts."""

    condition: str
    recording: str
    features: str
    contrast: str


@dataclass(frozen=True)
class CellColumns:
    """What a cell needs from data: expressions, features and controls; what is absent."""

    condition: PlannedCondition
    contrast: PlannedContrast
    features: tuple[PlannedFeature, ...]
    controls: Mapping[str, str]
    left_out: tuple[str, ...] = ()
    absent: tuple[str, ...] = field(default=())


def columns_of(plan: Plan, cell: PlannedCell, known: Collection[str]) -> CellColumns:
    """What a cell is made of, in data with these columns (derived ones included)."""
    present = {name.upper() for name in known}
    condition, contrast = plan.conditions[cell.condition], plan.contrasts[cell.contrast]
    needed = [condition.told, condition.measured, condition.among,
              *contrast.group.values(), *contrast.versus.values()]  # fmt: skip
    wanted = {name for text in needed for name in columns_in(text)}
    absent = sorted(name for name in wanted if name.upper() not in present)
    names = (*condition.risk, *(condition.findings if cell.features == "findings" else ()))
    names = tuple(name for name in names if name not in contrast.without)
    used = [name for name in names if plan.features[name].column.upper() in present]
    if cell.features == "findings" and not set(used) & set(condition.findings):
        absent += [plan.features[name].column for name in condition.findings]
    controls = {
        name: control.where
        for name, control in plan.controls.items()
        if not set(control.apart) & set(used)
        and cell.condition not in control.not_for
        and {column.upper() for column in columns_in(control.where)} <= present
    }
    return CellColumns(
        condition, contrast, tuple(plan.features[name] for name in used), controls,
        tuple(name for name in names if name not in used), tuple(absent),
    )  # fmt: skip


def nhanes_plan() -> Plan:
    """The plan that comes with relprev."""
    file = resources.files("relprev") / "data" / "plans" / "nhanes.toml"
    return parse_settings(file.read_text(encoding="utf-8"), Plan, "nhanes.toml")
