"""Reports from real fits, each made and written once a session."""

import numpy as np
import pytest

from relprev.messages import Count, Message
from relprev.report import disclosed, write_report
from tests.report.studies import findings, found, simulated, study

SCRIPT = "<script>alert(1)</script>"
QUOTES = "\"quotes\" & 'more' $x_1$ {{ 7 * 7 }}"
UNICODE = "日本 ‮ Ελλάδα %_#"
FEW = Message("only {n}", n=Count(3, "visit"))
LONG = "A very long name of a group that goes on and on until nobody can read it any more at all"


@pytest.fixture(scope="session")
def race():
    """Four groups, both methods, all checks."""
    names = ("White", "Black", "Hispanic", "Asian or Pacific Islander")
    return findings("race", simulated(4, names, 8_000), left_out={"Other": FEW})


@pytest.fixture(scope="session")
def awkward():
    """Names that would break a careless page, a group with few diagnosed, a reference."""
    names = ("Medicaid", SCRIPT, QUOTES, UNICODE, LONG)
    shares = (0.4, 0.3, 0.15, 0.14, 0.01)
    cohort = simulated(7, names, 6_000, group_shares=shares)
    few = np.flatnonzero((cohort.groups == 4) & (cohort.diagnosed == 1))[5:]
    diagnosed = cohort.diagnosed.copy()
    diagnosed[few] = 0
    return findings(
        f"pay {SCRIPT}", cohort.with_values(diagnosed=diagnosed), "Medicaid", full=False
    )


@pytest.fixture(scope="session")
def withheld():
    """A group with one diagnosed patient, which gets no estimate."""
    cohort = simulated(9, ("north", "south", "east"), 5_000)
    diagnosed = cohort.diagnosed.copy()
    diagnosed[np.flatnonzero((cohort.groups == 2) & (diagnosed == 1))[1:]] = 0
    return findings("region", cohort.with_values(diagnosed=diagnosed), "pairwise", full=False)


@pytest.fixture(scope="session")
def purple_only():
    """No intervals."""
    cohort = simulated(3, ("married", "unmarried"), 4_000)
    return findings("marital status", cohort, with_debiased=False, full=False)


@pytest.fixture(scope="session")
def findings_of_four(race, awkward, withheld, purple_only):
    """Four group variables, nothing hidden."""
    patients = Count(3, "patient")
    warnings = (
        Message("a group has only {n} with a recorded diagnosis", n=patients),
        Message("{name}", name=SCRIPT), "3 of 40 patients are diagnosed",
    )  # fmt: skip
    variables = (race, awkward, withheld, purple_only)
    return found(*variables, title=f"A study {SCRIPT}", warnings=warnings)


@pytest.fixture(scope="session")
def report(findings_of_four):
    """Four group variables."""
    return disclosed(findings_of_four)


@pytest.fixture(scope="session")
def folder(report, tmp_path_factory):
    """Where the four variables' report is written."""
    out = tmp_path_factory.mktemp("report")
    write_report(report, out, formats=("svg", "png", "pdf"))
    return out


@pytest.fixture(scope="session")
def single(race, tmp_path_factory):
    """Where the report of one variable is written."""
    out = tmp_path_factory.mktemp("single")
    write_report(study(race), out)
    return out
