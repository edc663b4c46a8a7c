"""Reports from real fits, each made and written once a session."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from relprev.messages import Count, Message
from relprev.report import disclosed, write_report
from tests.report.pages import Page
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
    write_report(report, out, formats=("svg", "png", "pdf", "html", "latex"))
    return out


@pytest.fixture(scope="session")
def single(race, tmp_path_factory):
    """Where the report of one variable is written."""
    out = tmp_path_factory.mktemp("single")
    write_report(study(race), out)
    return out


@pytest.fixture(scope="session")
def bare(race):
    """Without checks: quickly drawn."""
    return replace(race, checks=())


@pytest.fixture(scope="session")
def html(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def page(html):
    return Page(html)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def frame():
    """Estimates of four groups, one with few diagnosed."""
    return pd.DataFrame(
        {
            "group": ["a", "b", "c", "d"],
            "versus": "complement",
            "estimate": [1.5, 0.8, 1.0, 2.0],
            "ci_low": np.nan,
            "ci_high": np.nan,
            "observed_ratio": [0.5, 1.2, 1.0, 3.0],
            "diagnosis_ratio": [0.33, 1.5, 1.0, 1.5],
            "n": [500, 400, 300, 200],
            "n_diagnosed": [40, 30, 20, 5],
        }
    )
