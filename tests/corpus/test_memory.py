"""A process that may not have the memory it needs ends with a sentence and writes no results."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from tests.study.conftest import write_tables

pytest.importorskip("resource", reason="limits of memory are those of POSIX systems")
ROWS, COLUMNS = 40_000, 60
LIMITED = """
import resource, sys
from pathlib import Path
import relprev.cli, relprev.study.run
from relprev.cli.app import main
spare = int(sys.argv.pop(1)) * 2**20
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + spare,) * 2)
main()
"""
FEW_THREADS = {  # each of them takes address space whether it works or not
    "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1", "RELPREV_NUM_THREADS": "1",
}  # fmt: skip
ESTIMATE = ["estimate", "table.csv", "--diagnosed", "ipv", "--group", "payer",
            "--features", "dx_*"]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)).round(3)
    table = pd.DataFrame(X, columns=[f"dx_{k}" for k in range(COLUMNS)])
    table = table.assign(ipv=rng.integers(0, 2, ROWS), payer=rng.choice(["a", "b"], ROWS))
    table.to_csv(folder / "table.csv", index=False)
    write_tables(folder, visits=100_000)
    return folder


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
@pytest.mark.parametrize(("command", "spare"), [
    (ESTIMATE, 60), (["run", "pain.toml"], 120),
], ids=["table", "tables"])  # fmt: skip
def test_what_does_not_fit_into_memory_ends_with_a_sentence(command, spare, data, tmp_path):
    """With ``spare`` MiB to start with. It was taken for a defect, or for a bad file."""
    out = tmp_path / "results"
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, str(spare), *command, "--quiet", "--out", str(out)],
        cwd=data, env=os.environ | FEW_THREADS, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    said = ended.stdout + ended.stderr
    assert "Traceback" not in said
    assert not out.exists()
    if ended.returncode == -signal.SIGABRT and "Out of memory" in said:
        return  # Arrow ends the process itself where it cannot hand an error over
    assert ended.returncode == 2, said
    assert re.search("error: .*memory.*; close other programs", said), said
