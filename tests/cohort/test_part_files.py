import numpy as np
import pytest

from relprev import as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.cohort.opening import _batches
from relprev.cohort.part_files import verify_parts
from relprev.errors import InvalidInputError
from relprev.simulate import ed_visits
from tests.conftest import design_of
from tests.parts import cut


@pytest.fixture(scope="module")
def cohort():
    return ed_visits(4_000, n_codes=60, seed=2).cohort


def small(kind):
    rng = np.random.default_rng(3)
    values = (rng.random((50, 4)) < 0.4) * (1.0 if kind == "binary" else rng.normal(size=(50, 4)))
    return as_cohort(
        design_of(values, kind), rng.random(50) < 0.3, groups=rng.choice(["a", "b"], 50),
        sample_weight=rng.uniform(1, 2, 50), clusters=rng.integers(0, 20, 50),
        strata=rng.integers(0, 2, 50), psus=rng.integers(0, 5, 50), feature_names=list("wxyz"),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["dense", "float", "binary"])
def test_what_is_written_is_read_again(kind, tmp_path):
    whole = small(kind)
    write_parts(cut(whole, 20), tmp_path / "visits")
    opened = Cohort.open(tmp_path / "visits")
    assert (opened.n, opened.sizes, opened.n_cols) == (50, (20, 20, 10), 4)
    assert opened.group_names == whole.group_names
    assert opened.feature_names == whole.feature_names
    for name in ("diagnosed", "groups", "weights", "clusters", "strata", "psus"):
        np.testing.assert_array_equal(getattr(opened, name), getattr(whole, name))
    w = np.arange(1.0, 5.0)
    product = np.concatenate(opened.map(lambda part: part.X.matvec(w)))
    np.testing.assert_array_equal(product, whole.X.matvec(w))
    assert {type(part.X) for part in opened.map(lambda part: part)} == {type(whole.X)}


def test_absent_fields_stay_absent(tmp_path, cohort):
    write_parts([cohort], tmp_path / "visits")
    assert Cohort.open(tmp_path / "visits").strata is None


def test_folder_appears_only_when_complete(tmp_path, cohort):
    def interrupted():
        yield from cut(cohort, 1_000)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parts(interrupted(), tmp_path / "visits")
    assert list(tmp_path.iterdir()) == []


def test_existing_folder_is_not_overwritten(tmp_path, cohort):
    (tmp_path / "mine").mkdir()
    with pytest.raises(InvalidInputError, match=r"mine exists"):
        write_parts([cohort], tmp_path / "mine")


def test_parts_must_be_alike(tmp_path, cohort):
    with pytest.raises(InvalidInputError, match=r"part 1 differs .* in n_cols"):
        write_parts([cohort, ed_visits(100, n_codes=61, seed=2).cohort], tmp_path / "visits")
    with pytest.raises(InvalidInputError, match="no part"):
        write_parts([], tmp_path / "visits")


def test_missing_and_damaged_parts_are_named(tmp_path, cohort):
    folder = tmp_path / "visits"
    write_parts(cut(cohort, 1_000), folder)
    verify_parts(folder)
    file = folder / "part-00002.arrow"
    content = bytearray(file.read_bytes())
    file.write_bytes(content[:-10])
    with pytest.raises(InvalidInputError, match=r"part-00002.arrow is damaged.*bytes, expected"):
        Cohort.open(folder)
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    for read in (verify_parts, Cohort.open):  # an estimate of damaged data would be wrong
        with pytest.raises(InvalidInputError, match=r"part-00002.arrow is damaged.*content"):
            read(folder)
    file.unlink()
    with pytest.raises(InvalidInputError, match=r"part-00002.arrow is missing"):
        Cohort.open(folder)


@pytest.mark.parametrize("header", [None, "{", "[]", '{"relprev_partitioned_cohort": 99}'])
def test_other_folders_are_refused(header, tmp_path):
    if header is not None:
        (tmp_path / "cohort.json").write_text(header)
    with pytest.raises(InvalidInputError, match=r"no cohort.json|damaged|format 99"):
        Cohort.open(tmp_path)


def test_workers_get_rows_by_their_threads():
    dealt = dict(_batches([20, 20, 10], {"one": 1, "four": 4}))
    assert dealt == {"one": [(0, 0, 10)], "four": [(0, 10, 20), (1, 0, 20), (2, 0, 10)]}
    assert len(_batches([1], {"a": 1, "b": 1})) == 1  # no empty parts
