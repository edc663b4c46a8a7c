"""NHANES transport files for tests; without pyreadstat the tests that need them are skipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pyreadstat = pytest.importorskip("pyreadstat")


def write(folder: Path, name: str, **columns) -> Path:
    file = folder / f"{name}.XPT"
    frame = pd.DataFrame(columns).astype(float)
    pyreadstat.write_xport(frame, str(file), table_name=name[:8], file_format_version=5)
    return file


def demographics(folder: Path, cycle: str = "I", number: int = 9, first: int = 1, **more) -> None:
    people = {
        "SEQN": range(first, first + 4), "SDDSRVYR": number, "RIAGENDR": [1, 2, 1, 2],
        "RIDAGEYR": [20, 35, 77, 9], "RIDRETH1": [3, 4, 1, 5], "DMDEDUC2": [5, 1, 9, np.nan],
        "INDFMPIR": [0.5, 5.0, 1.25, np.nan], "WTMEC2YR": [100.0, 200.0, 300.0, 0.0],
        "SDMVSTRA": 100 + number, "SDMVPSU": [1, 2, 1, 2],
    }  # fmt: skip
    write(folder, f"DEMO_{cycle}", **(people | more))
