"""Dummy data as files of a tables source: visits, with codes in a table or in columns."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.codes.spelling import version_name
from relprev.cohort import CohortSpec
from relprev.errors import InvalidInputError
from relprev.simulate.dummy import Dummy, dummy
from relprev.simulate.places import Places
from relprev.simulate.workbook import write_workbook
from relprev.sources.formats import DELIMITERS
from relprev.sources.source import VISIT_COLUMNS
from relprev.sources.tables import VERSIONS
from relprev.store.files import written_whole

ICD = ("ICD9", "ICD10")


def write_dummy_tables(
    spec: CohortSpec, arguments: Mapping[str, Any], places: Places, n: int, seed: int
) -> list[Path]:
    """Visits and codes in the files, formats and columns that a tables source names."""
    version = version_name(str(arguments["version"]))
    fixed = version in VERSIONS
    attributes = list(arguments.get("attributes") or ())
    further = tuple(name for name in attributes if name not in VISIT_COLUMNS)
    made = dummy(spec, n, (version,) if fixed else ICD, further, seed)
    keys = ("patient", "age", "sex", "weight", "stratum", "psu", "year", "date", "birth_date")
    named = {key: arguments[key] for key in ("visit_id", *keys) if arguments.get(key)}
    visits = pd.DataFrame({column: made.visits[key] for key, column in named.items()})
    form = arguments.get("date_format") or "%Y-%m-%d"
    for key in ("date", "birth_date"):
        if key in named:
            visits[named[key]] = made.visits[key].dt.strftime(form)
    wanted = dict.fromkeys([*attributes, *sorted(spec.columns() - set(VISIT_COLUMNS))])
    visits = visits.assign(**{name: made.visits[name] for name in wanted if name not in visits})
    place_of = {
        key: places.written(arguments[key]) for key in ("visits", "codes") if arguments.get(key)
    }
    if "codes" in place_of:
        tables = {"visits": visits, "codes": _long_codes(made, arguments, fixed)}
    else:
        tables = {"visits": pd.concat([visits, _wide_codes(made, arguments, fixed)], axis=1)}
    sheets = {"visits": arguments.get("sheet"), "codes": arguments.get("codes_sheet")}
    files = list(dict.fromkeys(place_of.values()))
    for file in files:
        own = {sheets[key] or key: tables[key] for key, path in place_of.items() if path == file}
        if file.name.lower().endswith(".xlsx"):
            write_workbook(own, file)
            continue
        if len(own) > 1:
            raise InvalidInputError(f"{file.name}: visits and codes must be two files, or sheets")
        [table] = own.values()
        write_table(table, file, arguments)
    return files


def listed(value: Any) -> list[str]:
    """One or more texts, or none, as a list."""
    return [value] if isinstance(value, str) else list(value or ())


def _long_codes(made: Dummy, arguments: Mapping[str, Any], fixed: bool) -> pd.DataFrame:
    codes = made.codes
    ids = made.visits["visit_id"].to_numpy()[codes["visit"]]
    table = pd.DataFrame({arguments["visit_id"]: ids, listed(arguments["code"])[0]: codes["code"]})
    if not fixed:
        table[arguments["version"]] = codes["version"]
    if arguments.get("role"):
        table[arguments["role"]] = "diagnosis"
    if isinstance(arguments.get("position"), str):
        table[arguments["position"]] = codes.groupby("visit").cumcount() + 1
    for column in listed(arguments.get("present_on_admission")):
        table[column] = np.where(codes["visit"] % 10 == 0, "N", "Y")
    return table


def _wide_codes(made: Dummy, arguments: Mapping[str, Any], fixed: bool) -> pd.DataFrame:
    """Columns of codes; a visit's codes of the condition come first, so that none is cut off."""
    columns = listed(arguments["code"])
    codes = made.codes.sort_values(["visit", "is_condition"], ascending=[True, False])
    codes = codes.assign(place=codes.groupby("visit").cumcount())
    wide = codes[codes["place"] < len(columns)].pivot(index="visit", columns="place", values="code")
    wide = wide.reindex(index=range(len(made.visits)), columns=range(len(columns)))
    wide.columns = pd.Index(columns)
    if not fixed:
        version = codes.drop_duplicates("visit").set_index("visit")["version"]
        wide[arguments["version"]] = version.reindex(range(len(made.visits)))
    for column in listed(arguments.get("present_on_admission")):
        wide[column] = np.where(np.arange(len(wide)) % 10 == 0, "N", "Y")
    return wide


def write_table(table: pd.DataFrame, path: Path, arguments: Mapping[str, Any]) -> None:
    """Write a table in the format that its name says, which is not a spreadsheet's."""
    name = path.name.lower()
    with written_whole(path) as temporary:
        if name.endswith(tuple(DELIMITERS)):
            separator = next(mark for end, mark in DELIMITERS.items() if name.endswith(end))
            text = table.to_csv(index=False, sep=separator, lineterminator="\n")
            content = text.encode(arguments.get("encoding") or "utf-8")
            temporary.write_bytes(
                gzip.compress(content, mtime=0) if name[-3:] == ".gz" else content
            )
        elif name.endswith((".parquet", ".pq")):
            table.to_parquet(temporary, index=False)
        elif name.endswith(".dta"):
            plain = {str(column): table[column].fillna("").astype(str)
                     for column in table if table[column].dtype == object}  # fmt: skip
            table.assign(**plain).to_stata(temporary, write_index=False, version=118)
        else:
            raise InvalidInputError(
                f"{path.name}: dummy tables are written as .csv, .csv.gz, .tsv, .parquet, .dta or "
                ".xlsx; name such a file in the study for the time being"
            )
