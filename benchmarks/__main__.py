"""Run benchmarks and write their results.

python -m benchmarks                 all of them (about an hour, 5 GiB of memory, 7 GB of disk)
python -m benchmarks adam neds       some of them
python -m benchmarks --quick         all of them at a tenth of the size
python -m benchmarks --summary       print the tables of the results files
"""

from __future__ import annotations

import argparse
import importlib

from benchmarks import summary
from benchmarks.measure import write_results

NAMES = (
    "accuracy",
    "adam",
    "l1_logistic",
    "neds",
    "debiased",
    "sources",
    "known_truth",
    "study",
    "scale",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer repeats")
    parser.add_argument("--summary", action="store_true", help="print tables of stored results")
    arguments = parser.parse_args()
    if arguments.summary:
        print(summary.tables())
        return
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    for name in arguments.names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        rows = module.run(arguments.quick)
        path = write_results(name, rows, arguments.quick)
        print(f"written to {path}", flush=True)


if __name__ == "__main__":
    main()
