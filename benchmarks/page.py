"""The page docs/evidence/accuracy-and-speed.md, from the results files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import summary
from benchmarks.measure import PLUS_MINUS, RESULTS, made_by
from relprev.store.files import written_whole

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "accuracy-and-speed.md"
PLACES: dict[str, tuple[Callable[..., str], tuple[str, ...]]] = {  # table, benchmarks
    "accuracy": (summary.accuracy, ("accuracy",)),
    "known_truth": (summary.known_truth, ("known_truth", "full_size")),
    "speed": (summary.speed, ("adam", "l1_logistic", "dense")),
    "before": (summary.before, ("before",)),
    "national": (summary.national, ("neds",)),
    "debiased": (summary.debiased, ("debiased",)),
    "checks": (summary.checks, ("checks",)),
    "atlas": (summary.atlas, ("atlas",)),
    "raw_files": (summary.raw_files, ("sources",)),
    "warehouse": (summary.warehouse, ("omop",)),
    "whole_study": (summary.whole_study, ("study",)),
}


def write(folder: Path = RESULTS) -> Path:
    """Write the page; beside the results unless they are the repository's own."""
    path = PAGE if folder == RESULTS else folder / PAGE.name
    with written_whole(path) as temporary:
        temporary.write_text(text(folder), encoding="utf-8")
    return path


def text(folder: Path = RESULTS) -> str:
    """The page: template.md with its {{ places }} filled."""
    content = {name: _place(*place, folder) for name, place in PLACES.items()}
    template = (Path(__file__).parent / "template.md").read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\S+) \}\}", lambda place: content[place[1]], template)


def _place(table: Callable[..., str], names: tuple[str, ...], folder: Path) -> str:
    """A table, with the command, date, machine and versions of every benchmark in it."""
    found = {name: summary.load(name, folder) for name in names}
    made = [made_by(f"python -m benchmarks {name}{' --quick' * content.get('quick', False)}",
                    content["machine"]) for name, content in found.items()]  # fmt: skip
    shown = table(*(content["rows"] for content in found.values())).replace(" ± ", PLUS_MINUS)
    return "\n\n".join([shown, *made])
