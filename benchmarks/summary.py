"""The stored results as Markdown tables, as README shows them."""

from __future__ import annotations

import json
from math import log
from statistics import median
from typing import Any

from benchmarks.measure import RESULTS


def tables() -> str:
    """Accuracy and speed, with the machine they were measured on."""
    return "\n\n".join(
        [_accuracy(), _speed(), _national(), _raw_files(), _known_truth(), _machine()]
    )


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return content


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _accuracy() -> str:
    rows = _load("accuracy")["rows"]
    rates = sorted({row["c_b"] for row in rows})
    body = []
    for separable, label in ((False, "not separable"), (True, "separable")):
        cells = {row["c_b"]: row for row in rows if row["separable"] == separable}
        body.append([label] + [f"{cells[c]['mean']:.3f} ± {cells[c]['sd']:.3f}" for c in rates])
    seeds = rows[0]["seeds"]
    return f"Estimated / true ratio on Gauss-Synth, mean ± SD over {seeds} seeds:\n\n" + _table(
        ["diagnosis rate of group b", *(str(c) for c in rates)], body
    )


def _speed() -> str:
    body = []
    for row in _load("adam")["rows"]:
        times = f"{row['adam_seconds']:.0f} s", f"{row['relprev_seconds']:.2f} s"
        body.append([row["data"], "Adam, 10,000 epochs", *times, f"{row['times_faster']:.0f}"])
    for row in _load("l1_logistic")["rows"]:
        rivals = {
            name: row[f"{name}_seconds"]
            for name in ("liblinear", "skglm", "glum")
            if f"{name}_seconds" in row
        }
        fastest = min(rivals, key=lambda name: rivals[name])
        data = f"L1 logistic, {row['rows']:,} x {row['columns']:,}, lambda {row['lambda']:g}"
        times = f"{rivals[fastest]:.2f} s", f"{row['relprev_seconds']:.2f} s"
        body.append([data, fastest, *times, f"{row['times_faster_than_fastest']:.1f}"])
    head = ["data", "fastest other", "its time", "relprev", "times faster"]
    return "Time to the same objective:\n\n" + _table(head, body)


def _national() -> str:
    body = [
        [
            f"{row['visits']:,}", f"{row['ones']:,}", f"{1000 * row['pass_seconds']:.0f} ms",
            f"{row['pass_over_scipy']:.2f}", f"{row['path_seconds']:.1f} s",
            f"{row['path_in_passes']:.0f}", f"{row['peak_gib']:.1f} GiB",
        ]
        for row in _load("neds")["rows"]
    ]  # fmt: skip
    head = ["visits", "codes recorded", "one pass", "÷ scipy's two products",
            "path of six penalties", "in passes", "peak memory"]  # fmt: skip
    return "National size, 19,710 different codes, four groups, weights:\n\n" + _table(head, body)


def _raw_files() -> str:
    body = []
    for row in _load("sources")["rows"]:
        parts = {name: row[f"{name}_cpu_seconds"] for name in ("scan", "read", "build")}
        body.append([
            f"{row['visits']:,}", f"{row['bytes'] / 1e9:.1f} GB",
            *(f"{spent:.0f} s" for spent in parts.values()),
            f"{round(row['visits'] / (parts['read'] + parts['build']), -3):,.0f}",
            f"{row['cpu_over_scan']:.1f}", f"{row['peak_gib']:.1f} GiB",
        ])  # fmt: skip
    head = ["visits", "file", "bare DuckDB scan", "reading, once a file", "four cohorts",
            "visits a second", "÷ bare scan", "peak memory"]  # fmt: skip
    return "Raw NEDS file to cohorts, in seconds of one core:\n\n" + _table(head, body)


def _known_truth() -> str:
    rows = _load("known_truth")["rows"]
    body = []
    for source in dict.fromkeys(row["source"] for row in rows):
        found = [row for row in rows if row["source"] == source]
        errors = [abs(log(row["estimate"] / row["truth"])) for row in found]
        observed = [abs(log(row["observed_ratio"] / row["truth"])) for row in found]
        body.append([
            source, f"{found[0]['visits']:,}", str(len({row["seed"] for row in found})),
            f"{sum(row['inside'] for row in found)} of {len(found)}",
            f"{100 * median(errors):.1f}%", f"{100 * median(observed):.1f}%",
        ])  # fmt: skip
    head = ["simulated raw files", "visits each", "files", "95% intervals that hold the truth",
            "median error", "median error of recorded ratios"]  # fmt: skip
    return "Raw files to relative prevalences, every group variable:\n\n" + _table(head, body)


def _machine() -> str:
    found = _load("neds")["machine"]
    return (
        f"Measured on {found['date']}: {found['processor']}, {found['cores']} cores, "
        f"Python {found['python']}."
    )
