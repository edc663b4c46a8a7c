from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.experiments.truth.species import (
    enough,
    load_region,
    species_plan,
    species_truth,
)

pyreadr = pytest.importorskip("pyreadr")
PLAN = species_plan()


def region(folder: Path, name: str, n: int = 2_000, seed: int = 1) -> None:
    """One common species and one with too few records; the east is searched less."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 100, n), rng.uniform(0, 100, n)
    rain = 50 + x + rng.normal(0, 30, n)
    sites = pd.DataFrame({"group": "tree", "siteid": np.arange(n), "x": x, "y": y, "rain": rain,
                          "calc": rng.integers(0, 2, n)})  # fmt: skip
    found = sites[["group", "siteid", "x", "y"]].copy()
    lives = rng.random(n) < 1 / (1 + np.exp(-(rain - 120) / 20))
    found[f"{name.lower()}01"] = lives.astype(np.int32)
    found[f"{name.lower()}02"] = (rng.random(n) < 0.3).astype(np.int32)
    seen = lives & (rng.random(n) < np.where(x > 50, 0.2, 0.6))
    records = sites[seen].assign(spid=f"{name.lower()}01", occ=1)
    few = sites.iloc[:10].assign(spid=f"{name.lower()}02", occ=1)
    for kind, frame in (
        ("train_po", pd.concat([records, few])), ("test_env", sites), ("test_pa", found),
    ):  # fmt: skip
        pyreadr.write_rds(str(folder / f"{name}{kind}.rds"), frame.reset_index(drop=True))


@pytest.fixture
def folder(tmp_path):
    for name in PLAN.regions:
        region(tmp_path, name)
    return tmp_path


def test_species_with_enough_records_are_the_cells(folder):
    cells = enough(PLAN, str(folder))
    assert cells == [
        (name, cut, f"{name.lower()}01") for name in PLAN.regions for cut in PLAN.parts
    ]


def test_sites_carry_the_truth_and_records_the_cases(folder):
    known = species_truth(PLAN, str(folder), "NZ", "west-east", "nz01")
    cohort = known.cohort
    assert known.known.sum() == 2_000
    assert cohort.diagnosed[known.known].sum() == 0
    assert cohort.diagnosed[~known.known].all()
    weight = cohort.weights[~known.known].sum() / cohort.weights.sum()
    assert weight == pytest.approx(PLAN.rules.recorded_share)
    assert (known.group, known.versus) == ("West", "East")
    west = cohort.groups[known.known] == cohort.group_names.index("West")
    assert known.condition[known.known][west].mean() < known.condition[known.known][~west].mean()
    assert cohort.psus is not None
    assert len(np.unique(cohort.psus)) > 100
    assert [name for name in cohort.feature_names if name.startswith("calc=")] in (
        ["calc=0"], ["calc=1"],
    )  # fmt: skip
    assert sum(name.startswith("rain:") for name in cohort.feature_names) == 4


def test_a_missing_file_is_named(folder):
    (folder / "SWItest_pa.rds").unlink()
    load_region.cache_clear()
    with pytest.raises(InvalidInputError, match=r"no file SWItest_pa.rds.*disdat"):
        enough(PLAN, str(folder))


def test_a_broken_file_is_named(folder):
    (folder / "CANtest_env.rds").write_bytes(b"nothing")
    load_region.cache_clear()
    with pytest.raises(InvalidInputError, match=r"CANtest_env.rds is not a readable R file"):
        enough(PLAN, str(folder))


def test_real_surveys_are_read(real_data):
    cells = enough(PLAN, str(real_data("disdat")))
    assert {region for region, _, _ in cells} == set(PLAN.regions)
    known = species_truth(PLAN, str(real_data("disdat")), *cells[0])
    assert known.known.sum() == 19_120  # surveyed sites of New Zealand
