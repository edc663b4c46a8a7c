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
from benchmarks.measure import machine, made_by, seconds
from simulations import atlas as worlds
from simulations import null as drawn
from simulations.replicates import RESULTS as SIMULATED

from evidence.page import DOCS, NOT_RUN, save, table
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
FEWEST, SHOWN = 30, 12  # effective cases, and rows, of the table of what lies farthest out
STANDS_OUT = 0.05


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
    about = machine() | {"seconds": round(took, 1), "visits": sizes}
    with written_whole(folder / "machine.json") as path:
        path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return tables["table"]
