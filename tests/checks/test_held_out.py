"""Splits whose test parts do not overlap."""

import numpy as np

from relprev.checks.held_out import rotations


def test_rotations_hold_every_row_out_once(steady):
    tested = np.concatenate([test for _, _, test in rotations(steady[0], 0)])
    assert sorted(tested) == list(range(steady[0].n))
    for train, validation, test in rotations(steady[0], 0):
        assert len(np.intersect1d(train, test)) == 0
        assert len(np.intersect1d(validation, test)) == 0
        assert len(train) + len(validation) + len(test) == steady[0].n
