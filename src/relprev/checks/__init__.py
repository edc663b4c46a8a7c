"""Checks of the method's assumptions; each returns a `CheckResult`."""

from relprev.checks.agreement import agreement
from relprev.checks.calibration import check_calibration
from relprev.checks.constant_ratio import check_constant_ratio
from relprev.checks.leakage import check_leakage
from relprev.checks.overlap import check_overlap
from relprev.checks.result import CheckResult
from relprev.checks.sensitivity import sensitivity
from relprev.checks.unconstrained import compare_unconstrained

__all__ = [
    "CheckResult",
    "agreement",
    "check_calibration",
    "check_constant_ratio",
    "check_leakage",
    "check_overlap",
    "compare_unconstrained",
    "sensitivity",
]
