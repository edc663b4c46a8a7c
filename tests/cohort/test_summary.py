import numpy as np

from relprev import as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.cohort.summary import group_patients
from tests.parts import cut


def cohort(**more):
    """Patient 7 is seen in both groups and diagnosed in the first."""
    return as_cohort(
        np.eye(6), [1, 1, 0, 0, 0, 0], groups=list("aabbab"), **more
    )  # fmt: skip


def test_patients_of_every_group_are_counted_once():
    found = group_patients(cohort(clusters=[7, 7, 7, 8, 9, 8]))
    assert [counts.tolist() for counts in found] == [[2, 2], [1, 0], [1, 2]]


def test_patients_are_counted_over_the_parts_of_a_cohort(tmp_path):
    write_parts(cut(cohort(clusters=[7, 7, 7, 8, 9, 8]), 2), tmp_path / "visits")
    found = group_patients(Cohort.open(tmp_path / "visits"))
    assert [counts.tolist() for counts in found] == [[2, 2], [1, 0], [1, 2]]


def test_without_patients_nothing_is_counted():
    assert group_patients(cohort()) is None
