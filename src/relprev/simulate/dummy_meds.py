"""Dummy data as a dataset of the Medical Event Data Standard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from relprev.cohort import CohortSpec
from relprev.simulate.dummy import dummy
from relprev.simulate.dummy_tables import ICD, listed
from relprev.simulate.places import Places
from relprev.sources.meds import USED
from relprev.sources.source import VISIT_COLUMNS
from relprev.store.files import written_whole

OPENING, CLOSING = "VISIT_START", "VISIT_END"


def write_dummy_meds(
    spec: CohortSpec, arguments: Mapping[str, Any], places: Places, n: int, seed: int
) -> list[Path]:
    """A dataset of the Medical Event Data Standard, with the anchor and end that a study names."""
    timed = [name.lower() for name in listed(arguments.get("attributes"))]
    made = dummy(spec, n, (*ICD, "MEDS"), tuple(timed), seed)
    visits, codes = made.visits, made.codes
    begin = _event(arguments.get("anchor"), OPENING)
    finish = _event(arguments.get("end"), CLOSING)
    start = visits["date"] + pd.to_timedelta(visits.groupby("patient").cumcount() * 400, unit="D")
    ids = visits["patient"]
    forms = {"ICD9": "DIAGNOSIS//ICD//9//", "ICD10": "DIAGNOSIS//ICD//10//", "MEDS": ""}
    texts = codes["version"].map(forms).fillna("") + codes["code"]
    parts = [
        (ids, visits["birth_date"], pd.Series("MEDS_BIRTH", ids.index)),
        (ids, start, pd.Series(begin, ids.index)),
        (ids.loc[codes["visit"]], (start + pd.Timedelta("1h")).loc[codes["visit"]], texts),
        (ids, start + pd.Timedelta("2h"), pd.Series(finish, ids.index)),
        (ids, pd.Series(pd.NaT, ids.index), "GENDER//" + visits["sex"]),
    ]
    for column in sorted(spec.columns() - set(VISIT_COLUMNS) - {"anchor", "gender"}):
        when = start if column in timed else pd.Series(pd.NaT, ids.index)
        parts.append((ids, when, column.upper() + "//" + visits[column].astype(str)))
    events = pd.concat([
        pd.DataFrame(dict(zip(USED, (part.to_numpy() for part in row), strict=True)))
        for row in parts
    ])  # fmt: skip
    static = events["time"].isna() | (events["code"] == "MEDS_BIRTH")
    repeated = static & events.assign(kind=events["code"].str.split("//").str[0]).duplicated(
        ["subject_id", "kind"]
    )
    events = events[~repeated].sort_values(["subject_id", "time"], na_position="first")
    root = places.written(arguments["path"])
    single = root.suffix == ".parquet"
    files = {root if single else root / "data" / "train" / "0.parquet": events}
    if not single:
        known = pd.DataFrame({"code": sorted(events["code"].unique())})
        files[root / "metadata" / "codes.parquet"] = known.assign(description="dummy")
        split = listed(arguments.get("splits"))[:1] or ["train"]
        subjects = pd.DataFrame({"subject_id": sorted(ids.unique())})
        files[root / "metadata" / "subject_splits.parquet"] = subjects.assign(split=split[0])
    for path, table in files.items():
        with written_whole(path) as temporary:
            rows = pa.Table.from_pandas(table, preserve_index=False)
            pa.parquet.write_table(rows, temporary, coerce_timestamps="us")
    return list(files)


def _event(pattern: Any, otherwise: str) -> str:
    return (listed(pattern) or [otherwise])[0].replace("*", "//DUMMY")
