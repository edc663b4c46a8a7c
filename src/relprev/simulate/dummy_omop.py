"""Dummy data as tables of the OMOP common data model.

Beside the four tables of every study there are those that the study file asks for: times of
observation for people, descendants for concept sets, records for further kinds of features. Days
lie in the study's window.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.cohort import CohortSpec
from relprev.errors import InvalidInputError
from relprev.simulate.dummy import YEAR, dummy
from relprev.simulate.dummy_tables import ICD, listed, write_table
from relprev.simulate.places import Places
from relprev.sources.addresses import is_address
from relprev.sources.omop_concepts import PREFIX, ConceptSet, concept_sets
from relprev.sources.omop_features import TABLES as OF_KIND
from relprev.sources.omop_query import ANCESTOR, CONCEPT, DAYS, RECORDS

CONCEPTS = {"ICD9": "ICD9CM", "ICD10": "ICD10CM", PREFIX: "SNOMED"}
SEX = {"F": 8532, "M": 8507}
N_FINDINGS = 20  # concepts in every further table of records
Concepts = dict[int, tuple[str, str, str]]  # name, vocabulary and code by number


def write_dummy_omop(
    spec: CohortSpec, arguments: Mapping[str, Any], places: Places, n: int, seed: int
) -> list[Path]:
    """The tables of an OMOP database, as CSV files in the folder that a study names."""
    given = str(arguments["database"])
    if is_address(given) or "$" in given or Path(given).suffix:
        raise InvalidInputError(
            "database: dummy data are written as a folder of CSV files; name a folder in the study "
            "for the time being"
        )
    names = listed(arguments.get("concept_sets"))
    sets = concept_sets([places.given(name) for name in names], arguments.get("concepts"))
    standard = arguments.get("codes") == "standard"
    versions = (PREFIX, "SNOMED") if standard else (PREFIX, *ICD)
    made = dummy(spec, n, versions, ("race", "ethnicity"), seed)
    visits, codes = _in_window(made.visits, arguments), made.codes
    concepts: Concepts = {SEX["M"]: ("MALE", "Gender", "M"), SEX["F"]: ("FEMALE", "Gender", "F")}
    concept, ancestors = _recorded(codes, sets, concepts)
    of_set = codes["is_condition"] & (codes["version"] == PREFIX)
    at = visits.loc[codes["visit"]]
    tables = {
        "person": _people(visits, concepts),
        "visit_occurrence": pd.DataFrame({
            "visit_occurrence_id": visits["visit_id"], "person_id": visits["patient"],
            "visit_concept_id": next(iter(arguments.get("visit_concepts") or (9203,))),
            "visit_start_date": _text(visits["date"]), "visit_end_date": _text(visits["date"]),
        }),
        "observation_period": _periods(visits),
        "condition_occurrence": pd.DataFrame({
            "condition_occurrence_id": np.arange(1, len(codes) + 1),
            "person_id": at["patient"].to_numpy(), "visit_occurrence_id": at["visit_id"].to_numpy(),
            "condition_concept_id": np.where(standard | of_set, concept, 0),
            "condition_start_date": _text(at["date"]).to_numpy(),
            "condition_source_value": codes["code"],
            "condition_source_concept_id": np.where(standard | of_set, 0, concept),
        }),
        "concept_ancestor": pd.DataFrame(ancestors, columns=list(ANCESTOR)),
        **_findings(spec.features.kinds, visits, concepts, seed),
    }  # fmt: skip
    tables["concept"] = pd.DataFrame(
        [(number, *words) for number, words in concepts.items()], columns=list(CONCEPT)
    )
    root = places.written(given)
    files = [root / f"{name}.csv" for name in tables]
    for file, table in zip(files, tables.values(), strict=True):
        write_table(table, file, {})
    return files + [places.copied(name) for name in names]


def _in_window(visits: pd.DataFrame, arguments: Mapping[str, Any]) -> pd.DataFrame:
    """The visits with their days, and births alike, moved into the study's window."""
    start, end = (
        pd.Timestamp(date.fromisoformat(str(arguments[key]))) if arguments.get(key) else None
        for key in ("start", "end")
    )
    year = pd.Timedelta(days=364)
    opening = pd.Timestamp(f"{YEAR}-01-01")
    first = start or (end - year if end else opening)
    last = end or first + year
    days = (visits["date"] - opening).dt.days % ((last - first).days + 1)
    births = visits["birth_date"] + (first - opening)
    return visits.assign(date=first + pd.to_timedelta(days, unit="D"), birth_date=births)


