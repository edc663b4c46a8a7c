"""The paper's experiments, code sets, and simulated raw files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from relprev.cli.app import Out, Quiet, app
from relprev.codes import code_set, code_set_names
from relprev.errors import InvalidInputError
from relprev.experiments import EXPERIMENTS
from relprev.experiments import run as run_experiment
from relprev.simulate.mimic import LAYOUTS, write_mimic
from relprev.simulate.neds import write_neds
from relprev.store.files import written_whole
from relprev.study.simulated import MOST_VISITS

codes_app = typer.Typer(no_args_is_help=True, help="Named sets of diagnosis codes.")
app.add_typer(codes_app, name="codes")


class Variant(StrEnum):
    """Whose definition of the simulated data."""

    paper = "paper"
    published = "published"


class RawFiles(StrEnum):
    """Formats of raw data."""

    neds = "neds"
    mimic = "mimic"


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
        str,
        typer.Option(
            help="For semisynthetic: simulated, nhds:PATH or mimic:PATH (PATH contains hosp)."
        ),
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


@codes_app.command("list")
def list_codes() -> None:
    """List the code sets that come with relprev."""
    names = code_set_names()
    width = max(map(len, names))
    for name in names:
        typer.echo(f"{name:{width}}  {code_set(name).title}")


@codes_app.command("show")
def show_codes(
    name: Annotated[str, typer.Argument(help="Name of a code set, or a TOML file.")],
) -> None:
    """Show the codes of a set, with their descriptions.

    Example: relprev codes show ipv
    """
    for version, code, words in code_set(name).to_rows():
        typer.echo(f"{version:6} {code:10} {words}")


@app.command()
def simulate(
    kind: Annotated[RawFiles, typer.Argument(help="Format of the files.")],
    out: Out = Path("simulated"),
    visits: Annotated[
        int, typer.Option(min=1000, max=MOST_VISITS, help="Number of visits.")
    ] = 100_000,
    layout: Annotated[
        str | None,
        typer.Option(help=f"MIMIC-IV's version: {' or '.join(LAYOUTS)}. Default: {LAYOUTS[-1]}."),
    ] = None,
    condition: Annotated[
        str, typer.Option(help="Code set of the condition; others than ipv in NEDS files only.")
    ] = "ipv",
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="The same seed writes the same files.")
    ] = 0,
) -> None:
    """Write simulated raw data in the official NEDS or MIMIC-IV format, with a known truth.

    truth.csv says how common the condition is among women of 18 and more with each value of a
    group variable, over how common it is among all of them. Examples:

    relprev simulate neds --visits 200000 --out raw

    relprev simulate neds --condition endometriosis --out raw

    relprev simulate mimic --layout 1.0 --out raw
    """
    if kind is RawFiles.neds:
        if layout is not None:
            raise InvalidInputError(
                "--layout is for mimic: leave it out; simulated NEDS files are those of 2019"
            )
        file = out / "NEDS_2019_Core.csv"
        truth = dict(write_neds(file, visits, condition=condition, seed=seed).truth)
    elif condition != "ipv":
        raise InvalidInputError(
            "--condition is for neds: leave it out; simulated MIMIC-IV files have ipv"
        )
    else:
        written = write_mimic(out, visits, layout=layout or LAYOUTS[-1], seed=seed)
        truth = {"race": written.truth}
    table = pd.concat([known.to_frame().assign(variable=name) for name, known in truth.items()])
    with written_whole(out / "truth.csv") as temporary:
        table[["variable", "value", "relative_prevalence"]].to_csv(temporary, index=False)
    typer.echo(f"Written to {out}/, with the truth in truth.csv")
