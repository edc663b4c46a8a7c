"""Attrition: how many visits and patients are left after every step."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Step:
    """What was required, and how many visits and patients met this and all earlier steps.

    ``patients`` is None where the source does not identify patients.
    """

    step: str
    visits: int
    patients: int | None


@dataclass(frozen=True)
class Attrition:
    """The steps from the raw files to the cohort.

    Examples
    --------
    >>> Attrition((Step("visits in the files", 10, 8), Step("age 18 or more", 6, 5))).to_frame()
                      step  visits  patients  excluded_visits
    0  visits in the files      10         8                0
    1       age 18 or more       6         5                4
    """

    steps: tuple[Step, ...]

    def then(self, *steps: Step) -> Attrition:
        """The same table with more steps."""
        return Attrition(self.steps + steps)

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        frame = pd.DataFrame(
            {
                "step": [step.step for step in self.steps],
                "visits": [step.visits for step in self.steps],
                "patients": pd.array([step.patients for step in self.steps], dtype="Int64"),
            }
        )
        frame["excluded_visits"] = -frame["visits"].diff().fillna(0).astype("int64")
        return frame

    def __str__(self) -> str:
        return self.to_frame().to_string(index=False)
