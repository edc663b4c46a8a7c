"""The command atlas: all conditions of a study's data at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from relprev.cli.app import (
    Cluster,
    Dashboard,
    Force,
    Out,
    OutOfCore,
    Quiet,
    Workers,
    app,
    say_warning,
)
from relprev.cli.study import StudyFile, cluster_client


@app.command()
def atlas(
    file: StudyFile,
    out: Out = Path("atlas"),
    conditions: Annotated[
        list[str] | None,
        typer.Option(
            help="'ccsr', 'category' or 'chapter'; or, repeatable, a map of ICD codes to phecodes "
            "(.csv), a code set (name or .toml), or a pattern of the features that are "
            "conditions, such as 'CCS:*'. Default: what the file says under \\[atlas], else 'ccsr'."
        ),
    ] = None,
    force: Force = False,
    out_of_core: OutOfCore = False,
    workers: Workers = None,
    cluster: Cluster = None,
    with_dashboard: Dashboard = False,
    quiet: Quiet = False,
) -> None:
    """Scan every condition in a study's data: which may be missed, in whom?

    Reads the same file as 'relprev run', whose condition, if it has one, is not used. Writes a
    page to search and sort, and the table as CSV and Parquet. A run that was stopped resumes where
    it was. The results do not depend on --out-of-core, --workers or --cluster. Example:

    relprev atlas study.toml --out atlas/
    """
    from relprev.atlas.conditions import named_conditions
    from relprev.atlas.run import run_atlas
    from relprev.cohort.spec import NO_CONDITION
    from relprev.study.file.reading import read_study

    study = read_study(file, condition=NO_CONDITION)
    if out_of_core:
        study = replace(study, compute=replace(study.compute, out_of_core=True))
    wanted = named_conditions(conditions) if conditions else None
    with cluster_client(workers, cluster, with_dashboard) as client:
        result = run_atlas(
            study, out, conditions=wanted, force=force, verbose=not quiet, client=client
        )
    report = result.report
    for one in report.variables:
        table = one.atlas.table
        count, found = table["condition"].nunique(), len(one.atlas.found())
        tested = int(table["null_q_value"].notna().sum())
        typer.echo(
            f"{one.name}: {count:,} condition{'s' * (count != 1)}; {found:,} of {tested:,} "
            "comparisons stand out from the others (q at most 0.05)"
        )
    for text in report.warnings:
        say_warning(text)
    if report.rule.words:
        typer.echo(report.rule.words)
    typer.echo(f"Page: {out / 'atlas.html'}")
