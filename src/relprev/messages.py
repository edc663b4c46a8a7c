"""What relprev says about data: templates whose numbers are declared.

A warning, a reason or a finding may hold numbers of people, and a report must be able to leave them
out. So nothing about data is written as plain text. It is a `Message`: a template with named
places, and for every place a value that says what kind of thing it is.

- `Count`: a number of people, visits or cases. It may have to be hidden.
- `Number`: a statistic or a setting. It is shown, unless it would give hidden counts away.
- text: the name of a group, a feature, a parameter. Always shown.
- another message, or a sequence of values, which are joined by commas.

A bare number is refused: the code that writes a message must say what the number is. ``str()``
shows everything; `relprev.disclosure` renders what may leave a study.

>>> few = Message("no estimate for {group}: {n} or fewer", group="Group C",
...               n=Count(3, "diagnosed patient"))
>>> str(few)
'no estimate for Group C: 3 diagnosed patients or fewer'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from string import Formatter
from typing import Any

from relprev.units import Unit

SMALL = 10  # a limit that shows in an output lies above this, or it would tell hidden counts apart
Cell = tuple[str, ...]  # names a published count, such as ("n_diagnosed", "Group C")


@dataclass(frozen=True)
class Count:
    """A number of people, visits or cases.

    Parameters
    ----------
    value : int or float
        The number; effective numbers of cases need not be whole.
    noun : str
        What is counted, in the singular, such as ``"diagnosed patient"``. Empty: the number alone.
    cells : tuple of Cell
        Published counts that it equals or would reveal: it is hidden wherever one of them is.

    Examples
    --------
    >>> str(Count(1, "patient")), str(Count(1200, "visit")), str(Count(6.93, "effective case"))
    ('1 patient', '1,200 visits', '6.9 effective cases')
    """

    value: int | float
    noun: str = ""
    cells: tuple[Cell, ...] = ()

    def of(self, number: str) -> str:
        """The noun after a number in words.

        Examples
        --------
        >>> Count(3, "visit").of("fewer than 11")
        'fewer than 11 visits'
        """
        if not self.noun or (self.value == 1 and number == "1"):
            return f"{number} {self.noun}".rstrip()
        irregular = self.noun.endswith("person")
        return (
            f"{number} {self.noun.removesuffix('person')}people"
            if irregular
            else (f"{number} {self.noun}s")
        )

    def __str__(self) -> str:
        whole = float(self.value).is_integer()
        return self.of(f"{int(self.value):,}" if whole else f"{self.value:,.1f}")


@dataclass(frozen=True)
class Number:
    """A statistic or a setting, not a number of people.

    Parameters
    ----------
    value : float
    format : str
        As in ``format(value, ...)``.
    cells : tuple of Cell
        Published counts that it would reveal: it is hidden wherever one of them is.

    Examples
    --------
    >>> str(Number(2.414, ".2f")), str(Number(0.05, ".0%")), str(Number(5))
    ('2.41', '5%', '5')
    """

    value: float
    format: str = "g"
    cells: tuple[Cell, ...] = ()

    def __str__(self) -> str:
        return format(self.value, self.format)


Value = Any  # Count, Number, str, Message, or a sequence of these


class Message:
    """A template and the values of its places.

    Parameters
    ----------
    template : str
        Text with ``{name}`` in place of each value, without any number that depends on data.
    **values : Count, Number, str, Message or sequence of these
        One for every place.

    Examples
    --------
    >>> message = Message("{groups}: too few of {total}", groups=["a", "b"], total=Count(40))
    >>> str(message), message == Message(message.template, **message.values)
    ('a, b: too few of 40', True)
    >>> Message.from_plain(message.plain()) == message
    True
    >>> Message("{n} patients", n=3)
    Traceback (most recent call last):
    TypeError: n=3 is a bare number; declare it as Count (people, visits, cases) or Number
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, **values: Value) -> None:
        places = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
        if places != set(values):
            raise TypeError(f"places {sorted(places)}, values {sorted(values)}: they must match")
        for name, value in values.items():
            _require_declared(name, value)
        self.template = template
        self.values: Mapping[str, Value] = values

    def render(self, show: Callable[[Count | Number], str]) -> str:
        """The text, with every count and number as ``show`` renders it."""
        return self.template.format(
            **{name: _rendered(value, show) for name, value in self.values.items()}
        )

    def about(self, unit: Unit) -> Message:
        """The same message in a study whose rows are no visits.

        Examples
        --------
        >>> from relprev.units import PERSON
        >>> str(Message("{n} of all visits", n=Count(1200, "diagnosed visit")).about(PERSON))
        '1,200 diagnosed people of all people'
        """
        values = {name: _about(value, unit) for name, value in self.values.items()}
        return Message(unit.worded(self.template), **values)

    def counts(self) -> list[Count | Number]:
        """All counts and numbers, including those of messages within."""
        return [item for value in self.values.values() for item in _numbers(value)]

    def plain(self) -> dict[str, Any]:
        """Plain values that JSON can hold; see `from_plain`."""
        values = {name: _plain(value) for name, value in self.values.items()}
        return {"message": self.template, "values": values}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Message:
        """The message that `plain` described."""
        values = {name: _from_plain(value) for name, value in plain["values"].items()}
        return Message(plain["message"], **values)

    def __str__(self) -> str:
        return self.render(str)

    def __repr__(self) -> str:
        return f"Message({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.plain() == other.plain()

    def __hash__(self) -> int:
        return hash((self.template, str(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Message.from_plain, (self.plain(),)


def joined(messages: Sequence[Message], between: str = " ") -> Message:
    """One message made of several, with ``between`` between them.

    Examples
    --------
    >>> str(joined([Message("One."), Message("Two.")]))
    'One. Two.'
    """
    places = {f"part{k}": message for k, message in enumerate(messages)}
    return Message(between.join(f"{{{name}}}" for name in places), **places)


def message_of(said: BaseException) -> Message | None:
    """The message that an error or a warning carries; None if it is plain text.

    Examples
    --------
    >>> print(message_of(ValueError(Message("no visits"))), message_of(ValueError("3 visits")))
    no visits None
    """
    first = said.args[0] if said.args else None
    return first if isinstance(first, Message) else None


def _require_declared(name: str, value: Value) -> None:
    if isinstance(value, Count | Number | str | Message):
        return
    if isinstance(value, list | tuple):
        for item in value:
            _require_declared(name, item)
        return
    raise TypeError(
        f"{name}={value!r} is a bare number; declare it as Count (people, visits, cases) or Number"
    )


def _rendered(value: Value, show: Callable[[Count | Number], str]) -> str:
    if isinstance(value, Message):
        return value.render(show)
    if isinstance(value, Count | Number):
        return show(value)
    return value if isinstance(value, str) else ", ".join(_rendered(one, show) for one in value)


def _about(value: Value, unit: Unit) -> Value:
    if isinstance(value, Message):
        return value.about(unit)
    if isinstance(value, Count):
        return replace(value, noun=unit.worded(value.noun))
    return [_about(one, unit) for one in value] if isinstance(value, list | tuple) else value


def _numbers(value: Value) -> list[Count | Number]:
    if isinstance(value, Message):
        return value.counts()
    if isinstance(value, Count | Number):
        return [value]
    return [] if isinstance(value, str) else [item for one in value for item in _numbers(one)]


def _plain(value: Value) -> Any:
    if isinstance(value, Message):
        return value.plain()
    if isinstance(value, Count | Number):
        cells = [list(cell) for cell in value.cells]
        exact: Any = value.value  # of whatever numpy type
        number = int(exact) if isinstance(exact, Integral) else float(exact)
        if isinstance(value, Count):
            return {"count": number, "noun": value.noun, "cells": cells}
        return {"number": number, "format": value.format, "cells": cells}
    return value if isinstance(value, str) else [_plain(one) for one in value]


def _from_plain(plain: Any) -> Value:
    if isinstance(plain, list):
        return [_from_plain(one) for one in plain]
    if isinstance(plain, str):
        return plain
    if "message" in plain:
        return Message.from_plain(plain)
    cells = tuple(tuple(cell) for cell in plain["cells"])
    if "count" in plain:
        return Count(plain["count"], plain["noun"], cells)
    return Number(plain["number"], plain["format"], cells)
