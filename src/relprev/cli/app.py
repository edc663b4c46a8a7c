"""The application: options that commands share, and what happens to errors."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

import relprev
from relprev.errors import RelprevError, RelprevWarning

MISUSE = 2
INTERRUPTED = 130  # as shells report Ctrl-C

app = typer.Typer(
    name="relprev",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # locals could hold patient data
    help=(
        "How much more common is an underreported condition in one group than in another? "
        "relprev corrects the ratio of recorded rates for groups being diagnosed at different "
        "rates.\n\n"
        "A study is one file: 'relprev init' writes one, 'relprev check' compares it with the "
        "data, 'relprev run' makes the report. 'relprev demo' shows all of it on simulated data."
    ),
)

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
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


def say_written(paths: list[Path]) -> None:
    """Say which files were written where."""
    typer.echo(f"Written to {paths[0].parent}/: {', '.join(path.name for path in paths)}")


def say_warning(text: object) -> None:
    """One line on standard error."""
    typer.secho(f"warning: {text}", fg="yellow", err=True)


def main() -> None:
    """Run the command line; errors of use end with clear lines and exit code 2."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, RelprevWarning):
            say_warning(message)

    warnings.showwarning = show
    try:
        app()
    except RelprevError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        sys.exit(MISUSE)
    except OSError as error:  # full disk, no permission: the message names the file
        where = f" ({error.filename})" if error.filename else ""
        typer.secho(f"error: {error.strerror or type(error).__name__}{where}", fg="red", err=True)
        sys.exit(MISUSE)
    except KeyboardInterrupt:
        typer.secho("stopped", fg="red", err=True)
        sys.exit(INTERRUPTED)
