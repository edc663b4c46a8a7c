"""A source of simulated visits whose truth is known, to try a study on.

Patients belong to Group A, B, C or D. Their cases are diagnosed at different rates, so the recorded
ratios mislead. Sex and age are unrelated to the condition; they are there for a study's rules to
use. See `relprev.simulate.ed_visits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from relprev.arrays import group_sums
from relprev.cohort import BuiltCohort
from relprev.cohort.summary import summarise
from relprev.errors import InvalidInputError
from relprev.estimates import RelativePrevalence, relative_prevalence
from relprev.sources.database import connect
from relprev.sources.declared import SourceTable
from relprev.sources.source import Source

if TYPE_CHECKING:
    from relprev.simulate import Simulation

VERSION = "SIMULATED"
CONDITION = "CONDITION"  # the code that records the condition
MOST_VISITS, MOST_CODES = 100_000_000, 100_000  # what fits in the memory of a large machine


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SimulatedSource(Source):
    """Visits and codes, and the simulation they come from."""

    simulation: Simulation

    def truth(self, built: BuiltCohort, versus: str) -> RelativePrevalence:
        """True relative prevalences of a cohort built from this source."""
        cohort, k = built.cohort, built.cohort.n_groups
        groups, weights = cohort.groups, cohort.weights
        weight = np.ones(cohort.n) if weights is None else weights
        probability = self.simulation.condition_probability[built.visits]
        condition = group_sums(groups, weight * probability, k) / group_sums(groups, weight, k)
        rate = dict(
            zip(self.simulation.cohort.group_names, self.simulation.diagnosis_rates, strict=True)
        )
        known = set(cohort.group_names) <= set(rate)
        rates = np.array([rate[name] for name in cohort.group_names]) if known else None
        return relative_prevalence(summarise(cohort, condition, rates), versus, method="truth")


def read_simulated(
    visits: int = 100_000,
    *,
    codes: int = 500,
    prevalence: float = 0.06,
    survey: bool = False,
    seed: int = 4,
) -> SimulatedSource:
    """Simulate emergency-department visits.

    Parameters
    ----------
    visits : int
        Number of visits.
    codes : int
        Number of distinct codes.
    prevalence : float
        Share of visits with the condition, recorded or not.
    survey : bool
        Add weights, strata and primary sampling units.

    Returns
    -------
    SimulatedSource
        With attribute group (Group A to D); the condition is recorded as ``SIMULATED:CONDITION``.
    """
    from relprev.simulate import ed_visits

    limits = {"visits": (visits, 1, MOST_VISITS), "codes": (codes, 1, MOST_CODES),
              "seed": (seed, 0, 2**32 - 1)}  # fmt: skip
    for name, (value, least, most) in limits.items():
        if not least <= value <= most:
            raise InvalidInputError(f"{name} must be from {least} to {most:,}, got {value:,}")
    simulation = ed_visits(visits, n_codes=codes, prevalence=prevalence, survey=survey, seed=seed)
    connection = connect()
    for name, table in (("visits", _visits(simulation, seed)), ("codes", _codes(simulation))):
        connection.register("frame", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
        connection.unregister("frame")
    return SimulatedSource("simulated", connection, simulation=simulation)


@dataclass(frozen=True, kw_only=True)
class SimulatedTable(SourceTable):
    """Arguments of a simulated source."""

    words = "simulated visits"
    read = staticmethod(read_simulated)
    example = ("group", "Group B")

    kind: Literal["simulated"]
    visits: Annotated[int | None, Field(description="Number of visits.")] = None
    codes: Annotated[int | None, Field(description="Number of distinct codes.")] = None
    prevalence: Annotated[
        float | None, Field(description="Share of visits with the condition, recorded or not.")
    ] = None
    survey: Annotated[
        bool | None, Field(description="Add weights, strata and primary sampling units.")
    ] = None
    seed: Annotated[int | None, Field(description="Seed of the simulation.")] = None


def _visits(simulation: Simulation, seed: int) -> pa.Table:
    cohort = simulation.cohort
    rng = np.random.default_rng([seed, 1])
    number = np.arange(cohort.n, dtype=np.int64)
    patients = int(np.max(cohort.clusters)) + 1  # type: ignore[arg-type]
    sex = np.array(["F", "M"])[(rng.random(patients) < 0.45).astype(int)]
    age = rng.integers(12, 95, patients)

    def column(values: np.ndarray | None, kind: pa.DataType) -> pa.Array:
        return pa.nulls(cohort.n, kind) if values is None else pa.array(values, kind)

    return pa.table(
        {
            "visit": number,
            "visit_id": number,
            "patient": cohort.clusters,
            "age": pa.array(age[cohort.clusters], pa.int32()),
            "sex": sex[cohort.clusters],
            "weight": column(cohort.weights, pa.float64()),
            "stratum": column(cohort.strata, pa.int64()),
            "psu": column(cohort.psus, pa.int64()),
            "year": pa.array(np.full(cohort.n, 2019), pa.int32()),
            "group": cohort.group_labels,
        }
    )


def _codes(simulation: Simulation) -> pa.Table:
    cohort = simulation.cohort
    X = cohort.X.to_scipy().tocoo()
    diagnosed = np.flatnonzero(cohort.diagnosed)
    names = np.array([f"CODE{j:05d}" for j in range(cohort.X.n_cols)] + [CONDITION])
    number = np.concatenate([X.col, np.full(len(diagnosed), cohort.X.n_cols)])
    visit = np.concatenate([X.row, diagnosed]).astype(np.int64)
    return pa.table(
        {
            "visit": visit,
            "version": pa.array([VERSION]).take(pa.array(np.zeros(len(visit), np.int64))),
            "code": pa.array(names).take(pa.array(number)),
            "role": pa.array(["diagnosis"]).take(pa.array(np.zeros(len(visit), np.int64))),
        }
    )
