"""The baselines beside their authors' own code, on common rows, scores and folds.

The numbers are those of tests/baselines/reference.csv, which the tests compute again; how they were
obtained is in tests/baselines/reference.md.
"""

from __future__ import annotations

import pandas as pd

from evidence.store import FOLDER

REFERENCE = FOLDER.parent / "tests" / "baselines" / "reference.csv"
LABELS = {
    "BBE": "BBE", "DEDPUL": "DEDPUL", "ElkanNoto": "Elkan–Noto", "TIcE": "TIcE",
    "KM2": "KM2, at the optimum", "KM2 published": "KM2, `compat=\"published\"`",
    "SAREM": "SAR-EM", "SAREM no ridge": "SAR-EM, no ridge",
    "SAREM group": "SAR-EM, group as feature", "SAREM published": "SAR-EM, `compat=\"published\"`",
}  # fmt: skip
SAMPLES = {
    "apart": "Gaussians apart", "overlapping": "Gaussians overlapping",
    "common": "Gaussians, common condition", "breast-cancer": "breast cancer",
    "digits": "digits", "nhds": "NHDS, one draw",
}  # fmt: skip


def reference() -> pd.DataFrame:
    """One row per sample and method: what the authors' code gives (``value``), and ``ours``."""
    return pd.read_csv(REFERENCE)


def ours(sample: str, method: str) -> float:
    """Our value for a sample and method."""
    found = reference().set_index(["sample", "method"])
    return float(found.loc[(sample, method), "ours"])


def rows() -> list[list[str]]:
    """The cells of the table: sample, method, quantity, authors' code, ours, difference."""
    found = reference()
    return [
        [
            SAMPLES[row["sample"]], LABELS[row["method"]], row["quantity"],
            f"{row['value']:.4f}", f"{row['ours']:.4f}", difference(row["ours"] - row["value"]),
        ]
        for row in found.to_dict("records")
    ]  # fmt: skip


def difference(value: float) -> str:
    """A difference as people read it: what is below the sixth decimal is 0."""
    return "0" if abs(value) < 5e-7 else f"{value:+.1e}"
