"""The evidence pages are what their commands write, and say where every table comes from."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from benchmarks import cost as benchmarks_cost
from benchmarks import page as benchmarks_page
from benchmarks.__main__ import command_line as benchmarks_command_line
from evidence import rerun
from evidence.__main__ import app as evidence_app
from simulations.__main__ import command_line as simulations_command_line

import relprev.cli

COMMAND_LINES = {"benchmarks": benchmarks_command_line, "simulations": simulations_command_line}
PAGES = Path(__file__).resolve().parents[2] / "docs" / "evidence"
MADE = re.compile(r"\d{4}-\d{2}-\d{2}.*, \d+ cores, Python [\d.]+, relprev [\d.]+")


@pytest.mark.parametrize("page", [benchmarks_page, benchmarks_cost])
def test_pages_of_benchmarks_are_what_the_command_writes(page):
    assert page.PAGE.read_text(encoding="utf-8") == page.text()


@pytest.mark.parametrize("name", ["accuracy-and-speed", "scaling", "coverage", "controls", "atlas"])
def test_every_section_names_command_date_machine_and_versions(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        if "| --- |" in section:
            assert "`python -m " in section, section[:60]
            assert MADE.search(section), section[:60]


@pytest.mark.parametrize("line", rerun.commands(Path("out")))
def test_rerun_uses_commands_and_options_that_exist(line):
    program, *arguments = shlex.split(line)
    if program == "relprev":
        parsed(relprev.cli.app, arguments)
    elif program == "python" and arguments[1] in COMMAND_LINES:
        COMMAND_LINES[arguments[1]]().parse_args(arguments[2:])
    elif program == "python":
        parsed(evidence_app, arguments[2:])
    else:
        assert program in ("cp", "sphinx-build")


def parsed(app, arguments):
    """Parse a typer command's arguments without running it; unknown ones are an error."""
    name, *rest = arguments
    command = typer.main.get_command(app).commands[name]
    command.make_context(name, rest)
