"""All checks, by kind, in the order in which a study makes them.

A new check is a file that ends in ``CHECK = Check(...)``, and a line here.

>>> list(CHECKS)[:2], CHECKS["overlap"].needs
(['constant_ratio', 'calibration'], ('debiased',))
"""

from __future__ import annotations

from relprev.checks import (
    agreement,
    calibration,
    constant_ratio,
    leakage,
    overlap,
    sensitivity,
    unconstrained,
)
from relprev.checks.check import Check

CHECKS: dict[str, Check] = {
    module.CHECK.kind: module.CHECK
    for module in (
        constant_ratio,
        calibration,
        unconstrained,
        overlap,
        leakage,
        agreement,
        sensitivity,
    )
}
