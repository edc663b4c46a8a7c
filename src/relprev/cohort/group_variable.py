"""The groups that a specification compares: columns, and how their values make groups."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal

from relprev.cohort.cohort import MAX_GROUPS
from relprev.cohort.values import Value, are_numbers
from relprev.errors import InvalidInputError
from relprev.matrix.coerce import listed
from relprev.settings import Declared


@dataclass(frozen=True)
class Division(Declared):
    """Visits divided by the values of a column, or of several.

    Parameters
    ----------
    column : str or tuple of str
        Column of the source's ``visits``. Several columns make a part of each combination of their
        values, such as "Black / F"; the name of a group variable or of strata stands for its parts,
        recoded or in bands.
    recode : mapping of name to raw values
        Visits with other raw values are in no part. If empty, every value is one.
    missing : str
        Name of the part of visits without a value. If empty, they are in none.
    name : str
        Default: the column, or all of them.
    edges : tuple of float
        Bands of a number: edges e1 < e2 < ... give parts below e1, from e1 to below e2, ..., and
        from the last edge on.
    labels : tuple of str
        Names of the bands, one more than edges. Default: "under 18", "18 to under 65", ...
    """

    key: ClassVar[str] = "groups"

    column: str | tuple[str, ...]
    recode: Mapping[str, Value | tuple[Value, ...]] = field(default_factory=dict)
    missing: str = ""
    name: str = ""
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        recode = {
            str(group): tuple(str(value) for value in ([raw] if isinstance(raw, str) else raw))
            for group, raw in self.recode.items()
        }
        object.__setattr__(self, "recode", recode)
        if not isinstance(self.column, str):
            object.__setattr__(self, "column", tuple(self.column))
        object.__setattr__(self, "name", self.name or " and ".join(self.columns))
        self._check_columns()
        self._check_recode()
        self._check_edges()
        for text in (*self.columns, self.name, self.missing, *recode, *self.labels):
            if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
                raise InvalidInputError(
                    f"{self.key}: {text!r} contains a character that cannot be printed in reports; "
                    "remove it"
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, or all of them."""
        return (self.column,) if isinstance(self.column, str) else self.column

    @property
    def is_cross(self) -> bool:
        """Whether groups are combinations of several columns."""
        return len(self.columns) > 1

    @property
    def bands(self) -> tuple[str, ...]:
        """Names of the bands; empty without edges."""
        if self.labels or not self.edges:
            return self.labels
        ends = [f"{edge:g}" for edge in self.edges]
        between = [f"{low} to under {high}" for low, high in pairwise(ends)]
        return (f"under {ends[0]}", *between, f"{ends[-1]} and over")

    def _check_columns(self) -> None:
        if not all(self.columns) or len(set(self.columns)) < len(self.columns) or not self.columns:
            raise InvalidInputError(
                f"{self.key}: column must be a name or a list of different names, got "
                f"{self.column!r}"
            )
        if self.is_cross and (self.recode or self.edges or self.labels):
            raise InvalidInputError(
                f"{self.key} {self.name!r}: recode, edges and labels are for a single column; give "
                "them to a group variable of its own, and name that variable in column"
            )

    def _check_recode(self) -> None:
        counts = Counter(value for raw in self.recode.values() for value in raw)
        twice = sorted(value for value, count in counts.items() if count > 1)
        if twice:
            raise InvalidInputError(
                f"{self.key} {self.column!r}: a value must not be in more than one group: "
                f"{listed([*map(repr, twice)])}"
            )
        if len(self.recode) > MAX_GROUPS:
            raise InvalidInputError(
                f"{self.key} {self.column!r}: got {len(self.recode):,} groups, but at most "
                f"{MAX_GROUPS:,} can be compared; merge some of them"
            )

    def _check_edges(self) -> None:
        where = f"{self.key} {self.column!r}"
        if not are_numbers(self.edges) or list(self.edges) != sorted(set(self.edges)):
            raise InvalidInputError(f"{where}: edges must be increasing numbers")
        if self.edges and self.recode:
            raise InvalidInputError(f"{where}: give either recode or edges, not both")
        if self.labels and len(self.labels) != len(self.edges) + 1:
            raise InvalidInputError(
                f"{where}: {len(self.edges)} edges make {len(self.edges) + 1} bands, but labels "
                f"has {len(self.labels)} names"
            )
        if len({*self.labels}) < len(self.labels) or not all(self.labels):
            raise InvalidInputError(f"{where}: labels must be different names")
        object.__setattr__(self, "edges", tuple(float(edge) for edge in self.edges))
        object.__setattr__(self, "labels", tuple(self.labels))


