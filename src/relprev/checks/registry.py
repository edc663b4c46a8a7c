"""The registry of all checks by kind, in the order in which a study runs them.

To add a check, write a file that ends in ``CHECK = Check(...)`` and list it here.

>>> list(CHECKS)[:2], CHECKS["overlap"].needs
(['informativeness', 'constant_ratio'], ('debiased',))
"""

from __future__ import annotations

from relprev.checks import (
    agreement,
    benchmarks,
    bias_analysis,
    calibration,
    constant_ratio,
    controls,
    informativeness,
    leakage,
    overlap,
    sensitivity,
    unconstrained,
)
from relprev.checks.check import Check

CHECKS: dict[str, Check] = {
    module.CHECK.kind: module.CHECK
    for module in (
        informativeness,
        controls,
        constant_ratio,
        calibration,
        unconstrained,
        overlap,
        leakage,
        agreement,
        sensitivity,
        benchmarks,
        bias_analysis,
    )
}
