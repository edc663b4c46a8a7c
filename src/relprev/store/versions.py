"""Versions of the software that results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import version

PACKAGES = ("relprev", "numpy", "scipy", "numba", "scikit-learn", "pandas", "pyarrow", "duckdb")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on.

    Examples
    --------
    >>> list(versions())[:3]
    ['python', 'relprev', 'numpy']
    """
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
