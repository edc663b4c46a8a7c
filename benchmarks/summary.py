"""The stored results as Markdown, for README and the documentation."""

from __future__ import annotations

import json
from math import log
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.measure import RESULTS

Rows = list[dict[str, Any]]


def in_short(folder: Path = RESULTS) -> str:
    """Accuracy, speed and size in three lines, as shown in README."""
    means = [row["mean"] for row in rows("accuracy", folder)]
    adam = [row["times_faster"] for row in rows("adam", folder)]
    others = [row["times_faster_than_fastest"] for row in rows("l1_logistic", folder)]
    largest = max(rows("neds", folder), key=lambda row: row["visits"])
    return "\n".join(
        [
            f"- On Gauss-Synth, PURPLE's mean estimate is {min(means):.3f} to {max(means):.3f} "
            f"times the true ratio in {len(means)} settings.",
            f"- It is {min(adam):.0f} to {max(adam):.0f} times as fast as Adam at the same loss, "
            f"and {min(others):.1f} to {max(others):.1f} times as fast as the fastest of "
            "liblinear, skglm and glum on sparse codes.",
            f"- A path of six penalties on {largest['visits'] / 1e6:.1f} million visits with "
            f"{largest['codes']:,} codes takes {largest['path_seconds']:.0f} seconds and "
            f"{largest['peak_gib']:.1f} GiB on 2 cores.",
        ]
    )


