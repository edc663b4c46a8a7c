"""Command line of the evidence: add results, write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evidence import page as page_
from evidence import steps as steps_
from evidence import store

app = typer.Typer(help="The paper's evidence as run.", no_args_is_help=True)


@app.command()
def add(
    run: Annotated[str, typer.Argument(help=f"One of {', '.join(store.RUNS)}.")],
    folder: Annotated[Path, typer.Argument(help="Folder that 'relprev reproduce' wrote.")],
) -> None:
    """Keep the results of a run; other methods' results in it stay."""
    typer.echo(f"{run}: {store.add(run, folder):,} rows")


@app.command()
def steps() -> None:
    """Show what PURPLE's curve takes from each group's positives on separable data (a minute)."""
    typer.echo(steps_.run().groupby(["variant", "rate_b"]).mean().round(4).to_string())


@app.command()
def page() -> None:
    """Write docs/evidence/paper.md and its figures."""
    for path in page_.write():
        typer.echo(path)


if __name__ == "__main__":
    app()
