"""The application: options that commands share, and how errors end.

Whatever goes wrong, a command ends with one line that says what to do. It never shows a value from
the data: an error that relprev did not raise on purpose is reported by its type and place only.

Modules of commands import what a command needs inside it, so that ``relprev --help`` and a
mistyped option answer at once.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import relprev
from relprev.errors import RelprevError, RelprevWarning
from relprev.messages import message_of

FAILED = 1
MISUSE = 2
SIGNALLED = 128  # plus the signal's number, as shells report it
INTERRUPTED = SIGNALLED + signal.SIGINT
TRACEBACK = "RELPREV_TRACEBACK"
MEMORY = (
    "not enough memory; close other programs, use a machine with more, or keep cohorts on disk: "
    "relprev run --out-of-core"
)

app = typer.Typer(
    name="relprev",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they would show values from the data
    help=(
        "How much more common is an underreported condition in one group than in another? "
        "relprev corrects the ratio of recorded rates for groups being diagnosed at different "
        "rates.\n\n"
        "A study is one file: 'relprev init' writes one, 'relprev check' compares it with the "
        "data, 'relprev run' makes the report. 'relprev demo' shows all of it on simulated data."
    ),
)

_received: list[int] = []  # signals that asked the process to end

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace results of another study in that folder.")
]
OutOfCore = Annotated[
    bool, typer.Option("--out-of-core", help="Keep cohorts on disk, for data larger than memory.")
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Use this many processes on this machine, with cohorts on disk."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Use the Dask cluster whose scheduler has this address, such as "
        "tcp://10.0.0.5:8786. Its workers must be able to read the folder of --out.",
    ),
]
Dashboard = Annotated[
    bool,
    typer.Option(
        "--dashboard",
        help="With --workers, open Dask's dashboard to the users of this machine; needs "
        "relprev\\[dashboard].",
    ),
]


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
    """Say which files were written, and where."""
    typer.echo(f"Written to {paths[0].parent}/: {', '.join(path.name for path in paths)}")


def say_warning(text: object) -> None:
    """One line on standard error."""
    typer.secho(f"warning: {text}", fg="yellow", err=True)


def say_error(text: object) -> None:
    """One line on standard error."""
    typer.secho(f"error: {text}", fg="red", err=True)


def main() -> None:
    """Run the command line; every error ends with one clear line and an exit code.

    0: done; 1: a defect in relprev; 2: something the user can fix; 128 plus the signal's number:
    stopped by Ctrl-C (130) or SIGTERM (143).
    """
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
    except BaseException as error:
        code = _ended(error)
    sys.exit(code if isinstance(code, int) else 0)


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    if issubclass(category, RelprevWarning):
        say_warning(message)


def _terminate(number: int, frame: object) -> None:
    """Clean up as after Ctrl-C."""
    _received.append(number)
    raise KeyboardInterrupt


def _ended(error: BaseException) -> int:
    """Say why the command ended; return the exit code."""
    if isinstance(error, typer.Abort) and error.__cause__ is not None:
        error = error.__cause__  # Ctrl-C, or input that ended at a prompt
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt):
        say_error("stopped; run the same command again to go on where it was")
        return SIGNALLED + _received[-1] if _received else INTERRUPTED
    return _failed(error)


def _failed(error: BaseException) -> int:
    if hasattr(error, "show") and hasattr(error, "exit_code"):  # typer's, about the command
        error.show()
        return int(error.exit_code)
    if isinstance(error, RelprevError):
        for note in getattr(error, "__notes__", ()):  # what was said before may be the reason
            say_warning(note)
        say_error(with_flags(_words(error), _flags(sys.argv[1:])))
        return MISUSE
    if _lacks_memory(error):
        say_error(MEMORY)
        return MISUSE
    if isinstance(error, BrokenPipeError):  # the reader of our output has closed it
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  else Python complains at its end
        return FAILED
    if isinstance(error, OSError):  # full disk, no permission
        from relprev.sources.addresses import shown

        where = f": {shown(str(error.filename))}" if error.filename else ""
        say_error(f"{error.strerror or type(error).__name__}{where}; free space, or check the "
                  "name and who may read and write it")  # fmt: skip
        return MISUSE
    if isinstance(error, EOFError | typer.Abort):
        say_error("an answer is missing; give all options on the command line")
        return MISUSE
    say_error(
        f"relprev {relprev.__version__} failed unexpectedly: {type(error).__name__}"
        f"{_place(error)}. This is a defect of relprev; please report this line. {TRACEBACK}=1 "
        "shows more, which may hold values of your data"
    )
    return FAILED


def _lacks_memory(error: BaseException) -> bool:
    """Whether memory was missing, for data or for a thread that was to work on them."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    words = "can't start new thread|launch worker thread|cannot allocate memory"
    return bool(re.search(words, str(error), re.IGNORECASE))


def _words(error: RelprevError) -> str:
    """An error as anybody may read it."""
    from relprev.disclosure import Rule, shown

    message = message_of(error)
    return str(error) if message is None else shown(message, Rule())


def _place(error: BaseException) -> str:
    """The innermost line of relprev's own source in an error's traceback."""
    root = Path(relprev.__file__).parent
    places = [
        f" at {Path(frame.filename).relative_to(root).as_posix()}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(root)
    ]
    return places[-1] if places else ""


def with_flags(text: str, flags: Mapping[str, str]) -> str:
    """An error message of the library with flags of the command in place of parameters.

    Examples
    --------
    >>> with_flags("results is a file; give another out=", {"out": "--out"})
    'results is a file; give another --out'
    """
    for name, flag in flags.items():
        text = re.sub(rf"(?<![\w.-]){name}=(?=[\s;,.)]|$)", flag, text)
        text = re.sub(rf"(?<![\w.-]){name}=(?=\S)", f"{flag}=", text)
    return text


def _flags(arguments: list[str]) -> dict[str, str]:
    """Flags of the command that the arguments name, by parameter."""
    command: Any = typer.main.get_command(app)
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    flags = {item.name: max(item.opts, key=len) for item in command.params}
    return {name: flag for name, flag in flags.items() if flag.startswith("--")}
