"""Checks of the method's assumptions; each returns a `CheckResult`."""

from relprev.checks.constant_ratio import check_constant_ratio
from relprev.checks.result import CheckResult

__all__ = ["CheckResult", "check_constant_ratio"]
