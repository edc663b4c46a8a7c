import os
import subprocess
import sys
import threading

import pytest

from relprev.parallel.processes import in_processes
from relprev.parallel.threads import map_threads, thread_count, use_threads


def test_the_number_of_threads_holds_inside_and_in_this_thread_only():
    before, seen = thread_count(), []
    with use_threads(before + 3):
        assert thread_count() == before + 3
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
        with use_threads(1):
            assert map_threads(lambda item: item + 1, [1, 2]) == [2, 3]
    assert thread_count() == before
    assert seen == [before]


def test_the_environment_sets_the_default():
    code = "from relprev.parallel.threads import thread_count; print(thread_count())"
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"RELPREV_NUM_THREADS": "7"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout == "7\n"


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
