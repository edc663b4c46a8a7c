"""Run benchmarks and write their results.

python -m benchmarks                 all of them (about two hours, 6 GiB of memory, 20 GB of disk)
python -m benchmarks adam neds       some of them
python -m benchmarks --quick         all of them at a tenth of the size
python -m benchmarks study --full    a whole study at the size of a year of NEDS, too
python -m benchmarks atlas           an atlas, at that size out of core
python -m benchmarks throughput --against 2ae726c
                                     reading raw files, as a ratio to the version at a commit
python -m benchmarks --summary       print the results in three lines, as shown in README
python -m benchmarks --page          write accuracy-and-speed.md and scaling.md in docs/evidence

--out FOLDER keeps results and pages in another folder than benchmarks/results.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks import cost, page, summary
from benchmarks.measure import RESULTS, write_results

NAMES = (
    "accuracy",
    "adam",
    "l1_logistic",
    "dense",
    "before",
    "neds",
    "debiased",
    "checks",
    "sources",
    "throughput",
    "known_truth",
    "full_size",
    "study",
    "scale",
    "omop",
    "atlas",
)


def command_line() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer repeats")
    parser.add_argument("--full", action="store_true", help="the study at national size, too")
    parser.add_argument("--against", metavar="COMMIT", help="of throughput: the older version")
    parser.add_argument("--summary", action="store_true", help="print a summary of stored results")
    parser.add_argument("--page", action="store_true", help="write the documentation's pages")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    return parser


def main() -> None:
    parser = command_line()
    arguments = parser.parse_args()
    if arguments.summary:
        print(summary.in_short(arguments.out))
        return
    if arguments.page:
        print(page.write(arguments.out), cost.write(arguments.out), sep="\n")
        return
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    for name in arguments.names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        options = {"full": True} if arguments.full and name == "study" else {}
        options |= (
            {"against": arguments.against} if arguments.against and name == "throughput" else {}
        )
        rows = module.run(arguments.quick, **options)
        path = write_results(name, rows, arguments.quick, arguments.out)
        print(f"written to {path}", flush=True)


if __name__ == "__main__":
    main()
