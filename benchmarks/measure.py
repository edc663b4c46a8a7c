"""Timing, peak memory and results files, shared by all benchmarks."""

from __future__ import annotations

import json
import os
import platform
import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from relprev.parallel.threads import thread_count
from relprev.store.files import written_whole
from relprev.store.versions import PACKAGES

PLUS_MINUS = "\u00a0±\u00a0"  # in tables: a value and its SD stay on one line
RESULTS = Path(__file__).parent / "results"
COMPARED = ("skglm", "glum")  # measured if they are installed


def best_seconds(function: Callable[[], Any], repeats: int = 5) -> float:
    """Shortest of several runs after one warm-up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Time of one run, and what it returned."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def peak_gib() -> float:
    """Peak memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def machine() -> dict[str, Any]:
    """Date, machine and versions of a measurement."""
    versions = {}
    for name in (*PACKAGES, *COMPARED):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": thread_count(),
        "python": platform.python_version(),
        "versions": versions,
    }


def write_note(path: Path, **more: Any) -> None:
    """Write date, machine and versions, and ``more``, beside results."""
    with written_whole(path) as temporary:
        note = json.dumps({**more, **machine()}, indent=1)
        temporary.write_text(note + "\n", encoding="utf-8")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def made_by(command: str, about: dict[str, Any]) -> str:
    """Command, date, machine and versions, for the line below a table."""
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    where = f"{about['processor']}, {about['cores']} cores" if "processor" in about else ""
    python = f"Python {about['python']}"
    return f"`{command}`, {', '.join(filter(None, [about['date'], where, python, versions]))}."


def write_results(
    name: str, rows: list[dict[str, Any]], quick: bool, folder: Path = RESULTS
) -> Path:
    """Write rows with machine and versions as JSON."""
    path = folder / f"{name}{'-quick' if quick else ''}.json"
    with written_whole(path) as temporary:
        content = {"machine": machine(), "quick": quick, "rows": rows}
        temporary.write_text(json.dumps(content, indent=1) + "\n")
    return path
