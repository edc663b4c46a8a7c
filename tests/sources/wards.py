"""A table of three visits and one of codes, for tests of tables."""

from __future__ import annotations

import pandas as pd

VISITS = pd.DataFrame({
    "id": ["a", "b", "c"], "who": [1, 1, 2], "years": [20, 30, 40], "gender": ["female", "M", ""],
    "w": [1.5, 2.0, 2.5], "area": ["north", "", "south"], "dx1": ["T74.11XA", "R51", ""],
    "dx2": ["r10.2", None, ""],
})  # fmt: skip
CODES = pd.DataFrame({
    "id": ["a", "a", "b", "b"], "code": ["T74.11XA", "E967.3", "R51", "r10.2"],
    "icd_version": [10, 9, 10, 10],
})  # fmt: skip
NAMES = {"visit_id": "id", "patient": "who", "age": "years", "sex": "gender", "weight": "w",
         "attributes": ["area"]}  # fmt: skip


def save(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".dta":
        frame.fillna("").to_stata(path, write_index=False)
    else:
        frame.to_csv(path, index=False)
    return path
