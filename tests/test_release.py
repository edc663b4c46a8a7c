"""What a release says of itself agrees with the package."""

import re
import tomllib
from pathlib import Path

import relprev

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", relprev.__version__)


def test_citation_names_this_version():
    found = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert found[1] == relprev.__version__


def test_changelog_begins_with_this_version_and_a_date_after_what_is_not_released():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    heading = headings[headings[0] == "## Unreleased"]
    assert re.fullmatch(rf"## {re.escape(relprev.__version__)} \(\d{{4}}-\d\d-\d\d\)", heading)


def test_conda_recipe_asks_for_the_same_dependencies():
    recipe = (ROOT / "release" / "recipe.yaml").read_text()
    assert f'version: "{relprev.__version__}"' in recipe
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    listed = {line.strip(" -").replace(" ", "") for line in run.splitlines()}
    assert listed == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}


def test_claimed_pythons_are_those_that_are_tested():
    claimed = {
        words.rpartition(" ")[2]
        for words in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", words)
    }
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    tested = set(re.findall(r'"(3\.\d+)"', workflow.split("python: [")[1].split("]")[0]))
    assert claimed == tested
