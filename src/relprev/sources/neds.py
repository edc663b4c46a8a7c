"""NEDS, HCUP's Nationwide Emergency Department Sample.

The official Core files are CSV without a header row, so columns are named by the layout of the
year (in ``relprev/data/neds``; for other years, give a layout file in the same format). In
every field used here, a negative number is a missing value.

Procedures are in the supplemental files, which have no other use here: CPT codes of visits that
ended in the emergency department (ED) and ICD-10-PCS codes of those admitted (IP).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from relprev.errors import InvalidInputError
from relprev.sources.database import (
    Connection,
    column_names,
    connect,
    identifier,
    parquet_relation,
    reading,
)
from relprev.sources.declared import InputPath, InputPaths, OutputPath, SourceTable
from relprev.sources.fingerprint import described_file
from relprev.sources.formats import require_file
from relprev.sources.kinds import CAUSES, DIAGNOSES, Kind, read_kinds
from relprev.sources.neds_store import (
    HOSPITAL,
    known,
    layout_relation,
    read_layout,
    stored_core,
    stored_procedures,
)
from relprev.sources.packed import unpacked
from relprev.sources.source import Source, expose_wide, labels

RACE = {
    "1": "White", "2": "Black", "3": "Hispanic", "4": "Asian or Pacific Islander",
    "5": "Native American", "6": "Other",
}  # fmt: skip
PAYER = {
    "1": "Medicare", "2": "Medicaid", "3": "Private", "4": "Self-pay", "5": "No charge",
    "6": "Other",
}  # fmt: skip
KINDS = (
    replace(DIAGNOSES, prefix="ICD10"),
    replace(CAUSES, prefix="ICD10"),
    Kind("procedures", "PROC", "procedures (CPT, ICD-10-PCS)", ("procedure",)),
)
DESIGN_BASE = 100_000  # NEDS_STRATUM and HOSP_ED have at most 5 digits


@reading("the NEDS files")
def read_neds(
    core: str | Path | Iterable[str | Path],
    *,
    hospital: str | Path | Iterable[str | Path] = (),
    year: int | None = None,
    layout: str | Path | None = None,
    hospital_layout: str | Path | None = None,
    ed: str | Path | Iterable[str | Path] = (),
    ip: str | Path | Iterable[str | Path] = (),
    ed_layout: str | Path | None = None,
    ip_layout: str | Path | None = None,
    cache: str | Path | None = None,
    kinds: Sequence[str] = (),
) -> Source:
    """Read NEDS Core files.

    Parameters
    ----------
    core : path or list of paths
        Core files: .csv, .csv.gz or .zip as HCUP supplies them, or .parquet with named
        columns. Several years are stacked; strata and hospitals are distinct by year.
    hospital : path or list of paths, optional
        Hospital files, in the same order, which add the attributes hosp_region,
        hosp_ur_teach, hosp_trauma and hosp_control.
    year : int, optional
        Default: the year in the file name (``NEDS_2019_Core.csv``).
    layout, hospital_layout : path, optional
        Layouts for a year that is not shipped: CSV files with the columns position and name.
    ed, ip : path or list of paths, optional
        Supplemental ED and IP files, in the same order, read if ``kinds`` has ``"procedures"``.
    ed_layout, ip_layout : path, optional
        Their layouts, for a year that is not shipped.
    cache : path, optional
        Folder for converted files, which hold patient data; readable by its owner only.
        Default: ``$RELPREV_CACHE`` or ``~/.cache/relprev``.
    kinds : sequence of str
        Kinds of features to read besides diagnoses and causes: ``"procedures"``.

    Returns
    -------
    Source
        Attributes race (2019 and later), payer, income_quartile, urbanicity, disposition. Codes
        have the role ``"principal"`` (I10_DX1), ``"secondary"`` or ``"cause"``.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.simulate.neds import write_neds
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_neds(f"{folder}/NEDS_2019_Core.csv", 500, n_codes=60)
    ...     read_neds(f"{folder}/NEDS_2019_Core.csv", cache=folder).attributes
    ('payer', 'income_quartile', 'urbanicity', 'race', 'disposition')
    """
    wanted = read_kinds(kinds, KINDS)
    cores = _listed(core)
    hospitals = _listed(hospital)
    supplements = {"ED": _listed(ed), "IP": _listed(ip)}
    if not cores:
        raise InvalidInputError("core: at least one file is needed")
    for name, paths in {"hospital": hospitals, "ed": supplements["ED"],
                        "ip": supplements["IP"]}.items():  # fmt: skip
        if paths and len(paths) != len(cores):
            raise InvalidInputError(f"{name}: give one file per Core file, or none")
    with_procedures = any(kind.name == "procedures" for kind in wanted)
    if with_procedures and not any(supplements.values()):
        raise InvalidInputError(
            "kinds: procedures are in the supplemental files; give ed= (NEDS_2019_ED.csv, say), "
            "ip= or both"
        )
    if year is not None and len(cores) > 1:
        raise InvalidInputError("year: with several files, put the year in each file name instead")
    connection = connect()
    files = [described_file(require_file(path, "NEDS Core")) for path in cores]
    stores = [
        stored_core(path, file["blake2b"], _year_of(path, year), layout, cache)
        for path, file in zip(cores, files, strict=True)
    ]
    if len(set(stores)) < len(stores):
        raise InvalidInputError("core: the same file is given twice")
    for position, path in enumerate(hospitals):
        names = read_layout("Hospital", _year_of(path, year), hospital_layout)
        files.append(described_file(require_file(path, "NEDS Hospital")))
        _load_hospitals(connection, path, position, names)
    procedures: list[list[Path]] = [[] for _ in stores]
    layouts = {"ED": ed_layout, "IP": ip_layout}
    for name, paths in supplements.items() if with_procedures else ():
        for position, path in enumerate(paths):
            files.append(described_file(require_file(path, f"NEDS {name}")))
            procedures[position].append(
                stored_procedures(
                    path, files[-1]["blake2b"], name, _year_of(path, year), layouts[name], cache
                )
            )
    offset, parts, more = 0, [], []
    for position, store in enumerate(stores):
        parts.append(_visits_sql(connection, store, offset, position if hospitals else None))
        more += [_procedures_sql(store, offset, file) for file in procedures[position]]
        offset += connection.execute(f"SELECT count(*) FROM {parquet_relation(store)}").fetchall()[
            0
        ][0]
    connection.execute(f"CREATE VIEW wide AS {' UNION ALL BY NAME '.join(parts)}")
    lists = {"secondary": "secondary", "causes": "cause"}
    single = {"principal": "principal"}
    roles = [("ICD10", role) for role in (*single.values(), *lists.values())]
    expose_wide(connection, "wide", lists, "'ICD10'", single=single, more=more)
    return Source(
        "neds",
        connection,
        absent={"race": "NEDS records race from 2019 on"},
        details={"data": files},
        kinds=wanted,
        roles=(*roles, *([("PROC", "procedure")] if more else ())),
    )


@dataclass(frozen=True, kw_only=True)
class NedsTable(SourceTable):
    """Arguments of a neds source."""

    words = "NEDS"
    read = staticmethod(read_neds)
    example = ("race", "White")
    case_role = "principal"
    is_survey = True
    has_strata = True
    kinds = KINDS

    kind: Literal["neds"]
    core: Annotated[
        InputPaths,
        Field(description="Core files: .csv, .csv.gz or .zip as HCUP supplies them, or .parquet."),
    ]
    hospital: Annotated[
        InputPaths | None, Field(description="Hospital files, in the order of the Core files.")
    ] = None
    year: Annotated[int | None, Field(description="Default: the year in the file name.")] = None
    layout: Annotated[
        InputPath | None,
        Field(
            description="Core layout for a year that is not shipped: a CSV file with the columns "
            "position and name."
        ),
    ] = None
    hospital_layout: Annotated[
        InputPath | None, Field(description="The same for the Hospital file.")
    ] = None
    ed: Annotated[
        InputPaths | None,
        Field(description="Supplemental ED files, for the kind 'procedures' of features."),
    ] = None
    ip: Annotated[
        InputPaths | None,
        Field(description="Supplemental IP files, for the kind 'procedures' of features."),
    ] = None
    ed_layout: Annotated[
        InputPath | None, Field(description="Layout of the supplemental ED file.")
    ] = None
    ip_layout: Annotated[
        InputPath | None, Field(description="Layout of the supplemental IP file.")
    ] = None
    cache: Annotated[
        OutputPath | None,
        Field(description="Folder for converted files, which hold patient data."),
    ] = None


def _listed(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def _year_of(path: Path, year: int | None) -> int:
    if year is not None:
        return year
    found = re.search(r"NEDS_(\d{4})_", path.name, re.IGNORECASE)
    if found is None:
        raise InvalidInputError(f"{path.name} has no year in its name; give year=")
    return int(found[1])


def _load_hospitals(
    connection: Connection, path: Path, position: int, names: Sequence[str]
) -> None:
    with unpacked(path) as file, reading(path.name):
        kept = ", ".join(map(known, HOSPITAL))
        connection.execute(f"""
            CREATE TABLE hospital_{position} AS
            SELECT HOSP_ED AS hosp_ed, {kept} FROM {layout_relation(file, names, path)}
        """)


def _visits_sql(connection: Connection, store: Path, offset: int, hospital: int | None) -> str:
    """SQL for the canonical columns and lists of codes of one converted file."""
    relation = parquet_relation(store, ", file_row_number=true")
    columns = [f"file_row_number + {offset} AS visit", "key_ed AS visit_id",
               "NULL::BIGINT AS patient", "age::INTEGER AS age",
               "CASE female WHEN 1 THEN 'F' WHEN 0 THEN 'M' END AS sex", "discwt AS weight",
               f"year::INTEGER * {DESIGN_BASE} + neds_stratum AS stratum",
               f"year::INTEGER * {DESIGN_BASE} + core.hosp_ed AS psu", "year::INTEGER AS year",
               f"{labels('pay1', PAYER)} AS payer", "zipinc_qrtl AS income_quartile",
               "pl_nchs AS urbanicity", "principal", "secondary", "causes"]  # fmt: skip
    present = column_names(connection, relation)
    if "race" in present:
        columns.append(f"{labels('race', RACE)} AS race")
    if "disp_ed" in present:
        columns.append("disp_ed AS disposition")
    join = ""
    if hospital is not None:
        columns += [identifier(name.lower()) for name in HOSPITAL]
        join = f"LEFT JOIN hospital_{hospital} USING (hosp_ed)"
    return f"SELECT {', '.join(columns)} FROM {relation} AS core {join}"


def _procedures_sql(store: Path, offset: int, procedures: Path) -> str:
    """SQL for the procedures of one converted supplemental file, as rows of ``codes``."""
    visits = parquet_relation(store, ", file_row_number=true")
    return f"""
        SELECT visit, 'PROC' AS version, unnest(procedures) AS code, 'procedure' AS role
        FROM (SELECT file_row_number + {offset} AS visit, key_ed FROM {visits})
        JOIN {parquet_relation(procedures)} USING (key_ed)
    """
