"""Species surveys as cohorts with a known truth: one per species and part of a region.

Rows are surveyed sites, none of which is recorded, and records, all of which are. Records together
weigh ``recorded_share`` of all, so that sites stand for the region. Nothing but the ratio of
records and their environments goes into the estimate, so the share itself does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.arrays import FloatArray
from relprev.cohort import as_cohort
from relprev.errors import InvalidInputError
from relprev.experiments.truth.known import KnownTruth
from relprev.experiments.truth.plan import Methods
from relprev.settings import Declared, parse_settings

PLACE = ("siteid", "spid", "x", "y", "occ", "group")  # columns that are not environment
MISSING = -9999.0
FILES = {"records": "train_po", "sites": "test_env", "found": "test_pa"}


@dataclass(frozen=True)
class Region(Declared):
    """A region of disdat in words."""

    title: str
    species: str


@dataclass(frozen=True)
class Parts(Declared):
    """A coordinate and the names of the parts below and above its median."""

    coordinate: str
    names: tuple[str, str]


@dataclass(frozen=True)
class Environment(Declared):
    """How the environment becomes features."""

    categories: tuple[str, ...]
    bins: int


@dataclass(frozen=True)
class Rules(Declared):
    """Numbers of the plan."""

    least_records: int
    least_found: int
    recorded_share: float
    blocks: int


@dataclass(frozen=True)
class SpeciesPlan(Declared):
    """Everything that is decided before the data are looked at."""

    version: int
    regions: Mapping[str, Region]
    parts: Mapping[str, Parts]
    features: Environment
    rules: Rules
    methods: Methods


def species_plan() -> SpeciesPlan:
    """The plan that comes with relprev.

    Examples
    --------
    >>> list(species_plan().regions), list(species_plan().parts)
    (['NZ', 'SWI', 'CAN'], ['west-east', 'south-north'])
    """
    file = resources.files("relprev") / "data" / "plans" / "species.toml"
    return parse_settings(file.read_text(encoding="utf-8"), SpeciesPlan, "species.toml")


@lru_cache(maxsize=3)
def load_region(folder: str, region: str) -> dict[str, pd.DataFrame]:
    """Records, sites and what surveys found there, of a region of disdat.

    Parameters
    ----------
    folder : str
        Holds R's files ``NZtrain_po.rds`` and so on, as they are in the package disdat.
    region : str
        Such as ``"NZ"``.

    Returns
    -------
    dict of str to DataFrame
        ``records``, one row per record; ``sites`` and ``found``, one row per surveyed site.
    """
    tables = {}
    for name, kind in FILES.items():
        path = Path(folder) / f"{region}{kind}.rds"
        if not path.is_file():
            raise InvalidInputError(
                f"data: there is no file {path.name} in {folder}; copy inst/extdata of the R "
                "package disdat there"
            )
        tables[name] = _read_rds(path)
    if not tables["sites"]["siteid"].equals(tables["found"]["siteid"]):
        raise InvalidInputError(f"{region}: the sites of test_env and test_pa differ")
    return tables


def _read_rds(path: Path) -> pd.DataFrame:
    try:
        import pyreadr
    except ImportError:
        raise InvalidInputError(
            f"{path.name}: R's files need the package pyreadr: pip install relprev[r]"
        ) from None
    try:
        (frame,) = pyreadr.read_r(str(path)).values()
    except Exception:  # on a damaged file the reader may raise anything
        raise InvalidInputError(
            f"{path.name} is not a readable R file; download or copy it again"
        ) from None
    return pd.DataFrame(frame)


def enough(plan: SpeciesPlan, folder: str) -> list[tuple[str, str, str]]:
    """Region, way to cut it and species of every cell with enough records and finds."""
    cells = []
    for region in plan.regions:
        tables = load_region(folder, region)
        for cut, parts in plan.parts.items():
            middle = tables["sites"][parts.coordinate].median()
            sides = {name: tables[name][parts.coordinate] > middle for name in FILES}
            for species in sorted(tables["records"]["spid"].unique()):
                recorded = sides["records"][tables["records"]["spid"] == species]
                found = sides["found"][tables["found"][species] == 1]
                if (
                    _smallest(recorded) >= plan.rules.least_records
                    and _smallest(found) >= plan.rules.least_found
                ):
                    cells.append((region, cut, str(species)))
    return cells


def _smallest(side: pd.Series) -> int:
    return int(min(side.sum(), len(side) - side.sum()))


def species_truth(
    plan: SpeciesPlan, folder: str, region: str, cut: str, species: str
) -> KnownTruth:
    """The cohort of one species in one region, cut in two."""
    tables, parts, rules = load_region(folder, region), plan.parts[cut], plan.rules
    sites = tables["sites"]
    records = tables["records"][tables["records"]["spid"] == species]
    both = pd.concat([sites, records], ignore_index=True)
    environment = [name for name in sites.columns if name not in PLACE]
    X = pd.concat([_features(both[name], sites[name], plan) for name in environment], axis=1)
    is_site = np.arange(len(both)) < len(sites)
    share = rules.recorded_share
    weight = np.where(is_site, (1 - share) / len(sites), share / len(records))
    side = (both[parts.coordinate] > sites[parts.coordinate].median()).to_numpy(dtype=int)
    condition = np.zeros(len(both), dtype=np.uint8)
    condition[is_site] = tables["found"][species].to_numpy(dtype=np.uint8)
    cohort = as_cohort(
        X.to_numpy(dtype=float), (~is_site).astype(np.uint8),
        groups=np.array(parts.names)[side], sample_weight=weight * len(both),
        psus=_blocks(both, rules.blocks), feature_names=list(X.columns),
    )  # fmt: skip
    return KnownTruth(cohort, condition, is_site, *parts.names)


def _features(values: pd.Series, of_sites: pd.Series, plan: SpeciesPlan) -> pd.DataFrame:
    """0/1 columns: one per category but the most common, or per range but the lowest."""
    name, options = str(values.name), plan.features
    if name in options.categories:
        kept = of_sites.value_counts().index[1:]
        columns: dict[str, Any] = {f"{name}={value:g}": values == value for value in sorted(kept)}
    else:
        known = of_sites[of_sites != MISSING]
        quantiles = np.linspace(0, 1, options.bins + 1)[1:-1]
        edges = np.unique(known.quantile(quantiles).to_numpy())
        place = np.searchsorted(edges, values.to_numpy(), side="right")
        columns = {f"{name}:[{edge:g},": place == k + 1 for k, edge in enumerate(edges)}
    frame = pd.DataFrame(columns).astype(float)
    return frame.loc[:, frame.any()]


def _blocks(rows: pd.DataFrame, count: int) -> FloatArray:
    """Number of the block that a row lies in, shape (n,)."""
    place = []
    for name in ("x", "y"):
        low, high = rows[name].min(), rows[name].max()
        scaled = (rows[name] - low) / (high - low) * count
        place.append(np.minimum(scaled.to_numpy().astype(np.int64), count - 1))
    return place[0] * count + place[1]
