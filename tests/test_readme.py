import contextlib
import io
import re
from pathlib import Path

from benchmarks.summary import tables

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_python_example_runs():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert "Group A" in printed.getvalue()
    assert "times as common" in printed.getvalue()


def test_tables_are_those_of_the_stored_results():
    shown = README.split("<!-- benchmarks -->")[1].split("<!-- /benchmarks -->")[0]
    assert shown.strip() == tables().strip()


def test_every_linked_file_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
