"""The public names: those in ``__all__`` of the packages, and what classes offer."""

import importlib
import inspect
from collections.abc import Iterator

PACKAGES = (
    "relprev", "relprev.atlas", "relprev.baselines", "relprev.checks", "relprev.codes",
    "relprev.cohort", "relprev.controls", "relprev.disclosure",
    "relprev.matrix", "relprev.errors", "relprev.experiments", "relprev.inference",
    "relprev.model", "relprev.report", "relprev.simulate", "relprev.sources", "relprev.study",
)  # fmt: skip


def public_objects() -> dict[str, type]:
    """Classes and functions, by their shortest name."""
    found: dict[int, tuple[str, type]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(id(value), (f"{package}.{name}", value))
    return dict(found.values())


def members(kind: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties that relprev's own classes define, inherited ones too.

    A method without a docstring stands for the one it overrides, as in the reference.
    """
    for name in dir(kind):
        owners = [
            owner
            for owner in kind.__mro__
            if owner.__module__.startswith("relprev.") and name in vars(owner)
        ]
        if name.startswith("_") or not owners:
            continue
        found = [vars(owner)[name] for owner in owners]
        found = [getattr(value, "__func__", value) for value in found]  # class and static methods
        found = [value for value in found if inspect.isfunction(value) or is_property(value)]
        if found:
            yield name, next((value for value in found if value.__doc__), found[0])


def is_property(value: object) -> bool:
    return isinstance(value, property)


PUBLIC = public_objects()
