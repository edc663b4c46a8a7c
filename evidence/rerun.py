"""Rerun all evidence at a reduced size, in a folder of its own.

The commands are those named on the pages, with fewer data sets and smaller data; the results in
the repository are not touched. The numbers are noisier than those on the pages, and claims that
need the full size may not hold. What the rerun shows is that everything runs, and how.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.page import PLACES

from evidence.store import RUNS

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[1]
SITE = "-D extensions=myst_parser,mathml -D root_doc=index"  # conf.py's, less what pages lack
BENCHMARKS = [*dict.fromkeys(name for _, names in PLACES.values() for name in names), "scale"]
INDEX = """# Evidence, rerun at a reduced size

```{toctree}
paper
controls
atlas
accuracy-and-speed
scaling
coverage
```
"""


def commands(out: Path) -> list[str]:
    """The commands, in order."""
    lines = []
    for run, (experiment, variant, data) in RUNS.items():
        if data == "nhds":  # not in the repository
            continue
        folder = f"{out}/reproduce-{variant}"
        lines += [
            f"relprev reproduce {experiment} --quick --quiet --variant {variant} --out {folder}",
            f"python -m evidence add {run} {folder}/{experiment} --results {out}/paper",
        ]
    return [
        *lines,
        f"python -m evidence steps --data-sets 3 --results {out}/paper",
        f"cp simulations/results/truth.csv {out}/simulations",  # takes minutes, and not random
        f"python -m simulations coverage --replicates 10 --out {out}/simulations/coverage.csv",
        f"python -m simulations power --replicates 4 --paper-checks 1 "
        f"--out {out}/simulations/power.csv",
        f"python -m simulations informed --replicates 2 --out {out}/simulations/informed.csv",
        f"python -m simulations verdicts --cases 200 --replicates 2 "
        f"--out {out}/simulations/verdicts.csv",
        f"python -m simulations controls --replicates 2 --out {out}/simulations/controls.csv",
        f"python -m simulations null --replicates 5 --out {out}/simulations/null.csv",
        f"python -m simulations atlas --replicates 1 --out {out}/simulations/atlas.csv",
        f"python -m simulations bias --replicates 2 --out {out}/simulations/bias.csv",
        f"python -m benchmarks {' '.join(BENCHMARKS)} --quick --out {out}/benchmarks",
        f"python -m evidence page --results {out}/paper --simulations {out}/simulations "
        f"--out {out}/pages",
        f"python -m simulations page --results {out}/simulations --out {out}/pages/coverage.md",
        f"python -m benchmarks --page --out {out}/benchmarks",
        f"cp {out}/benchmarks/accuracy-and-speed.md {out}/benchmarks/scaling.md {out}/pages",
        f"sphinx-build --quiet -c docs {SITE} {out}/pages {out}/html",
    ]


def rerun(out: Path) -> None:
    """Run the commands; stop at the first that fails."""
    out = out.resolve()
    for folder in ("paper", "simulations", "benchmarks", "pages"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    (out / "pages" / "index.md").write_text(INDEX, encoding="utf-8")
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    start = time.monotonic()
    for command in commands(out):
        print(f"{_spent(start)} {command}", flush=True)
        done = subprocess.run(
            shlex.split(command), cwd=ROOT, env=environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{done.stdout}\n{command}\nfailed with exit code {done.returncode}")
    print(f"{_spent(start)} {out}/html/index.html")


def _spent(start: float) -> str:
    """Minutes by the clock and of processor time, which other programs disturb less."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock, processor = time.monotonic() - start, children.ru_utime + children.ru_stime
    return f"[{clock / 60:4.1f} min, {processor / 60:4.1f} of processor]"
