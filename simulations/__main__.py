"""Command line of the simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from relprev.parallel import available_cores
from simulations import coverage as coverage_
from simulations.replicates import run_all
from simulations.scenarios import SCENARIOS

app = typer.Typer(help="Simulations with known truth.", no_args_is_help=True)
Scenarios = Annotated[list[str], typer.Option(help=f"One of {', '.join(SCENARIOS)}; repeatable.")]
Replicates = Annotated[int, typer.Option(help="Number of replicates in all.")]
Out = Annotated[Path, typer.Option(help="CSV file; continued if it exists.")]
CORES = available_cores()
Processes = Annotated[int, typer.Option(help="Processes to use.")]


@app.command()
def coverage(
    out: Out,
    scenario: Scenarios = list(SCENARIOS),  # noqa: B006 (typer copies it)
    replicates: Replicates = 200,
    processes: Processes = CORES,
) -> None:
    """Coverage of the intervals, bias of the estimates, rejections by the test."""
    jobs = [(name, number) for number in range(replicates) for name in scenario]
    _show(run_all(coverage_.replicate, jobs, out, processes))


@app.command()
def summary(file: Path) -> None:
    """Summarise a results file."""
    _show(pd.read_csv(file))


def _show(table: pd.DataFrame) -> None:
    for part in (coverage_.summary(table), coverage_.rejections(table)):
        typer.echo(part.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    app()
