"""Dummy data as tables of the OMOP common data model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.cohort import CohortSpec
from relprev.errors import InvalidInputError
from relprev.simulate.dummy import dummy
from relprev.simulate.dummy_tables import ICD, Paths, write_table
from relprev.sources.addresses import is_address

CONCEPTS = {"ICD9": "ICD9CM", "ICD10": "ICD10CM"}


def write_dummy_omop(
    spec: CohortSpec, arguments: Mapping[str, Any], place: Paths, n: int, seed: int
) -> list[Path]:
    """The tables of an OMOP database, as CSV files in the folder that a study names."""
    given = str(arguments["database"])
    if is_address(given) or "$" in given or Path(given).suffix:
        raise InvalidInputError(
            "database: dummy data are written as a folder of CSV files; name a folder in the study "
            "for the time being"
        )
    standard = arguments.get("codes") == "standard"
    made = dummy(spec, n, ("SNOMED",) if standard else ICD, ("race", "ethnicity"), seed)
    visits, codes = made.visits, made.codes
    kinds = list(arguments.get("visit_concepts") or (9203,))
    people = visits.drop_duplicates("patient")
    concepts = {"8507": ("MALE", "Gender", "M"), "8532": ("FEMALE", "Gender", "F")}
    numbers: dict[str, dict[str, int]] = {}
    for k, column in enumerate(("race", "ethnicity"), start=1):
        values = sorted(people[column].astype(str).unique())
        numbers[column] = {value: 1_000_000 * k + j for j, value in enumerate(values)}
        concepts |= {str(number): (value, column.capitalize(), value)
                     for value, number in numbers[column].items()}  # fmt: skip
    pairs = codes[["version", "code"]].drop_duplicates().itertuples(index=False)
    of_code = {(version, code): 9_000_000 + j for j, (version, code) in enumerate(pairs)}
    concepts |= {str(number): ("dummy", CONCEPTS.get(version, version), code)
                 for (version, code), number in of_code.items()}  # fmt: skip
    concept = [of_code[pair] for pair in zip(codes["version"], codes["code"], strict=True)]
    at = visits.loc[codes["visit"]]
    tables = {
        "person": pd.DataFrame({
            "person_id": people["patient"],
            "gender_concept_id": people["sex"].map({"F": 8532, "M": 8507}),
            "year_of_birth": people["birth_date"].dt.year,
            "month_of_birth": people["birth_date"].dt.month,
            "day_of_birth": people["birth_date"].dt.day,
            "race_concept_id": people["race"].astype(str).map(numbers["race"]),
            "ethnicity_concept_id": people["ethnicity"].astype(str).map(numbers["ethnicity"]),
        }),
        "visit_occurrence": pd.DataFrame({
            "visit_occurrence_id": visits["visit_id"], "person_id": visits["patient"],
            "visit_concept_id": kinds[0],
            "visit_start_date": visits["date"].dt.strftime("%Y-%m-%d"),
            "visit_end_date": visits["date"].dt.strftime("%Y-%m-%d"),
        }),
        "condition_occurrence": pd.DataFrame({
            "condition_occurrence_id": np.arange(1, len(codes) + 1),
            "person_id": at["patient"].to_numpy(), "visit_occurrence_id": at["visit_id"].to_numpy(),
            "condition_concept_id": concept if standard else 0,
            "condition_start_date": at["date"].dt.strftime("%Y-%m-%d").to_numpy(),
            "condition_source_value": codes["code"],
            "condition_source_concept_id": 0 if standard else concept,
        }),
        "concept": pd.DataFrame(
            [(number, *words) for number, words in concepts.items()],
            columns=["concept_id", "concept_name", "vocabulary_id", "concept_code"],
        ),
    }  # fmt: skip
    root = place(given)
    files = []
    for name, table in tables.items():
        files.append(root / f"{name}.csv")
        write_table(table, files[-1], {})
    return files
