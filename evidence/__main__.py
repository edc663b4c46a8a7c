"""Command line of the evidence: add results, write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evidence import atlas as atlas_
from evidence import case_study as case_study_
from evidence import controls as controls_
from evidence import counts as counts_
from evidence import page as page_
from evidence import rerun as rerun_
from evidence import steps as steps_
from evidence import store
from evidence import truth as truth_

Results = Annotated[Path, typer.Option(help="Folder with the results.", show_default="evidence")]
app = typer.Typer(help="The paper's evidence, rerun.", no_args_is_help=True)


@app.command()
def add(
    run: Annotated[str, typer.Argument(help=f"One of {', '.join(store.RUNS)}.")],
    folder: Annotated[Path, typer.Argument(help="Folder written by 'relprev reproduce'.")],
    results: Results = store.FOLDER,
) -> None:
    """Add the results of a run; results of other methods stay."""
    typer.echo(f"{run}: {store.add(run, folder, results):,} rows")


@app.command("add-truth")
def add_truth(
    run: Annotated[str, typer.Argument(help="nhanes or species.")],
    folder: Annotated[Path, typer.Argument(help="Folder written by 'relprev reproduce'.")],
    results: Results = store.FOLDER,
) -> None:
    """Keep the results of a run on real data with a known truth, in place of the earlier ones."""
    typer.echo(f"{run}: {truth_.add(run, folder, results):,} cells")


@app.command()
def truth(
    results: Results = store.FOLDER,
    out: Annotated[
        Path, typer.Option(help="Folder for the pages.", show_default="docs/evidence")
    ] = page_.DOCS,
) -> None:
    """Write docs/evidence/truth.md and species.md, with their figures."""
    for path in truth_.write(results, out):
        typer.echo(path)


@app.command()
def steps(
    data_sets: Annotated[
        int, typer.Option(help="Number of data sets of each kind.")
    ] = steps_.DATA_SETS,
    results: Results = store.FOLDER,
) -> None:
    """Show what PURPLE's curve takes from each group's positives on separable data (a minute)."""
    found = steps_.run(data_sets, results)
    typer.echo(found.groupby(["variant", "rate_b"]).mean().round(4).to_string())


@app.command()
def counts(
    data: Annotated[str, typer.Option(help="nhds:PATH or mimic:PATH (PATH contains hosp).")],
    results: Results = store.FOLDER,
) -> None:
    """Count visits and prevalences of the semi-synthetic settings, to set beside the paper's."""
    typer.echo(counts_.run(data, results).to_string(index=False))


@app.command()
def controls(
    data: Annotated[Path, typer.Option(help="File of NHDS 2010, as NCHS publishes it.")],
    results: Results = store.FOLDER,
) -> None:
    """Estimate conditions that need no correction, in hospital discharges (half a minute)."""
    typer.echo(controls_.run(data, results).to_string(index=False))


@app.command()
def atlas(
    survey: Annotated[str, typer.Argument(help=f"One of {', '.join(atlas_.TITLES)}.")],
    files: Annotated[list[Path], typer.Argument(help="Its files, as NCHS publishes them.")],
    results: Results = store.FOLDER,
) -> None:
    """Scan all conditions of a survey, by race and by sex (minutes)."""
    if survey not in atlas_.TITLES:
        raise typer.BadParameter(f"{survey!r} is none of {', '.join(atlas_.TITLES)}")
    found = atlas_.run(survey, files, results)
    typer.echo(found.sort_values("null_p_value").head(20).to_string(index=False))


@app.command("case-study")
def case_study(
    folders: Annotated[
        list[str], typer.Argument(help="NAME=FOLDER, results folders of 'relprev run'.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
) -> None:
    """Draw Figures 3 and S3 to S6 in the paper's layout, from the results of studies."""
    for path in case_study_.write(case_study_.parse(folders), out):
        typer.echo(path)


@app.command()
def page(
    results: Results = store.FOLDER,
    simulations: Annotated[
        Path, typer.Option(help="Results of simulations.", show_default="simulations/results")
    ] = controls_.SIMULATED,
    out: Annotated[
        Path, typer.Option(help="Folder for the pages.", show_default="docs/evidence")
    ] = page_.DOCS,
) -> None:
    """Write docs/evidence/paper.md, controls.md, atlas.md and their figures."""
    for path in [*page_.write(results, out), *controls_.write(results, simulations, out),
                 *atlas_.write(results, simulations, out)]:  # fmt: skip
        typer.echo(path)


@app.command()
def rerun(
    out: Annotated[Path, typer.Option(help="Folder for everything.")] = Path("evidence-output"),
) -> None:
    """Rerun everything behind the evidence pages at a reduced size, and build the pages from it."""
    rerun_.rerun(out)


if __name__ == "__main__":
    app()
