"""The results files as one page of the documentation."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "coverage.md"


def write_page(results: Path, out: Path) -> None:
    """Write the page."""
