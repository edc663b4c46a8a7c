"""Names and modules that are imported when they are first used.

``import relprev`` should not load what it may not need: figures, databases, compilers. A
package's ``__init__`` has its names as imports under ``if TYPE_CHECKING``, where type checkers,
editors and the direction of imports see them; `on_demand` reads the same lines when the package
is loaded, so they are written once::

    if TYPE_CHECKING:
        from relprev.model.purple import PURPLE
    else:
        __getattr__, __dir__ = on_demand(__name__)

(PEP 562.) No name may be that of a module in the same package: whoever imports that module would
put it in the name's place. A module that another one seldom needs is loaded by `OnDemand`, beside
an import under ``if TYPE_CHECKING`` too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def on_demand(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names are imported on first use.

    Parameters
    ----------
    package : str
        Its ``__name__``.

    Examples
    --------
    >>> get, names = on_demand("relprev.model")
    >>> get("PURPLE").__module__, "repeated_splits" in names()
    ('relprev.model.purple', True)
    """
    module = sys.modules[package]
    origins = dict(deferred(_source(package)))

    def get(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        origin = origins[name]
        value = (
            import_module(f"{package}.{name}")
            if origin == package  # one of its own modules
            else getattr(import_module(origin), name)
        )
        setattr(module, name, value)  # found there from now on
        return value

    return get, lambda: sorted({*vars(module), *origins})


class OnDemand:
    """Stands for a module, which is imported when something of it is first used.

    Parameters
    ----------
    name : str
        Of the module.

    Examples
    --------
    >>> shlex = OnDemand("shlex")
    >>> shlex.quote("a b")
    "'a b'"
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)  # found there from now on
        return value


def deferred(source: str) -> Iterator[tuple[str, str]]:
    """Name and module of every import under ``if TYPE_CHECKING`` at the top of a source text.

    Examples
    --------
    >>> list(deferred("if TYPE_CHECKING:\\n    from relprev.rows import Rows, total"))
    [('Rows', 'relprev.rows'), ('total', 'relprev.rows')]
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((item.name, line.module) for item in line.names)


def _source(package: str) -> str:
    spec = find_spec(package)
    text = spec.loader.get_source(package) if spec and spec.loader else None  # type: ignore[attr-defined]
    return text or ""
