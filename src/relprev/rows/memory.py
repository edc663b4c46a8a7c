"""Parts in the memory of this process, most often a single one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relprev.rows.backend import Backend, Each, Function


class InMemory(Backend):
    """Parts that are objects of this process."""

    @property
    def here(self) -> Sequence[Any]:
        return self._parts

    def map(self, function: Function, *shared: Any, each: Each = None) -> list[Any]:
        own = [()] * len(self) if each is None else [(value,) for value in each]
        return [function(part, *more, *shared) for part, more in zip(self._parts, own, strict=True)]

    def derive(self, function: Function, *shared: Any, each: Each = None) -> InMemory:
        return InMemory(self.map(function, *shared, each=each))

    def keep(
        self, function: Function, *shared: Any, each: Each = None
    ) -> tuple[list[Any], InMemory]:
        results, kept = zip(*self.map(function, *shared, each=each), strict=True)
        return list(results), InMemory(kept)

    def select(self, which: Sequence[int]) -> InMemory:
        return InMemory([self._parts[k] for k in which])
