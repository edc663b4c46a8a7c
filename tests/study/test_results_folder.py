from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError
from relprev.study.results_folder import working_folder
from tests.study.conftest import simulated


def test_working_folders_of_others_eyes_are_closed(tmp_path):
    """A folder left open to all, by hand or by an unpacked archive."""
    work = tmp_path / "results.work"
    work.mkdir(mode=0o755)
    (work / ".partial-old.npz").write_text("half a file of a killed run")
    with working_folder(tmp_path / "results") as folder:
        assert folder == work
        assert work.stat().st_mode & 0o777 == 0o700
        assert not (work / ".partial-old.npz").exists()


def test_foreign_files_are_never_touched(tmp_path):
    out = tmp_path / "results"
    out.mkdir()
    (out / "thesis.docx").write_text("years of work")
    for force in (False, True):
        with pytest.raises(InvalidInputError, match="relprev did not write"):
            simulated().run(out, force=force, verbose=False)
    assert (out / "thesis.docx").read_text() == "years of work"
    out = tmp_path / "file"
    out.write_text("x")
    with pytest.raises(InvalidInputError, match="is a file"):
        simulated().run(out, verbose=False)


def test_results_are_replaced_for_the_same_study_only(tmp_path):
    out = tmp_path / "results"
    out.mkdir()  # an empty folder will do
    simulated().run(out, verbose=False)
    first = (out / "run.log").read_text()
    simulated().run(out, verbose=False)
    assert (out / "run.log").read_text() != first
    other = simulated(name="other")
    with pytest.raises(InvalidInputError, match="results of the study 'study', not of 'other'"):
        other.run(out, verbose=False)
    other.run(out, force=True, verbose=False)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"1 files .* such as notes.txt"):
        other.run(out, force=True, verbose=False)


def test_two_runs_cannot_write_to_one_folder(tmp_path):
    with (
        working_folder(tmp_path / "results"),
        pytest.raises(InvalidInputError, match="another run is writing"),
    ):
        simulated().run(tmp_path / "results", verbose=False)
