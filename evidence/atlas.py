"""Atlases of real data: docs/evidence/atlas.md and the results behind it.

Adults in the National Hospital Discharge Survey, Black and white patients, women and men; and in
the emergency departments of the National Hospital Ambulatory Medical Care Survey. What is kept is
what `relprev atlas` would publish: counts of few people are hidden.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.measure import made_by, seconds, write_note
from matplotlib.figure import Figure
from simulations import atlas as worlds
from simulations import null as drawn
from simulations.replicates import RESULTS as SIMULATED

from evidence.page import DOCS, NOT_RUN, save, table
from evidence.readings import READINGS
from evidence.store import FOLDER
from relprev.atlas.run import run_atlas
from relprev.cohort import CohortSpec, Extra, Features, GroupVariable, Include
from relprev.cohort.spec import NO_CONDITION
from relprev.display import with_interval
from relprev.store.files import written_whole
from relprev.study import InferenceOptions, SourceOptions, Study

AGES = Extra("age", edges=(30, 40, 50, 60, 70, 80))
ADULTS = (Include("age", minimum=18),)
SEX = GroupVariable("sex", recode={"Women": ["F"], "Men": ["M"]})
RACE = {
    "nhds": {"Black": ["Black"], "White": ["White"]},
    "nhamcs": {"Black": ["Black, non-Hispanic"], "White": ["White, non-Hispanic"]},
}
TITLES = {
    "nhds": "Hospital discharges: NHDS 2010",
    "nhamcs": "Emergency departments: NHAMCS 2018 and 2019",
}
CONDITIONS = {"nhds": "ccsr", "nhamcs": "category"}  # NHAMCS cuts codes, which CCSR needs whole
SHOWN = 8  # rows of the tables of what lies farthest out
STANDS_OUT = 0.05
ENOUGH = 40  # worlds of each kind
FARTHEST, HIGHEST = 10.0, 10.0  # of the figure; what lies beyond is drawn on the edge
INTRODUCTION = """\
<!-- Written by `python -m evidence page`; do not edit. -->

# Atlas: which conditions stand out, and why?

An [atlas](../atlas.md) asks of every condition whether groups are recorded at different rates. Two
questions decide what it is worth. Are its discoveries real where the truth is known? And what does
it single out in real data?"""
READ = """\
## What we make of it

**As we read it, hardly any of what stands out is a missed diagnosis.** Breast cancer in men, sickle
cell disease, urinary retention: the condition itself is more common in one group at equal features,
for reasons that other diagnoses do not show. This is the assumption of equal risk broken, and no
check within the data can see it. Conditions in which recording plausibly plays a part (osteoporosis
in men, say) stand beside these and look the same.

**The spread of the null is the message.** Apart from chance, 95% of conditions scatter by a factor
of {low:.2f} to {high:.2f} either way, in every comparison, in two surveys with different codes and
settings. Of a condition taken by itself, a diagnosis-rate ratio within that range says nothing
about recording, however short its interval of chance. The q-values that take the assumptions for
granted call dozens of conditions significant that the null does not.

**Diagnoses are poor signs.** The features here are the other diagnoses, age and sex: causes and
company of a condition more than its signs, which are what the method wants (symptoms, findings,
injuries). Whether data with more signs have a narrower null is what an atlas of them would show.

