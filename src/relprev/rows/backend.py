"""What a backend offers: it keeps parts somewhere and applies functions to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from numpy.typing import NDArray

Function = Callable[..., Any]
Each = Sequence[Any] | None  # one further argument per part


class Part(Protocol):
    """What a part must offer: access to its arrays."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows, by name."""

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """The same part in other memory."""

    @staticmethod
    def joined(parts: Sequence[Any]) -> Any:
        """One part with the rows of several."""


class Backend(ABC):
    """Keeps parts and calls ``function(part, *shared)`` or ``function(part, each[k], *shared)``."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = list(parts)

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def handles(self) -> Sequence[Any]:
        """Stand-ins for the parts, to pass as ``each`` to another backend of the same kind."""
        return self._parts

    @abstractmethod
    def map(self, function: Function, *shared: Any, each: Each = None) -> list[Any]:
        """The results of all parts, in order."""

    @abstractmethod
    def derive(self, function: Function, *shared: Any, each: Each = None) -> Backend:
        """The new parts that the function returns, kept where the old ones are."""

    @abstractmethod
    def keep(
        self, function: Function, *shared: Any, each: Each = None
    ) -> tuple[list[Any], Backend]:
        """With a function that returns (result, kept): the results in order, and the kept parts."""

    @abstractmethod
    def select(self, which: Sequence[int]) -> Backend:
        """Some of the parts."""

    @property
    def here(self) -> Sequence[Any] | None:
        """The parts, if they are in the memory of this process."""
        return None
