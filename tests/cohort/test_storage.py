import io
import pickle
import zipfile

import numpy as np
import pytest

from relprev import Cohort, as_cohort
from relprev.cohort import storage
from relprev.errors import InvalidInputError
from relprev.simulate import ed_visits
from tests.conftest import design_of


def _assert_same(a, b):
    for name in (*storage.ROW_FIELDS, "group_names", "feature_names"):
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_array_equal(np.asarray(left), np.asarray(right))
    assert type(a.X) is type(b.X)
    for key, array in a.X.to_arrays().items():
        np.testing.assert_array_equal(array, b.X.to_arrays()[key])
        assert array.dtype == b.X.to_arrays()[key].dtype


def test_survey_cohort_survives_the_round_trip(tmp_path):
    cohort = ed_visits(10_000, n_codes=100, survey=True).cohort
    cohort.save(tmp_path / "visits.npz")
    _assert_same(cohort, Cohort.load(tmp_path / "visits.npz"))


@pytest.mark.parametrize("kind", ["dense", "float", "binary"])
def test_every_kind_of_design_survives_the_round_trip(tmp_path, kind):
    X = design_of(np.eye(4), kind)
    ids = np.array(["ä", "b", "c", "d"], dtype=object)
    cohort = as_cohort(X, [1, 0, 1, 0], groups=["größer", "b", "b", "größer"], ids=ids)
    cohort.save(tmp_path / "c.npz")
    loaded = Cohort.load(tmp_path / "c.npz")
    _assert_same(cohort, loaded)


def test_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "c.npz"
    cohort = as_cohort(np.eye(4), [1, 0, 1, 0], groups=list("aabb"))
    cohort.save(target)
    before = target.read_bytes()

    def die(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", die)
    with pytest.raises(KeyboardInterrupt):
        cohort.save(target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_file_holds_no_pickle(tmp_path):
    target = tmp_path / "c.npz"
    ids = np.array(["x", "y", "z", "w"], dtype=object)
    as_cohort(np.eye(4), [1, 0, 1, 0], groups=list("aabb"), ids=ids).save(target)
    with zipfile.ZipFile(target) as archive:
        for name in archive.namelist():
            np.load(io.BytesIO(archive.read(name)), allow_pickle=False)


def test_missing_damaged_and_foreign_files_are_told_apart(tmp_path):
    with pytest.raises(InvalidInputError, match=r"there is no file at .*Cohort.save"):
        Cohort.load(tmp_path / "none.npz")
    target = tmp_path / "c.npz"
    as_cohort(np.eye(4), [1, 0, 1, 0], groups=list("aabb")).save(target)
    target.write_bytes(target.read_bytes()[:-200])
    with pytest.raises(InvalidInputError, match="damaged"):
        Cohort.load(target)
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(InvalidInputError, match="not a cohort file"):
        Cohort.load(tmp_path / "other.npz")
    (tmp_path / "evil.npz").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(InvalidInputError, match="not a cohort file"):
        Cohort.load(tmp_path / "evil.npz")


def test_future_format_is_refused_by_number(tmp_path, monkeypatch):
    target = tmp_path / "c.npz"
    monkeypatch.setattr(storage, "FORMAT", 99)
    as_cohort(np.eye(4), [1, 0, 1, 0], groups=list("aabb")).save(target)
    monkeypatch.setattr(storage, "FORMAT", 1)
    with pytest.raises(InvalidInputError, match="format 99"):
        Cohort.load(target)


def test_one_flipped_byte_is_noticed_wherever_it_is(tmp_path):
    """Neither an estimate of damaged data nor an error in other words."""
    path = tmp_path / "small.cohort"
    as_cohort(np.eye(6), [1, 0, 0, 1, 0, 0], groups=list("aabbab")).save(path)
    whole = path.read_bytes()
    before = Cohort.load(path)
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        try:
            found = Cohort.load(path)
        except InvalidInputError:
            continue
        else:  # a byte that means nothing, such as a date in the archive
            np.testing.assert_array_equal(found.X.values, before.X.values)
            np.testing.assert_array_equal(found.groups, before.groups)
            assert found.group_names == before.group_names


def test_other_values_under_a_valid_archive_are_noticed(tmp_path):
    path = tmp_path / "small.cohort"
    as_cohort(np.eye(4), [1, 0, 0, 1], groups=list("aabb")).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["diagnosed"] = 1 - arrays["diagnosed"]
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(InvalidInputError, match="is damaged: its content has changed"):
        Cohort.load(path)
