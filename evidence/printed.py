"""Tables of what the paper prints, beside what our commands give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evidence import counts
from evidence.store import FOLDER
from relprev.codes import describe
from relprev.experiments.methods import METHODS

PAPER = FOLDER / "paper"
NEEDED = "needs credentialed data"


def numbers(results: Path) -> list[list[str]]:
    """Item, the paper's value, command, and ours (on NHDS, where it is a count of a setting)."""
    file = results / "semisynthetic-nhds" / counts.RESULTS
    ours = _on_nhds(pd.read_csv(file)) if file.is_file() else {}
    return [
        [row["item"], row["paper"], f"`{row['command']}`", _ours(row["ours"], ours)]
        for row in pd.read_csv(PAPER / "numbers.csv", dtype=str).fillna("").to_dict("records")
    ]


def _ours(key: str, ours: dict[str, str]) -> str:
    return f"{NEEDED}; on NHDS: {ours[key]}" if key in ours else NEEDED


def _on_nhds(table: pd.DataFrame) -> dict[str, str]:
    found = {}
    for row in table.to_dict("records"):
        name = row["setting"]
        found[f"{name} visits"] = f"{row['visits_a']:,} and {row['visits_b']:,}"
        found[f"{name} prevalence"] = f"{row['prevalence_a']:.3f} and {row['prevalence_b']:.3f}"
    return found


def symptoms(chosen: pd.DataFrame | None) -> dict[str, list[list[str]]]:
    """The printed codes of every table, and whether our rule chooses them from NHDS.

    ``chosen`` has the columns setting, version and code.
    """
    printed = pd.read_csv(PAPER / "symptoms.csv", dtype=str)
    ours = set() if chosen is None else set(zip(chosen["setting"], chosen["code"], strict=True))
    return {
        f"Table {name}, {part['setting'].iloc[0]}": [
            [
                row["version"].replace("ICD", "ICD-"), row["code"],
                describe(row["version"], row["code"]) or "",
                _chosen(row, ours),
            ]
            for row in part.to_dict("records")
        ]
        for name, part in printed.groupby("table", sort=False)
    }  # fmt: skip


def _chosen(row: dict[str, str], ours: set[tuple[str, str]]) -> str:
    if row["version"] != "ICD9":
        return "not in NHDS, which has ICD-9 only"
    return "yes" if (row["setting"], row["code"]) in ours else "no"


def figure() -> dict[str, list[list[str]]]:
    """Figure 2C of the published notebook, one table per setting."""
    read = pd.read_csv(PAPER / "semisynthetic.csv")
    return {
        str(setting): [
            [METHODS[str(method)].label, *(f"{value:.2f}" for value in line["ratio"])]
            for method, line in part.groupby("method", sort=False)
        ]
        for setting, part in read.groupby("setting", sort=False)
    }
