"""Commands for studies: init, check, schema, run, compare and demo."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relprev.cli.app import (
    MISUSE,
    Cluster,
    Dashboard,
    Force,
    Out,
    OutOfCore,
    Quiet,
    Workers,
    app,
    say_error,
    say_warning,
)
from relprev.cli.choices import DEMO_VISITS, MOST_VISITS, SOURCES
from relprev.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from relprev.study import ConditionsResult, Study, StudyResult
    from relprev.units import Unit

StudyFile = Annotated[Path, typer.Argument(help="The study file, for example study.toml.")]
DEFAULT_SOURCE, DEFAULT_CONDITION = "tables", "ipv"
OWN_CONDITION = ("nhanes", "simulated")  # their conditions are not code sets


@app.command()
def init(
    source: Annotated[str | None, typer.Option(help=f"Kind of data: {', '.join(SOURCES)}.")] = None,
    condition: Annotated[
        str | None, typer.Option(help="Code set ('relprev codes list'), or a .toml file.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "study.toml"
    ),
) -> None:
    """Write a study file to start from, with every setting explained.

    On a terminal it asks for what is not given. Example:

    relprev init --source neds --condition ipv
    """
    from relprev.store.files import written_whole
    from relprev.study.file.template import study_template

    asks = _on_terminal()
    if not source and not asks:
        raise InvalidInputError(f"--source is missing; it is one of {', '.join(SOURCES)}")
    source = source or typer.prompt(f"Kind of data ({', '.join(SOURCES)})", DEFAULT_SOURCE)
    if condition is None and asks and source not in OWN_CONDITION:
        words = "Condition (see 'relprev codes list', or a .toml file)"
        condition = typer.prompt(words, DEFAULT_CONDITION)
    if condition is not None and source in OWN_CONDITION:
        raise InvalidInputError(
            f"--condition is a code set, and {source} data have no codes; leave it out, and name "
            "the condition in the file"
        )
    text = study_template(source, condition or DEFAULT_CONDITION)
    if out.exists():
        raise InvalidInputError(f"{out} exists already; choose another --out")
    with written_whole(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    typer.echo(f"Written: {out}. Fill in the paths under [source], then: relprev check {out}")


@app.command()
def check(file: StudyFile) -> None:
    """Compare a study file with its data, without fitting anything.

    Shows how visits are left out step by step, the groups with their counts (1 to 10 hidden)
    and which codes of the condition occur; names what would stop the study.
    """
    from relprev.study import read_studies

    studies = read_studies(file)
    ready = True
    for study in studies:
        if len(studies) > 1:
            typer.echo(f"\n{study.cohort.condition.name}")
        ready = _say_inspection(study) and ready
    if not ready:
        raise typer.Exit(MISUSE)
    typer.echo(f"Ready: relprev run {file} --out results/")


def _say_inspection(study: Study) -> bool:
    """Print what the data hold for a study, and return whether it can be run."""
    from relprev.disclosure import shown
    from relprev.report import StudyFindings, disclosed
    from relprev.report.tables.comparisons import missing_word
    from relprev.study.inspect import inspect_study

    seen = inspect_study(study)
    found = sum(1 for count in seen.codes.values() if count)
    typer.echo(f"Source: {seen.source}. Codes of the condition that occur: {found} of "
               f"{len(seen.codes)}.")  # fmt: skip
    rule = study.disclosure
    found_so_far = StudyFindings("", "", "", "", seen.variables, {}, inside=seen.inside)
    for variable in disclosed(found_so_far, rule).variables:
        steps = seen.unit.table(variable.attrition[["step", "visits", "patients"]])
        typer.echo(f"\n{variable.name}: {seen.words[variable.name]}")
        gone = missing_word(rule)
        typer.echo(_text(steps.dropna(axis="columns", how="all"), missing=gone))
        typer.echo(_text(seen.unit.table(variable.counts), seen.unit, gone))
    if rule.words:
        typer.echo(rule.words)
    for note in seen.notes:
        say_warning(shown(note, rule))
    for problem in seen.problems:
        say_error(shown(problem, rule))
    return not seen.problems


@app.command()
def schema(
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain every key, as a page of Markdown.")
    ] = False,
) -> None:
    """Print the JSON Schema of study files, for editors that complete and check TOML.

    Example: relprev schema > relprev.schema.json
    """
    from relprev.study import study_schema

    if explain:
        from relprev.study.file.reference import study_reference

        typer.echo(study_reference(), nl=False)
        return
    typer.echo(json.dumps(study_schema(), indent=2))


@app.command()
def run(
    file: StudyFile,
    out: Out = Path("results"),
    force: Force = False,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="More files: svg, png or pdf (figures), html, latex or docx (tables); repeatable.",
        ),
    ] = None,
    out_of_core: OutOfCore = False,
    workers: Workers = None,
    cluster: Cluster = None,
    with_dashboard: Dashboard = False,
    quiet: Quiet = False,
) -> None:
    """Run a whole study: cohort, estimates, checks of the assumptions, report.

    The results folder appears when everything is done. A run that was stopped, at any moment,
    resumes where it was when it is started again; until then its finished parts are in a folder
    beside the results folder whose name ends in .work. The results do not depend on --out-of-core,
    --workers or --cluster. A study of several conditions gets a report that compares them, and a
    folder for each. Example:

    relprev run study.toml --out results/
    """
    from relprev.study import read_studies, run_conditions

    studies = read_studies(file)
    if formats:
        chosen: Any = tuple(formats)
        studies = [replace(one, report=replace(one.report, formats=chosen)) for one in studies]
    if out_of_core:
        kept = replace(studies[0].compute, out_of_core=True)
        studies = [replace(one, compute=kept) for one in studies]
    with cluster_client(workers, cluster, with_dashboard) as client:
        how: dict[str, Any] = {"force": force, "verbose": not quiet, "client": client}
        if len(studies) == 1:
            _say_result(studies[0].run(out, **how))
        else:
            _say_conditions(run_conditions(studies, out, **how))


@app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Results folders of two or more runs.")],
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name of a run, in the order of the folders; years give a trend."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file for the comparison.")
    ] = None,
) -> None:
    """Put the estimates of several runs side by side: ratios of ratios, tests, trend.

    Ratios are over the first run, with intervals and p-values that take the runs as independent.
    If all names are numbers, such as years, the change per unit is tested too. Says whether
    conditions, sources or rules differ, and warns that counts of few people may follow from
    reports that are published together. Example:

    relprev compare results-2018 results-2019 --name 2018 --name 2019 --out comparison.csv
    """
    from relprev.disclosure import DIFFERENCING
    from relprev.report.tables.table import csv_bytes
    from relprev.store.files import written_whole
    from relprev.study.compare import KEYS, across_runs, compare_runs, differences

    names = name or []
    table = compare_runs(*folders, names=names)
    across = across_runs(table)
    for (variable, method), part in table.groupby(["variable", "method"], sort=False):
        typer.echo(f"{variable}, {method}: corrected ratios, and their ratios over the first run")
        typer.echo(_text(_side_by_side(part), missing="none"))
        own = across[(across["variable"] == variable) & (across["method"] == method)]
        if own["p_equal"].notna().any():
            typer.echo(_text(_tests(own), missing="no test"))
    for text in [*differences(*folders, names=names), DIFFERENCING]:
        say_warning(text)
    if out is not None:
        with written_whole(out) as temporary:
            temporary.write_bytes(csv_bytes(table.merge(across, "left", KEYS)))
        typer.echo(f"Written: {out}")


@app.command()
def demo(
    out: Out = Path("demo-output"),
    visits: Annotated[
        int, typer.Option(min=10_000, max=MOST_VISITS, help="Simulated visits.")
    ] = DEMO_VISITS,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the simulation.")] = 4,
    quiet: Quiet = False,
) -> None:
    """Run a whole study on simulated emergency-department visits whose truth is known.

    The simulated condition is underreported, and more so in some groups: recorded rates point
    the wrong way. Prints recorded, corrected and true ratios, and writes the report.
    """
    import numpy as np

    from relprev.study.demo import demo_study

    result = demo_study(visits, seed).run(out, force=True, verbose=not quiet)
    _say_result(result)
    table = result.table("group")
    recorded, truth = np.log(table["observed_ratio"]), np.log(table["truth"])
    wrong = table[(recorded * truth < 0) & (abs(recorded) > 0.1) & (abs(truth) > 0.1)]
    for row in wrong.to_dict("records"):
        typer.echo(
            f"{row['group']}: records say {row['observed_ratio']:.2f} times as common as among "
            f"everyone else; corrected for underreporting {row['estimate']:.2f}; "
            f"truth {row['truth']:.2f}."
        )


@contextmanager
def cluster_client(workers: int | None, address: str | None, with_dashboard: bool) -> Iterator[Any]:
    """A client of the requested cluster, or None; prints the link to its dashboard."""
    from relprev.parallel.cluster import connect, dashboard, local_cluster

    if workers is not None and address is not None:
        raise InvalidInputError("--workers starts a cluster, --cluster uses one; give one of them")
    if workers is None and address is None:
        yield None
        return
    local = local_cluster(workers, with_dashboard=with_dashboard) if workers else None
    with local or connect(str(address)) as client:
        link = dashboard(client)
        if link:
            typer.echo(f"Dask dashboard: {link}", err=True)
        yield client


def _on_terminal() -> bool:
    return sys.stdin.isatty()


def _text(frame: pd.DataFrame, unit: Unit | None = None, missing: str = "") -> str:
    """A whole frame as a table on the terminal, with a word for what is missing."""
    import pandas as pd

    from relprev.display import MISSING, cell, heading
    from relprev.report.tables.terminal import print_table
    from relprev.units import VISIT

    texts = {heading(str(name), unit or VISIT): [cell(value, str(name)) for value in frame[name]]
             for name in frame}  # fmt: skip
    words = pd.DataFrame(texts).replace({MISSING: missing or MISSING})
    return print_table(words).rstrip()


def _say_result(result: StudyResult) -> None:
    """Print every variable's main table, warnings, the verdict and where the report is."""
    from relprev.report import render_text
    from relprev.report.sentences.answers import trust

    report = result.report
    for variable in report.variables:
        method, table = next(iter(variable.estimates.items()))
        title = f"Relative prevalence by {variable.name} ({method})"
        typer.echo(render_text(table, title, report.unit, report.rule))
    for text in report.warnings:
        say_warning(str(text))
    verdict = trust(report)
    typer.echo("\n".join([f"{verdict.heading}.", *(f"- {point}" for point in verdict.points)]))
    if report.rule.words:
        typer.echo(report.rule.words)
    if result.folder is not None:
        typer.echo(f"Report: {result.folder / 'report.html'}")


