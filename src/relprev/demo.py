"""The demonstration: simulated visits whose recorded ratio points the wrong way."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from relprev.estimates import RelativePrevalence
from relprev.model import PURPLE
from relprev.simulate import ed_visits

VISITS = 200_000
CODES = 1_000


@dataclass(frozen=True)
class Demo:
    """The fitted estimator, its estimates and the truth behind the simulated visits."""

    estimator: PURPLE
    estimates: RelativePrevalence
    truth: pd.Series
    seed: int

    def table(self) -> pd.DataFrame:
        """Estimates with the truth beside them."""
        return self.estimates.to_frame().assign(truth=self.truth.to_numpy())


def run_demo(visits: int = VISITS, seed: int = 4, verbose: bool = True) -> Demo:
    """Simulate an emergency-department cohort and estimate its relative prevalences.

    Parameters
    ----------
    visits : int
    seed : int
    verbose : bool
        Show progress on standard error.

    Examples
    --------
    >>> demo = run_demo(visits=20_000, verbose=False)
    >>> demo.table()["group"].tolist()
    ['Group A', 'Group B', 'Group C', 'Group D']
    """
    simulated = ed_visits(visits, n_codes=CODES, prevalence=0.06, seed=seed)
    estimator = PURPLE(random_state=seed, verbose=verbose).fit(simulated.cohort)
    truth = simulated.relative_prevalence().to_frame()["estimate"]
    return Demo(estimator, estimator.relative_prevalence(), truth, seed)
