"""Tests mirror the source: a test file is called by the module it tests."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "relprev"
OTHER_FOLDERS = {  # of tests about what is not in the package
    "corpus",  # bad files of every kind
    "docs",
    "evidence_pages",
    "simulation_studies",
}
OTHER_FILES = {
    "baselines/test_reference.py",  # their authors' code
    "sources/test_bad_inputs.py",  # every reader
    "test_layout.py",
    "test_public_api.py",
    "test_readme.py",
    "test_release.py",
}


def names_a_module(file: Path) -> bool:
    """Whether a test is called ``test_<module>.py``, or ``test_<module>_<what of it>.py``."""
    folder, name = SOURCE / file.parent, file.stem.removeprefix("test_")
    words = name.split("_")
    starts = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    return any((folder / f"{start}.py").is_file() for start in starts)


def test_every_test_file_is_called_by_its_module():
    files = [file.relative_to(TESTS) for file in TESTS.rglob("test_*.py")]
    strangers = [
        file.as_posix()
        for file in files
        if file.parts[0] not in OTHER_FOLDERS
        and file.as_posix() not in OTHER_FILES
        and not names_a_module(file)
    ]
    assert not strangers, "rename them after the module they test, or declare them here"


def test_what_is_declared_here_exists():
    assert all((TESTS / name).is_file() for name in OTHER_FILES)
    assert all((TESTS / name).is_dir() for name in OTHER_FOLDERS)
