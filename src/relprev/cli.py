"""The command line. Every command is a thin layer over a function of the package."""

from __future__ import annotations

import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import relprev
from relprev.codes import code_set, code_set_names
from relprev.cohort import read_table
from relprev.demo import VISITS, run_demo
from relprev.errors import RelprevError, RelprevWarning
from relprev.experiments import EXPERIMENTS
from relprev.experiments import run as run_experiment
from relprev.inference import DebiasedPURPLE
from relprev.model import PURPLE
from relprev.report import render_text, suppress, write_results
from relprev.simulate.mimic import write_mimic
from relprev.simulate.neds import write_neds

MISUSE = 2
NO_INTERVAL = "PURPLE as published gives no confidence interval; --method debiased does."
INTERVAL = "Intervals are 95% confidence intervals, clustered by patient where one is given."
ASSUMPTIONS = (
    "The estimate holds if nobody is diagnosed wrongly, if diagnosis within a group does not "
    "depend on symptoms, and if the same symptoms mean the same risk in every group."
)

app = typer.Typer(
    name="relprev",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # locals could hold patient data
    help=(
        "How much more common is an underreported condition in one group than in another? "
        "relprev corrects the ratio of recorded rates for groups being diagnosed at different "
        "rates."
    ),
)


class Method(StrEnum):
    """The estimator."""

    purple = "purple"
    debiased = "debiased"


class Variant(StrEnum):
    """Whose definition of the simulated data."""

    paper = "paper"
    published = "published"


class RawFiles(StrEnum):
    """Formats of raw data."""

    neds = "neds"
    mimic = "mimic"


class Selection(StrEnum):
    """How the penalty is chosen."""

    likelihood = "likelihood"
    auc = "auc"
    cv = "cv"


Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for table, figure and settings.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


def _version(show: bool) -> None:
    if show:
        typer.echo(f"relprev {relprev.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Out = Path("demo-output"),
    visits: Annotated[int, typer.Option(min=10_000, help="Number of simulated visits.")] = VISITS,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 4,
    quiet: Quiet = False,
) -> None:
    """Estimate a known relative prevalence from simulated emergency-department visits.

    The simulated condition is underreported, and more so in some groups: recorded rates point
    the wrong way. Prints recorded, corrected and true ratios, and writes table and figure.
    """
    result = run_demo(visits, seed, verbose=not quiet)
    table = result.table()
    title = f"Relative prevalence, {visits:,} simulated visits (seed {seed})"
    typer.echo(render_text(table, title))
    recorded, truth = np.log(table["observed_ratio"]), np.log(table["truth"])
    wrong = table[(recorded * truth < 0) & (abs(recorded) > 0.1) & (abs(truth) > 0.1)]
    for row in wrong.to_dict("records"):
        typer.echo(
            f"{row['group']}: records say {row['observed_ratio']:.2f} times as common as among "
            f"everyone else; corrected for underreporting {row['estimate']:.2f}; "
            f"truth {row['truth']:.2f}."
        )
    run = {
        "command": "demo", "visits": visits, "seed": seed, "lambda": result.estimator.lambda_,
        "certificate": vars(result.estimator.certificate_),
    }  # fmt: skip
    _say_written(write_results(table, out, run, result.truth))


