"""Run commands, in this process or in one of their own."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from relprev.cli import app, main
from relprev.errors import RelprevError

TERMINAL = {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}


def relprev(*arguments: Any) -> subprocess.CompletedProcess[str]:
    """A command from `main` to its exit code, in this process: another one takes seconds to start.

    What a process has of its own is put back: arguments, warnings, streams, signals.
    """
    out, err, on_signal = io.StringIO(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    command = ["relprev", *map(str, arguments)]
    with (
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.simplefilter("default")
        patch.setattr(sys, "argv", command)
        for name, value in TERMINAL.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    signal.signal(signal.SIGTERM, on_signal)
    code = int(ended.value.code or 0)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def in_a_process(*arguments: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "relprev", *map(str, arguments)],
        capture_output=True, text=True, check=False, env=os.environ | TERMINAL,
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
