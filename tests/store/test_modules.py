"""The import graph of a small package, and of relprev itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import relprev
from relprev.store.modules import source_digest, upstream

FILES = {
    "__init__.py": "from relprev.study import Study\n",
    "model/__init__.py": "from relprev.model.solver import solve\n"
    "from relprev.model.em import em\n",
    "model/solver.py": "import numpy\nimport relprev.arrays\ndef solve(): ...\n",
    "model/em.py": "def em(): ...\n",
    "arrays.py": "",
    "report.py": "from relprev.model import solve\n",
    "study.py": "from typing import TYPE_CHECKING\nfrom relprev.model import solve\n"
    "if TYPE_CHECKING:\n    from relprev.report import page\n"
    "def late():\n    from relprev import late\nclass Study: ...\n",
    "late.py": "",
    "lazy/__init__.py": "if TYPE_CHECKING:\n    from relprev.lazy.far import far\n"
    "else:\n    __getattr__ = on_demand(__name__)\n",
    "lazy/far.py": "if TYPE_CHECKING:\n    from relprev import late\n"
    "else:\n    late = OnDemand('relprev.late')\ndef far(): ...\n",
    "user.py": "from relprev.lazy import far\n",
}


@pytest.fixture
def package(tmp_path):
    root = tmp_path / "relprev"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "data" / "codes").mkdir(parents=True)
    (root / "data" / "codes" / "a.toml").write_text("x = 1")
    return root


def test_imports_are_followed_through_packages_to_the_modules_that_define_names(package):
    expected = ["relprev.arrays", "relprev.late", "relprev.model.solver", "relprev.study"]
    assert upstream("relprev.study", root=package) == expected


def test_imports_on_demand_count_as_imports(package):
    expected = ["relprev.late", "relprev.lazy.far", "relprev.user"]
    assert upstream("relprev.user", root=package) == expected


@pytest.mark.parametrize(
    ("changed", "matters"),
    [("arrays.py", True), ("model/solver.py", True), ("late.py", True), ("study.py", True),
     ("model/em.py", False), ("report.py", False), ("__init__.py", False)],
)  # fmt: skip
def test_the_digest_changes_with_what_is_upstream_only(package, changed, matters):
    before = source_digest("relprev.study", root=package)
    (package / changed).write_text(FILES[changed] + "# more\n")
    assert (source_digest("relprev.study", root=package) != before) == matters


def test_the_digest_changes_with_the_data_folders_it_names(package):
    before = [source_digest("relprev.late", data=data, root=package) for data in ((), ("codes",))]
    (package / "data" / "codes" / "a.toml").write_text("x = 2")
    after = [source_digest("relprev.late", data=data, root=package) for data in ((), ("codes",))]
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_relprev_has_only_imports_that_the_graph_understands():
    """Relative and computed imports would be edges that nobody sees."""
    for file in Path(relprev.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), file
