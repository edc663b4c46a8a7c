import contextlib
import io
import re
from pathlib import Path

from benchmarks.summary import in_short

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_python_example_runs():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert "Group A" in printed.getvalue()
    assert "times as common" in printed.getvalue()


def test_numbers_are_those_of_the_stored_results():
    shown = README.split("<!-- benchmarks -->")[1].split("<!-- /benchmarks -->")[0]
    assert shown.strip() == in_short().strip()


def test_every_linked_file_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_start_names_two_commands_that_exist():
    start = README.split("## Start")[1].split("\n## ")[0]
    targets = re.findall(r"^    make (\w+)", start, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets == ["demo", "test"]
    for target in targets:
        assert re.search(rf"^{target}:.*##", makefile, re.MULTILINE), target
