"""The cohort of one group variable: its visits are counted first, then made part by part."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from relprev.cohort.cohort import Cohort, group_dtype
from relprev.cohort.features import CodedPart, CodedVisits
from relprev.cohort.group_variable import GroupVariable
from relprev.cohort.inclusion import Selected
from relprev.cohort.numbers import NumberFeature
from relprev.cohort.recode import MISSING
from relprev.cohort.spec import NO_CONDITION, CohortSpec
from relprev.cohort.summary import MIN_PATIENTS
from relprev.cohort.unmatched import nameable, values_of, what_was_meant
from relprev.errors import DataWarning, InvalidInputError, TooFewCasesError
from relprev.matrix.coerce import listed
from relprev.messages import Count, Message, Number
from relprev.sources.attrition import Attrition, Step

Mask = NDArray[np.bool_]
FEW_DIAGNOSED = Message("too few diagnosed patients")  # the same words for none and one


@dataclass(frozen=True)
class LookedAt:
    """Visits of a cohort by whether they were looked at for the condition.

    Parameters
    ----------
    visits : dict of group to three int
        Visits of which it is not known, that were not looked at, and that were.
    diagnosed : tuple of three int
        The diagnosed among them, in all groups.

    Examples
    --------
    >>> looked_at = LookedAt({"a": (2, 30, 100), "b": (0, 5, 9)}, (0, 1, 9))
    >>> unknown, without, looked = looked_at.visits["a"]
    >>> without
    30
    """

    visits: dict[str, tuple[int, ...]]
    diagnosed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class StratumOfRows:
    """The stratum of every row of a cohort.

    Parameters
    ----------
    names : tuple of str
        Names of the strata.
    number : int16 array of shape (n,)
        Position of each row's stratum in ``names``; negative if it is in none.

    Examples
    --------
    >>> own = StratumOfRows(("young", "old"), np.array([0, 1, -1], np.int16))
    >>> own.names[own.number[1]]
    'old'
    """

    names: tuple[str, ...]
    number: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class BuiltCohort:
    """A cohort and how it was selected.

    Parameters
    ----------
    name : str
        Name of the group variable.
    cohort : Cohort
        The selected visits.
    attrition : Attrition
        How many visits remained after each step.
    left_out : mapping of str to Message
        Groups with too few visits or diagnosed patients, and why.
    visits : boolean array of shape (visits of the source,)
        Which of the source's visits are in the cohort.
    kinds : mapping of str to int
        Number of features of every kind, see `relprev.sources.kinds`.
    tested : LookedAt, optional
        Visits of the cohort that were looked at for the condition, if the study says who was.
    strata : mapping of str to StratumOfRows
        The stratum of every row, by the name of the strata.
    numbers : mapping of str to NumberFeature
        How columns of numbers became features: their median and spread.

    Examples
    --------
    >>> from relprev.cohort import as_cohort
    >>> from relprev.sources import Attrition, Step
    >>> cohort = as_cohort([[1.0], [0.0]], [1, 0], groups=["a", "b"])
    >>> steps = Attrition((Step("visits in the files", 2, None),))
    >>> BuiltCohort("ward", cohort, steps, {"c": Message("no visits")}).left_out["c"]
    Message('no visits')
    """

    name: str
    cohort: Cohort
    attrition: Attrition
    left_out: Mapping[str, Message] = field(default_factory=dict)
    visits: Mask = field(default_factory=lambda: np.empty(0, dtype=bool))
    kinds: Mapping[str, int] = field(default_factory=dict)
    tested: LookedAt | None = None
    strata: Mapping[str, StratumOfRows] = field(default_factory=dict)
    numbers: Mapping[str, NumberFeature] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class VisitsPart:
    """Included visits with their columns, codes and patients."""

    table: pa.Table
    coded: CodedPart
    patients: NDArray[np.int32] | None

    def column(self, name: str) -> Any:
        """Values of a column, or None if the source does not have it."""
        return self.table.column(name).to_pandas() if name in self.table.column_names else None


def known_step(variable: str) -> str:
    """What the attrition calls the step at which visits without a group leave."""
    return f"{variable} known"


def coded_parts(
    selected: Selected, coded: Iterable[CodedPart], columns: Sequence[str]
) -> Iterator[VisitsPart]:
    for k, part in enumerate(coded):
        patients = None if selected.patients is None else selected.patients[selected.rows(k)]
        yield VisitsPart(selected.read(k, *columns), part, patients)


class CohortMaker:
    """Builds the cohort of one group variable: first counts all parts, then builds them."""

    def __init__(
        self, spec: CohortSpec, variable: GroupVariable, selected: Selected, coded: CodedVisits
    ) -> None:
        self.name = variable.name
        self._spec, self._variable = spec, variable
        self._source, self._attrition = selected.source, selected.attrition
        self._feature_names = coded.feature_names
        self._control_names, self._kinds = coded.control_names, coded.kinds
        self._numbers = {one.column: one for one in coded.numbers.features.values()}
        self._names = selected.group_names[variable.name]
        self._recoded = any(one.recode for one in (variable, *spec.parts_of(variable)))
        self._strata_names = selected.strata_names
        self._strata: dict[str, list[NDArray[np.int16]]] = {name: [] for name in self._strata_names}
        self._tested = np.zeros((len(self._names), 3), dtype=np.int64)  # not known, no, yes
        self._tested_diagnosed = np.zeros(3, dtype=np.int64)
        n_patients = None if selected.patients is None else int(selected.patients.max()) + 1
        self._coded, self._known, self._grouped, self._large, self._estimable = (
            _Tally(n_patients) for _ in range(5)
        )
        self._cases: list[NDArray[np.int64]] = []  # group and patient of every diagnosed visit
        self._size, self._diagnosed = np.zeros((2, len(self._names)), dtype=np.int64)
        self._visits = np.zeros(len(selected.row_of_visit), dtype=bool)
        self._patients = _PatientNumbers(n_patients or 0)
        self._labels = {"stratum": _Labels(selected.sampled_psus), "psu": _Labels()}
        self._sampled_psus = tuple(selected.sampled_psus.values())

    def count(self, part: VisitsPart) -> None:
        """Count the visits of a part after each step."""
        coded, known, grouped = self._steps(part)
        for tally, rows in (
            (self._coded, coded), (self._known, known), (self._grouped, grouped)
        ):  # fmt: skip
            tally.add(rows, part.patients)
        position = self._position(part)
        self._size += np.bincount(position[grouped], minlength=len(self._names))
        hit = grouped & (part.coded.diagnosed == 1)
        self._diagnosed += np.bincount(position[hit], minlength=len(self._names))
        if part.patients is not None:
            pairs = part.patients[hit].astype(np.int64) * len(self._names) + position[hit]
            self._cases.append(np.unique(pairs))

    def decide(self) -> None:
        """Exclude small groups, and fail if nothing is left to compare."""
        variable, names = self._variable, self._names
        is_small = self._size < self._smallest
        few, none = Message("too few visits"), Message("no visits")
        self._small = {names[k]: few if self._size[k] else none for k in np.flatnonzero(is_small)}
        if variable.is_cross:  # nobody asked for combinations that do not occur
            self._small = {name: why for name, why in self._small.items() if why != none}
        self._large_enough = ~is_small
        is_thin = self._thin(~is_small)
        self._few = {names[k]: FEW_DIAGNOSED for k in np.flatnonzero(is_thin)}
        left_out = self._small | self._few
        for reason in dict.fromkeys(left_out.values()):
            said = Message(
                "{variable}: excluded for having {reason}: {groups}",
                variable=self.name, reason=reason,
                groups=[name for name, why in left_out.items() if why == reason],
            )  # fmt: skip
            warnings.warn(DataWarning(said), stacklevel=4)
        kept = np.flatnonzero(~is_small & ~is_thin)
        if len(kept) < 2:
            raise InvalidInputError(
                Message(
                    "{variable}: {kept} of the groups ({groups}) have visits, but at least two are "
                    "needed; compare the recode with the values in the source{known}",
                    variable=variable.name, kept=Number(len(kept)), groups=list(names),
                    known=self._known_values(),
                )
            )  # fmt: skip
        visits, diagnosed = int(self._size[kept].sum()), int(self._diagnosed[kept].sum())
        if not diagnosed and self._spec.condition != NO_CONDITION:
            raise TooFewCasesError(
                Message(
                    "no visit of the {variable} cohort ({visits}) has a code of {condition}; "
                    "{remedy}",
                    variable=variable.name, visits=Count(visits, "visit"),
                    condition=repr(self._spec.condition.name),
                    remedy=what_was_meant(self._spec, self._source),
                )
            )  # fmt: skip
        if diagnosed == visits:
            raise InvalidInputError(
                Message(
                    "all visits of the {variable} cohort have a code of {condition}; a comparison "
                    "needs visits without one",
                    variable=variable.name, condition=repr(self._spec.condition.name),
                )
            )  # fmt: skip
        self._group_names = tuple(names[k] for k in kept)
        self._number = np.full(len(names), -1)
        self._number[kept] = np.arange(len(kept))

    def _known_values(self) -> str:
        """The values that a recode could have named."""
        variable = self._variable
        if not variable.recode:
            return ""
        return f": {listed(nameable(values_of(self._source, variable.columns[0])))}"

    def _thin(self, large: Mask) -> Mask:
        """Groups with too few diagnosed patients; none, if fewer than two others would remain."""
        cases = self._diagnosed
        if self._cases:
            of_group = np.unique(np.concatenate(self._cases)) % len(self._names)
            cases = np.bincount(of_group, minlength=len(self._names))
        thin = large & (cases < MIN_PATIENTS)
        enough = np.count_nonzero(large & ~thin) >= 2
        return thin if enough and self._variable.few_diagnosed == "drop" else thin & False

    def has_rows(self, part: VisitsPart) -> bool:
        """Whether any visit of a part belongs to the cohort."""
        return bool(self._rows(part).any())

    def make(self, part: VisitsPart) -> Cohort:
        """The cohort's visits in a part."""
        mask = self._rows(part)
        self._large.add(self._in_large_groups(part), part.patients)
        self._estimable.add(mask, part.patients)
        if self._spec.tested is not None:
            state = part.table.column("tested").to_numpy()[mask] + 1
            np.add.at(self._tested, (self._position(part)[mask], state), 1)
            hit = part.coded.diagnosed[mask] == 1
            self._tested_diagnosed += np.bincount(state[hit], minlength=3)
        self._visits[part.table.column("visit").to_numpy()[mask]] = True
        rows = np.flatnonzero(mask)
        for name, numbers in self._strata.items():
            numbers.append(part.table.column(f"strata:{name}").to_numpy()[rows])
        group = self._number[self._position(part)[rows]]

        def column(name: str) -> Any:
            values = part.column(name)
            return None if values is None else values.take(rows)

        def labels(name: str) -> NDArray[np.int32] | None:
            values = column(name)
            return None if values is None else self._labels[name](values)

        weights, ids = column("weight"), column("visit_id")
        return Cohort.of(
            X=part.coded.X if mask.all() else part.coded.X.take(rows),
            diagnosed=part.coded.diagnosed[rows],
            groups=group.astype(group_dtype(len(self._group_names))),
            group_names=self._group_names,
            weights=None if weights is None else weights.to_numpy(np.float64),
            clusters=None if part.patients is None else self._patients(part.patients[rows]),
            strata=labels("stratum"),
            psus=labels("psu"),
            feature_names=self._feature_names,
            ids=None if ids is None else np.asarray(ids),
            controls=part.coded.controls[rows] if self._control_names else None,
            control_names=self._control_names,
            sampled_psus=self._sampled_psus,
        )

    def built(self, cohort: Cohort) -> BuiltCohort:
        """The cohort, with its attrition and excluded groups."""
        name, variable = self.name, self._variable
        steps = []
        if self._spec.without_codes == "drop":
            steps.append(self._coded.step("at least one code"))
        if not variable.missing:
            steps.append(self._known.step(known_step(name)))
        if self._recoded:
            steps.append(self._grouped.step(f"{name} in one of the study's groups"))
        if self._small:
            steps.append(self._large.step(f"{name} group of {self._smallest:,} or more"))
        if self._few:
            steps.append(self._estimable.step(f"{name} group with enough diagnosed patients"))
        return BuiltCohort(
            name, cohort, self._attrition.then(*steps), self._small | self._few, self._visits,
            self._kinds, None if self._spec.tested is None else self._looked_at(),
            {own: StratumOfRows(self._strata_names[own], np.concatenate(numbers))
             for own, numbers in self._strata.items()}, self._numbers,
        )  # fmt: skip

    def _looked_at(self) -> LookedAt:
        rows = dict(zip(self._names, self._tested.tolist(), strict=True))
        visits = {name: tuple(rows[name]) for name in self._group_names}
        return LookedAt(visits, tuple(self._tested_diagnosed.tolist()))

    @property
    def _smallest(self) -> int:
        return max(self._variable.minimum_size, 1)

    def _position(self, part: VisitsPart) -> NDArray[np.int16]:
        return part.table.column(f"group:{self.name}").to_numpy()

    def _steps(self, part: VisitsPart) -> tuple[Mask, Mask, Mask]:
        """Visits with a code; those of them with a known group; those in a group of the study."""
        position = self._position(part)
        has_code = part.coded.has_code
        coded = has_code if self._spec.without_codes == "drop" else np.ones_like(has_code)
        known = coded & (position != MISSING)
        return coded, known, known & (position >= 0)

    def _in_large_groups(self, part: VisitsPart) -> Mask:
        return self._steps(part)[-1] & self._large_enough[self._position(part)]

    def _rows(self, part: VisitsPart) -> Mask:
        """Visits of the cohort."""
        return self._steps(part)[-1] & (self._number[self._position(part)] >= 0)


