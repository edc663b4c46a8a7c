"""Cohorts written part by part as the source is read are those built in memory, cut up."""

from __future__ import annotations

import multiprocessing
import resource
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import (
    Cohort,
    CohortSpec,
    Extra,
    Features,
    GroupVariable,
    Include,
    build_cohorts,
    cohort_spec,
)
from relprev.cohort.cohort import ROW_FIELDS
from relprev.cohort.part_files import verify_parts
from relprev.errors import DataWarning, InvalidInputError
from relprev.parallel import threads
from relprev.simulate.mimic import write_mimic
from relprev.simulate.neds import write_neds
from relprev.sources import read_mimic, read_neds, read_tables

AGE = Extra("age", (35, 50, 65))


def assert_same(whole, written, rows_per_part):
    """All cohorts of a study, in memory and in parts."""
    assert list(whole) == list(written)
    for name, built in written.items():
        one, other = whole[name].cohort, built.cohort
        assert isinstance(other, Cohort)
        assert other.n == one.n
        assert max(other.sizes) <= rows_per_part
        together = other.collected()
        assert together.group_names == one.group_names
        assert together.feature_names == one.feature_names
        for field in ROW_FIELDS:
            expected, found = getattr(one, field), getattr(together, field)
            if expected is None:
                assert found is None
            else:
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
        for field, values in one.X.to_arrays().items():
            np.testing.assert_array_equal(together.X.to_arrays()[field], values)
        assert built.attrition == whole[name].attrition
        assert built.left_out == whole[name].left_out
        np.testing.assert_array_equal(built.visits, whole[name].visits)


def test_neds(tmp_path):
    written = write_neds(tmp_path / "NEDS_2019_Core.csv", 40_000, n_codes=300, seed=2)
    source = read_neds(written.path, cache=tmp_path / "cache")
    spec = replace(
        cohort_spec("ipv-neds"), features=Features(min_count=20, extra=(AGE, Extra("payer")))
    )
    parts = build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=4_999)
    assert_same(build_cohorts(spec, source), parts, 4_999)
    assert len(parts["race"].cohort.sizes) == 4
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {
        f"cohort-{k}" for k in range(4)
    }
    verify_parts(tmp_path / "parts" / "cohort-3")


def test_mimic(tmp_path):
    files = write_mimic(tmp_path, 6_000, n_codes=150, prevalence=0.2, seed=1)
    source = read_mimic(files.hosp, files.ed)
    spec = cohort_spec("ipv-mimic")
    parts = build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=500)
    assert_same(build_cohorts(spec, source), parts, 500)


@pytest.mark.parametrize("without_codes", ["drop", "keep"])
@pytest.mark.parametrize("rows", [1, 7, 100, 100_000])
def test_tables(rows, without_codes, tmp_path):
    """Patients in all parts, parts without a visit of a group, a small group, text as labels."""
    rng = np.random.default_rng(0)
    n = 400
    ward = np.where(np.arange(n) < 200, "early", rng.choice(["late", "rare"], n, p=[0.97, 0.03]))
    visits = pd.DataFrame({
        "id": rng.permutation(n), "who": [f"p{k}" for k in rng.integers(0, 90, n)],
        "age": rng.integers(10, 90, n), "sex": rng.choice(["F", "M"], n), "ward": ward,
        "w": rng.random(n) + 0.5, "st": rng.choice(["s", "t"], n), "ps": rng.integers(0, 20, n),
    })  # fmt: skip
    codes = pd.DataFrame({"id": rng.integers(0, n, 900), "version": "10",
                          "code": [f"R{k:02d}" for k in rng.integers(0, 40, 900)]})  # fmt: skip
    source = read_tables(
        visits, codes, visit_id="id", code="code", version="version", patient="who", age="age",
        sex="sex", weight="w", stratum="st", psu="ps", attributes=["ward"],
    )  # fmt: skip
    spec = CohortSpec(
        CodeSet.of("it", ["ICD10:R00", "ICD10:R01"]),
        (GroupVariable("ward", minimum_size=30), GroupVariable("sex")),
        (Include("age", minimum=18),),
        Features(min_count=3, extra=(AGE, Extra("sex"))),
        without_codes,
    )
    with pytest.warns(DataWarning, match="rare"):
        whole = build_cohorts(spec, source)
    with pytest.warns(DataWarning, match="rare"):
        parts = build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=rows)
    assert_same(whole, parts, rows)


