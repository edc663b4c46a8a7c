"""An adversary with all files of a results folder finds no count of 1 to 10 people."""

import re

import numpy as np
import pandas as pd
import pytest

from relprev.disclosure import NOT_SHOWN, Rule
from relprev.report import disclosed, write_report
from relprev.study.compare import KEYS, RATIO, across_runs, compare_runs
from tests.disclosure.adversary import Adversary
from tests.disclosure.populations import SEXES, counts, findings, population

FEWEST = 4.0  # largest less smallest value that must be left for a hidden count


def secrets(at, most=10):
    """Every small count that the results could tell, by the adversary's names.

    Few people, of what is counted and of a group's undiagnosed; few visits, of what else follows
    by subtraction.
    """
    found = {}

    def note(cell, mask):
        counted = cell[1] in "ndu" or (cell[0] == "feature" and cell[2] in "nd")
        if 1 <= (at.people(mask) if counted else mask.sum()) <= most:
            found[cell] = int(mask.sum())

    for name, label in at.groups.items():
        known = label >= 0
        for feature, has in at.features.items():
            here = known & has
            found |= _few_people(("feature", name, feature), at, here, here & at.diagnosed)
        kinds = {"n": known, "d": known & at.diagnosed, "u": known & ~at.diagnosed}
        for kind, among in kinds.items():
            for k, group in enumerate(at.names[name]):
                note((name, kind, group), among & (label == k))
            for feature, has in at.features.items():
                note(("feature", name, kind, feature), among & has)
                note(("without", name, kind, feature), among & ~has)
        note(("drop", name, "visits", "3"), ~known)
        if at.strata is not None:
            found |= _small_strata(at, name, kinds)
        for other, around in at.groups.items():
            for k, whole in enumerate(at.names[other]):
                inside = [g for g in range(len(at.names[name])) if (around[label == g] == k).all()]
                for kind, among in (("n", around >= 0), ("d", (around >= 0) & at.diagnosed)):
                    if other != name and inside:
                        rest = among & (around == k) & ~np.isin(label, inside)
                        note(("rest", name, other, kind, whole), rest)
    for k, gap in enumerate(at.excluded, 1):
        if 1 <= gap <= 10:
            found |= {("drop", name, "visits", str(k)): gap for name in at.groups}
    return found


def _small_strata(at, name, kinds):
    """Few people of a group within a stratum; few visits of it in no stratum."""
    found, label = {}, at.groups[name]
    for k, group in enumerate(at.names[name]):
        for kind, among in kinds.items():
            here = among & (label == k)
            for j, stratum in enumerate(SEXES):
                inside = here & (at.strata == j)
                if 1 <= at.people(inside) <= 10:
                    found["stratum", name, "sex", kind, stratum, group] = int(inside.sum())
            if kind != "u" and 1 <= (outside := int((here & (at.strata < 0)).sum())) <= 10:
                found["no stratum", name, kind, group] = outside
    return found


def _few_people(cell, at, mask, diagnosed):
    """Patients of some visits, those diagnosed in them, and the others, if they are few."""
    if at.patients is None:
        return {}
    every, some = at.people(mask), at.people(diagnosed)
    counts = {"all": every, "diagnosed": some, "never": every - some}
    return {("patients", kind, *cell): n for kind, n in counts.items() if 1 <= n <= 10}


def fifths(report_findings):
    found = {}
    for variable in report_findings.variables:
        (table,) = (check.table for check in variable.checks if check.kind == "calibration")
        for row in table.to_dict("records"):
            for kind, visits, people in (
                ("n", "n", "patients"), ("d", "n_diagnosed", "patients_diagnosed")
            ):  # fmt: skip
                if 1 <= row.get(people, row[visits]) <= 10:
                    cell = ("fifth", variable.name, kind, row["group"], str(row["fifth"]))
                    found[cell] = row[visits]
            if 1 <= row.get("patients", 0) - row.get("patients_diagnosed", 0) <= 10:
                cell = ("fifth", variable.name, row["group"], str(row["fifth"]))
                found["patients", "never", *cell] = row["patients"] - row["patients_diagnosed"]
    return found


