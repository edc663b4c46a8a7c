"""Small NEDS Core files, for tests."""

from __future__ import annotations

import pandas as pd

from relprev.sources.neds_store import read_layout

NAMES = read_layout("Core", 2019)


def row(**values):
    base = {"AGE": 40, "FEMALE": 1, "DISCWT": 4.5, "HOSP_ED": 10001, "NEDS_STRATUM": 20001,
            "YEAR": 2019, "KEY_ED": 1, "RACE": 1, "PAY1": 1, "ZIPINC_QRTL": 1, "PL_NCHS": 1,
            "I10_DX1": "R51"}  # fmt: skip
    return base | values


def make(path, rows, names=NAMES):
    frame = pd.DataFrame([{name: item.get(name, "") for name in names} for item in rows])
    frame.to_csv(path, header=False, index=False)
    return path
