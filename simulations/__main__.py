"""Command line of the simulations."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from relprev.parallel.threads import available_cores
from simulations import atlas as atlas_
from simulations import bias as bias_
from simulations import constants as constants_
from simulations import controls as controls_
from simulations import coverage as coverage_
from simulations import deals as deals_
from simulations import informed as informed_
from simulations import learners as learners_
from simulations import null as null_
from simulations import power as power_
from simulations import standardised as standardised_
from simulations import verdicts as verdicts_
from simulations.nonlinear import NONLINEAR
from simulations.page import PAGE, write_page
from simulations.replicates import RESULTS, run_all
from simulations.scenarios import DRIFTS, SCENARIOS, WORLDS

app = typer.Typer(help="Simulations with known truth.", no_args_is_help=True)
Replicates = Annotated[int, typer.Option(help="Total number of replicates.")]
Out = Annotated[Path, typer.Option(help="CSV file; continued if it exists.")]
CORES = available_cores()
Processes = Annotated[int, typer.Option(help="Number of processes.")]


@app.command()
def coverage(
    scenario: Annotated[
        list[str], typer.Option(help=f"One of {', '.join(SCENARIOS | WORLDS)}; repeatable.")
    ] = list(SCENARIOS | WORLDS),  # noqa: B006 (typer copies it)
    replicates: Replicates = 1000,
    processes: Processes = CORES,
    out: Out = RESULTS / "coverage.csv",
) -> None:
    """Coverage of the intervals, bias of the estimates, size of the test."""
    unknown = [name for name in scenario if name not in SCENARIOS | WORLDS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(SCENARIOS | WORLDS)}")
    jobs = [(name, number) for number in range(replicates) for name in scenario]
    command = f"coverage --replicates {replicates}"
    table = run_all(coverage_.replicate, jobs, out, processes, command)
    truths = coverage_.true_ratios(out.with_name("truth.csv"))
    _show(coverage_.summary(table, truths), coverage_.rejections(table))


@app.command()
def power(
    replicates: Replicates = 1000,
    paper_checks: Annotated[int, typer.Option(help="Replicates for the paper's check.")] = 100,
    processes: Processes = CORES,
    out: Out = RESULTS / "power.csv",
) -> None:
    """Size and power of the checks against a diagnosis rate that drifts with risk."""
    jobs = [(name, number) for number in range(replicates) for name in DRIFTS]
    command = f"power --replicates {replicates} --paper-checks {paper_checks}"
    run = partial(power_.replicate, paper_checks=paper_checks)
    _show(power_.summary(run_all(run, jobs, out, processes, command)))


@app.command()
def nonlinear(
    world: Annotated[
        list[str], typer.Option(help=f"One of {', '.join(NONLINEAR)}; repeatable.")
    ] = list(NONLINEAR),  # noqa: B006 (typer copies it)
    replicates: Replicates = 500,
    processes: Processes = CORES,
    out: Out = RESULTS / "nonlinear.csv",
) -> None:
    """Bias and coverage where linear models are wrong, and whether the check of models notices."""
    unknown = [name for name in world if name not in NONLINEAR]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(NONLINEAR)}")
    jobs = [(name, number) for number in range(replicates) for name in world]
    command = f"nonlinear --replicates {replicates}"
    table = run_all(learners_.replicate, jobs, out, processes, command)
    _show(learners_.summary(table, learners_.true_ratios(out.with_name("nonlinear_truth.csv"))))


@app.command()
def constants(
    replicates: Replicates = 100,
    processes: Processes = CORES,
    out: Out = RESULTS / "constants.csv",
) -> None:
    """What other values of the inference's constants would do."""
    jobs = [(name, number) for number in range(replicates) for name in constants_.CONSTANTS]
    table = run_all(
        constants_.replicate, jobs, out, processes, f"constants --replicates {replicates}"
    )
    _show(constants_.summary(table, _all_truths(out.parent)))


@app.command()
def deals(
    replicates: Replicates = 20,
    processes: Processes = CORES,
    out: Out = RESULTS / "deals.csv",
) -> None:
    """How much estimates depend on the deal of folds."""
    jobs = [(name, number) for number in range(replicates) for name in deals_.KINDS]
    command = f"deals --replicates {replicates}"
    _show(deals_.summary(run_all(deals_.replicate, jobs, out, processes, command)))


