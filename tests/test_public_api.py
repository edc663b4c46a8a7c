"""Every public name is in the reference."""

import importlib
import inspect
import re
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
PACKAGES = (
    "relprev", "relprev.baselines", "relprev.checks", "relprev.cohort", "relprev.design",
    "relprev.experiments", "relprev.inference", "relprev.model", "relprev.report",
    "relprev.simulate", "relprev.sources",
)  # fmt: skip


def public_objects() -> dict[str, object]:
    """Classes and functions in ``__all__`` of the packages, by their shortest name."""
    found: dict[int, tuple[str, object]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                path = f"{package}.{name}".removeprefix("relprev.")
                found.setdefault(id(value), (path, value))
    return dict(found.values())


PUBLIC = public_objects()


def test_reference_lists_exactly_the_public_names():
    listed = set(re.findall(r"^   ([\w.]+)$", REFERENCE.read_text(), re.MULTILINE))
    assert listed == set(PUBLIC)
