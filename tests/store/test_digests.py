from __future__ import annotations

import numpy as np
import pytest

from relprev.store.digests import digest, file_digest, files_digest, is_sealed, seal


def test_values_that_differ_have_digests_that_differ():
    values = [1, "1", [1], {"1": 1}, None, 1.5, True, b"1", np.array([1]), np.array([1.0]),
              np.array([[1]]), "a", "ab"]  # fmt: skip
    assert len({digest(value) for value in values}) == len(values)
    assert digest("a", "b") != digest("ab")
    assert digest("a", "b") != digest("b", "a")


def test_a_digest_does_not_depend_on_the_order_of_keys_or_of_memory():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    X = np.arange(6).reshape(2, 3)
    assert digest(X) == digest(np.asfortranarray(X))


def test_files_are_told_by_content_and_missing_ones_count(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"x" * 10)
    absent = files_digest([one, two])
    two.write_bytes(b"")
    present = files_digest([one, two])
    one.write_bytes(b"y" * 10)
    assert len({absent, present, files_digest([one, two])}) == 3


def test_every_block_of_a_long_file_counts(tmp_path, monkeypatch):
    monkeypatch.setattr("relprev.store.digests.BLOCK", 4)
    file = tmp_path / "long"
    sizes = []
    digests = set()
    for content in (b"0123456789", b"0123456780", b"1123456789"):
        file.write_bytes(content)
        digests.add(file_digest(file, sizes.append))
    assert len(digests) == 3
    assert sizes == [4, 4, 2] * 3


@pytest.mark.parametrize("place", [0, 5, 9])
def test_a_seal_tells_whether_a_file_is_as_it_was(tmp_path, place):
    file = tmp_path / "cache.parquet"
    assert not is_sealed(file)
    content = bytearray(b"0123456789")
    file.write_bytes(content)
    assert not is_sealed(file)
    seal(file)
    assert is_sealed(file)
    content[place] ^= 1
    file.write_bytes(content)
    assert not is_sealed(file)
