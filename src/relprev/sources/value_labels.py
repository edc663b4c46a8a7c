"""Value labels: the words that Stata (value labels) and SAS (formats) show for numbers.

SAS keeps them apart from the data, in a catalog (.sas7bcat) or in the data set that
``PROC FORMAT CNTLOUT=`` writes, here as CSV, with columns FMTNAME, START and LABEL.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.errors import InvalidInputError

Labels = Mapping[str, Mapping[str, str]]  # column -> value as text -> label
SAS_EPOCH = pd.Timestamp("1960-01-01")
DATES = re.compile(r"(DATE|MMDDYY|DDMMYY|YYMMDD|E8601DA|B8601DA|IS8601DA|DAY|WORDDATE)\w?\d*")
TIMES = re.compile(r"(DATETIME|E8601DT|B8601DT|IS8601DT|MDYAMPM)\d*")


def value_text(value: Any) -> str:
    """A value as it is written in tables: whole numbers without a point.

    Examples
    --------
    >>> value_text(1.0), value_text("A "), value_text(1.5)
    ('1', 'A', '1.5')
    """
    if isinstance(value, str):
        return value.strip()
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def with_labels(piece: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """The columns that have labels as text; values without one stay as they are written.

    Examples
    --------
    >>> piece = pd.DataFrame({"sex": [1.0, 2.0, 9.0]})
    >>> with_labels(piece, {"sex": {"1": "Male", "2": "Female"}})["sex"].tolist()
    ['Male', 'Female', '9']
    """
    for column, words in labels.items():
        different = piece[column].dropna().unique()
        shown = {value: words.get(value_text(value), value_text(value)) for value in different}
        piece = piece.assign(**{column: _texts(piece[column].map(shown))})
    return piece


def stata_labels(reader: Any, columns: list[str]) -> dict[str, dict[str, str]]:
    """The value labels of these columns of a Stata file."""
    sets = reader.value_labels()
    of_column = dict(zip(reader._varlist, reader._lbllist, strict=True))
    return {
        column: {value_text(value): str(words) for value, words in sets[of_column[column]].items()}
        for column in columns
        if of_column.get(column) in sets
    }


def sas_labels(
    metadata: Any, columns: list[str], formats: Path | None
) -> dict[str, dict[str, str]]:
    """The labels of these columns of a SAS file, whose metadata name formats."""
    if formats is None:
        return {}
    if formats.suffix.lower() == ".sas7bcat":  # pyreadstat has joined them already
        found = metadata.variable_value_labels
        return {
            column: {value_text(value): str(words) for value, words in found[column].items()}
            for column in columns
            if column in found
        }
    sets, of_column = _cntlout(formats), metadata.original_variable_types
    named = {column: _format_name(of_column.get(column) or "") for column in columns}
    return {column: sets[name] for column, name in named.items() if name in sets}


def sas_dates(piece: pd.DataFrame, formats: Mapping[str, str | None]) -> pd.DataFrame:
    """Numbers with a date format as dates: days or seconds since 1960."""
    for column in piece.columns:
        form = (formats.get(column) or "").upper()
        unit = "s" if TIMES.fullmatch(form) else "D" if DATES.fullmatch(form) else ""
        if unit and pd.api.types.is_numeric_dtype(piece[column]):
            days = piece[column] // (86_400 if unit == "s" else 1)
            dates = SAS_EPOCH + pd.to_timedelta(days, unit="D", errors="coerce")
            piece = piece.assign(**{column: _texts(dates.dt.strftime("%Y-%m-%d"))})
    return piece


def _texts(column: pd.Series) -> pd.Series:
    """Texts, with None where a value is missing."""
    return column.astype(object).where(column.notna(), None)


def _format_name(text: str) -> str:
    """A format's name without its width, in upper case: ``$RACE12.`` is ``RACE``."""
    return re.sub(r"\d*\.?\d*$", "", text.upper()).lstrip("$")


def _cntlout(file: Path) -> dict[str, dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = [{(name or "").strip().upper(): cell for name, cell in row.items()}
                    for row in csv.DictReader(lines)]  # fmt: skip
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidInputError(
            f"formats: {file.name} cannot be read; expected .sas7bcat, or CSV with FMTNAME, START "
            "and LABEL"
        ) from None
    if not rows or not {"FMTNAME", "START", "LABEL"} <= set(rows[0]):
        raise InvalidInputError(
            f"formats: {file.name} lacks FMTNAME, START or LABEL; write it with "
            "PROC FORMAT CNTLOUT= and PROC EXPORT"
        )
    sets: dict[str, dict[str, str]] = {}
    for row in rows:
        start, end = ((row.get(key) or "").strip() for key in ("START", "END"))
        if start and end in ("", start):  # no ranges
            value = value_text(float(start)) if _is_number(start) else start
            sets.setdefault(_format_name(row["FMTNAME"].strip()), {})[value] = row["LABEL"].strip()
    return sets


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d*)?", text) is not None
