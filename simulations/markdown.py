"""What sections of the page share: tables, how they were made, scenarios in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import PLUS_MINUS, made_by

WORDS = {
    "two_groups": "two groups",
    "four_groups": "four groups",
    "repeat_patients": "patients with several visits, which are alike",
    "survey": "survey: 15 strata, 180 primary sampling units, unequal weights",
    "few_cases": "about 200 diagnosed in total",
    "interactions": "p(y\\|x) has interactions the model lacks",
    "strong_shift": "symptoms differ strongly between groups",
    "many_codes": "1,000 rare codes in addition to the symptoms",
    "many_codes_few_cases": "the same with few cases",
    "many_codes_same_in_all_groups": "the same, symptoms and codes alike in all groups",
    "presentations": "2,000 codes in presentations, a new world every time",
    "presentations_few_cases": "the same with few cases",
}
BEFORE_ADAPTIVE = "0.1.0"  # the last version whose models were linear
EARLIER = (
    'These cohorts were run before the models became adaptive, with `propensity="ridge"`, '
    '`risk="purple"` and one deal of folds. '
)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; ± does not break."""
    lines = [head, ["---"] * len(head), *rows]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return text.replace(" ± ", PLUS_MINUS)


def made(note: Path) -> str:
    """Command, date and versions of a results file."""
    found: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    return made_by(f"python -m simulations {found['command']}", found)


def earlier(note: Path) -> str:
    """What to know of a table made before the models became adaptive; otherwise nothing."""
    found = json.loads(note.read_text(encoding="utf-8"))
    return EARLIER if found["versions"]["relprev"] == BEFORE_ADAPTIVE else ""
