"""Doubly robust estimates of what the scan singles out."""

import numpy as np

from relprev.atlas import blocks_of_conditions
from relprev.atlas.follow_up import COLUMNS, KEYS, follow_up
from relprev.atlas.scan import Scan
from tests.atlas.worlds import CONDITIONS, world


def test_a_condition_estimated_again_is_near_the_truth():
    cohort = world().cohort
    block = blocks_of_conditions(cohort.feature_names, CONDITIONS)[0]
    scan = Scan(cohort)
    name = world().names[0]
    found = follow_up(scan, block, scan.start(), [name], "Group B")
    assert list(found) == [*KEYS, *COLUMNS]
    row = found.iloc[0]
    truth = np.exp((world().log_diagnosis_ratio + world().log_alpha)[0, 0])
    assert row["robust_diagnosis_ci_low"] < truth < row["robust_diagnosis_ci_high"]
    recorded = row["robust_diagnosis_ratio"] * row["robust_estimate"]
    counts = [
        np.sum(
            cohort.X.to_scipy()[:, cohort.feature_names.index(name)].toarray()[cohort.groups == g]
        )
        for g in (0, 1)
    ]
    sizes = np.bincount(cohort.groups)
    np.testing.assert_allclose(recorded, counts[0] / sizes[0] / (counts[1] / sizes[1]), rtol=1e-6)
