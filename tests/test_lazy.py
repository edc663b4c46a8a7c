"""What is loaded when: names on first use, heavy packages only where they are needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import relprev
from relprev.lazy import deferred

SOURCE = Path(relprev.__file__).parents[1]
COMMAND = "from relprev.cli import main; main()"
TERMINAL = {"typer", "click", "rich", "pygments", "markdown_it", "mdurl", "shellingham"}
TERMINAL |= {"annotated_doc", "typing_extensions", "colorama", "attr"}
TABLES = {"numpy", "pandas", "pyarrow", "duckdb", "pydantic", "filelock", "threadpoolctl"}
HEAVY = {"numba", "scipy", "sklearn", "matplotlib", "jinja2", "distributed", "simple_icd_10_cm"}
LISTED = """
import json, os, sys
sys.argv = json.loads(os.environ["ARGUMENTS"])
before = set(sys.modules)
try:
    exec(os.environ["STATEMENT"])
except SystemExit as end:
    assert not end.code, end.code
names = {name.partition(".")[0] for name in set(sys.modules) - before}
sys.stderr.write(json.dumps(sorted(names - set(sys.stdlib_module_names) - {"relprev"})))
"""
STUDY = """
condition = {name = "it", codes = ["ICD10:T74.11"]}
[source]
kind = "tables"
visits = "visits.csv"
codes = "codes.csv"
visit_id = "visit"
code = "code"
version = "ICD10"
attributes = ["insurance"]
[features]
min_count = 1
[[groups]]
column = "insurance"
"""


def loaded(statement: str, *arguments: str, folder: Path | None = None) -> set[str]:
    """Third-party packages that a statement loads in a new process."""
    told = {"STATEMENT": statement, "ARGUMENTS": json.dumps(["relprev", *arguments])}
    done = subprocess.run(
        [sys.executable, "-c", LISTED], capture_output=True, text=True, cwd=folder, check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **told},
    )  # fmt: skip
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_import_relprev_loads_no_other_package():
    assert loaded("import relprev") == set()


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_loads_what_a_terminal_needs_only(argument):
    assert loaded(COMMAND, argument) <= TERMINAL


def test_help_of_a_command_loads_nothing_that_reads_data():
    assert not loaded(COMMAND, "run", "--help") & (HEAVY | TABLES - {"pydantic"})  # typer's own


def test_check_fits_and_draws_nothing_and_loads_accordingly(tmp_path):
    rows = [(k, "T7411" if k % 3 == 0 else "R51", ("A", "B")[k % 2]) for k in range(300)]
    (tmp_path / "visits.csv").write_text(
        "visit,insurance\n" + "".join(f"{k},{group}\n" for k, _, group in rows)
    )
    (tmp_path / "codes.csv").write_text(
        "visit,code\n" + "".join(f"{k},R52\n{k},{code}\n" for k, code, _ in rows)
    )
    (tmp_path / "study.toml").write_text(STUDY)
    found = loaded(COMMAND, "check", "study.toml", folder=tmp_path)
    assert TABLES - {"filelock", "threadpoolctl"} <= found
    assert not found & HEAVY


def _packages() -> list[str]:
    root = Path(relprev.__file__).parent
    found = [file.parent.relative_to(root.parent) for file in root.rglob("__init__.py")]
    return sorted(".".join(path.parts) for path in found)


@pytest.mark.parametrize("name", _packages())
def test_a_package_gives_every_name_it_lists_whatever_was_imported_before(name):
    """A module of the same name would take the name's place once it is imported."""
    package = import_module(name)
    names = dict(deferred(Path(package.__file__).read_text(encoding="utf-8")))
    if not names:
        pytest.skip("loads its names at once")
    modules = {module.name for module in iter_modules(package.__path__)}
    assert not {own for own, origin in names.items() if origin != name} & modules
    assert set(getattr(package, "__all__", ())) == set(names)
    for own in names:
        assert getattr(package, own) is not None
    assert set(names) <= set(dir(package))


def test_an_unknown_name_is_an_attribute_error_that_says_so():
    with pytest.raises(AttributeError, match="module 'relprev' has no attribute 'PURPEL'"):
        _ = relprev.PURPEL
