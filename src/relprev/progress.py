"""A progress bar on standard error, shown only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Advance = Callable[[str], None]


@contextmanager
def progress(
    title: str, total: int, show: bool, weights: Sequence[float] | None = None
) -> Iterator[Advance]:
    """Yield a function to call with the name of the step just begun.

    Parameters
    ----------
    title : str
    total : int
        Number of steps.
    show : bool
        False yields a function that does nothing.
    weights : sequence of float, optional
        How long each step takes, in any unit, for the time left. Default: all the same.
    """
    if not show:
        yield lambda step: None
        return
    columns = (
        TextColumn("[bold]{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        TextColumn("{task.fields[step]}", markup=False),
    )  # fmt: skip
    sizes = [1.0] * total if weights is None else list(weights)
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task(title, total=sum(sizes), step="", count=f"0/{total}")
        finished = -1

        def advance(step: str) -> None:
            nonlocal finished
            finished += 1
            bar.update(
                task, step=step, completed=sum(sizes[:finished]), count=f"{finished}/{total}"
            )

        yield advance
        bar.update(task, completed=sum(sizes), step="", count=f"{total}/{total}")
