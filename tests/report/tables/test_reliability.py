"""Surveys: numbers from few records, or too uncertain, are marked as NCHS asks."""

from dataclasses import replace

import pandas as pd

from relprev.report.page.conditions import conditions_report, render_conditions
from relprev.report.page.layout import lay_out
from relprev.report.tables.reliability import UNRELIABLE, is_few, unreliable
from tests.report.studies import study

ENDS = {
    "estimate": ("ci_low", "ci_high"),
    "observed_ratio": ("observed_ci_low", "observed_ci_high"),
}


def test_few_records_and_large_errors_are_marked_and_missing_intervals_are_not():
    """At 90% an interval from half to twice has a relative standard error of 42%."""
    frame = pd.DataFrame({"estimate": [1.0, 1.0, None], "ci_low": [0.9, 0.5, None],
                          "ci_high": [1.1, 2.0, None], "n_diagnosed": [29, 30, None]})  # fmt: skip
    assert unreliable(frame, ENDS, 0.90) == {(0, "n_diagnosed"), (0, "estimate"), (1, "estimate")}
    assert not is_few(float("nan"))


def test_tables_of_surveys_have_the_mark_and_say_what_it_means(bare):
    name, main = next(iter(bare.estimates.items()))
    main = main.assign(estimate=1.0, ci_low=0.2, ci_high=5.0)
    found = replace(bare, estimates={name: main})
    (plain, surveyed) = (
        lay_out(study(found, weighted=weighted)).variables[0].estimates
        for weighted in (False, True)
    )
    assert "*" not in plain.caption
    assert surveyed.caption.endswith(UNRELIABLE)
    cells = [one.text for row in surveyed.rows() for one in row]
    assert "1.00 (0.20 to 5.00) *" in cells


def test_the_comparison_of_conditions_has_the_mark(bare):
    name, main = next(iter(bare.estimates.items()))
    found = replace(bare, estimates={name: main.assign(estimate=1.0, ci_low=0.2, ci_high=5.0)})
    both = [study(found, weighted=True, condition=condition) for condition in ("one", "another")]
    page = render_conditions(conditions_report("", both))
    assert "1.00 (0.20 to 5.00) *" in page
    assert "unreliable by the rules of NCHS" in page
