"""What a row of the data is: a visit or a person.

The code and its messages speak of visits; a study of people speaks of people. Its source says so
(`relprev.sources.Source.unit`), and what the study says is put into words of that unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Unit:
    """The noun for a row of the data.

    Parameters
    ----------
    noun, plural : str
        Such as ``"visit"`` and ``"visits"``.

    Examples
    --------
    >>> PERSON.worded("no visit of the ward has a code; 3 visits have none")
    'no person of the ward has a code; 3 people have none'
    >>> import pandas as pd
    >>> list(PERSON.table(pd.DataFrame({"step": ["all"], "visits": [3], "patients": [3]})))
    ['step', 'people']
    """

    noun: str
    plural: str

    def worded(self, text: str) -> str:
        """Text about visits as text about this unit."""
        return re.sub(r"\bvisit(s?)\b", lambda word: self.plural if word[1] else self.noun, text)

    def table(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table about visits as one about this unit; people are their own patients."""
        if self == VISIT:
            return frame
        patients = [name for name in frame if str(name).startswith("patients")]
        return frame.drop(columns=patients).rename(
            columns=lambda name: str(name).replace("visits", self.plural)
        )


VISIT = Unit("visit", "visits")
PERSON = Unit("person", "people")
UNITS = {unit.noun: unit for unit in (VISIT, PERSON)}
