from __future__ import annotations

import re

from relprev.checks.registry import CHECKS
from relprev.study import CheckOptions
from tests.study.conftest import simulated


def test_all_checks_are_made_and_read_back_with_their_drawings(whole):
    checks = whole.report.variables[0].checks
    kinds = [check.kind for check in checks]
    assert set(kinds) == set(CHECKS)
    assert kinds.count("sensitivity") == 4  # every comparison of the table
    assert all("versus everyone else" in c.name for c in checks if c.kind == "sensitivity")
    for check in checks:
        check.plot()


def test_checks_that_fit_again_are_made_on_a_sample():
    study = simulated(checks=CheckOptions(run=("calibration",), max_visits=4_000))
    check = study.run(verbose=False).report.variables[0].checks[0]
    assert re.search(r"a random sample of [34],\d{3} visits out of 8,000 visits", str(check.effect))
