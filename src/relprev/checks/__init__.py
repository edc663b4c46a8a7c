"""Checks of the method's assumptions, each of which returns a `CheckResult`."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.checks.agreement import check_agreement
    from relprev.checks.benchmarks import check_benchmarks
    from relprev.checks.bias_analysis import check_bias_analysis
    from relprev.checks.calibration import check_calibration
    from relprev.checks.check import CheckResult, Verdict
    from relprev.checks.constant_ratio import check_constant_ratio
    from relprev.checks.controls import check_controls
    from relprev.checks.informativeness import check_informativeness
    from relprev.checks.leakage import check_leakage
    from relprev.checks.models import check_models
    from relprev.checks.overlap import check_overlap
    from relprev.checks.sensitivity import check_sensitivity
    from relprev.checks.unconstrained import check_unconstrained
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "CheckResult",
    "Verdict",
    "check_agreement",
    "check_benchmarks",
    "check_bias_analysis",
    "check_calibration",
    "check_constant_ratio",
    "check_controls",
    "check_informativeness",
    "check_leakage",
    "check_models",
    "check_overlap",
    "check_sensitivity",
    "check_unconstrained",
]
