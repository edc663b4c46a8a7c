"""Which of relprev's own modules a result depends on, and a digest of their source.

A kept result is used again only while the code that made it is the same. That code is what its
modules import, directly or indirectly: a change to the report does not concern an estimate. The
graph is read from the source files; nothing is imported. A name taken from a package (``from
relprev.cohort import Cohort``) leads to the module where the package gets it, not to the whole
package. Imports under ``if TYPE_CHECKING`` do not run and do not count, unless an ``else``
has them imported on demand (`relprev.lazy`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path

from relprev.store.digests import digest

PACKAGE = "relprev"
HOLD_STATEMENTS = ("body", "orelse", "handlers", "finalbody", "cases")


def source_digest(*modules: str, data: tuple[str, ...] = (), root: Path | None = None) -> str:
    """Digest of the source of modules, of all upstream of them, and of folders of ``relprev/data``.

    ``root`` is the folder of the package, by default of the one that is running.

    Examples
    --------
    >>> source_digest("relprev.model.em") == source_digest("relprev.model.purple")
    False
    """
    if root is None:
        return _running_digest(modules, data)
    sources = _sources(root)
    files = [sources[name] for name in _upstream(modules, sources)]
    files += [path for name in data for path in sorted((root / "data" / name).rglob("*.*"))]
    return digest(*([file.relative_to(root).as_posix(), file.read_bytes().hex()] for file in files))


@cache
def _running_digest(modules: tuple[str, ...], data: tuple[str, ...]) -> str:
    """Of the package that runs, which was loaded as it is."""
    return source_digest(*modules, data=data, root=_root())


def upstream(*modules: str, root: Path | None = None) -> list[str]:
    """Names of the modules and of all modules of relprev that they import, directly or not.

    Examples
    --------
    >>> found = upstream("relprev.inference.debiased")
    >>> "relprev.inference.score" in found, "relprev.report.figures.plots" in found
    (True, False)
    """
    return _upstream(modules, _sources(root or _root()))


Sources = dict[str, Path]  # file of every module and package


def _upstream(modules: Iterable[str], sources: Sources) -> list[str]:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found and name in sources:
            found.add(name)
            waiting += _imports(sources, name)
    return sorted(found)


@cache
def _root() -> Path:
    return Path(str(resources.files(PACKAGE)))


def _sources(root: Path) -> Sources:
    """All source files below the folder of the package."""
    named = ((file.relative_to(root).with_suffix("").parts, file) for file in root.rglob("*.py"))
    return {
        ".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts))): file
        for parts, file in named
    }


def _imports(sources: Sources, module: str) -> list[str]:
    """Modules from which a module takes something."""
    return [target for source, name in _taken(sources, module)
            for target in _origin(sources, source, name)]  # fmt: skip


def _origin(sources: Sources, source: str, name: str) -> Iterator[str]:
    """Where a module's name comes from: a module below it, one it imports, or itself."""
    if f"{source}.{name}" in sources:
        yield f"{source}.{name}"
        return
    if source not in sources or sources[source].name != "__init__.py":
        yield source
        return
    given = [(other, own) for other, own in _taken(sources, source) if own == name]
    if not given:
        yield source
    for other, own in given:
        yield from _origin(sources, other, own)


def _taken(sources: Sources, module: str) -> tuple[tuple[str, str], ...]:
    """Module and name of everything a module imports from relprev, except for type checking."""
    about = sources[module].stat()
    return _parsed(sources[module], about.st_mtime_ns, about.st_size)


@cache
def _parsed(file: Path, changed: int, size: int) -> tuple[tuple[str, str], ...]:
    """Imports of a file; the other arguments tell its versions apart in the cache."""
    found: list[tuple[str, str]] = []
    waiting: list[ast.AST] = [ast.parse(file.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and not node.orelse:
            continue
        if isinstance(node, ast.Import):
            found += [_split(item.name) for item in node.names if _is_own(item.name)]
        elif isinstance(node, ast.ImportFrom) and node.module and _is_own(node.module):
            found += [(node.module, item.name) for item in node.names]
        else:  # statements stand in these only; looking through expressions takes ten times longer
            waiting += [one for field in HOLD_STATEMENTS for one in getattr(node, field, ())]
    return tuple(found)


def _is_own(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def _split(name: str) -> tuple[str, str]:
    source, _, last = name.rpartition(".")
    return (source, last) if source else (name, "*")
