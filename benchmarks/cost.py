"""The page docs/evidence/scaling.md: what was measured past memory, and the cost model from it.

A fit to n visits on k machines with c cores each, one worker per machine, takes about

    S + n w / (k c) + P k d    seconds,

where w is the processor seconds per visit and S those that do not grow with the number of visits
(both from processor time out of core at two sizes), P the number of passes over the parts, and d
the driver's seconds per pass and worker. A worker holds n / k visits, the driver a few bytes per
visit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, made_by
from benchmarks.summary import Rows, load, table
from relprev.store.files import written_whole

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "scaling.md"
TEMPLATE = Path(__file__).parent / "scaling.md"
CORES = 16  # of a machine, in the table of costs
NETWORK = 1.25e9  # bytes per second: 10 Gbit/s
GIB = 2**30
SIZES = (100_000_000, 1_000_000_000)
MACHINES = (1, 2, 4, 8, 16, 32)
FITS = {"path": "PURPLE, six penalties", "debiased": "DebiasedPURPLE"}


def write(folder: Path = RESULTS) -> Path:
    """Write the page; beside the results unless they are the repository's own."""
    path = PAGE if folder == RESULTS else folder / PAGE.name
    with written_whole(path) as temporary:
        temporary.write_text(text(folder), encoding="utf-8")
    return path


def text(folder: Path = RESULTS) -> str:
    """The page: scaling.md with its {{ places }} filled."""
    content = load("scale", folder)
    rows, made = content["rows"], made_by("python -m benchmarks scale", content["machine"])
    model = Model.of(rows)
    filled = {
        "memory": f"{out_of_core(rows)}\n\n{made}",
        "cluster": f"{on_cluster(rows)}\n\n{made}",
        "coefficients": f"{model.coefficients()}\n\n{made}",
        "costs": f"{model.costs()}\n\n{made}",
        "busy": _busy(rows),
        **model.words(),
    }
    template = TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\S+) \}\}", lambda place: filled[place[1]], template)


def _rows(rows: Rows, **wanted: Any) -> Rows:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def out_of_core(rows: Rows) -> str:
    """Time and memory out of core, compared with those in memory."""
    body = []
    for row in rows:
        if row["where"] == "cluster":
            continue
        ratio = [
            f"{row[name]:.2f}" if name in row else "1"
            for name in ("seconds_in_memory", "critical_cpu_seconds_in_memory")
        ]
        body.append([
            FITS[row["fit"]], row["where"], f"{row['visits']:,}", _time(row["seconds"]),
            _time(row["cpu_seconds"]), *ratio, f"{row['anonymous_gib']:.1f} GiB",
            f"{row['peak_gib']:.1f} GiB", _difference(row, "estimate"),
            _difference(row, "std_error"),
        ])  # fmt: skip
    head = ["fit", "visits are", "visits", "time", "processor time", "time per visit ÷ in memory",
            "processor time per visit ÷ in memory", "own memory", "with mapped files",
            "estimates differ by", "standard errors differ by"]  # fmt: skip
    return table(head, body)


def on_cluster(rows: Rows) -> str:
    """Two workers versus one, each with one thread."""
    body = []
    for row in _rows(rows, where="cluster"):
        one_pass, faster_pass, driver, least = [""] * 4
        if "pass_seconds" in row:
            one_pass = f"{row['pass_seconds']:.3f} s"
            faster_pass = f"{row.get('pass_seconds_speedup', 1):.2f}"
            driver = f"{1000 * row['driver_seconds']:.0f} ms, {100 * row['driver_share']:.1f}%"
            least = f"{1000 * row['driver_seconds_least']:.0f} ms"
        body.append([
            FITS[row["fit"]], str(row["workers"]), f"{row['visits']:,}", one_pass, faster_pass,
            _time(row["seconds"]), f"{row.get('seconds_speedup', 1):.2f}",
            _time(row["critical_cpu_seconds"]),
            f"{row.get('critical_cpu_seconds_speedup', 1):.2f}", driver, least,
            _difference(row, "estimate"),
        ])  # fmt: skip
    head = ["fit", "workers", "visits", "one pass", "times faster", "whole fit", "times faster",
            "processor time of driver plus busiest worker", "times less",
            "driver's overhead per pass, median", "minimum", "estimates differ by"]  # fmt: skip
    return table(head, body)


def _difference(row: dict[str, Any], name: str) -> str:
    value = row.get(f"{name}_difference")
    return "" if value is None else f"{value:.0e}" if value else "0"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _busy(rows: Rows) -> str:
    """A sentence, if other programs left the fits fewer cores than they could have used."""
    used = [row["cpu_seconds"] / row["seconds"] for row in rows if row["where"] != "cluster"]
    threads = rows[0]["threads"]
    if min(used) > 0.6 * threads:
        return ""
    return (
        f" Other programs were busy during these runs: fits got {min(used):.1f} to "
        f"{max(used):.1f} of the {threads} cores they could have used, so look at processor times."
    )


