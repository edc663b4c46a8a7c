"""Decide what may leave a study: counts of few people, and what would reveal them, are hidden.

`Rule` says which counts are small. `Cells` holds all counts that a study publishes, with the sums
they obey, and finds what to hide so that no small count can be worked out. `shown` puts a message
into words that anybody may read; `Column` says what a table's column holds.
"""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.disclosure.cells import Cells
    from relprev.disclosure.columns import Column
    from relprev.disclosure.nesting import nested_groups
    from relprev.disclosure.rendering import DIFFERENCING, NOT_SHOWN, shown
    from relprev.disclosure.rule import Rule
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["DIFFERENCING", "NOT_SHOWN", "Cells", "Column", "Rule", "nested_groups", "shown"]