**Absence is no clearance.** With such a spread, a condition recorded at half the rate in one group
usually does not stand out: see the power in worlds with a spread of 0.3."""


def study(name: str, files: list[Path]) -> Study:
    """The study of a survey, by race and by sex."""
    arguments: Mapping[str, Any] = (
        {"path": str(files[0])} if name == "nhds" else {"paths": [str(file) for file in files]}
    )
    spec = CohortSpec(
        NO_CONDITION, (GroupVariable("race", recode=RACE[name]), SEX), ADULTS,
        Features(min_count=10, extra=(AGES, Extra("sex"))),
    )  # fmt: skip
    return Study(
        SourceOptions(name, arguments), spec, inference=InferenceOptions(lonely_psu="adjust"),
        name=f"atlas-{name}",
    )  # fmt: skip


def run(name: str, files: list[Path], results: Path = FOLDER) -> pd.DataFrame:
    """The atlas of a survey as it may be published; also written to files."""
    took, found = seconds(
        lambda: run_atlas(study(name, files), conditions=CONDITIONS[name], verbose=True)
    )
    folder = results / f"atlas-{name}"
    tables = {}
    for what in ("table", "nulls"):
        frames = [getattr(one.atlas, what).assign(variable=one.name)
                  for one in found.report.variables]  # fmt: skip
        tables[what] = pd.concat(frames, ignore_index=True)
        with written_whole(folder / f"{what}.csv") as path:
            tables[what].to_csv(path, index=False, float_format="%.4g")
    sizes = {one.name: one.groups.set_index("group")["n"].astype(int).to_dict()
             for one in found.report.variables}  # fmt: skip
    write_note(folder / "machine.json", seconds=round(took, 1), visits=sizes)
    return tables["table"]


def write(results: Path = FOLDER, simulations: Path = SIMULATED, docs: Path = DOCS) -> list[Path]:
    """Write the page and its figures; return their paths."""
    with written_whole(docs / "atlas.md") as path:
        path.write_text(text(results, simulations), encoding="utf-8")
    there = [name for name in TITLES if (results / f"atlas-{name}").is_dir()]
    return [docs / "atlas.md",
            *(save(f"atlas-{name}", _figure(results / f"atlas-{name}"), docs) for name in there)
            ]  # fmt: skip


def text(results: Path = FOLDER, simulations: Path = SIMULATED) -> str:
    """The page, from the results files; what was not run says so."""
    parts = [INTRODUCTION, *_worlds(simulations), *_drawn(simulations)]
    for name, title in TITLES.items():
        folder = results / f"atlas-{name}"
        parts += [f"## {title}", _real(name, folder) if folder.is_dir() else NOT_RUN]
    return "\n\n".join([*parts, *_read(results)]) + "\n"


def _read(results: Path) -> list[str]:
    """What we make of the surveys, if all of them are there."""
    files = [results / f"atlas-{name}" / "nulls.csv" for name in TITLES]
    if not all(file.is_file() for file in files):
        return []
    factors = np.exp(1.96 * pd.concat(map(pd.read_csv, files))["spread"])
    return [READ.format(low=factors.min(), high=factors.max())]


def _worlds(results: Path) -> list[str]:
    head = "## Are discoveries real? Simulated worlds"
    if not (results / "atlas.csv").is_file():
        return [head, "*Not run.*"]
    found = worlds.summary(pd.read_csv(results / "atlas.csv"))
    order = {name: k for k, name in enumerate(worlds.SCENARIOS)}
    found = found.sort_values("scenario", key=lambda names: names.map(order))
    body = [
        [
            row["scenario"], f"{row['worlds']:,}", f"{row['spread']:.2f}",
            f"{row['null_fdr']:.1%}", f"{row['null_false']} of {row['null_found_in_all']}",
            *_powers(row, "null"), f"{row['plain_fdr']:.0%}", f"{row['plain_found']:.1f}",
            *_powers(row, "plain"), f"{row['covered']:.1%}",
        ]
        for row in found.to_dict("records")
    ]  # fmt: skip
    columns = ["log α spreads by", "worlds", "spread of the null",
               "against the null: false discoveries", "in all worlds",
               "found of those that differ 1.5-fold", "2-fold",
               "assumptions taken for granted: false discoveries", "found", "1.5-fold", "2-fold",
               "intervals of chance hold α times the ratio of rates"]  # fmt: skip
    about = json.loads((results / "atlas.json").read_text(encoding="utf-8"))
    return [
        head,
        "300 conditions on 30,000 visits, 30 of which are recorded at rates that differ 1.5- or "
        "2-fold between two groups, up or down; in the last row none is. Every condition breaks "
        "the assumption of equal risk at equal features by a factor α of its own, "
        f"log α ~ N({worlds.MEAN}, spread²). Discoveries are conditions with q ≤ "
        f"{worlds.LEVEL:g}; at most that share of them should be false (in the last row: of "
        "worlds with any)." + _few(int(found["worlds"].min())),
        table(columns, body), made_by(f"python -m simulations {about['command']}", about),
    ]  # fmt: skip


def _few(count: int) -> str:
    if count >= ENOUGH:
        return ""
    return (
        f" There are {count} worlds of each kind so far, too few to tell a rate of 5% from one of "
        "10%; the command continues its file."
    )


def _powers(row: Mapping[Any, Any], kind: str) -> list[str]:
    values = (row[f"{kind}_power_{size}"] for size in ("1.5", "2"))
    return ["" if np.isnan(value) else f"{value:.0%}" for value in values]


def _drawn(results: Path) -> list[str]:
    if not (results / "null.csv").is_file():
        return []
    found = drawn.summary(pd.read_csv(results / "null.csv"))
    cells = {(row["scenario"], row["share"]): row for row in found.to_dict("records")}
    body = [
        [name, *(words for share in drawn.SHARES
                 for words in _drawn_cells(cells[name, share]))]
        for name in drawn.WORLDS
    ]  # fmt: skip
    columns = ["world", *(f"{share}: {what}" for share in drawn.SHARES
                          for what in ("spread", "false discoveries", "power"))]  # fmt: skip
    about = json.loads((results / "null.json").read_text(encoding="utf-8"))
    return [
        "### How many lie far out?",
        "The spread of the null is that of conditions that do not differ, so those that do must "
        "not widen it. Their share is estimated; fixed at zero or one in twenty, the null is too "
        f"wide or too narrow. {drawn.CONDITIONS} estimates drawn at random in each of "
        f"{found['worlds'].min():,} worlds, without visits.",
        table(columns, body), made_by(f"python -m simulations {about['command']}", about),
    ]  # fmt: skip


def _drawn_cells(row: Mapping[Any, Any]) -> list[str]:
    power = "" if np.isnan(row["power"]) else f"{row['power']:.0%}"
    return [f"{row['spread']:.3f}", f"{row['fdr']:.1%} ± {row['fdr_se']:.1%}", power]


def _real(name: str, folder: Path) -> str:
    rows, nulls = (pd.read_csv(folder / f"{what}.csv") for what in ("table", "nulls"))
    about = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    parts = [f"![Diagnosis-rate ratios of all conditions](figures/atlas-{name}.svg)"]
    for null in nulls.to_dict("records"):
        own = rows[rows["variable"] == null["variable"]]
        known = own[own["null_q_value"].notna()]
        plain, out = ((known[q] <= STANDS_OUT).sum() for q in ("q_value", "null_q_value"))
        low, high = np.exp(null["centre"] + np.array([-1.96, 1.96]) * null["spread"])
        sizes = about["visits"][null["variable"]]
        parts += [
            f"**{null['group']} versus {null['versus'].lower()}** "
            f"({sizes[null['group']]:,} and {sizes[null['versus']]:,} visits): {len(known):,} "
            f"conditions have an answer. {plain:,} would be significant if the assumptions were "
            f"taken for granted; **{out:,}** stand out from the others. Apart from chance, the "
            f"diagnosis-rate ratios of 95% of conditions lie between {low:.2f} and {high:.2f}. "
            "The farthest out:",
            _farthest(name, known),
        ]
    command = f"python -m evidence atlas {name} FILE{' FILE' if name == 'nhamcs' else ''}"
    time = f"{about['seconds']:.0f} seconds with {about['threads']} thread."
    return "\n\n".join([*parts, f"{made_by(command, about)} {time}"])


def _farthest(name: str, known: pd.DataFrame) -> str:
    rows = known.sort_values("null_p_value", kind="stable").head(SHOWN)
    body = []
    for row in rows.to_dict("records"):
        prefix = "" if np.isnan(row["robust_diagnosis_ratio"]) else "robust_"
        ratio = with_interval(
            *(
                row[f"{prefix}{end}"]
                for end in ("diagnosis_ratio", "diagnosis_ci_low", "diagnosis_ci_high")
            )
        )
        kind, why = READINGS.get((name, row["variable"], row["condition"]), ("", ""))
        q = row["null_q_value"]
        body.append([
            row["description"] or row["condition"],
            f"{row['n_recorded']:,.0f} and {row['n_recorded_versus']:,.0f}",
            f"{row['observed_ratio']:.2f}", ratio,
            f"**{q:.2g}**" if q <= STANDS_OUT else f"{q:.2g}", f"{kind}: {why}" if kind else "",
        ])  # fmt: skip
    return table(["condition", "recorded", "recorded ratio", "diagnosis-rate ratio",
                  "q against the others", "our reading"], body)  # fmt: skip


def _figure(folder: Path) -> Figure:
    """One panel a group variable: how far from the others, against how certain."""
    rows, nulls = (pd.read_csv(folder / f"{what}.csv") for what in ("table", "nulls"))
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    for axes, null in zip(figure.subplots(1, len(nulls)), nulls.to_dict("records"), strict=True):
        own = rows[(rows["variable"] == null["variable"]) & rows["null_p_value"].notna()]
        ratio = own["diagnosis_ratio"].clip(1 / FARTHEST, FARTHEST)
        height = (-np.log10(own["null_p_value"])).clip(upper=HIGHEST)
        out = own["null_q_value"] <= STANDS_OUT
        axes.axvspan(*np.exp(null["centre"] + np.array([-1.96, 1.96]) * null["spread"]),
                     color="0.9", zorder=0)  # fmt: skip
        axes.scatter(ratio, height, 4 + own["effective_cases"] ** 0.5, alpha=0.5,
                     color=np.where(out, "#D55E00", "#0072B2"))  # fmt: skip
        labelled = zip(ratio[out], height[out], own["description"][out], strict=True)
        for k, (x, y, words) in enumerate(sorted(labelled, key=lambda one: -one[1])):
            axes.annotate(
                " ".join(str(words).split(";")[0].split()[:3]), (x, y), fontsize=7,
                xytext=(5 if x < 1 else -5, (1, -7)[k % 2]), textcoords="offset points",
                ha="left" if x < 1 else "right",
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks([1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8], ["1/8", "1/4", "1/2", *"1248"])
        axes.minorticks_off()
        axes.set(xlabel=f"Diagnosis-rate ratio, {null['group']} versus {null['versus'].lower()}",
                 ylabel="-log10 p against the other conditions")  # fmt: skip
    return figure