class _Tally:
    """Counts visits and, if they are identified, distinct patients."""

    def __init__(self, n_patients: int | None) -> None:
        self._visits = 0
        self._seen = None if n_patients is None else np.zeros(n_patients, dtype=bool)

    def add(self, rows: Mask, patients: NDArray[np.int32] | None) -> None:
        self._visits += int(np.count_nonzero(rows))
        if self._seen is not None and patients is not None:
            self._seen[patients[rows]] = True

    def step(self, words: str) -> Step:
        return Step(words, self._visits, None if self._seen is None else int(self._seen.sum()))


class _PatientNumbers:
    """Renumbers patients by first appearance, across parts."""

    def __init__(self, n_patients: int) -> None:
        self._number = np.full(n_patients, -1, dtype=np.int32)
        self._count = 0

    def __call__(self, patients: NDArray[np.int32]) -> NDArray[np.int32]:
        new = pd.unique(patients[self._number[patients] < 0])
        self._number[new] = np.arange(self._count, self._count + len(new), dtype=np.int32)
        self._count += len(new)
        return self._number[patients]


class _Labels:
    """Numbers a few labels: known ones first, then by first appearance, across parts."""

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self._number: dict[Any, int] = {label: k for k, label in enumerate(known)}

    def __call__(self, values: pd.Series) -> NDArray[np.int32]:
        code, different = pd.factorize(values)
        numbers = [self._number.setdefault(label, len(self._number)) for label in different]
        return np.array(numbers, dtype=np.int32)[code]
