"""A progress bar on standard error, shown only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Advance = Callable[[str], None]


@contextmanager
def progress(title: str, total: int, show: bool) -> Iterator[Advance]:
    """Yield a function to call with the name of the step just begun.

    Parameters
    ----------
    title : str
    total : int
        Number of steps.
    show : bool
        False yields a function that does nothing.
    """
    if not show:
        yield lambda step: None
        return
    columns = (
        TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        TextColumn("{task.fields[step]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task(title, total=total, step="")
        started = False

        def advance(step: str) -> None:
            nonlocal started
            bar.update(task, step=step, advance=1 if started else 0)
            started = True

        yield advance
        bar.update(task, completed=total, step="")
