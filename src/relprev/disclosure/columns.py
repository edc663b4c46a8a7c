"""What the columns of a published table hold, as far as disclosure is concerned.

Code that makes a table declares its columns. A column that is not declared is not published.
"""

from __future__ import annotations

from enum import StrEnum


class Column(StrEnum):
    """What a column holds.

    Examples
    --------
    >>> Column.COUNT.value
    'count'
    """

    NAME = "name"
    """Text or a setting: groups, features, steps, sizes of an assumed violation."""

    COUNT = "count"
    """A number of people or visits."""

    SHARE = "share"
    """A share of people: together with the whole, it gives a number of people away."""

    REVEALING = "revealing"
    """A statistic from which counts of the row's groups could be worked out."""

    FREE = "free"
    """A statistic that gives no count away."""
