"""Progress bars on standard error, shown only on request.

A bar inside another is a second line below it. Where rows are kept in parts, the innermost line
counts the passes over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Advance = Callable[[str], None]

_lines: list[_Line] = []  # shown now, the innermost last


class _Line:
    """One line of the display."""

    def __init__(self, bar: Progress, title: str, total: float) -> None:
        self.bar, self._passes = bar, 0
        self.task: TaskID = bar.add_task(title, total=total, step="", count="", passes="")

    def passed(self) -> None:
        self._passes += 1
        self.bar.update(self.task, passes=f"pass {self._passes}")


@contextmanager
def progress(
    title: str, total: int, show: bool, weights: Sequence[float] | None = None
) -> Iterator[Advance]:
    """Yield a function to call with the name of each step as it begins.

    ``weights`` say how long each of the ``total`` steps takes, in any unit (default: all the same).
    """
    if not show:
        yield lambda step: None
        return
    sizes = [1.0] * total if weights is None else list(weights)
    with _display() as bar:
        line = _Line(bar, title, sum(sizes))
        _lines.append(line)
        finished = -1

        def advance(step: str) -> None:
            nonlocal finished
            finished += 1
            done = sum(sizes[:finished])
            bar.update(line.task, step=step, completed=done, count=f"{finished}/{total}")

        try:
            yield advance
            bar.update(
                line.task, completed=sum(sizes), step="", count=f"{total}/{total}", passes=""
            )
        finally:
            _lines.remove(line)
            if _lines:
                bar.remove_task(line.task)


def passed() -> None:
    """Count a pass over all parts on the innermost line, if one is shown."""
    if _lines:
        _lines[-1].passed()


@contextmanager
def _display() -> Iterator[Progress]:
    """The display that is shown already, or a new one."""
    if _lines:
        yield _lines[-1].bar
        return
    columns = (
        TextColumn("[bold]{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        TextColumn("{task.fields[step]}", markup=False), TextColumn("{task.fields[passes]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        yield bar
