"""Reports to write, each made once a session."""

import pytest

from tests.report.studies import findings, simulated, study


@pytest.fixture(scope="session")
def race():
    names = ("White", "Black", "Hispanic", "Asian or Pacific Islander")
    return findings("race", simulated(4, names), left_out={"Other": "fewer than 100 visits"})


@pytest.fixture(scope="session")
def report(race):
    return study(race, warnings=("a group has only 3 patients with a recorded diagnosis",))
