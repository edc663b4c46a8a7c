"""Cover for small counts: what else must be hidden so that none can be worked out.

A reader knows the cells that are shown, v_j, and that all cells obey the equations A v = 0. A
hidden count x_c must then lie between

    min x_c  and  max x_c   over   A x = 0,  x_j = v_j where shown,  l <= x <= u where not,

two linear programs. The bounds l and u assume that the reader knows this method too. A count hidden
for being small is 1 to the threshold. One hidden as cover is not small (a note on few cases may
even say that it is more than twice the threshold). As the smallest available cell is taken as
cover, it is at most the next larger one that is still shown beside it; smaller ones are shown where
it was chosen for another sum, of which the reader cannot know.

A count is safe if its range holds at least `MIN_VALUES` values. As long as one is not, the cheapest
of the cells that the programs' dual values name is hidden: shown cells whose value moves the bound.
A program's solution has a value for every hidden cell that is tied to the one it is about. All such
solutions, and the data themselves, remain possible as more is hidden, so a cell that differs enough
between two of them is safe, and needs no program of its own.
A known sum of hidden cells that is itself small counts as revealed. Cover that follows from what is
shown in the end, such as a count that another table shows too, covers nothing and is shown again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from relprev.disclosure.rule import Rule
from relprev.lazy import OnDemand
from relprev.messages import Cell

if TYPE_CHECKING:
    from scipy import optimize, sparse
else:
    optimize, sparse = OnDemand("scipy.optimize"), OnDemand("scipy.sparse")

MIN_VALUES = 5  # that a hidden count can still have
SLACK = 1e-6
Equation = Mapping[Cell, int]  # factors of cells whose sum is zero
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Known:
    """What is known about a count; see `Cells.add`."""

    value: int
    people: int
    derived: bool
    rank: tuple[int, ...]
    secret: bool = False
    least: int = 1


@dataclass(frozen=True)
class _Part:
    """Hidden cells tied together by equations, their bounds, and the numbers of the equations."""

    cells: list[Cell]
    equations: list[int]
    bounds: dict[Cell, Bounds]


def suppressed(known: Mapping[Cell, Known], equations: Sequence[Equation], rule: Rule) -> set[Cell]:
    """The cells that must not be printed; see `relprev.disclosure.Cells.hidden`."""
    if not rule.hide:
        return set()
    return _Search(dict(known), list(equations), rule).run()


@dataclass
class _Search:
    known: dict[Cell, Known]
    equations: list[Equation]
    rule: Rule
    hidden: set[Cell] = field(default_factory=set)
    places: dict[Cell, list[int]] = field(default_factory=dict)
    slack: set[Cell] = field(default_factory=set)
    unknown: list[list[Cell]] = field(default_factory=list)  # cells of each equation
    constant: list[float] = field(default_factory=list)  # what its other cells add to it
    bounds: dict[Cell, Bounds] = field(default_factory=dict)  # that have been worked out
    possible: dict[Cell, Bounds] = field(default_factory=dict)  # ends of values in solutions

    def run(self) -> set[Cell]:
        for number, equation in enumerate(self.equations):
            for cell in equation:
                self.places.setdefault(cell, []).append(number)
        self.slack = {cell for cell in self.places if self._is_slack(cell)}
        small = [cell for cell in self.known if self._sensitive(cell)]
        self._hide_only({cell for cell in small if not self.known[cell].derived})
        self._cover(small)
        if follows := self._following():
            self._hide_only(self.hidden - follows)
            self._cover(small)  # shown again, they may tell how large cover beside them is
        return self.hidden

    def _cover(self, small: Sequence[Cell]) -> None:
        for cell in small:  # more cover for one never uncovers another
            while (cover := self._missing_cover(cell)) is not None:
                self._hide(cover)
        while (cover := self._uncovered_sum()) is not None:
            self._hide(cover)

    # -- what is hidden ----------------------------------------------------------------------

    def _hide_only(self, cells: set[Cell]) -> None:
        self.hidden = cells
        self.unknown, self.constant = [[] for _ in self.equations], [0.0] * len(self.equations)
        self.bounds = {}
        self.possible = {cell: (known.value, known.value) for cell, known in self.known.items()}
        for number in range(len(self.equations)):
            self._look_at(number)

    def _hide(self, cell: Cell) -> None:
        self.hidden.add(cell)
        for number in self.places.get(cell, ()):
            self._look_at(number)
            for other in self.equations[number]:
                self.bounds.pop(other, None)

    def _look_at(self, number: int) -> None:
        equation = self.equations[number]
        self.unknown[number] = [cell for cell in equation if self._unknown(cell)]
        shown = [(cell, factor) for cell, factor in equation.items() if not self._unknown(cell)]
        self.constant[number] = float(sum(by * self.known[cell].value for cell, by in shown))

    def _following(self) -> set[Cell]:
        """Cover that is all that is unknown of an equation, given other such cover."""
        found: set[Cell] = set()
        waiting = list(range(len(self.equations)))
        while waiting:
            unknown = [cell for cell in self.unknown[waiting.pop()] if cell not in found]
            if len(unknown) == 1 and unknown[0] in self.hidden and not self._sensitive(unknown[0]):
                found.add(unknown[0])
                waiting += self.places[unknown[0]]
        return found

    def _sensitive(self, cell: Cell) -> bool:
        return self.known[cell].secret or self.rule.is_small(self.known[cell].people)

    def _unknown(self, cell: Cell) -> bool:
        return cell in self.hidden or self.known[cell].derived

    # -- what a reader can tell about a cell -----------------------------------------------

    def _missing_cover(self, cell: Cell) -> Cell | None:
        """What to hide next to protect a cell; None if it is safe, or nothing can be done."""
        if self._is_safe(cell, *self.possible[cell]):
            return None
        part = self._part(cell)
        if not part.equations:
            return None
        ends = _one_equation if len(part.equations) == 1 else _program
        low, high, moving = ends(self, part, cell)
        if self._is_safe(cell, low, high):
            return None
        return self._cheapest(moving) or self._cheapest(
            other for number in part.equations for other in self.equations[number]
        )

    def _is_safe(self, cell: Cell, low: float, high: float) -> bool:
        """Whether a range leaves enough values, and does not tell that a secret is not zero."""
        values = math.floor(high + SLACK) - math.ceil(low - SLACK) + 1 if high < math.inf else 1e9
        told = self.known[cell].secret and low > SLACK
        return values >= min(MIN_VALUES, self.rule.threshold) and not told

    def _cheapest(self, cells: Iterable[Cell]) -> Cell | None:
        able = [cell for cell in cells if not self._unknown(cell) and self.known[cell].value > 0]
        return min(able, key=self._cost, default=None)

    def _cost(self, cell: Cell) -> tuple[tuple[int, ...], int, Cell]:
        return self.known[cell].rank, self.known[cell].value, cell

    def _part(self, start: Cell) -> _Part:
        """All hidden cells that are tied to this one, directly or through others."""
        seen, waiting = {start: None}, [start]  # in a fixed order
        used: dict[int, bool] = {}
        bounds = {start: self._bounds(start)}
        while waiting:
            for number in self.places.get(waiting.pop(), ()):
                if number in used:
                    continue
                unknown, used[number] = self.unknown[number], True
                slack = [cell for cell in unknown if cell in self.slack and cell not in seen]
                if slack and len(unknown) == 2:
                    used[number] = False  # a bound says the same
                    (other,) = (cell for cell in unknown if cell != slack[0])
                    own = bounds.get(other) or self._bounds(other)
                    bounds[other] = self._tightened(own, other, slack[0], number)
                    unknown = [other]
                for cell in unknown:
                    if cell not in bounds:
                        bounds[cell] = self._bounds(cell)
                    if cell not in seen:
                        seen[cell] = None
                        waiting.append(cell)
        return _Part(list(seen), [number for number, use in used.items() if use], bounds)

    def _is_slack(self, cell: Cell) -> bool:
        """Whether one equation, and that it is not negative, is all that is known about a cell."""
        large = self.known[cell].derived and not self._sensitive(cell)
        return large and len(self.places[cell]) == 1

    def _tightened(self, own: Bounds, cell: Cell, slack: Cell, number: int) -> Bounds:
        """Bounds of a cell, given that the slack of the equation is not negative."""
        equation = self.equations[number]
        edge = -self.constant[number] / equation[cell]
        if equation[cell] * equation[slack] > 0:
            return own[0], min(own[1], edge)
        return max(own[0], edge), own[1]

    def _bounds(self, cell: Cell) -> Bounds:
        if cell not in self.bounds:
            self.bounds[cell] = self._own_bounds(cell)
        return self.bounds[cell]

    def _own_bounds(self, cell: Cell) -> Bounds:
        at, threshold = self.known[cell], self.rule.threshold
        if self._sensitive(cell):
            least = 0.0 if at.secret else float(min(at.least, at.value))
            return least, threshold if at.value <= threshold else math.inf
        if at.derived:
            return 0.0, math.inf
        beside = [
            self.known[other].value for number in self.places.get(cell, ())
            for other, factor in self.equations[number].items()
            if factor == self.equations[number][cell] and self.known[other].rank == at.rank
            and not self._unknown(other) and self.known[other].value >= at.value
        ]  # fmt: skip
        least = 2 * threshold if at.value > 2 * threshold else min(at.value, threshold + 1)
        return least, min(beside, default=math.inf)

    def note(self, cells: Sequence[Cell], values: Iterable[float]) -> None:
        """Keep a solution."""
        for cell, value in zip(cells, values, strict=True):
            low, high = self.possible[cell]
            self.possible[cell] = min(low, value), max(high, value)

    # -- sums ------------------------------------------------------------------------------

    def _uncovered_sum(self) -> Cell | None:
        """Cover for an equation whose hidden cells have a known sum that is small."""
        for equation, unknown in zip(self.equations, self.unknown, strict=True):
            if len(unknown) < 2 or len({equation[cell] for cell in unknown}) > 1:
                continue
            people = sum(self.known[cell].people for cell in unknown)
            if self.rule.is_small(people):
                cover = self._cheapest(equation)
                if cover is not None:
                    return cover
        return None


def _one_equation(search: _Search, part: _Part, cell: Cell) -> tuple[float, float, list[Cell]]:
    """The range of a cell that stands in one equation, without a linear program."""
    number = part.equations[0]
    equation = search.equations[number]
    low = high = -search.constant[number]
    for other in search.unknown[number]:
        if other != cell:
            ends = sorted(equation[other] * end for end in part.bounds[other])
            low, high = low - ends[1], high - ends[0]
    ends = sorted(end / equation[cell] for end in (low, high))
    own = part.bounds[cell]
    return max(ends[0], own[0]), min(ends[1], own[1]), list(equation)


def _program(search: _Search, part: _Part, cell: Cell) -> tuple[float, float, list[Cell]]:
    """Smallest and largest value of a cell, and the shown cells that move one of them."""
    column = {other: k for k, other in enumerate(part.cells)}
    b = [-search.constant[number] for number in part.equations]
    terms = [
        (search.equations[number][other], row, column[other])
        for row, number in enumerate(part.equations)
        for other in search.unknown[number]
    ]
    factors, rows, columns = zip(*terms, strict=True)
    A = sparse.csr_array((factors, (rows, columns)), (len(b), len(column)), dtype=float)
    aim: NDArray[np.float64] = np.zeros(len(part.cells))
    aim[column[cell]] = 1.0
    bounds = np.array([part.bounds[other] for other in part.cells])
    ends: list[float] = []
    moving: dict[Cell, bool] = {}
    for sign in (1.0, -1.0):
        found = optimize.linprog(sign * aim, A_eq=A, b_eq=b, bounds=bounds, method="highs")
        if not found.success:  # no bound, or one beyond what the solver can hold
            ends.append(-sign * math.inf)
            continue
        ends.append(float(sign * found.fun))
        search.note(part.cells, found.x.tolist())
        weight: dict[Cell, float] = {}
        for y, number in zip(found.eqlin.marginals.tolist(), part.equations, strict=True):
            if y:
                for other, factor in search.equations[number].items():
                    weight[other] = weight.get(other, 0.0) + y * factor
        moving |= {other: True for other, by in weight.items() if abs(by) > SLACK}
    return ends[0], ends[1], list(moving)
