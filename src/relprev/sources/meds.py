"""The Medical Event Data Standard (MEDS): one row per event of a subject.

A dataset is a folder with Parquet files under ``data`` (subject_id, time, code and more), and
``metadata/codes.parquet`` (descriptions) and ``metadata/subject_splits.parquet``, which may be
absent. Events without a time are static: demographics, which become attributes.

The standard knows no visits. A visit begins with an anchor event, such as a registration or an
admission, and lasts until an end event, a number of days, or the subject's next anchor, whichever
comes first; an event belongs to the visit during which it happened. Without an anchor a subject's
whole record is one visit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet
from pydantic import Field

from relprev.errors import InvalidInputError
from relprev.settings import suggestion
from relprev.sources.addresses import shown
from relprev.sources.database import (
    Connection,
    column_names,
    connect,
    file_literal,
    parquet_relation,
    quoted,
    reading,
)
from relprev.sources.declared import InputPath, SourceTable
from relprev.sources.fingerprint import described_file
from relprev.sources.kinds import Kind
from relprev.sources.meds_codes import column_name, split
from relprev.sources.meds_visits import SEX, make_codes, make_spans, make_visits, matching
from relprev.sources.source import VISIT_COLUMNS, Source

USED = ("subject_id", "time", "code")
KINDS = (Kind("codes", "ICD9, ICD10, MEDS", "codes of events", default=True),)
MOST_STATIC = 50  # kinds of events without a time
Patterns = str | Sequence[str]


@reading("the MEDS dataset")
def read_meds(
    path: str | Path,
    *,
    anchor: Patterns = (),
    end: Patterns = (),
    days: float | None = None,
    attributes: Patterns = (),
    splits: Patterns = (),
) -> Source:
    """Read a MEDS dataset.

    Parameters
    ----------
    path : str or Path
        The dataset's folder, or a single Parquet file of events.
    anchor : str or list of str
        Codes that begin a visit, such as ``"ED_REGISTRATION"``; a trailing ``*`` stands for any
        ending. Default: every subject is one visit.
    end : str or list of str
        Codes that end a visit, such as ``"HOSPITAL_DISCHARGE*"``; what happens at that moment
        still belongs to it.
    days : float, optional
        Longest duration of a visit.
    attributes : str or list of str
        First parts of codes, such as ``"INSURANCE"`` of ``INSURANCE//Medicaid``, of which the
        latest by the end of a visit becomes an attribute. Static ones do without being named.
    splits : str or list of str
        Use only subjects of these splits, such as ``"train"``. Default: all subjects.

    Returns
    -------
    Source
        Attributes ``anchor`` (the code that began the visit), those asked for and, from static
        events, for example gender and race. Age is at the beginning of the visit or, where a
        subject is the visit, at the last event.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> events = pd.DataFrame({
    ...     "subject_id": 7,
    ...     "time": pd.to_datetime([None, "1980-06-15", "2020-06-14", "2020-06-15"]),
    ...     "code": ["GENDER//F", "MEDS_BIRTH", "ED_REGISTRATION", "DIAGNOSIS//ICD//10//R51"],
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     events.to_parquet(f"{folder}/events.parquet")
    ...     source = read_meds(f"{folder}/events.parquet", anchor="ED_REGISTRATION")
    >>> source.query("SELECT age, sex, gender, version, code FROM visits JOIN codes USING (visit)")
    [(39, 'F', 'F', 'ICD10', 'R51')]
    """
    standard = _standard()
    if days is not None and not days > 0:
        raise InvalidInputError(f"days must be more than 0, got {days}")
    anchors, ends, first_parts, kept = map(_listed, (anchor, end, attributes, splits))
    if (ends or days) and not anchors:
        raise InvalidInputError("anchor is missing: end and days need an event that begins a visit")
    folder = Path(path)
    shards = _shards(folder, standard.data_subdirectory)
    for shard in shards:
        _require_schema(shard, standard.DataSchema.schema())
    connection = connect()
    files = ", ".join(map(file_literal, shards))
    connection.execute(
        "CREATE VIEW events AS SELECT subject_id::BIGINT AS subject, time::TIMESTAMP AS time, "
        f"code::VARCHAR AS code FROM read_parquet([{files}], hive_partitioning=false, "
        "union_by_name=true)"
    )
    data = [described_file(shard) for shard in shards]
    codes = [code for (code,) in connection.execute("SELECT DISTINCT code FROM events").fetchall()]
    if None in codes:
        raise InvalidInputError("the MEDS dataset has events without a code")
    static = _static(connection)
    timed = _timed(codes, first_parts, static)
    who = _subjects(connection, folder / standard.subject_splits_filepath, kept)
    make_spans(connection, codes, anchors, ends, days, who)
    attrition = make_visits(connection, static, timed, standard.birth_code, bool(anchors), kept)
    special = [*matching(codes, [*anchors, *ends]), standard.birth_code, standard.death_code]
    make_codes(connection, codes, {*special}, {*static, *timed}, bool(anchors))
    described = folder / standard.code_metadata_filepath
    return Source(
        "meds",
        connection,
        attrition=attrition,
        details={"anchor": anchors, "end": ends, "days": days, "splits": kept, "data": data},
        descriptions=_descriptions(connection, described),
        kinds=KINDS,
    )


@dataclass(frozen=True, kw_only=True)
class MedsTable(SourceTable):
    """Arguments of a meds source."""

    words = "MEDS dataset"
    read = staticmethod(read_meds)
    example = ("race", "White")
    kinds = KINDS

    kind: Literal["meds"]
    path: Annotated[
        InputPath, Field(description="The dataset's folder, or a Parquet file of events.")
    ]
    anchor: Annotated[
        str | tuple[str, ...] | None,
        Field(description="Codes that begin a visit; without them a subject is one visit."),
    ] = None
    end: Annotated[str | tuple[str, ...] | None, Field(description="Codes that end a visit.")] = (
        None
    )
    days: Annotated[float | None, Field(description="Longest duration of a visit.")] = None
    attributes: Annotated[
        str | tuple[str, ...] | None,
        Field(description="First parts of codes whose latest value becomes an attribute."),
    ] = None
    splits: Annotated[
        str | tuple[str, ...] | None, Field(description="Use only subjects of these splits.")
    ] = None


def _standard() -> Any:
    try:
        import meds
    except ImportError:
        raise InvalidInputError("MEDS needs the package meds: pip install relprev[meds]") from None
    return meds


def _listed(texts: Patterns) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _shards(path: Path, data: str) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInputError(f"path: expected a folder or a Parquet file at {shown(path)}")
    shards = sorted((path / data).rglob("*.parquet"))
    if not shards:
        raise InvalidInputError(
            f"{path} has no Parquet files in a folder {data!r}; is it a MEDS dataset?"
        )
    return shards


def _require_schema(shard: Path, schema: pa.Schema) -> None:
    """Fail unless the file has the columns that are used, of types like the standard's."""
    try:
        found = pa.parquet.read_schema(shard)
    except (pa.ArrowException, OSError):
        raise InvalidInputError(f"{shard.name} cannot be read: it is not a Parquet file") from None
    lacking = [name for name in USED if name not in found.names]
    if lacking:
        raise InvalidInputError(
            f"{shard.name} lacks the column{'s' if len(lacking) > 1 else ''} "
            f"{', '.join(lacking)}; is it a file of MEDS events?"
        )
    for name in USED:
        kind, expected = found.field(name).type, schema.field(name).type
        if _family(kind) != _family(expected):
            raise InvalidInputError(
                f"{shard.name} does not follow the standard: {name} must be {expected}, it is "
                f"{kind}"
            )


def _family(kind: pa.DataType) -> str:
    """What kinds of values can be read as each other."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    families = {
        "whole": pa.types.is_integer, "time": pa.types.is_timestamp, "text": pa.types.is_string,
        "long text": pa.types.is_large_string, "view": pa.types.is_string_view,
    }  # fmt: skip
    found = next((name for name, belongs in families.items() if belongs(kind)), str(kind))
    return "text" if found in ("long text", "view") else found


def _static(connection: Connection) -> dict[str, list[str]]:
    """Names of columns, and the codes of events without a time that give their values."""
    found = connection.execute(
        "SELECT DISTINCT code FROM events WHERE time IS NULL ORDER BY code"
    ).fetchall()
    return _by_column(code for (code,) in found)


def _by_column(codes: Iterable[str]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for code in codes:
        first, rest = split(code)
        if rest and column_name(first):
            columns.setdefault(column_name(first), []).append(code)
    if len(columns) > MOST_STATIC:
        raise InvalidInputError(
            f"events without a time have codes of {len(columns):,} kinds, more than {MOST_STATIC}; "
            "are times missing?"
        )
    return columns


def _timed(
    codes: Sequence[str], first_parts: Sequence[str], static: Mapping[str, Any]
) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for part in first_parts:
        found = [code for code in codes if split(code)[0].lower() == part.rstrip("/").lower()]
        if not found:
            known = sorted({split(code)[0] for code in codes})
            raise InvalidInputError(
                f"attributes: no code begins with {part!r}; {suggestion(part, known[:MOST_STATIC])}"
            )
        name = column_name(part)
        if name in VISIT_COLUMNS and name not in SEX:
            raise InvalidInputError(f"attributes: {name!r} has a fixed meaning in every source")
        if name not in static:
            columns[name] = found
    return columns


def _subjects(connection: Connection, file: Path, splits: Sequence[str]) -> str:
    """SQL condition for the subjects of the splits."""
    if not splits:
        return "true"
    if not file.is_file():
        raise InvalidInputError(f"splits: the dataset has no {file.parent.name}/{file.name}")
    relation = parquet_relation(file)
    known = connection.execute(f"SELECT DISTINCT split::VARCHAR FROM {relation}").fetchall()
    names = [name for (name,) in known]
    for name in splits:
        if name not in names:
            raise InvalidInputError(
                f"splits: there is no split {name!r}; {suggestion(name, names)}"
            )
    wanted = ", ".join(map(quoted, splits))
    return f"subject IN (SELECT subject_id FROM {relation} WHERE split IN ({wanted}))"


def _descriptions(connection: Connection, file: Path) -> dict[str, str]:
    """What the dataset says about codes that occur, by version and code."""
    if not file.is_file():
        return {}
    relation = parquet_relation(file)
    if not {"code", "description"} <= set(column_names(connection, relation)):
        return {}
    found = connection.execute(f"""
        SELECT n.version || ':' || n.code AS name, min(d.description::VARCHAR)
        FROM {relation} d JOIN vocabulary n ON n.raw = d.code::VARCHAR
        WHERE trim(d.description::VARCHAR) <> '' AND n.version NOT IN ('ICD9', 'ICD10')
        GROUP BY name ORDER BY name
    """).fetchall()
    return dict(found)