def _recorded(
    codes: pd.DataFrame, sets: list[ConceptSet], concepts: Concepts
) -> tuple[list[int], list[tuple[int, int]]]:
    """The concept of every code, which is added to ``concepts``, and pairs of descendants."""
    of_code: dict[tuple[str, str], int] = {}
    own = codes[codes["is_condition"] & (codes["version"] == PREFIX)]["code"].unique()
    for code in own:
        found = [one for one in sets if one.code == code]
        if not found:
            raise InvalidInputError(
                f"condition: there is no concept set {code}; name its file under concept_sets, or "
                "its concepts under concepts"
            )
        excluded = found[0].excluded | found[0].excluded_with_descendants
        of_code[PREFIX, code] = min((found[0].included | found[0].with_descendants) - excluded)
    pairs = codes[["version", "code"]].drop_duplicates().itertuples(index=False)
    for j, (version, code) in enumerate(pairs):
        number = of_code.setdefault((version, code), 9_000_000 + j)
        concepts[number] = ("dummy", CONCEPTS.get(version, version), code)
    above = sorted(frozenset().union(*(one.ancestors for one in sets)))
    recorded = [of_code[pair] for pair in zip(codes["version"], codes["code"], strict=True)]
    return recorded, [(number, number) for number in above]


def _people(visits: pd.DataFrame, concepts: Concepts) -> pd.DataFrame:
    """One row per person; races and ethnicities are added to ``concepts``."""
    people = visits.drop_duplicates("patient")
    table = pd.DataFrame({
        "person_id": people["patient"], "gender_concept_id": people["sex"].map(SEX),
        "year_of_birth": people["birth_date"].dt.year,
        "month_of_birth": people["birth_date"].dt.month,
        "day_of_birth": people["birth_date"].dt.day,
    })  # fmt: skip
    for k, column in enumerate(("race", "ethnicity"), start=1):
        values = sorted(people[column].astype(str).unique())
        numbers = {value: 1_000_000 * k + j for j, value in enumerate(values)}
        concepts |= {number: (value, column.capitalize(), value)
                     for value, number in numbers.items()}  # fmt: skip
        table[f"{column}_concept_id"] = people[column].astype(str).map(numbers)
    return table


def _periods(visits: pd.DataFrame) -> pd.DataFrame:
    """A time of observation for every person, from a year before all visits to a year after."""
    people = visits.drop_duplicates("patient")
    year = pd.Timedelta(days=365)
    return pd.DataFrame({
        "person_id": people["patient"],
        "observation_period_start_date":
            _text(people["birth_date"].clip(lower=visits["date"].min() - year)),
        "observation_period_end_date": f"{visits['date'].max() + year:%Y-%m-%d}",
    })  # fmt: skip


def _findings(
    kinds: tuple[str, ...], visits: pd.DataFrame, concepts: Concepts, seed: int
) -> dict[str, pd.DataFrame]:
    """Tables of further kinds of features, with two records for every visit."""
    rng = np.random.default_rng([seed, 6])
    seen = visits.loc[visits.index.repeat(2)]
    tables = {}
    for k, table in enumerate(OF_KIND[kind] for kind in kinds if kind in OF_KIND):
        numbers = 2_000_000 + 1_000 * k + np.arange(N_FINDINGS)
        concepts |= {int(number): ("dummy", "SNOMED", str(number)) for number in numbers}
        values = {
            "value_as_number": rng.integers(0, 100, len(seen)), "range_low": 20, "range_high": 80,
        }  # fmt: skip
        own = RECORDS[table][0]
        tables[table] = pd.DataFrame({
            "person_id": seen["patient"], "visit_occurrence_id": seen["visit_id"],
            DAYS[table]: _text(seen["date"]), own: rng.choice(numbers, len(seen)),
            **{column: values.get(column, 0) for column in RECORDS[table][1:]},
        })  # fmt: skip
    return tables


def _text(days: pd.Series) -> pd.Series:
    return days.dt.strftime("%Y-%m-%d")
