"""Rows in memory, on disk and on a cluster: the same functions give the same results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from relprev.errors import InvalidInputError
from relprev.parallel import cluster
from relprev.rows import Rows, one_part
from relprev.rows.dask import OnCluster
from relprev.rows.disk import OnDisk, Scratch
from relprev.rows.memory import InMemory

SIZES = (3, 1, 4)
VALUES = np.arange(8.0) ** 2


@dataclass(frozen=True)
class Numbers:
    """A part with one array."""

    values: np.ndarray

    def arrays(self):
        return {"values": self.values}

    def with_arrays(self, arrays):
        return Numbers(arrays["values"])

    @staticmethod
    def joined(parts):
        return Numbers(np.concatenate([part.values for part in parts]))


def values(part):
    return part.values


def times(part, factor):
    return Numbers(part.values * factor)


def plus(part, own, factor):
    return Numbers(part.values + factor * own)


def both(part, other):
    return Numbers(part.values + other.values)


def sums(part, power):
    return len(part.values), (part.values**power).sum()


def at(part, where):
    return Numbers(part.values[where[0]] + 1000 * where[1])


def result_and_kept(part):
    return part.values.sum(), part.values[::-1]


def added(part, kept):
    return part.values + kept


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    with cluster.local_cluster(1) as connected:
        yield connected


@pytest.fixture(params=["one part", "memory", "disk", "cluster"])
def rows(request, tmp_path):
    pieces = [Numbers(piece) for piece in np.split(VALUES, np.cumsum(SIZES)[:-1])]
    if request.param == "one part":
        return one_part(Numbers(VALUES), 8)
    if request.param == "memory":
        return Rows(InMemory(pieces), SIZES)
    if request.param == "disk":
        folder = Scratch(tmp_path)
        return Rows(
            OnDisk([p.with_arrays(folder.spill(p.arrays())) for p in pieces], folder), SIZES
        )
    client = request.getfixturevalue("client")
    return Rows(
        OnCluster(client, [client.submit(Numbers, piece.values) for piece in pieces]), SIZES
    )


def test_sums_and_values_are_those_of_all_rows(rows):
    assert rows.total(sums, 2) == (8, (VALUES**2).sum())
    np.testing.assert_array_equal(rows.gathered(values), VALUES)
    np.testing.assert_array_equal(rows.together().values, VALUES)
    assert rows.n == len(rows) == 8


def test_derived_rows_follow_each_other(rows):
    own = np.arange(8.0)
    made = rows.derive(times, 2.0).derive(plus, 10.0, each=rows.cut(own))
    np.testing.assert_array_equal(made.gathered(values), 2 * VALUES + 10 * own)
    together = made.derive(both, each=rows.handles)
    np.testing.assert_array_equal(together.gathered(values), 3 * VALUES + 10 * own)


def test_what_is_kept_stays_with_the_rows(rows):
    found, kept = rows.keep(result_and_kept)
    assert sum(found) == VALUES.sum()
    backwards = [piece[::-1] for piece in rows.cut(VALUES)]
    expected = VALUES + np.concatenate(backwards)
    np.testing.assert_array_equal(np.concatenate(rows.map(added, each=kept.handles)), expected)


def test_picked_rows_know_how_many_came_before(rows):
    picked = rows.pick(at, np.array([0, 2, 5, 7]))  # the second of three parts has none
    assert picked.n == 4
    before = np.repeat(picked.first_rows, picked.sizes)
    np.testing.assert_array_equal(picked.gathered(values), VALUES[[0, 2, 5, 7]] + 1000 * before)


def test_rows_in_parts_are_taken_in_their_order(rows):
    if len(rows.sizes) == 1:
        picked = rows.pick(at, np.array([7, 0, 0]))
        np.testing.assert_array_equal(picked.gathered(values), VALUES[[7, 0, 0]])
    else:
        with pytest.raises(InvalidInputError, match="in ascending order; sort"):
            rows.pick(at, np.array([7, 0]))


def test_only_a_single_part_here_is_in_memory(rows):
    if len(rows.sizes) == 1:
        assert rows.in_memory("this") is rows.together()
    else:
        with pytest.raises(
            InvalidInputError,
            match=r"^this needs a cohort in memory, but this one is kept in parts",
        ):
            rows.in_memory("this")


def test_what_a_visit_returns_does_not_hold_the_file(tmp_path):
    folder = Scratch(tmp_path)
    part = Numbers(folder.spill({"values": VALUES})["values"])
    (found,) = Rows(OnDisk([part], folder), (8,)).map(values)
    assert found.base is None
