"""Specification of a cohort: its condition, visits, features and groups.

It is written as frozen dataclasses, or as an equivalent TOML file:

    condition = "ipv"                   # a named code set, a .toml file, or {name, codes}

    [[include]]                         # applied in order; each is a row of the attrition table
    column = "sex"
    one_of = ["F"]

    [[include]]
    column = "age"
    minimum = 18

    [[exclude]]                         # after include; codes work for both
    codes = ["ICD10:O*"]                # in the visit or, with lookback_days, before it

    [case]                              # optional: when a visit counts as diagnosed
    roles = ["principal"]
    min_visits = 2

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
    edges = [35, 50, 65]                # or form = "number", form = "spline"

    [controls]                          # conditions that are hardly ever missed, in any group
    sets = ["emergency"]                # shipped; or conditions of your own

    [[groups]]                          # one cohort per group variable
    column = "race"
    minimum_size = 100
    [groups.recode]                     # group = raw values; other values are excluded
    White = ["WHITE", "WHITE - RUSSIAN"]
    Black = ["BLACK/AFRICAN AMERICAN"]

    [[groups]]
    column = "age"
    edges = [18, 40, 65]                # bands of a number, named by labels if there are any
    missing = "Unknown"                 # visits without a value as a group of their own

    [[groups]]
    column = ["race", "sex"]            # combinations; race as recoded above

    [[strata]]                          # every variable is also estimated within strata
    column = "age"
    edges = [40, 65]
    standard = "pooled"                 # and standardised to their distribution
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, ValidationInfo, WithJsonSchema

from relprev.codes import CodeSet, code_set
from relprev.cohort.controls import Controls
from relprev.cohort.feature_rules import Extra, Features
from relprev.cohort.group_variable import Division, GroupVariable, Strata
from relprev.cohort.visit_rules import Case, Exclude, Include, Screening
from relprev.errors import InvalidInputError
from relprev.settings import Declared, parse_settings, read_settings
from relprev.sources.source import Source
from relprev.units import PERSON, UNITS, Unit


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


NO_CONDITION = CodeSet.of("no condition", ["NONE:NONE"])  # of studies of all conditions at once
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
class CohortSpec(Declared):
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
    exclude : tuple of Exclude
        Rules that a visit must not meet.
    case : Case
        When a visit counts as diagnosed. Default: if it has any code of the condition.
    strata : tuple of Strata
        Strata in which groups are compared as well.
    unit : "visit" or "person"
        What a row of the cohort is. A person has the codes of all included visits, and all else
        from the first of them.

    Examples
    --------
    >>> women = Include("sex", one_of=("F",))
    >>> adults = Include("age", minimum=18)
    >>> ipv = CohortSpec(code_set("ipv"), (GroupVariable("race"),), (women, adults))
    >>> [str(rule) for rule in ipv.include], sorted(ipv.columns())
    (['sex F', 'age 18 or more'], ['age', 'race', 'sex'])
    """

    condition: Condition
    groups: tuple[GroupVariable, ...]
    include: tuple[Include, ...] = ()
    features: Features = field(default_factory=Features)
    without_codes: Literal["drop", "keep"] = "drop"
    controls: Controls = field(default_factory=Controls)
    tested: Screening | None = None
    derive: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    exclude: tuple[Exclude, ...] = ()
    case: Case = field(default_factory=Case)
    strata: tuple[Strata, ...] = ()
    unit: Literal["visit", "person"] = "visit"

    def __post_init__(self) -> None:
        if not self.groups:
            raise InvalidInputError("groups: at least one group variable is needed")
        names = [group.name for group in self.groups]
        if len({name.lower() for name in names}) < len(names):
            raise InvalidInputError(f"groups: names must differ, got {names}")
        of_strata = [one.name for one in self.strata]
        if len({name.lower() for name in of_strata}) < len(of_strata):
            raise InvalidInputError(f"strata: names must differ, got {of_strata}")
        if self.unit not in UNITS:
            raise InvalidInputError(f"unit must be 'visit' or 'person', got {self.unit!r}")
        if self.without_codes not in ("drop", "keep"):
            raise InvalidInputError(
                f"without_codes must be 'drop' or 'keep', got {self.without_codes!r}"
            )

    def unit_of(self, source: Source) -> Unit:
        """What a row is of a cohort made from a source.

        Examples
        --------
        >>> from relprev.sources import read_tables
        >>> import pandas as pd
        >>> table = pd.DataFrame({"id": [1, 2], "who": ["p", "q"], "dx": ["N80", "R10"]})
        >>> source = read_tables(table, visit_id="id", patient="who", code=["dx"], version="ICD10")
        >>> spec = CohortSpec(code_set("endometriosis"), (GroupVariable("sex"),), unit="person")
        >>> spec.unit_of(source).plural
        'people'
        """
        return PERSON if self.unit == PERSON.noun else source.unit

    def columns(self) -> set[str]:
        """Columns of ``visits`` that the specification uses."""
        tested = () if self.tested is None else (self.tested,)
        parts: tuple[Include | Extra | Screening, ...] = (
            *self.include, *self.exclude, *tested, *self.features.extra,
        )  # fmt: skip
        grouped = [group for one in self.groups for group in self.parts_of(one) or (one,)]
        return {part.column for part in parts if part.column} | {
            group.columns[0] for group in grouped
        }

    def parts_of(self, group: Division) -> tuple[Division, ...]:
        """What a group variable or strata of several columns combine; nothing, if they have one.

        Examples
        --------
        >>> age = GroupVariable("age", edges=(18,), name="adult")
        >>> both = GroupVariable(("adult", "sex"))
        >>> CohortSpec(code_set("ipv"), (age, both)).parts_of(both)[0] == age
        True
        """
        if not group.is_cross:
            return ()
        all_known: tuple[Division, ...] = (*self.strata, *self.groups)
        known = {one.name: one for one in all_known if not one.is_cross}
        return tuple(known.get(name) or Division(name) for name in group.columns)

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