@dataclass(frozen=True)
class Fit:
    """Costs of one kind of fit: S, w, P, and the driver's bytes per visit."""

    fixed: float
    a_visit: float
    passes: int
    driver_bytes: float

    @classmethod
    def of(cls, rows: Rows, kind: str) -> Fit:
        found = sorted(_rows(rows, fit=kind, where="out of core"), key=lambda row: row["visits"])
        few, many = found[0], found[-1]
        slope = many["cpu_seconds"] / many["visits"]
        if len(found) > 1:
            more = many["visits"] - few["visits"]
            slope = (many["cpu_seconds"] - few["cpu_seconds"]) / more
        return cls(
            fixed=max(0.0, few["cpu_seconds"] - slope * few["visits"]),
            a_visit=slope,
            passes=many["passes_over_parts"],
            driver_bytes=many["anonymous_gib"] * GIB / many["visits"],
        )

    def seconds(self, visits: int, machines: int, driver: float) -> float:
        """Seconds that the fit takes, by the formula above."""
        work = visits * self.a_visit / (machines * CORES)
        return self.fixed + work + self.passes * machines * driver


@dataclass(frozen=True)
class Model:
    """The measured coefficients.

    Parameters
    ----------
    fits : costs of each kind of fit
    pass_seconds : processor seconds per pass and visit
    stored, worker : bytes per visit, on disk or mapped and on a worker
    driver : the driver's seconds per pass and worker
    sent, returned : bytes per pass and worker
    """

    fits: dict[str, Fit]
    pass_seconds: float
    stored: float
    worker: float
    driver: float
    sent: int
    returned: int

    @classmethod
    def of(cls, rows: Rows) -> Model:
        """From the rows of benchmarks/results/scale.json."""
        cluster = _rows(rows, fit="path", where="cluster")[-1]
        held = [
            row["worker_gib"] * row["workers"] / row["visits"]
            for row in _rows(rows, where="cluster")
        ] + [row["anonymous_gib"] / row["visits"] for row in _rows(rows, where="in memory")]
        largest = max(_rows(rows, fit="path", where="out of core"), key=lambda row: row["visits"])
        kinds = [kind for kind in FITS if _rows(rows, fit=kind, where="out of core")]
        return cls(
            fits={kind: Fit.of(rows, kind) for kind in kinds},
            pass_seconds=largest["pass_cpu_seconds"] / largest["visits"],
            stored=largest["bytes"] / largest["visits"],
            worker=max(held) * GIB,
            driver=cluster["driver_seconds_least"] / cluster["workers"],
            sent=cluster["bytes_sent_a_part"],
            returned=cluster["bytes_returned_a_part"],
        )

    def coefficients(self) -> str:
        """The coefficients as a table."""
        body = [
            ["one pass on one core", f"{1e9 * self.pass_seconds:.0f} ns per visit"],
            ["visits on disk, as a fit reads them", f"{self.stored:.0f} bytes per visit"],
            ["a worker's memory, at the peak of the largest fit",
             f"{self.worker:.0f} bytes per visit it holds"],
            ["the driver's time per pass", f"{1000 * self.driver:.1f} ms per worker"],
            ["sent and returned per pass",
             f"{self.sent / 1e3:.0f} + {self.returned / 1e3:.0f} kB per worker"],
        ]  # fmt: skip
        for kind, fit in self.fits.items():
            cost = f"{1e6 * fit.a_visit:.1f} µs of one core per visit, plus {_time(fit.fixed)}"
            body.append([FITS[kind], f"{cost}; {fit.passes:,} passes"])
            body.append([f"{FITS[kind]}: memory of the driver, or of one machine out of core",
                         f"{fit.driver_bytes:.0f} bytes per visit"])  # fmt: skip
        return table(["item", "cost"], body)

    def costs(self) -> str:
        """Time and memory of fits on several machines."""
        body = []
        for visits in SIZES:
            for k in MACHINES:
                times = [_time(fit.seconds(visits, k, self.driver)) for fit in self.fits.values()]
                memory = visits / k * self.worker / GIB
                body.append([f"{visits:,}", str(k), *times, f"{memory:.1f} GiB"])
        names = [FITS[kind] for kind in self.fits]
        return table(["visits", f"machines of {CORES} cores", *names, "memory per machine"], body)

    def words(self) -> dict[str, str]:
        """The numbers that appear in the page's sentences."""
        most = [self.most_machines(visits) for visits in SIZES]
        traffic = self.sent + self.returned
        driver = max(fit.driver_bytes for fit in self.fits.values())
        return {
            "most_1e8": f"{most[0]:.0f}",
            "most_1e9": f"{most[1]:.0f}",
            "network_share": f"{100 * traffic / NETWORK / (self.driver):.0f}%",
            "driver_1e8": f"{SIZES[0] * driver / GIB:.0f} GiB",
            "driver_1e9": f"{SIZES[1] * driver / GIB:.0f} GiB",
            "disk_1e9": f"{SIZES[1] * self.stored / 1e9:.0f} GB",
        }

    def most_machines(self, visits: int) -> float:
        """Number of machines at which the driver takes as long as the workers."""
        return sqrt(visits * self.pass_seconds / (CORES * self.driver))
