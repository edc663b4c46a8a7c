import os
import subprocess
import sys
import threading

import numpy as np

from relprev.parallel.threads import BLOCK_ROWS, by_rows, map_threads, thread_count, use_threads


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


def test_rows_on_their_own_are_the_same_in_chunks():
    rng = np.random.default_rng(0)
    x, y = rng.random(5 * BLOCK_ROWS + 7), rng.random((5 * BLOCK_ROWS + 7, 3))

    def made(x, y):
        return np.log(x)[:, None] * y

    np.testing.assert_array_equal(by_rows(made, x, y), made(x, y))
    np.testing.assert_array_equal(by_rows(np.isnan, x), np.zeros(len(x), dtype=bool))
    assert by_rows(made, x[:0], y[:0]).shape == (0, 3)
