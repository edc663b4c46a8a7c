"""Where the openly licensed data are, and small files to read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Path of a file or folder of real data; skips the test where it is not there."""
    folder = Path(os.environ.get("RELPREV_DATA", "") or ROOT.parent / "shared" / "data")

    def find(name: str) -> Path:
        path = folder / name
        if not path.exists():
            pytest.skip(f"needs {name} in $RELPREV_DATA or ../shared/data")
        return path

    return find
