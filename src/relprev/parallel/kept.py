"""Do independent pieces of work in several processes, and keep each one when it is finished.

The process that did a piece keeps its outcome (`relprev.store.stages`). A killed run therefore
loses only the pieces in progress, and the next run does what is missing or damaged. Pieces do not
share random numbers, so results do not depend on their order or on the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from relprev.parallel.processes import in_processes
from relprev.progress import progress
from relprev.store.files import remove_unfinished
from relprev.store.stages import Outcome, Store

Item = TypeVar("Item")
STAGE = "cell"
Work = Callable[[Item], Outcome]


def kept_outcomes(
    work: Work[Item], items: Mapping[str, Item], folder: Path | None, processes: int = 1, *,
    title: str = "Cells", words: Callable[[Item], str] = str, verbose: bool = False,
) -> dict[str, Outcome]:  # fmt: skip
    """The outcome of each item, by its key.

    Parameters
    ----------
    work : function from an item to its `Outcome`
        Called for every item whose outcome is not kept yet; other processes must be able to
        import it.
    items : mapping of key to item
        A key stands for everything that the outcome depends on.
    folder : Path or None
        Where outcomes are kept. Nobody else may be writing there. None: they are not kept.
    processes : int
        Number of processes.
    title, words, verbose : str, function from an item to str, bool
        What the progress bar says, and whether there is one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     found = kept_outcomes(lambda k: Outcome({"square": k * k}), {"1f": 3}, Path(name))
    >>> found["1f"].values
    {'square': 9}
    """
    damaged: list[str] = []
    found: dict[str, Outcome] = {}
    if folder is not None:
        store = Store(folder, damaged.append)
        kept = {key: store.find(STAGE, key) for key in items}
        found = {key: outcome for key, outcome in kept.items() if outcome is not None}
    missing = [(key, item) for key, item in items.items() if key not in found]
    with progress(title, len(missing), verbose) as advance:
        if folder is not None:
            note = f"{len(found)} more kept from an earlier run"
            advance(f"{note}, {len(damaged)} damaged ones computed again" if damaged else note)
        for (key, item), made in in_processes(_keep, (work, folder), missing, processes):
            found[key] = made
            advance(words(item))
    if folder is not None:
        remove_unfinished(folder)
    return found


def _keep(shared: tuple[Work[Item], Path | None], missing: tuple[str, Item]) -> Outcome:
    work, folder = shared
    key, item = missing
    made = work(item)
    return made if folder is None else Store(folder).keep(STAGE, key, made)
