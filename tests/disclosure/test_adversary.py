"""An adversary with all files of a results folder finds no count of 1 to 10 people."""

import re

import numpy as np
import pytest

from relprev.disclosure import NOT_SHOWN, Rule
from relprev.report import disclosed, write_report
from tests.disclosure.adversary import Adversary
from tests.disclosure.populations import counts, findings, population

FEWEST = 4.0  # largest less smallest value that must be left for a hidden count


def secrets(at):
    """Every small count that the results could tell, by the adversary's names.

    Few people, of what is counted and of a group's undiagnosed; few visits, of what else follows
    by subtraction.
    """
    found = {}

    def note(cell, mask):
        counted = cell[1] in "ndu" or (cell[0] == "feature" and cell[2] in "nd")
        if 1 <= (at.people(mask) if counted else mask.sum()) <= 10:
            found[cell] = int(mask.sum())

    for name, label in at.groups.items():
        known = label >= 0
        kinds = {"n": known, "d": known & at.diagnosed, "u": known & ~at.diagnosed}
        for kind, among in kinds.items():
            for k, group in enumerate(at.names[name]):
                note((name, kind, group), among & (label == k))
            for feature, has in at.features.items():
                note(("feature", name, kind, feature), among & has)
                note(("without", name, kind, feature), among & ~has)
        note(("drop", name, "visits", "3"), ~known)
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
    return found


def attack(seed, folder):
    at = population(seed)
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


@pytest.mark.parametrize("seed", range(30))
def test_no_small_count_can_be_worked_out(seed, tmp_path):
    attack(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30, 200))
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
    counted = [known for cell, known in found.items() if cell[0] != "feature"]
    assert len(counted) > 5
    assert np.mean(counted) > 0.9
