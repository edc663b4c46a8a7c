from __future__ import annotations

import errno
import gc
import stat

import numpy as np
import pytest

from relprev.rows import disk
from relprev.rows.disk import Scratch, map_file

ARRAYS = {"whole": np.arange(5), "half": np.linspace(0, 1, 7, dtype=np.float32),
          "square": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 3))}  # fmt: skip


def test_spilled_arrays_are_the_same_but_cannot_be_changed(tmp_path):
    spilled = Scratch(tmp_path).spill(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(spilled[name], array)
        assert spilled[name].dtype == array.dtype
    with pytest.raises(ValueError, match="read-only"):
        spilled["whole"][0] = 9


def test_what_is_on_disk_already_is_not_written_again(tmp_path):
    scratch = Scratch(tmp_path)
    once = scratch.spill(ARRAYS)
    assert all(again is once[name] for name, again in scratch.spill(once).items())


def test_a_scratch_folder_is_private_and_goes_with_its_last_user(tmp_path):
    scratch = Scratch(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IRWXU
    spilled = scratch.spill(ARRAYS)
    assert not list(folder.iterdir())  # the content has no name that anybody could open
    del scratch
    gc.collect()
    assert not folder.exists()
    assert spilled["whole"].tolist() == [0, 1, 2, 3, 4]


def test_more_files_are_allowed_once_the_limit_is_reached(tmp_path, monkeypatch):
    file = tmp_path / "part.bin"
    file.write_bytes(b"content")
    asked = []
    real = disk._mapped

    def full(path):
        if not asked:
            raise OSError(errno.EMFILE, "too many open files")
        return real(path)

    monkeypatch.setattr(disk, "_mapped", full)
    monkeypatch.setattr(disk, "allow_more_files", lambda: asked.append(1))
    assert map_file(file)[:] == b"content"
    assert asked == [1]


def test_another_error_is_not_taken_for_the_limit(tmp_path):
    with pytest.raises(FileNotFoundError):
        map_file(tmp_path / "nothing.bin")