def some_visits():
    visits = pd.DataFrame({"id": range(60), "ward": ["a", "b"] * 30})
    codes = pd.DataFrame({"id": range(60), "version": "10", "code": ["R52", "R51", "R11"] * 20})
    source = read_tables(
        visits, codes, visit_id="id", code="code", version="version", attributes=["ward"]
    )
    return source, CohortSpec(CodeSet.of("pain", ["ICD10:R52"]), (GroupVariable("ward"),))


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    source, spec = some_visits()
    from relprev.cohort import part_files

    write = part_files._write_part

    def stop_at_the_second(cohort, path):
        write(cohort, path)
        if path.name == "part-00001.arrow":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(part_files, "_write_part", stop_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=10)
    assert list((tmp_path / "parts").iterdir()) == []
    built = build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=10)
    assert len(built["ward"].cohort.sizes) == 6
    with pytest.raises(InvalidInputError, match="cohort-0 exists"):
        build_cohorts(spec, source, folder=tmp_path / "parts")


def test_only_the_owner_can_read_the_parts(tmp_path):
    source, spec = some_visits()
    build_cohorts(spec, source, folder=tmp_path / "parts")
    for folder in (tmp_path / "parts", tmp_path / "parts" / "cohort-0"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_settings_that_make_no_sense_are_refused(tmp_path):
    source, spec = some_visits()
    with pytest.raises(InvalidInputError, match=r"keep_ids .* never written"):
        build_cohorts(spec, source, folder=tmp_path, keep_ids=True)
    with pytest.raises(InvalidInputError, match="rows_per_part must be 1 or more, got 0"):
        build_cohorts(spec, source, folder=tmp_path, rows_per_part=0)


def test_everybody_diagnosed_is_a_clear_error():
    source, spec = some_visits()
    both = replace(
        spec, condition=CodeSet.of("all", ["ICD10:R*"]), features=Features(extra=(Extra("ward"),))
    )
    with pytest.raises(InvalidInputError, match="all visits of the ward cohort have a code of"):
        build_cohorts(both, source)


def _with_few_files(folder):
    """Open more parts than the process may have files open."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    opened = Cohort.open(folder)
    taken = opened.take(np.arange(0, opened.n, 2))
    assert taken.n == 30


def test_more_parts_than_open_files(tmp_path):
    source, spec = some_visits()
    build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=1)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_with_few_files, args=(tmp_path / "parts" / "cohort-0",))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_many_row_groups_and_threads_keep_the_order(tmp_path, monkeypatch):
    """DuckDB reads groups of 122,880 rows on several threads."""
    monkeypatch.setattr(threads, "DEFAULT", 4)
    n = 500_000
    number = np.arange(n)
    visits = pd.DataFrame({"id": number, "w": number + 1.0, "ward": np.tile(["a", "b"], n // 2)})
    codes = pd.DataFrame({"id": number, "code": np.where(number % 7, "R51", "R52")})
    source = read_tables(
        visits, codes, visit_id="id", weight="w", code="code", version="ICD10", attributes=["ward"]
    )
    spec = CohortSpec(CodeSet.of("pain", ["ICD10:R52"]), (GroupVariable("ward"),))
    whole = build_cohorts(spec, source)
    np.testing.assert_array_equal(whole["ward"].cohort.weights, visits["w"])
    parts = build_cohorts(spec, source, folder=tmp_path / "parts", rows_per_part=130_000)
    assert_same(whole, parts, 130_000)
