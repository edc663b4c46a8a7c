"""Run a study of all conditions at once: cohorts, scan, follow-up, disclosure, page.

Stages are kept as those of other studies are (`relprev.study.run`): the cohorts, for every group
variable the propensities with all features, then block after block, then what is followed up. A
run that was stopped resumes at the block where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from relprev.atlas.conditions import (
    Block,
    Conditions,
    blocks_of_conditions,
    named_conditions,
    rolled_up,
)
from relprev.atlas.disclosing import VariableAtlas, disclosed_atlas
from relprev.atlas.follow_up import COLUMNS as ROBUST
from relprev.atlas.follow_up import KEYS, follow_up
from relprev.atlas.page import AtlasReport, write_atlas
from relprev.atlas.result import FOLLOWED, SCANNED, Atlas, atlas_of
from relprev.atlas.scan import Scan, Start
from relprev.codes import CodeSet
from relprev.cohort import Cohort
from relprev.cohort.controls import Controls
from relprev.cohort.spec import NO_CONDITION
from relprev.cohort.visit_rules import population
from relprev.disclosure import shown
from relprev.progress import progress
from relprev.store.digests import digest
from relprev.store.modules import source_digest
from relprev.store.stages import Outcome
from relprev.store.versions import versions
from relprev.study.cohorts.contrasts import as_used, reference_group, versus_words
from relprev.study.cohorts.keeping import open_cohort
from relprev.study.run import built_cohorts, prepared, published
from relprev.study.stages.kept import Stages
from relprev.study.stages.variable import described
from relprev.study.study import Study

CODE = ("relprev.atlas.scan", "relprev.atlas.follow_up")  # modules that make the stages
STEPS = 25  # of a group variable, about: propensities and blocks
MOST_FOLLOWED = 30  # conditions of a group variable that are estimated again
FOLLOW_Q = 0.2  # largest q-value against the null of those


@dataclass(frozen=True, repr=False)
class AtlasResult:
    """What was found, and where it was written.

    Parameters
    ----------
    report : AtlasReport
        What may be shown.
    folder : Path or None
        Results folder; None if nothing was written.
    """

    report: AtlasReport
    folder: Path | None = None

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.report.variables)
        return f"<AtlasResult {self.report.title!r}: {names}>"


def run_atlas(
    study: Study, out: str | Path | None = None, *, conditions: Conditions | None = None,
    force: bool = False, verbose: bool = True, client: Any = None,
) -> AtlasResult:  # fmt: skip
    """Scan all conditions of a study's data.

    Parameters
    ----------
    study : Study
        Its condition and controls are not used. Codes are rolled up as the conditions need it,
        unless it says how to roll them up.
    out : path, optional
        Results folder, written whole or not at all. None: nothing is written.
    conditions : "ccsr", "category", "chapter", sequence of str or CodeSet, or mapping, optional
        As in `relprev.atlas.scan_conditions`. Default: what the study says under [atlas].
    force : bool
        Replace results of another study.
    verbose : bool
        Show progress on standard error.
    client : distributed.Client, optional
        Run on this Dask cluster.

    Returns
    -------
    AtlasResult
        What may be shown, and where it was written.
    """
    if conditions is None:
        folder = Path(study.file).parent if study.file else Path()
        conditions = named_conditions(study.atlas.conditions, folder)
    study, scanned = prepared(as_atlas(study, conditions), out, force, client), conditions

    def find(stages: Stages) -> AtlasReport:
        stages.log.info("atlas of %s, relprev %s", study.name, versions()["relprev"])
        cohorts = built_cohorts(study, stages, verbose)
        made = [
            _variable(study, position, cohorts, stages, scanned, client)
            for position in range(len(study.cohort.groups))
        ]
        return _report(study, cohorts, stages, made)

    bar = progress("Atlas", STEPS * len(study.cohort.groups) + 2, verbose)
    return AtlasResult(*published(study, out, force, bar, find, write_atlas, "page"))


def as_atlas(study: Study, conditions: Conditions) -> Study:
    """The study without condition and controls, with codes rolled up unless it says how."""
    features, wanted = study.cohort.features, rolled_up(conditions)
    if features.roll_up == "ccsr" and wanted != "ccsr":
        raise study.error(
            ("features", "roll_up"),
            "got 'ccsr', but in CCSR categories the conditions of this atlas cannot be told apart; "
            f"leave it out, or write roll_up = {wanted!r}",
        )
    features = replace(features, roll_up=features.roll_up or wanted)
    cohort = replace(
        study.cohort, condition=NO_CONDITION, controls=Controls(), features=features, tested=None
    )
    return replace(study, cohort=cohort)


def _variable(
    study: Study, position: int, cohorts: Outcome, stages: Stages, conditions: Conditions,
    client: Any,
) -> tuple[VariableAtlas, list[Block]]:  # fmt: skip
    """The atlas of a group variable, nothing hidden, and its blocks."""
    name = study.cohort.groups[position].name
    about = cohorts.values["variables"][name]
    opened = open_cohort(stages.store.path(about["file"]), client)
    cohort = as_used(opened, study.inference)
    versus = _versus(cohort, name, study)
    blocks = blocks_of_conditions(cohort.feature_names or (), conditions)
    told = _telling(cohort.feature_names or (), study.cohort.groups[position].columns)
    scan = Scan(cohort, study.inference.folds, study.inference.lonely_psu, study.seed, told)
    key = digest(source_digest(*CODE), versions(), about["digest"], asdict(study.inference),
                 study.seed, versus, study.estimate.level, name, told)  # fmt: skip
    kept = stages("propensities", key, partial(_start, scan), of=name)
    start = Start.from_frame(kept.values["strength"], kept.tables["models"])
    tables, counts = [], []
    for block in blocks:
        own = digest(key, block.name, {one: columns.tolist() for one, columns in
                                       block.conditions.items()})  # fmt: skip
        making = partial(_block, scan, block, start, versus)
        found = stages("block", own, making, of=f"{name}, {block.name}")
        tables.append(found.tables["rows"])
        counts.append(found.tables["counts"])
    atlas = atlas_of(tables, study.estimate.level)
    atlas = _followed(atlas, scan, blocks, start, versus, key, stages, name)
    titles = {one.name: one.title for one in conditions if isinstance(one, CodeSet)}
    words = cohorts.values["descriptions"] | titles
    words_of = atlas.table["condition"].map(lambda one: words.get(one) or described(one))
    atlas = replace(atlas, table=atlas.table.assign(description=words_of.astype("str")))
    groups = cohorts.tables[f"groups{position}"]
    columns = [column for column in ("group", "n", "patients") if column in groups]
    return VariableAtlas(name, atlas, groups[columns], pd.concat(counts)), blocks


def _versus(cohort: Cohort, name: str, study: Study) -> str:
    """The study's contrasts; of two groups once, against the reference, not also inverted."""
    reference = reference_group(cohort, name, study.estimate)
    return reference if cohort.n_groups == 2 else versus_words(reference, study.estimate)


