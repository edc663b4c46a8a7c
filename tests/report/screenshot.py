"""Pictures of a report for the README and the documentation, taken in chromium:

make demo
.venv/bin/python -m tests.report.screenshot demo-output/report.html docs/images/report.png
.venv/bin/python -m tests.report.screenshot demo-output/report.html docs/images/report-dark.png dark
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VIEW = {"width": 1100, "height": 1480}


def find_chromium() -> str | None:
    """$RELPREV_CHROMIUM, or the first browser found."""
    return os.environ.get("RELPREV_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium(path: str) -> Iterator[Any]:
    """The browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Chromium's own sandbox does not work for root, as in containers.
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        running = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if root else []
        )
        yield running
        running.close()


def main(report: str, picture: str, colours: str = "light") -> None:
    """Open the report and save its first screen and forest plot."""
    from PIL import Image

    path = find_chromium()
    if path is None:
        sys.exit("needs chromium: `make browser` installs it, or set $RELPREV_CHROMIUM")
    with chromium(path) as browser:
        page = browser.new_page(viewport=VIEW, color_scheme=colours)
        page.goto(Path(report).resolve().as_uri())
        taken = Image.open(io.BytesIO(page.screenshot()))
    taken.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
