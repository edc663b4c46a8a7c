"""Visits and prevalences of the semi-synthetic settings, to set beside those the paper prints."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evidence.store import FOLDER
from relprev.experiments.semisynthetic import SETTINGS, prepare
from relprev.store.files import written_whole

RESULTS = "counts.csv"


def run(data: str, results: Path = FOLDER) -> pd.DataFrame:
    """One row per setting: visits and mean p(y=1|x) of groups a and b; also written to a file."""
    rows = []
    for name in SETTINGS:
        prepared = prepare(data, name)
        row: dict[str, object] = {"setting": name}
        for number, group in enumerate("ab"):
            inside = prepared.visits.group == number
            row |= {
                f"visits_{group}": int(inside.sum()),
                f"prevalence_{group}": round(float(prepared.probability[inside].mean()), 4),
            }
        rows.append(row)
    table = pd.DataFrame(rows)
    with written_whole(results / f"semisynthetic-{data.partition(':')[0]}" / RESULTS) as path:
        table.to_csv(path, index=False)
    return table