@app.command()
def estimate(
    table: Annotated[
        Path, typer.Argument(help="CSV, Parquet or Feather file with one row a visit.")
    ],
    diagnosed: Annotated[
        str, typer.Option(help="Column: condition recorded? 0/1, true/false or yes/no.")
    ],
    group: Annotated[str, typer.Option(help="Column with the group, for example insurance.")],
    features: Annotated[
        list[str],
        typer.Option(help="Pattern of the symptom columns, such as 'dx_*'. May be repeated."),
    ],
    weight: Annotated[str | None, typer.Option(help="Column with sampling weights.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column with the patient; patients are never split.")
    ] = None,
    versus: Annotated[
        str, typer.Option(help="'complement' (everyone else), 'pairwise' or a group's name.")
    ] = "complement",
    method: Annotated[
        Method,
        typer.Option(help="'purple', as published, or 'debiased', with confidence intervals."),
    ] = Method.purple,
    lambda_: Annotated[
        float | None,
        typer.Option("--lambda", min=0, help="Fixed L1 penalty. Default: chosen on held-out rows."),
    ] = None,
    selection: Annotated[
        Selection,
        typer.Option(help="How 'purple' chooses the penalty; 'auc' is the paper's way."),
    ] = Selection.likelihood,
    seed: Annotated[int, typer.Option(help="Seed of the splits.")] = 0,
    out: Out = Path("relprev-output"),
    show_small_cells: Annotated[
        bool, typer.Option("--show-small-cells", help="Do not hide counts of 1 to 10 people.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Estimate relative prevalences from a table with one row a visit.

    The symptom columns must not contain the codes that define the diagnosis. Example:

    relprev estimate visits.csv --diagnosed ipv --group insurance --features 'dx_*' --cluster
    patient
    """
    cohort = read_table(
        table, diagnosed=diagnosed, group=group, features=features, weight=weight, cluster=cluster
    )
    lambdas: Any = "paper" if lambda_ is None else lambda_
    shared = {"lambdas": lambdas, "random_state": seed, "verbose": not quiet}
    estimator: Any = (
        PURPLE(**shared, selection=selection)
        if method is Method.purple
        else DebiasedPURPLE(**shared)
    )
    frame = estimator.fit(cohort).relative_prevalence(versus).to_frame()
    frame = frame if show_small_cells else suppress(frame)
    typer.echo(render_text(frame, f"Relative prevalence by {group}, {cohort.n:,} visits"))
    if not show_small_cells:
        typer.echo("Counts of 1 to 10 people, and what would reveal them, are hidden (–).")
    typer.echo(NO_INTERVAL if method is Method.purple else INTERVAL)
    typer.echo(ASSUMPTIONS)
    run = {
        "command": "estimate", "table": table.name, "diagnosed": diagnosed, "group": group,
        "features": features, "weight": weight, "cluster": cluster, "versus": versus,
        "method": method.value, "selection": selection.value, "seed": seed,
        "lambda": estimator.lambda_, "small_cells_hidden": not show_small_cells,
    }  # fmt: skip
    if method is Method.purple:
        run["certificate"] = vars(estimator.certificate_)
    _say_written(write_results(frame, out, run))


@app.command()
def reproduce(
    name: Annotated[
        str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}, or 'all' of them.")
    ],
    out: Out = Path("reproduce-output"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small grid: minutes, not hours.")
    ] = False,
    variant: Annotated[
        Variant, typer.Option(help="The paper's text or the authors' published code.")
    ] = Variant.paper,
    data: Annotated[
        str, typer.Option(help="For semisynthetic: simulated, nhds:PATH or mimic:HOSP,ED.")
    ] = "simulated",
    method: Annotated[
        list[str] | None, typer.Option(help="A method to try; may be repeated. Default: all.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Data sets of every scenario. Default: 20, semisynthetic 5."),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(min=1, help="Splits of each data set. Default: 5, semisynthetic 1."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. Default: all cores.")] = None,
    quiet: Quiet = False,
) -> None:
    """Rerun the paper's experiments on simulated truth, with every method beside PURPLE.

    A run that was stopped goes on where it was. Writes results, a table of estimate / truth and
    a figure for each experiment.
    """
    for experiment in EXPERIMENTS if name == "all" else [name]:
        source = data if experiment == "semisynthetic" or name != "all" else "simulated"
        done = run_experiment(
            experiment, out, quick=quick, variant=variant.value, data=source, methods=method,
            seeds=seeds, splits=splits, jobs=jobs, verbose=not quiet,
        )  # fmt: skip
        typer.echo(f"{experiment}: written to {done.folder}")


@app.command()
def codes(
    name: Annotated[str, typer.Argument(help="Name of a code set, or a TOML file.")] = "",
) -> None:
    """Show a named set of diagnosis codes, or the names of all sets.

    Example: relprev codes ipv
    """
    if not name:
        typer.echo("\n".join(code_set_names()))
        return
    for version, code, words in code_set(name).to_rows():
        typer.echo(f"{version:6} {code:10} {words}")


@app.command()
def simulate(
    kind: Annotated[RawFiles, typer.Argument(help="Format of the files.")],
    out: Out = Path("simulated"),
    visits: Annotated[int, typer.Option(min=1000, help="Number of visits.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
) -> None:
    """Write simulated raw data in the official NEDS or MIMIC-IV format, with a known truth."""
    if kind is RawFiles.neds:
        write_neds(out / "NEDS_2019_Core.csv", visits, seed=seed)
    else:
        write_mimic(out, visits, seed=seed)
    typer.echo(f"Written to {out}/")


def _say_written(paths: list[Path]) -> None:
    typer.echo(f"Written to {paths[0].parent}/: {', '.join(path.name for path in paths)}")


def main() -> None:
    """Run the command line; errors of use end with one clear line and exit code 2."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, RelprevWarning):
            typer.secho(f"warning: {message}", fg="yellow", err=True)

    warnings.showwarning = show
    try:
        app()
    except RelprevError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        sys.exit(MISUSE)
