"""Run commands, in this process or in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from typer.testing import CliRunner, Result

from relprev.cli import app
from relprev.errors import RelprevError


def relprev(*arguments: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "relprev", *map(str, arguments)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip


def invoke(*arguments: Any, **more: Any) -> Result:
    """A command in this process."""
    return CliRunner().invoke(app, [str(item) for item in arguments], **more)


def refused(*arguments: Any) -> str:
    """The message of a refused command (``main`` prints it and exits with code 2)."""
    result = invoke(*arguments)
    assert isinstance(result.exception, RelprevError), result.output
    return str(result.exception)


def estimate_arguments(table: Any, out: Any) -> list[Any]:
    """Of ``relprev estimate`` on the fixture ``table``."""
    return ["estimate", table, "--diagnosed", "ipv", "--group", "payer", "--features", "dx_*",
            "--out", out]  # fmt: skip
