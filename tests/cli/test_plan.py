import re

import pytest

from tests.cli.commands import invoke, relprev

RATES = ("--rates", 0.004, 0.005, "--mixing", 0.7)


def test_plan_says_how_many_visits_it_takes_and_what_is_assumed():
    said = invoke("plan", *RATES, "--ratio", 1.2, "--power", 0.8).output
    needed = int(re.search(r"needed, both groups together: ([\d,]+)", said)[1].replace(",", ""))
    assert "the power is 80%" in said
    assert "Assumed: " in said
    again = invoke("plan", *RATES, "--visits", needed, "--ratio", 1.2).output
    assert "Visits needed" not in again
    assert "the power is 80%" in again


def test_plan_says_how_many_visits_an_interval_takes():
    said = invoke("plan", *RATES, "--factor", 1.1).output
    assert "from estimate / 1.10 to estimate x 1.10" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "give --visits, or what the study is to find"),
        (("--visits", 1000, "--factor", 1.2), "--visits or --factor, not both"),
        (("--visits", -1), "--visits must be positive"),
        (("--ratio", 1), "--ratio must be positive and not 1"),
        (("--ratio", 2, "--power", 1), "--power must be between 0 and 1"),
        (("--ratio", 2, "--factor", 1.2), "give either ratio or factor"),
        (("--ratio", 2, "--design-effect", 0), "--design-effect must be positive"),
    ],
)
def test_impossible_plans_are_refused_by_their_flags(options, words):
    done = relprev("plan", *RATES, *options)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    "rates", [(0.004,), ("0.4%", "0.5%"), ("0.004,0.005",)], ids=["one", "percent", "comma"]
)
def test_rates_that_are_not_two_numbers_are_refused_with_the_way_to_write_them(rates):
    """With one number, the next flag was taken for the second: "unable to parse string"."""
    done = relprev("plan", "--rates", *rates, "--mixing", 0.7, "--ratio", 1.2)
    assert done.returncode == 2
    assert "Invalid value for '--rates': two numbers are needed" in done.stderr
    assert "such as 0.004 0.005" in " ".join(done.stderr.split())