def _telling(features: Sequence[str], columns: Sequence[str]) -> tuple[int, ...]:
    """Features made of the columns that tell the groups, which serve other variables."""
    starts = tuple(f"{column}{sign}" for column in columns for sign in "=:")
    return tuple(k for k, name in enumerate(features) if name.startswith(starts))


def _start(scan: Scan) -> Outcome:
    found = scan.start()
    return Outcome({"strength": found.strength}, {"models": found.to_frame()})


def _block(scan: Scan, block: Block, start: Start, versus: str) -> Outcome:
    cases = scan.cases(block)
    rows = scan.table(block, start, versus, cases)
    return Outcome(tables={"rows": rows, "counts": scan.counts(cases)})


def _followed(
    atlas: Atlas, scan: Scan, blocks: Sequence[Block], start: Start, versus: str, key: str,
    stages: Stages, name: str,
) -> Atlas:  # fmt: skip
    """The atlas with doubly robust estimates of the conditions that stand out most."""
    singled = list(dict.fromkeys(atlas.found(FOLLOW_Q)["condition"]))[:MOST_FOLLOWED]
    tables = []
    for block in blocks:
        own = [one for one in singled if one in block.conditions]
        if own:
            making = partial(_follow, scan, block, start, own, versus, atlas.level)
            key_of_these = digest(key, block.name, own)
            found = stages("follow_up", key_of_these, making, of=f"{name}, {block.name}")
            tables.append(found.tables["rows"])
    if not tables:
        return replace(atlas, table=atlas.table.assign(**dict.fromkeys(ROBUST, float("nan"))))
    table = atlas.table.merge(pd.concat(tables), "left", [*KEYS])
    again = table["robust_estimate"].notna() & (table["method"] == SCANNED)
    return replace(atlas, table=table.assign(method=table["method"].mask(again, FOLLOWED)))


def _follow(
    scan: Scan, block: Block, start: Start, own: Sequence[str], versus: str, level: float
) -> Outcome:
    return Outcome(tables={"rows": follow_up(scan, block, start, own, versus, level)})


def _report(
    study: Study,
    cohorts: Outcome,
    stages: Stages,
    made: Sequence[tuple[VariableAtlas, list[Block]]],
) -> AtlasReport:
    rule = study.disclosure
    within = _within(made[0][1])
    inside = [tuple(one) for one in cohorts.values["inside"]]
    variables = disclosed_atlas([one for one, _ in made], rule, within=within, inside=inside)
    said = dict.fromkeys(shown(text, rule) for outcome in stages.outcomes.values()
                         for text in outcome.warnings)  # fmt: skip
    manifest = {
        "versions": versions(), "study": study.described(), "seed": study.seed,
        "data": {"files": study.source.described_files(), "details": cohorts.values["details"]},
        "seconds": {name: round(one.seconds, 2) for name, one in stages.outcomes.items()},
    }  # fmt: skip
    return AtlasReport(
        title=study.report.title or "Atlas of conditions",
        population=study.report.population
        or population("visits", study.cohort.include, study.cohort.exclude),
        source=cohorts.values["source"], variables=variables, level=study.estimate.level,
        rule=rule, warnings=tuple(said), manifest=manifest,
    )  # fmt: skip


def _within(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    """Pairs of conditions of which the first has some of the second's features only."""
    columns = {
        name: frozenset(own.tolist()) for one in blocks for name, own in one.conditions.items()
    }
    held: dict[int, list[str]] = {}
    for name, own in columns.items():
        for column in own:
            held.setdefault(column, []).append(name)
    return [
        (small, large)
        for small, own in columns.items()
        for large in held[min(own)]
        if large != small and own <= columns[large]
    ]
