from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from relprev.errors import InvalidInputError
from relprev.store.files import (
    TemporaryFolder,
    private_folder,
    remove_stale,
    remove_unfinished,
    written_whole,
)


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("old")

    def write_half():
        with written_whole(file) as temporary:
            temporary.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_written_files_have_the_mode_asked_for(tmp_path, private, mode):
    before = os.umask(0o022)
    try:
        with written_whole(tmp_path / "a.csv", private=private) as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o777, 0o700])
def test_folders_that_others_could_read_are_closed(tmp_path, mode):
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(mode)
    assert private_folder(folder).stat().st_mode & 0o777 == 0o700
    assert private_folder(tmp_path / "new" / "work").stat().st_mode & 0o777 == 0o700


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(InvalidInputError, match=r"belongs to another user.*choose another folder"):
        private_folder(tmp_path)


def test_temporary_folders_of_killed_processes_are_removed_and_others_kept(tmp_path):
    script = (
        "import time\nfrom relprev.store.files import TemporaryFolder\n"
        "folder = TemporaryFolder()\nopen(folder.name + '/patients.csv', 'w').close()\n"
        "print(folder.name, flush=True)\ntime.sleep(60)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    killed, alive = (
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    )
    gone, kept = (Path(process.stdout.readline().decode().strip()) for process in (killed, alive))
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert (gone / "patients.csv").exists()
        remove_stale(tmp_path)
        assert not gone.exists()
        assert (kept / "patients.csv").exists()
    finally:
        alive.terminate()
        alive.wait()


def test_a_temporary_folder_is_gone_after_its_block():
    with TemporaryFolder() as name:
        (Path(name) / "patients.csv").write_text("1,2")
    assert not Path(name).exists()


def test_what_a_killed_run_was_writing_is_removed_and_nothing_else(tmp_path):
    for name in (".partial-cohort-1.npz", "estimates.csv", ".relprev.json"):
        (tmp_path / name).write_text("x")
    for name in ("relprev-scratch", ".cohort-0-abc", "parts-12"):
        (tmp_path / name).mkdir()
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "estimates.csv", ".relprev.json", "parts-12",
    }  # fmt: skip
