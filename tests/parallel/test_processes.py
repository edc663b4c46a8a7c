"""Work in several processes."""

import os
import subprocess
import sys

import pytest

from relprev.parallel.processes import in_processes
from relprev.parallel.threads import thread_count


def _threads(shared, item):
    return thread_count(), dict(os.environ).get("RELPREV_NUM_THREADS"), shared + item


def test_processes_use_one_thread_each_and_leave_the_environment_alone():
    before = dict(os.environ)
    found = dict(in_processes(_threads, 10, [1, 2, 3], processes=2))
    assert dict(os.environ) == before
    assert {threads for threads, _, _ in found.values()} == {1}
    assert {variable for _, variable, _ in found.values()} == {before.get("RELPREV_NUM_THREADS")}
    assert {item: value for item, (_, _, value) in found.items()} == {1: 11, 2: 12, 3: 13}


def _fails(shared, item):
    raise ValueError(f"item {item}")


def test_an_error_in_a_process_stops_the_work():
    with pytest.raises(ValueError, match="item"):
        list(in_processes(_fails, None, [1, 2, 3], processes=2))


def test_processes_end_without_a_word(tmp_path):
    """DuckDB counts what is left at exit, and wrote pages about the thread that watches."""
    words = ["reproduce", "group-gap", "--quick", "--method", "observed", "--jobs", "2", "--out"]
    command = [sys.executable, "-m", "relprev", *words, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "leaked" not in done.stdout + done.stderr
