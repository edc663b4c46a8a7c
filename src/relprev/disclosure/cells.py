"""All counts that a study publishes, and the sums that they obey.

A cell is a count: of a group, a level of the attrition, a bin, a feature, or what is left when
some are subtracted from others. *Derived* cells (the undiagnosed of a group, the people whom a step
excludes, the rest of a total) are never printed, but follow from others, so they are in the system
as well. An equation says that one cell is the sum of others. `Cells.hidden` finds what must not be
printed; see `relprev.disclosure.suppression`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relprev.disclosure.rule import Rule
from relprev.disclosure.suppression import Equation, Known, suppressed
from relprev.messages import Cell


@dataclass
class Cells:
    """Counts and their equations.

    Parameters
    ----------
    known : dict of Cell to Known
        The counts, by name; `add` enters them.
    equations : list of mapping of Cell to int
        Factors of cells whose weighted sum is zero; `sums`, `rest` and `apart` enter them.

    Examples
    --------
    A group of 4 is hidden and, as the total is known, so is the next smallest:

    >>> cells = Cells()
    >>> for name, n in {"all": 504, "a": 400, "b": 100, "c": 4}.items():
    ...     _ = cells.add(("n", name), n)
    >>> cells.sums(("n", "all"), [("n", "a"), ("n", "b"), ("n", "c")])
    >>> sorted(cells.hidden(Rule()))
    [('n', 'b'), ('n', 'c')]

    A state of 203 with a county of 200, and two totals 5 apart:

    >>> cells = Cells({}, [])
    >>> county, state = cells.add(("county",), 200), cells.add(("state",), 203)
    >>> cells.rest(state, [county], ("elsewhere",))
    ('elsewhere',)
    >>> one, two = cells.add(("one",), 9000), cells.add(("two",), 9005)
    >>> cells.apart(one, two, Rule())
    >>> sorted(cells.hidden(Rule()))
    [('county',), ('one',)]
    """

    known: dict[Cell, Known] = field(default_factory=dict)
    equations: list[Equation] = field(default_factory=list)

    def add(
        self,
        cell: Cell,
        value: int,
        people: int | None = None,
        *,
        derived: bool = False,
        rank: tuple[int, ...] = (1,),
        secret: bool = False,
        least: int = 1,
    ) -> Cell:
        """Enter a count, and return its name. One entered twice keeps the stricter settings.

        Parameters
        ----------
        cell : Cell
            Name of the count.
        value : int
            The count, of people or of visits.
        people : int, optional
            How many people made the visits. Default: as many as visits.
        derived : bool
            Not printed, but follows from others.
        rank : tuple of int
            Cells of low rank are hidden first where others need cover.
        secret : bool
            Hidden like a small count even if it is not small, or none.
        least : int
            What readers know it to be at least if it is hidden for being small.
        """
        value = int(value)
        people = value if people is None else min(int(people), value)
        old = self.known.get(cell)
        if old is not None:
            people, derived, rank = min(people, old.people), derived and old.derived, old.rank
            secret, least = secret or old.secret, max(least, old.least)
        self.known[cell] = Known(value, people, derived, rank, secret, least)
        return cell

    def sums(self, total: Cell, parts: Iterable[Cell]) -> None:
        """State that a total is the sum of parts, all of which have been added."""
        equation: dict[Cell, int] = {total: -1}
        for part in parts:
            equation[part] = equation.get(part, 0) + 1
        self.equations.append({cell: factor for cell, factor in equation.items() if factor})

    def rest(
        self, total: Cell, parts: Iterable[Cell], name: Cell, people: int | None = None
    ) -> Cell | None:
        """State that parts and a derived rest, entered as ``name``, add up to a total.

        Returns the name of the rest; None if there is no rest, or if the parts exceed the total.
        ``people`` is the number of people in the rest, as in `add`.
        """
        parts = list(parts)
        left = self.known[total].value - sum(self.known[part].value for part in parts)
        if left < 0:
            return None
        if left == 0:
            self.sums(total, parts)
            return None
        self.add(name, left, people, derived=True)
        self.sums(total, [*parts, name])
        return name

    def apart(self, one: Cell, two: Cell, rule: Rule, people: int | None = None) -> None:
        """Enter the difference of two cells, if it is small: one may be a part of the other.

        ``people`` is the number of people in the difference.
        """
        smaller, larger = sorted((one, two), key=lambda cell: self.known[cell].value)
        gap = self.known[larger].value - self.known[smaller].value
        few = people is not None and rule.is_small(abs(people))
        if gap and (rule.is_small(gap) or few):
            least = gap if people is None else abs(people) or gap
            self.rest(larger, [smaller], ("between", *larger, "and", *smaller), least)

    def hidden(self, rule: Rule) -> set[Cell]:
        """The cells that must not be printed: small ones, and cover for them and derived ones."""
        return suppressed(self.known, self.equations, rule)
