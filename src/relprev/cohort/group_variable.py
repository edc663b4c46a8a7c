"""The groups that a specification compares: a column, and how its values make groups."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ConfigDict

from relprev.cohort.cohort import MAX_GROUPS
from relprev.cohort.values import Value
from relprev.errors import InvalidInputError
from relprev.matrix.coerce import listed
from relprev.settings import SETTINGS


@dataclass(frozen=True)
class GroupVariable:
    """The groups to compare.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    recode : mapping of group name to raw values
        Visits with other raw values are excluded and counted. If empty, every value is a group.
    minimum_size : int
        Groups with fewer visits are excluded and counted.
    missing : str
        Group name for visits without a value. If empty, they are excluded and counted.
    name : str
        Name of the cohort. Default: the column.

    Examples
    --------
    >>> insurance = GroupVariable("payer", recode={"Public": ["Medicaid", "Medicare"],
    ...                                            "Private": ["Private"]})
    >>> insurance.name, insurance.recode["Public"]
    ('payer', ('Medicaid', 'Medicare'))
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    column: str
    recode: Mapping[str, Value | tuple[Value, ...]] = field(default_factory=dict)
    minimum_size: int = 0
    missing: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        recode = {
            str(group): tuple(str(value) for value in ([raw] if isinstance(raw, str) else raw))
            for group, raw in self.recode.items()
        }
        counts = Counter(value for raw in recode.values() for value in raw)
        twice = sorted(value for value, count in counts.items() if count > 1)
        if twice:
            raise InvalidInputError(
                f"groups {self.column!r}: a value must not be in more than one group: "
                f"{listed([*map(repr, twice)])}"
            )
        if len(recode) > MAX_GROUPS:
            raise InvalidInputError(
                f"groups {self.column!r}: got {len(recode):,} groups, but at most {MAX_GROUPS:,} "
                "can be compared; merge some of them"
            )
        object.__setattr__(self, "recode", recode)
        object.__setattr__(self, "name", self.name or self.column)
        for text in (self.column, self.name, self.missing, *recode):
            if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
                raise InvalidInputError(
                    f"groups: {text!r} contains a character that cannot be printed in reports; "
                    "remove it"
                )