def load(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Results of a benchmark; the reduced-size ones if there are no others."""
    path = folder / f"{name}.json"
    path = path if path.is_file() else folder / f"{name}-quick.json"
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def rows(name: str, folder: Path = RESULTS) -> Rows:
    """The rows of a benchmark's results."""
    found: Rows = load(name, folder)["rows"]
    return found


def table(head: list[str], body: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def accuracy(found: Rows) -> str:
    rates = sorted({row["c_b"] for row in found})
    body = []
    for separable, label in ((False, "not separable"), (True, "separable")):
        cells = {row["c_b"]: row for row in found if row["separable"] == separable}
        body.append([label] + [f"{cells[c]['mean']:.3f} ± {cells[c]['sd']:.3f}" for c in rates])
    seeds = found[0]["seeds"]
    return f"Estimated ÷ true ratio on Gauss-Synth, mean ± SD over {seeds} seeds:\n\n" + table(
        ["diagnosis rate of group b", *(str(c) for c in rates)], body
    )


def before(found: Rows) -> str:
    body = [
        [
            row["command"],
            *(f"{row[f'{which}_{unit}']:.1f} s" for unit in ("cpu_seconds", "seconds")
              for which in ("before", "after")),
        ]
        for row in found
        if "compared" not in row
    ]  # fmt: skip
    head = ["command", f"processor time at commit {found[0]['commit']}", "now",
            "by the clock then", "now"]  # fmt: skip
    same = [
        f"\n\nWith the models of then, {row['compared']} estimates by both estimators differ by "
        f"at most {row['largest']:.0e} of themselves between the two versions."
        for row in found
        if "compared" in row
    ]
    return "After a first run:\n\n" + table(head, body) + "".join(same)


def speed(adam: Rows, l1_logistic: Rows, dense: Rows) -> str:
    body = []
    for row in adam:
        times = f"{row['adam_seconds']:.0f} s", f"{row['relprev_seconds']:.2f} s"
        body.append([row["data"], "Adam, 10,000 epochs", *times, f"{row['times_faster']:.0f}"])
    for row in l1_logistic + dense:
        rivals = {
            name: row[f"{name}_seconds"]
            for name in ("liblinear", "skglm", "glum")
            if f"{name}_seconds" in row
        }
        fastest = min(rivals, key=lambda name: rivals[name])
        data = f"L1 logistic, {row['rows']:,} x {row['columns']:,}, lambda {row['lambda']:g}"
        data += f", dense ({row['data']})" if "data" in row else ""
        times = f"{rivals[fastest]:.2f} s", f"{row['relprev_seconds']:.2f} s"
        body.append([data, fastest, *times, f"{row['times_faster_than_fastest']:.1f}"])
    head = ["data", "fastest other", "its time", "relprev", "times faster"]
    return "Time to the same objective:\n\n" + table(head, body)


def national(found: Rows) -> str:
    body = [
        [
            f"{row['visits']:,}", f"{row['ones']:,}", f"{1000 * row['pass_seconds']:.0f} ms",
            f"{row['pass_over_scipy']:.2f}", f"{row['path_seconds']:.1f} s",
            f"{row['path_in_passes']:.0f}", f"{row['peak_gib']:.1f} GiB",
        ]
        for row in found
    ]  # fmt: skip
    head = ["visits", "codes recorded", "one pass", "pass ÷ scipy's two products",
            "path of six penalties", "path in passes", "peak memory"]  # fmt: skip
    return "National size, 19,710 distinct codes, four groups, weights:\n\n" + table(head, body)


def debiased(found: Rows) -> str:
    body = [
        [
            f"{row['visits']:,}", f"{row['diagnosed']:,}", f"{row['path_cpu_seconds']:.1f} s",
            f"{row['linear_cpu_seconds']:.1f} s ({row['linear_times_path_cpu']:.1f})",
            f"{row['debiased_cpu_seconds']:.1f} s ({row['times_path_cpu']:.1f})",
            str(row["deals"]), row["propensity"], row["risk"], f"{row['peak_gib']:.1f} GiB",
        ]
        for row in found
    ]  # fmt: skip
    head = ["visits", "diagnosed", "PURPLE's path", "linear models, one deal (÷ path)",
            "defaults (÷ path)", "deals", "model of the groups", "of the diagnoses",
            "peak memory"]  # fmt: skip
    return "The debiased estimator on the same visits, processor time:\n\n" + table(head, body)


def checks(found: Rows) -> str:
    body = [
        [
            row["step"], f"{row['seconds']:.1f} s", f"{row['cpu_seconds']:.1f} s",
            f"{row['times_fit_cpu']:.2f}",
        ]
        for row in found
    ]  # fmt: skip
    head = ["step", "time", "processor time", "processor time ÷ the estimate's"]
    size = f"{found[0]['visits']:,} visits, {found[0]['diagnosed']:,} diagnosed"
    return f"What doubt costs ({size}):\n\n" + table(head, body)


def atlas(found: Rows) -> str:
    body = [
        [
            f"{row['visits']:,}", str(row["conditions"]), f"{row['seconds'] / 60:.1f} min",
            f"{row['cpu_seconds'] / 60:.1f} min",
            f"{row['times_debiased']:.1f}" if "times_debiased" in row else "",
            f"{row['times_debiased_cpu']:.1f}" if "times_debiased" in row else "",
            f"{row['anonymous_gib']:.1f} GiB",
        ]
        for row in found
    ]  # fmt: skip
    head = ["visits", "conditions", "atlas", "processor time", "time ÷ DebiasedPURPLE's",
            "processor time ÷ DebiasedPURPLE's", "own memory"]  # fmt: skip
    return "An atlas of 300 conditions in 20 blocks on the same visits:\n\n" + table(head, body)


def whole_study(found: Rows) -> str:
    body = [
        [
            f"{row['visits']:,}", str(row["variables"]), f"{row['minutes']:.1f} min",
            f"{row['processor_minutes']:.1f} min" if "processor_minutes" in row else "",
            f"{row['minutes_again']:.1f} min" if "minutes_again" in row else "",
            f"{row['peak_gib']:.1f} GiB", f"{row['report_bytes'] / 1e6:.1f} MB",
        ]
        for row in found
    ]  # fmt: skip
    head = ["visits in the file", "group variables", "raw file to report", "processor time",
            "again, cohorts kept", "peak memory", "report"]  # fmt: skip
    return "`relprev run` on a simulated NEDS file, all checks:\n\n" + table(head, body)


def raw_files(found: Rows) -> str:
    body = []
    for row in found:
        parts = {name: row[f"{name}_cpu_seconds"] for name in ("scan", "read", "build")}
        body.append([
            f"{row['visits']:,}", f"{row['bytes'] / 1e9:.1f} GB",
            *(f"{spent:.0f} s" for spent in parts.values()),
            f"{row['cpu_over_scan']:.1f}", f"{round(row['visits_per_second'], -3):,.0f}",
            f"{row['peak_gib']:.1f} GiB",
        ])  # fmt: skip
    head = ["visits", "file", "bare DuckDB scan", "reading, once per file", "four cohorts",
            "both ÷ bare scan", "visits per second by the clock", "peak memory"]  # fmt: skip
    return "Raw NEDS file to cohorts, in processor seconds:\n\n" + table(head, body)


def warehouse(found: Rows) -> str:
    body = [
        [
            f"{row['records']:,}", row["study"], f"{row['units']:,}", f"{row['codes']:,}",
            f"{row['read_seconds']:,.0f} s", f"{row['build_seconds']:,.0f} s",
            f"{row['peak_gib']:.1f} GiB",
        ]
        for row in found
    ]  # fmt: skip
    head = ["condition records on the server", "study of", "units", "records fetched",
            "reading", "cohort", "peak memory"]  # fmt: skip
    return "OMOP tables on PostgreSQL to a cohort, in seconds by the clock:\n\n" + table(head, body)


def known_truth(found: Rows, full_size: Rows) -> str:
    everything, body = found + full_size, []
    for source, visits in dict.fromkeys((row["source"], row["visits"]) for row in everything):
        part = [row for row in everything if (row["source"], row["visits"]) == (source, visits)]
        standard = [row["error_over_std_error"] for row in part]
        errors = [abs(log(row["estimate"] / row["truth"])) for row in part]
        observed = [abs(log(row["observed_ratio"] / row["truth"])) for row in part]
        body.append([
            source, f"{visits:,}", str(len({row["seed"] for row in part})),
            f"{sum(row['inside'] for row in part)} of {len(part)}", _jointly(part),
            f"{fmean(standard):+.2f}", f"{fmean(z * z for z in standard) ** 0.5:.2f}",
            f"{100 * median(errors):.1f}%", f"{100 * median(observed):.1f}%",
        ])  # fmt: skip
    head = ["simulated raw files", "visits per file", "files",
            "95% intervals that contain the truth",
            "variables whose simultaneous intervals all do", "mean of error ÷ standard error",
            "its root mean square", "median error", "median error of recorded ratios"]  # fmt: skip
    return "Raw files to relative prevalences, all group variables:\n\n" + table(head, body)


def _jointly(part: Rows) -> str:
    """How many group variables have simultaneous intervals that contain every group's truth."""
    held: dict[tuple[int, str], bool] = {}
    for row in part:
        key = row["seed"], row["variable"]
        held[key] = held.get(key, True) and row["inside_simultaneous"]
    return f"{sum(held.values())} of {len(held)}"
