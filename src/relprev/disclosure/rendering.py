"""Put messages into words that anybody may read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from relprev.disclosure.rule import Rule
from relprev.messages import Cell, Count, Message, Number

NOT_SHOWN = "a warning whose text may hold counts is not shown"
DIFFERENCING = (
    "two reports on overlapping people can be subtracted: where their filters differ, the "
    "difference of two large counts may be a count of few people; before both are published, "
    "compare them, or round counts in both ([disclosure] round_to)"
)


def shown(
    message: Message | str,
    rule: Rule,
    hidden: Collection[Cell] = (),
    values: Collection[float] = (),
    coarse: Callable[[float], float] | None = None,
) -> str:
    """A message with only the counts that may be shown.

    Parameters
    ----------
    message : Message
        Plain text is not shown, unless the rule shows every count: it may hold undeclared counts.
    rule : Rule
        Which counts are small.
    hidden : collection of Cell
        Names of the hidden counts, small ones and their cover.
    values : collection of float
        Their values: a number declared without cells is hidden too if it equals one of them.
    coarse : function of a statistic, optional
        The statistic with as many digits as rounded counts support; settings stay as they are.

    Returns
    -------
    str
        Words for the terminal, the log or a report.

    Examples
    --------
    >>> few = Message("{group} has {n} of {all}", group="C", n=Count(3, "diagnosed patient"),
    ...               all=Count(40, "patient", cells=(("n", "C"),)))
    >>> shown(few, Rule())
    'C has fewer than 11 diagnosed patients of 40 patients'
    >>> shown(few, Rule(), {("n", "C")})
    'C has fewer than 11 diagnosed patients of a hidden number of patients'
    >>> shown("3 of 40 patients are diagnosed", Rule())
    'a warning whose text may hold counts is not shown'
    """
    if not isinstance(message, Message):
        return NOT_SHOWN if rule.hide else str(message)

    def one(item: Count | Number) -> str:
        covered = rule.hide and (
            any(cell in hidden for cell in item.cells)
            or (not item.cells and item.value in values and not _is_setting(item))
        )
        if isinstance(item, Number):
            exact = coarse is None or _is_setting(item)
            told = item if exact else replace(item, value=coarse(item.value))  # type: ignore[misc]
            return "(hidden)" if covered else str(told)
        if rule.is_small(item.value):
            return item.of(f"fewer than {rule.threshold + 1}")
        if covered:
            return item.of("a hidden number of") if item.noun else "(hidden)"
        return str(Count(rule.rounded(item.value), item.noun))

    return message.render(one)


def _is_setting(item: Count | Number) -> bool:
    """Whether a number is so round that it is probably a setting, such as a level of 0.95."""
    return isinstance(item, Number) and round(item.value, 2) == item.value


def as_message(text: str) -> Message:
    """Text from `shown` as a message that has no more numbers to hide.

    Examples
    --------
    >>> str(as_message("{braces} are kept"))
    '{braces} are kept'
    """
    return Message("{text}", text=text)
