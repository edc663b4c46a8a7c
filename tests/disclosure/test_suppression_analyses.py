"""Analyses beside the estimates tell no count that the estimates hide."""

import numpy as np
import pandas as pd

from relprev.disclosure import Rule
from relprev.report import StudyFindings, VariableFindings, disclosed
from relprev.report.analyses import Analysis


def absolute(counts, outside):
    """Findings whose absolute rates are exact: rate times prevalence is the recorded rate."""
    table = pd.DataFrame([(g, "complement", 1.0, n, d) for g, (n, d) in counts.items()],
                         columns=["group", "versus", "estimate", "n", "n_diagnosed"])  # fmt: skip
    rate = np.linspace(0.3, 0.6, len(table))
    prevalence = table["n_diagnosed"] / table["n"] / rate
    rates = pd.DataFrame({"group": table["group"], "outside": table["group"] == outside})
    for name, values in (("diagnosis_rate", rate), ("prevalence", prevalence)):
        rates[name], rates[f"{name}_low"], rates[f"{name}_high"] = (
            values,
            values * 0.9,
            values * 1.1,
        )
    steps = pd.DataFrame({"step": ["all"], "visits": [table["n"].sum()],
                          "patients": pd.array([pd.NA], dtype="Int64")})  # fmt: skip
    analysis = Analysis("absolute", outside, rates)
    found = VariableFindings("race", {"debiased": table}, steps, (), pd.DataFrame(),
                             analyses=(analysis,))  # fmt: skip
    report = disclosed(StudyFindings("", "", "", "", (found,), {}), Rule())
    return report.variables[0].analyses[0].table.set_index("group")


COUNTS = {"A": (5000, 400), "B": (4000, 300), "C": (900, 80), "D": (700, 4)}


def test_rates_of_groups_with_hidden_counts_are_hidden():
    table = absolute(COUNTS, "A")
    shown = table["prevalence"].notna()
    assert shown.to_dict() == {"A": True, "B": True, "C": False, "D": False}
    assert table.loc[~shown].drop(columns="outside").isna().all(axis=None)


def test_all_rates_are_hidden_if_the_outside_value_is_of_a_group_with_hidden_counts():
    """They and the estimates would give the recorded rate of that group."""
    table = absolute(COUNTS, "D")
    assert table.drop(columns="outside").isna().all(axis=None)