def attack(seed, folder, **how):
    at = population(seed, **how)
    found = findings(at, seed)
    write_report(disclosed(found, Rule()), folder, formats=("svg",))
    thief = Adversary(folder, found.inside, at.bins)
    wanted = secrets(at) | fifths(found)
    ranges = thief.ranges(wanted)
    told = {
        cell: (wanted[cell], ends) for cell, ends in ranges.items() if ends[1] - ends[0] < FEWEST
    }
    assert not told, f"seed {seed}"
    for cell, (low, high) in ranges.items():
        assert low - 1e-3 <= wanted[cell] <= high + 1e-3, (
            f"seed {seed}: {cell} is wrong, not hidden"
        )
    assert not thief.order_tells(), f"seed {seed}"
    words = thief.texts()
    for name in at.groups:
        for group, *_, few in counts(at, name):
            if 1 <= few <= 10:
                said = re.findall(rf"{group}: ([\w ]*) diagnosed visit", words)
                assert set(said) <= {"fewer than 11", "a hidden number of"}, f"seed {seed}"
    assert not re.search(r"\b3 of 40\b", words)
    assert "diagnosed patients: 3" not in words
    assert NOT_SHOWN in words
    return len(ranges)


@pytest.mark.parametrize("seed", range(10))
def test_no_small_count_can_be_worked_out(seed, tmp_path):
    attack(seed, tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_no_small_count_can_be_worked_out_of_combinations_of_groups(seed, tmp_path):
    attack(seed, tmp_path, crossed=True)


@pytest.mark.parametrize("seed", range(2))
def test_no_small_count_can_be_worked_out_of_strata(seed, tmp_path):
    attack(seed, tmp_path, stratified=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_small_count_can_be_worked_out_of_strata_and_combinations(seed, tmp_path):
    """The same people are counted in several tables."""
    attack(seed, tmp_path, crossed=True, stratified=True)


@pytest.mark.parametrize("seed", range(4))
def test_no_small_count_can_be_worked_out_of_rounded_ones(seed, tmp_path):
    """OpenSAFELY's rule: up to 7 people are hidden, other counts rounded to multiples of 5."""
    at = population(seed)
    found, rule = findings(at, seed), Rule(threshold=7, round_to=5)
    write_report(disclosed(found, rule), tmp_path, formats=())
    for file in [*tmp_path.glob("*.csv"), *tmp_path.glob("tables/*.csv")]:
        table = pd.read_csv(file)
        for name in {"n", "n_diagnosed", "visits", "patients", "patients_diagnosed"} & set(table):
            counts_shown = pd.to_numeric(table[name], errors="coerce").dropna()
            assert (counts_shown % 5 == 0).all(), file.name
    thief = Adversary(tmp_path, found.inside, at.bins, round_to=5)
    wanted = secrets(at, most=7)
    for cell, (low, high) in thief.ranges(wanted).items():
        assert high - low >= FEWEST, (seed, cell, wanted[cell])
        assert low - 1e-3 <= wanted[cell] <= high + 1e-3, (seed, cell)


def test_comparing_runs_tells_nothing_that_none_of_them_tells(tmp_path):
    """Everything in a comparison is published by a run, or made of estimates and precision."""
    runs = {str(seed): tmp_path / str(seed) for seed in (3, 7, 11)}
    for seed, folder in runs.items():
        found = findings(population(int(seed)), int(seed))
        write_report(disclosed(found, Rule()), folder, formats=())
    table = compare_runs(*runs.values(), names=list(runs))
    own = [name for name in table if name not in (*RATIO, "run", "level")]
    for run, folder in runs.items():
        published = pd.read_csv(folder / "estimates.csv").set_index(KEYS)
        assert published["n_diagnosed"].isna().any()
        part = table.loc[table["run"] == run, own].set_index(KEYS).loc[published.index]
        pd.testing.assert_frame_equal(part, published[part.columns], check_dtype=False)
    made = [name for name in across_runs(table) if name not in KEYS]
    assert made == ["runs", "p_equal", "per_unit", "per_unit_ci_low", "per_unit_ci_high",
                    "p_trend", "p_line"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 200))
def test_no_small_count_can_be_worked_out_of_many(seed, tmp_path):
    attack(seed, tmp_path)


def test_the_adversary_would_find_what_is_not_hidden(tmp_path):
    """Without disclosure control he finds almost every small count.

    Features of few diagnosed people are not listed at all, with or without it.
    """
    at = population(3)
    found = findings(at, 3)
    write_report(disclosed(found, Rule(hide=False)), tmp_path, formats=("svg",))
    thief = Adversary(tmp_path, found.inside, at.bins)
    ranges = thief.ranges(secrets(at))
    found = {cell: high - low < 0.5 for cell, (low, high) in ranges.items()}
    counted = [known for cell, known in found.items() if "feature" not in (cell[0], cell[2])]
    assert len(counted) > 5
    assert np.mean(counted) > 0.9
