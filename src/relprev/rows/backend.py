"""Where parts are kept, and how a function gets to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from numpy.typing import NDArray

Function = Callable[..., Any]
Each = Sequence[Any] | None  # a further argument of every part's own


class Part(Protocol):
    """What can be kept in parts: anything that is made of arrays."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that grow with the rows, by name."""

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """The same part on other memory."""

    @staticmethod
    def joined(parts: Sequence[Any]) -> Any:
        """One part with the rows of several."""


class Backend(ABC):
    """Parts that can be mapped over.

    ``function(part, *shared)`` is called for every part, or ``function(part, each[k], *shared)``.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Number of parts."""

    @abstractmethod
    def map(self, function: Function, *shared: Any, each: Each = None) -> list[Any]:
        """What the function returns for every part, in order."""

    @abstractmethod
    def derive(self, function: Function, *shared: Any, each: Each = None) -> Backend:
        """New parts made by the function, kept where the old ones are."""

    @abstractmethod
    def keep(
        self, function: Function, *shared: Any, each: Each = None
    ) -> tuple[list[Any], Backend]:
        """What a function that returns (result, kept) gives: results in order, and kept parts."""

    @property
    @abstractmethod
    def handles(self) -> Sequence[Any]:
        """Stand for the parts in ``each`` of another backend of the same kind."""

    @abstractmethod
    def select(self, which: Sequence[int]) -> Backend:
        """Some of the parts."""

    @property
    def here(self) -> Sequence[Any] | None:
        """The parts, if they are in this process's memory."""
        return None
