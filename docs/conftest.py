"""Run every code block of the pages: Python as doctests, commands as a user would."""

import os
import shlex
import subprocess
import sys
import tempfile
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path

from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

BIN = Path(sys.executable).parent
collect_ignore_glob = ["*.py", "_build"]  # sphinx-gallery runs the examples


def run_console(example: Example) -> None:
    """Run the lines that start with ``$``; what they print must contain the lines below them.

    A command goes on in the next line after a backslash.
    """
    command, expected = "", []
    for line in [*example.parsed.replace("\\\n", " ").splitlines(), "$ "]:
        if not line.startswith("$ "):
            expected += [line.rstrip()] if line.strip() not in ("", "...") else []
            continue
        if command:
            check(command, expected, example.namespace["folder"])
        command, expected = line[2:], []


def save_file(example: Example) -> None:
    """A block that starts with ``# file: name`` is that file."""
    first, _, rest = example.parsed.partition("\n")
    if first.startswith("# file: "):
        (example.namespace["folder"] / first.removeprefix("# file: ")).write_text(rest)


def check(command: str, expected: list[str], folder: Path) -> None:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        shlex.split(command), capture_output=True, text=True, cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "110"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    printed = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
    missing = [line for line in expected if line not in printed]
    assert not missing, f"{command}\ndoes not print\n{missing}\nbut\n{done.stdout}{done.stderr}"


class Folder:
    """A folder of its own for the commands of each page."""

    def __call__(self, namespace: dict) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        namespace["folder"] = Path(self.temporary.name)

    def close(self, namespace: dict) -> None:
        self.temporary.cleanup()


_folder = Folder()
pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE | ELLIPSIS),
        CodeBlockParser(language="console", evaluator=run_console),
        CodeBlockParser(language="toml", evaluator=save_file),
        CodeBlockParser(language="text", evaluator=save_file),
    ],
    patterns=["*.md"],
    setup=_folder,
    teardown=_folder.close,
).pytest()
