"""Atlases out of core and on a cluster are those in memory."""

from dataclasses import replace

import pandas as pd
import pytest

from relprev.atlas import Atlas
from relprev.atlas.run import run_atlas
from relprev.cohort.spec import NO_CONDITION
from relprev.study.file.reading import read_study
from tests.atlas.test_run import out, study  # noqa: F401 (fixtures)
from tests.cli.commands import relprev

SAME = 1e-10


def assert_same(found, expected):
    pd.testing.assert_frame_equal(found.table, expected.table, rtol=SAME, atol=0)
    pd.testing.assert_frame_equal(found.nulls, expected.nulls, rtol=SAME, atol=1e-12)


def test_out_of_core(study, out, tmp_path):  # noqa: F811
    loaded = read_study(study, condition=NO_CONDITION)
    parts = replace(loaded.compute, out_of_core=True, rows_per_part=3_001)
    run_atlas(replace(loaded, compute=parts), tmp_path / "atlas", conditions="category",
              verbose=False)  # fmt: skip
    assert_same(Atlas.load(tmp_path / "atlas"), Atlas.load(out))


def test_on_a_cluster(study, out, tmp_path):  # noqa: F811
    distributed = pytest.importorskip("distributed")
    file = study.with_name("parts.toml")
    file.write_text(study.read_text() + "[compute]\nrows_per_part = 5000\n")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        result = relprev(
            "atlas", file, "--out", tmp_path / "atlas", "--conditions", "category", "--quiet",
            "--cluster", cluster.scheduler_address,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert_same(Atlas.load(tmp_path / "atlas"), Atlas.load(out))
