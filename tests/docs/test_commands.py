"""Commands that README and the pages show have the options they name, run there or not."""

import re
import shlex
from pathlib import Path

import pytest
import typer

import relprev.cli

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")),
         *sorted((ROOT / "docs" / "evidence").glob("*.md")),
         *sorted((ROOT / "docs" / "sources").glob("*.md"))]  # fmt: skip
COMMAND = typer.main.get_command(relprev.cli.app)
NAMES = "|".join(COMMAND.commands)
SHOWN = re.compile(
    rf"^(?:\$ |    )?(relprev (?:{NAMES})\b[^#\n]*)"  # a block of commands
    rf"|^shell (relprev [^\n]+)|^system\(\"(relprev [^\"]+)\"\)",  # Stata, R
    re.MULTILINE,
)
FOUND = sorted({
    next(filter(None, match)).strip()
    for file in TEXTS
    for match in SHOWN.findall(file.read_text(encoding="utf-8").replace("\\\n", " "))
})  # fmt: skip


def test_commands_of_every_kind_are_found():
    text = "\n".join(FOUND)
    for words in ("relprev run study.toml", "relprev codes show", "relprev reproduce gauss"):
        assert words in text
    assert sum("visits.parquet" in command for command in FOUND) > 1  # one of them in R


@pytest.mark.parametrize("command", FOUND)
def test_command_and_options_exist(command):
    found, words = COMMAND, shlex.split(command)[1:]
    while hasattr(found, "commands"):
        name, *words = words
        found = found.commands[name]
    found.make_context(name, words)
