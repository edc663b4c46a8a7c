"""Values in a cohort's specification: text of a column, and numbers that are finite."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


# Values of a column, compared as text; numbers may be written without quotes.
Value = Annotated[str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number"]})]


def are_numbers(values: Iterable[Any]) -> bool:
    """Whether all values are finite numbers."""
    return all(isinstance(value, Real) and math.isfinite(value) for value in values)