@app.command()
def controls(
    replicates: Replicates = 200,
    processes: Processes = CORES,
    out: Out = RESULTS / "controls.csv",
) -> None:
    """Coverage of intervals calibrated by control conditions."""
    jobs = [(name, number) for number in range(replicates) for name in controls_.SPREADS]
    command = f"controls --replicates {replicates}"
    _show(controls_.summary(run_all(controls_.replicate, jobs, out, processes, command)))


@app.command()
def standardised(
    replicates: Replicates = 500,
    processes: Processes = CORES,
    out: Out = RESULTS / "standardised.csv",
) -> None:
    """Coverage of intervals of the standardised relative prevalence."""
    jobs = [(standardised_.SCENARIO, number) for number in range(replicates)]
    command = f"standardised --replicates {replicates}"
    _show(standardised_.summary(run_all(standardised_.replicate, jobs, out, processes, command)))


@app.command()
def atlas(
    replicates: Replicates = 40,
    processes: Processes = CORES,
    out: Out = RESULTS / "atlas.csv",
) -> None:
    """False discoveries and power of an atlas of 300 conditions."""
    jobs = [(name, number) for number in range(replicates) for name in atlas_.SCENARIOS]
    command = f"atlas --replicates {replicates}"
    _show(atlas_.summary(run_all(atlas_.replicate, jobs, out, processes, command)))


@app.command()
def null(
    replicates: Replicates = 300,
    processes: Processes = CORES,
    out: Out = RESULTS / "null.csv",
) -> None:
    """Is the empirical null of an atlas right? Estimates drawn at random (a minute)."""
    jobs = [(name, number) for number in range(replicates) for name in null_.WORLDS]
    command = f"null --replicates {replicates}"
    _show(null_.summary(run_all(null_.replicate, jobs, out, processes, command)))


@app.command()
def informed(
    scenario: Annotated[
        list[str], typer.Option(help=f"One of {', '.join(informed_.KINDS)}; repeatable.")
    ] = list(informed_.KINDS),  # noqa: B006 (typer copies it)
    replicates: Replicates = 100,
    processes: Processes = CORES,
    out: Out = RESULTS / "informed.csv",
) -> None:
    """How often estimates are withheld because symptoms say nothing."""
    unknown = [name for name in scenario if name not in informed_.KINDS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(informed_.KINDS)}")
    jobs = [(name, number) for number in range(replicates) for name in scenario]
    some = [] if set(scenario) == set(informed_.KINDS) else scenario
    named = "".join(f"--scenario {name} " for name in some)
    command = f"informed {named}--replicates {replicates}"
    _show(informed_.summary(run_all(informed_.replicate, jobs, out, processes, command)))


@app.command()
def verdicts(
    cases: Annotated[
        list[int], typer.Option(help="About how many are diagnosed; repeatable.")
    ] = list(verdicts_.CASES),  # noqa: B006 (typer copies it)
    replicates: Replicates = 100,
    processes: Processes = CORES,
    out: Out = RESULTS / "verdicts.csv",
) -> None:
    """How often each check says concern, no concern or cannot tell."""
    command = f"verdicts --replicates {replicates}"
    jobs = verdicts_.jobs(replicates, cases)
    _show(verdicts_.summary(run_all(verdicts_.replicate, jobs, out, processes, command)))


@app.command()
def bias(
    nhds: Annotated[
        Path | None, typer.Option(help="Folder of NHDS 2010; without it, artificial codes only.")
    ] = None,
    replicates: Replicates = 20,
    processes: Processes = CORES,
    out: Out = RESULTS / "bias.csv",
) -> None:
    """Bias on code vectors with a simulated condition, compared with PURPLE's."""
    place = None if nhds is None else str(nhds)
    command = f"bias {'--nhds PATH ' if nhds else ''}--replicates {replicates}"
    run = partial(bias_.replicate, nhds=place)
    jobs = bias_.jobs(place, replicates)
    _show(bias_.summary(run_all(run, jobs, out, processes, command)))


@app.command()
def page(
    results: Annotated[Path, typer.Option(help="Folder with the results files.")] = RESULTS,
    out: Annotated[Path, typer.Option(help="Markdown file to write.")] = PAGE,
) -> None:
    """Write the documentation's page from the results files."""
    write_page(results, out)


def _all_truths(folder: Path) -> pd.DataFrame:
    return pd.concat(
        [
            coverage_.true_ratios(folder / "truth.csv"),
            learners_.true_ratios(folder / "nonlinear_truth.csv"),
        ]
    )


def _show(*tables: pd.DataFrame) -> None:
    for table in tables:
        typer.echo(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    app()
