"""Command line of the simulations: a command per study, and the page."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

import simulations
from relprev.parallel.threads import available_cores
from simulations import (
    atlas,
    bias,
    constants,
    controls,
    coverage,
    deals,
    informed,
    learners,
    null,
    power,
    standardised,
    verdicts,
)
from simulations.page import PAGE, write_page
from simulations.replicates import RESULTS

MODULES = (coverage, power, learners, constants, deals, controls, standardised, atlas, null,
           informed, verdicts, bias)  # fmt: skip
STUDIES = {module.STUDY.name: module.STUDY for module in MODULES}


def command_line() -> ArgumentParser:
    """Commands and options."""
    parser = ArgumentParser(
        prog="python -m simulations", description=simulations.__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for study in STUDIES.values():
        own = commands.add_parser(study.name, help=study.help, description=study.help)
        for option in study.options:
            option.add_to(own)
        own.add_argument(
            "--replicates", type=int, default=study.count,
            help=f"Total number of replicates. Default: {study.count:,}.",
        )  # fmt: skip
        own.add_argument(
            "--processes", type=int, default=available_cores(),
            help="Number of processes. Default: one per core.",
        )  # fmt: skip
        own.add_argument(
            "--out", type=Path, default=RESULTS / f"{study.name}.csv",
            help="CSV file; continued if it exists. "
            f"Default: simulations/results/{study.name}.csv.",
        )  # fmt: skip
    words = "Write the documentation's page from the results files."
    page = commands.add_parser("page", help=words, description=words)
    page.add_argument(
        "--results", type=Path, default=RESULTS,
        help="Folder with the results files. Default: simulations/results.",
    )  # fmt: skip
    page.add_argument(
        "--out", type=Path, default=PAGE,
        help="Markdown file to write. Default: docs/evidence/coverage.md.",
    )  # fmt: skip
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run a command; without one, print the help."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends like Ctrl-C: results are written
    parser = command_line()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
    elif given.command == "page":
        write_page(given.results, given.out)
    else:
        for table in STUDIES[given.command].run(given):
            print(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    main()
