"""Attrition: how many visits and patients remain after each step."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Step:
    """A requirement, and how many visits and patients meet it and all earlier ones.

    Parameters
    ----------
    step : str
        The requirement in words.
    visits : int
        Visits remaining.
    patients : int or None
        Patients remaining; None if the source does not identify patients.

    Examples
    --------
    >>> Step("age 18 or more", 6, 5).visits
    6
    """

    step: str
    visits: int
    patients: int | None


@dataclass(frozen=True)
class Attrition:
    """The steps from the raw files to the cohort.

    Parameters
    ----------
    steps : tuple of Step
        In order of application.

    Examples
    --------
    >>> read = Attrition((Step("visits in the files", 10, 8),))
    >>> read.then(Step("age 18 or more", 6, 5)).to_frame()
                      step  visits  patients  excluded_visits
    0  visits in the files      10         8                0
    1       age 18 or more       6         5                4
    """

    steps: tuple[Step, ...]

    def then(self, *steps: Step) -> Attrition:
        """These steps followed by more."""
        return Attrition(self.steps + steps)

    def to_frame(self) -> pd.DataFrame:
        """One row per step, with columns step, visits, patients and excluded_visits."""
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