def _say_conditions(result: ConditionsResult) -> None:
    """Print the comparisons of all conditions, warnings, verdicts and where the report is."""
    from relprev.display import MISSING
    from relprev.estimates import versus_words
    from relprev.report.tables.comparisons import missing_word

    report = result.report
    shown = report.comparisons
    for variable, part in shown.groupby("variable", sort=False):
        typer.echo(f"Relative prevalence by {variable}")
        ratio = _with_intervals(part, ("estimate", "ci_low", "ci_high"))
        ratio = ["none" if one == MISSING else one for one in ratio]
        read = part[["condition", "group", "versus", "observed_ratio", "p_adjusted"]]
        read = read.assign(versus=read["versus"].map(versus_words))
        read.insert(3, "corrected ratio", ratio)
        if (part["note"] != "").any():
            read = read.assign(note=part["note"])
        typer.echo(_text(read, missing=missing_word(report.rule)))
    for text in report.warnings:
        say_warning(text)
    for one, verdict in zip(report.each, report.trust, strict=True):
        typer.echo(f"{one.condition}: {verdict.heading}.")
    if report.rule.words:
        typer.echo(report.rule.words)
    if result.folder is not None:
        typer.echo(f"Report: {result.folder / 'report.html'}")


def _side_by_side(part: pd.DataFrame) -> pd.DataFrame:
    """Contrasts and runs as people read them."""
    import pandas as pd

    from relprev.display import cell
    from relprev.estimates import versus_words

    first = (part["run"] == part["run"].iloc[0]).to_numpy()
    over = pd.Series(_with_intervals(part, ("ratio", "ratio_ci_low", "ratio_ci_high")), part.index)
    return pd.DataFrame({
        "group": part["group"], "versus": part["versus"].map(versus_words), "run": part["run"],
        "corrected ratio": _with_intervals(part, ("estimate", "ci_low", "ci_high")),
        "over the first": over.mask(first, "1 (first)"),
        "p_value": [cell(p, "p_value") for p in part["ratio_p_value"]],
    }).assign(p_value=lambda table: table["p_value"].mask(first, ""))  # fmt: skip


def _tests(across: pd.DataFrame) -> pd.DataFrame:
    """Tests across runs as people read them."""
    import pandas as pd

    from relprev.display import cell
    from relprev.estimates import versus_words

    shown = pd.DataFrame({
        "group": across["group"], "versus": across["versus"].map(versus_words),
        "p, all runs equal": [cell(p, "p_value") for p in across["p_equal"]],
    })  # fmt: skip
    if "per_unit" not in across:
        return shown
    ends = ("per_unit", "per_unit_ci_low", "per_unit_ci_high")
    return shown.assign(**{
        "change per unit": _with_intervals(across, ends),
        "p, no trend": [cell(p, "p_value") for p in across["p_trend"]],
        "p, a line is enough": [cell(p, "p_value") for p in across["p_line"]],
    })  # fmt: skip


def _with_intervals(part: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    from relprev.display import with_interval

    known = [name for name in columns if name in part]
    rows = part[known].to_numpy(dtype=float)
    return [with_interval(*row, *[float("nan")] * (3 - len(known))) for row in rows]
