"""Replicates are seeded and resumable."""

import json

import numpy as np
import pandas as pd
from simulations.replicates import run_all, seed_of
from simulations.scenarios import Scenario, draw

SMALL = Scenario(n=3000, intercept=-2.0)


def fake_run(job):
    return [{"scenario": job[0], "replicate": job[1], "value": float(job[1])}]


def test_a_replicate_has_its_own_seed():
    one, two = draw(SMALL, seed_of(("x", 1))), draw(SMALL, seed_of(("x", 1)))
    other = draw(SMALL, seed_of(("x", 2)))
    np.testing.assert_array_equal(one.cohort.diagnosed, two.cohort.diagnosed)
    assert (one.cohort.diagnosed != other.cohort.diagnosed).any()


def test_a_file_is_continued_not_run_again(tmp_path):
    out = tmp_path / "rows.csv"
    run_all(fake_run, [("a", 0), ("a", 1)], out, processes=1, command="first")
    kept = pd.read_csv(out).assign(value=100.0)
    kept.to_csv(out, index=False)
    table = run_all(fake_run, [("a", 0), ("a", 1), ("b", 0)], out, 1, "second")
    assert table["value"].tolist() == [100.0, 100.0, 0.0]
    assert len(pd.read_csv(out)) == 3
    assert json.loads(out.with_suffix(".json").read_text())["command"] == "second"


def test_the_number_of_processes_does_not_matter(tmp_path):
    jobs = [("a", number) for number in range(5)]
    tables = [run_all(fake_run, jobs, tmp_path / f"{count}.csv", count, "x") for count in (1, 2)]
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert len(tables[1]) == 5