@dataclass(frozen=True)
class GroupVariable(Division):
    """The groups to compare.

    Parameters
    ----------
    column : str or tuple of str
        Column of the source's ``visits``. Several columns make one group of each combination of
        their values, such as "Black / F"; the name of another group variable stands for its groups,
        recoded or in bands.
    recode : mapping of group name to raw values
        Visits with other raw values are excluded and counted. If empty, every value is a group.
    missing : str
        Group name for visits without a value. If empty, they are excluded and counted.
    name : str
        Name of the cohort. Default: the column, or all of them.
    edges : tuple of float
        Bands of a number: edges e1 < e2 < ... give groups below e1, from e1 to below e2, ..., and
        from the last edge on.
    labels : tuple of str
        Names of the bands, one more than edges. Default: "under 18", "18 to under 65", ...
    minimum_size : int
        Groups with fewer visits are excluded and counted.
    few_diagnosed : "drop" or "keep"
        What to do with a group that has too few diagnosed patients for an estimate. Dropped, as
        long as two groups remain, it is counted and named; kept, it takes the estimates of all
        groups that are compared with everybody else.

    Examples
    --------
    >>> insurance = GroupVariable("payer", recode={"Public": ["Medicaid", "Medicare"],
    ...                                            "Private": ["Private"]})
    >>> insurance.name, insurance.recode["Public"]
    ('payer', ('Medicaid', 'Medicare'))
    >>> GroupVariable("age", edges=(18, 65)).bands
    ('under 18', '18 to under 65', '65 and over')
    >>> GroupVariable(("race", "sex")).name
    'race and sex'
    """

    minimum_size: int = 0
    few_diagnosed: Literal["drop", "keep"] = "drop"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.few_diagnosed not in ("drop", "keep"):
            raise InvalidInputError(
                f"few_diagnosed must be 'drop' or 'keep', got {self.few_diagnosed!r}"
            )


@dataclass(frozen=True)
class Strata(Division):
    """Strata in which every group variable is estimated on its own, such as bands of age.

    Parameters
    ----------
    column : str or tuple of str
        Column of the source's ``visits``. Several columns make one stratum of each combination of
        their values; the name of a group variable among them stands for its groups.
    recode : mapping of stratum to raw values
        Visits with other raw values are in no stratum. If empty, every value is a stratum.
    missing : str
        Name of the stratum of visits without a value. If empty, they are in none.
    name : str
        Default: the column, or all of them.
    edges : tuple of float
        Bands of a number: edges e1 < e2 < ... give strata below e1, from e1 to below e2, ..., and
        from the last edge on.
    labels : tuple of str
        Names of the bands, one more than edges.
    standard : "", "pooled" or mapping of stratum to share
        A distribution of the strata to which relative prevalences are also standardised: that of
        all visits, or one given. Default: none.

    Examples
    --------
    >>> ages = Strata("age", edges=(40, 65), standard={"under 40": 0.5, "40 to under 65": 0.3,
    ...                                               "65 and over": 0.2})
    >>> ages.standard["65 and over"]
    0.2
    """

    key: ClassVar[str] = "strata"

    standard: str | Mapping[str, float] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.standard, str) and self.standard not in ("", "pooled"):
            raise InvalidInputError(
                f"strata {self.name!r}: standard must be 'pooled' or a table of shares, got "
                f"{self.standard!r}"
            )
        named = [*self.recode, *self.bands, *filter(None, [self.missing])]
        unknown = sorted(set(self.standard) - set(named)) if not isinstance(
            self.standard, str) and (self.recode or self.edges) else []  # fmt: skip
        if unknown:
            raise InvalidInputError(
                f"strata {self.name!r}: standard names {', '.join(unknown)}; there are "
                f"{', '.join(named)}"
            )
