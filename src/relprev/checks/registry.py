"""The registry of all checks by kind, in the order in which a study runs them.

To add a check, write a file that ends in ``CHECK = Check(...)`` and list it here.

>>> list(CHECKS)[:2], CHECKS["overlap"].needs
(['informativeness', 'controls'], ('debiased',))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from relprev.checks.check import Check

KINDS = (
    "informativeness",
    "controls",
    "constant_ratio",
    "calibration",
    "unconstrained",
    "models",
    "overlap",
    "leakage",
    "agreement",
    "sensitivity",
    "benchmarks",
    "bias_analysis",
)


class Registry(Mapping[str, Check]):
    """Checks by kind. Their modules, which load a lot, are imported when the first is looked up."""

    @cached_property
    def loaded(self) -> dict[str, Check]:
        from relprev.checks import (
            agreement,
            benchmarks,
            bias_analysis,
            calibration,
            constant_ratio,
            controls,
            informativeness,
            leakage,
            models,
            overlap,
            sensitivity,
            unconstrained,
        )

        modules = (
            informativeness,
            controls,
            constant_ratio,
            calibration,
            unconstrained,
            models,
            overlap,
            leakage,
            agreement,
            sensitivity,
            benchmarks,
            bias_analysis,
        )
        return {module.CHECK.kind: module.CHECK for module in modules}

    def __getitem__(self, kind: str) -> Check:
        return self.loaded[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)


CHECKS = Registry()
