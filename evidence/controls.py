"""Control conditions in real data: docs/evidence/controls.md and the results behind it.

Adults in the National Hospital Discharge Survey, Black and white patients. The conditions of the
shipped set of inpatient controls are hardly ever missed, so their recorded ratios are the truth;
their codes are not among the features. Each is estimated as it is, and calibrated by the others.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.measure import made_by, write_note
from scipy import stats
from simulations import controls as simulated
from simulations.replicates import RESULTS as SIMULATED

from evidence.page import DOCS, NOT_RUN, save, table
from evidence.store import FOLDER
from relprev import DebiasedPURPLE, calibrate
from relprev.checks import Verdict
from relprev.checks.controls import CHECK, CONDITION, check_controls
from relprev.codes import CodeSet
from relprev.cohort import (
    CohortSpec,
    Controls,
    Extra,
    Features,
    GroupVariable,
    Include,
    build_cohorts,
)
from relprev.messages import Message
from relprev.report.figures.plots import plot_check
from relprev.report.figures.style import off_screen
from relprev.sources import read_nhds
from relprev.store.files import written_whole

RUN = "controls-nhds"
SPEC = CohortSpec(
    CodeSet.of("cancer of the pancreas", ["ICD9:157*"]),
    (GroupVariable("race", recode={"White": ["White"], "Black": ["Black"]}),),
    (Include("age", minimum=18),),
    Features(min_count=10, extra=(Extra("age", edges=(30, 40, 50, 60, 70, 80)), Extra("sex"))),
    controls=Controls(("inpatient",)),
)
INTRODUCTION = """\
<!-- Written by `python -m evidence page`; do not edit. -->

# Control conditions: is the correction right where the truth is known?

A condition that is hardly ever missed needs no correction: its recorded ratio is the truth.
[Control conditions](../controls.md) explains how relprev uses such conditions; this page shows what
they say about relprev."""


def run(data: Path, results: Path = FOLDER) -> pd.DataFrame:
    """One row per control, in order of error, and one for the condition; also written to files."""
    with read_nhds(data) as source:
        cohort = build_cohorts(SPEC, source)["race"].cohort
    found = calibrate(DebiasedPURPLE().fit(cohort), cohort, versus="White", verbose=True)
    (checked,) = check_controls(found)
    for name, rows in ("controls", checked.table), ("calibration", found.to_frame()):
        with written_whole(results / RUN / f"{name}.csv") as path:
            rows.to_csv(path, index=False, float_format="%.5g")
    write_note(results / RUN / "machine.json")
    return checked.table


def write(results: Path = FOLDER, simulations: Path = SIMULATED, docs: Path = DOCS) -> list[Path]:
    """Write the page and its figure; return their paths."""
    with written_whole(docs / "controls.md") as path:
        path.write_text(text(results, simulations), encoding="utf-8")
    if not (results / RUN).is_dir():
        return [docs / "controls.md"]
    rows = pd.read_csv(results / RUN / "controls.csv")
    check = CHECK.result(Verdict.CONCERN, Message("of the page"), rows)
    figure = off_screen(plot_check(check)).figure
    return [docs / "controls.md", save(RUN, figure, docs)]


def text(results: Path = FOLDER, simulations: Path = SIMULATED) -> str:
    """The page, from the results files; what was not run says so."""
    real = _real(results / RUN) if (results / RUN).is_dir() else NOT_RUN
    return (
        "\n\n".join([INTRODUCTION, "## In hospital discharges", real, _worlds(simulations)]) + "\n"
    )


def _real(folder: Path) -> str:
    found = pd.read_csv(folder / "calibration.csv").iloc[0]
    rows = pd.read_csv(folder / "controls.csv")
    rows = rows[rows["control"] != CONDITION]
    body = [
        [
            row["control"], f"{row['n_recorded']:,.0f}", f"{row['auc']:.2f}",
            f"{row['observed_ratio']:.2f}",
            f"{row['observed_ratio'] * row['error']:.2f}",
            f"{row['error']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f})",
            _yes(row["holds"]), f"{row['predicted_low']:.2f} to {row['predicted_high']:.2f}",
            _yes(row["holds_calibrated"]),
        ]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    head = ["control", "recorded", "AUC within groups", "recorded ratio", "corrected ratio",
            "corrected ÷ recorded", "holds 1", "expected from the other controls",
            "holds"]  # fmt: skip
    about = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    return "\n\n".join(
        [
            "National Hospital Discharge Survey 2010, adults, Black versus white patients, all "
            "discharge diagnoses as features but those of the controls. The interval of "
            f"**{found['held']:.0f} of {found['n_controls']:.0f}** controls holds the truth: "
            "chance is not the error here, the assumptions are. On average the correction "
            f"multiplies a ratio that needs none by {found['mean_error']:.2f}, for a single "
            f"condition by anything between {found['mean_error'] / found['band']:.2f} and "
            f"{found['mean_error'] * found['band']:.2f}. Calibrated by the other controls, "
            f"**{found['held_calibrated']:.0f} of {found['n_controls']:.0f}** intervals hold "
            "their truth. How well the features predict a control within groups (AUC) does not say "
            "by itself how far its correction is off: the rank correlation of AUC and |log error| "
            f"is {_together(rows):.2f}.",
            f"![Controls in NHDS 2010](figures/{RUN}.svg)",
            table(head, body),
            made_by("python -m evidence controls --data FILE", about),
        ]
    )


def _together(rows: pd.DataFrame) -> float:
    """Rank correlation of how well controls are predicted and how far they are off."""
    found = stats.spearmanr(rows["auc"], np.abs(np.log(rows["error"])))
    return float(found.statistic)


def _yes(value: object) -> str:
    return "yes" if str(value) == "True" else "**no**"


def _worlds(results: Path) -> str:
    found = simulated.summary(pd.read_csv(results / "controls.csv"))
    body = [
        [
            f"{np.exp(2 * simulated.SPREADS[row['scenario']]):.2f}", f"{row['n_controls']}",
            f"{row['replicates']:,}", f"{row['coverage']:.1%}", f"{row['coverage_calibrated']:.1%}",
            f"{row['longer']:.2f}", f"{row['own']:.1%}", f"{row['leave_one_out']:.1%}",
        ]
        for row in found.to_dict("records")
    ]  # fmt: skip
    head = ["errors of 95% of conditions lie within a factor of", "controls", "worlds",
            "interval holds the truth", "calibrated interval", "its length, times the other's",
            "controls held", "predicted from the others"]  # fmt: skip
    made = json.loads((results / "controls.json").read_text(encoding="utf-8"))
    return "\n\n".join(
        [
            "## In simulated worlds",
            "In every world each condition, that of interest and the controls, breaks the "
            "assumption of equal risk at equal symptoms by a factor of its own: its logarithm is "
            f"normal with mean {simulated.MEAN} and the spread of the first column (two standard "
            "deviations, as a factor either way). Calibrated intervals should hold the truth in "
            "95% of worlds; the others cannot know of the error. A share of "
            f"{found['replicates'].min():,} worlds is itself uncertain by "
            f"{100 * np.sqrt(0.05 * 0.95 / found['replicates'].min()):.1f} points. Without a "
            "spread intervals hold the truth a little too often: an estimated spread is never "
            "below 0, and sometimes above.",
            table(head, body),
            made_by(f"python -m simulations {made['command']}", made),
        ]
    )
