import os
import subprocess
import sys
import threading

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
