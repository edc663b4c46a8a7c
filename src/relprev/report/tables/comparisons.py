"""Comparisons as people read them: each once, with the reference group, and why a value is missing.

Files hold every contrast in both directions. A reader wants "women versus men" once, versus the
larger group; the group that others are compared with; and in place of an empty cell the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from relprev.disclosure import Rule
from relprev.estimates import COMPLEMENT, why_missing
from relprev.report.findings import VariableFindings

RATIOS = ("estimate", "observed_ratio", "diagnosis_ratio")
ANALYSED = {"estimate", "observed_ratio", "unadjusted", "rate"}
COUNTS = ("n", "n_diagnosed")
REFERENCE = "1 (reference)"
HIDDEN = "hidden"
Texts = dict[tuple[int, str], str]  # in place of the cell of a row, by its position, and a column


def once(found: VariableFindings) -> VariableFindings:
    """The findings with each comparison once, and everyone else by name where it is one group."""
    estimates = {name: _once(frame, found.counts) for name, frame in found.estimates.items()}
    return replace(found, estimates=estimates)


def _once(frame: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """Of each pair of groups the row versus the larger one; versus the first if none is larger."""
    sizes = counts.set_index(counts["group"].astype(str))["n"].astype(float).fillna(0.0)
    if len(sizes) == 2:
        names = list(sizes.index)
        other = dict(zip(names, names[::-1], strict=True))
        named = frame["group"].astype(str).map(other)
        frame = frame.assign(versus=frame["versus"].where(frame["versus"] != COMPLEMENT, named))
    place = {name: (-size, k) for k, (name, size) in enumerate(sizes.items())}
    pairs = {(row.group, row.versus) for row in frame.itertuples()}
    kept = [
        (row.versus, row.group) not in pairs
        or place.get(row.versus, (0.0, 0)) <= place.get(row.group, (0.0, 0))
        for row in frame.itertuples()
    ]
    return frame[kept].reset_index(drop=True)


def reference_of(frame: pd.DataFrame) -> str | None:
    """The group that all others are compared with, if there is one."""
    others = frame["versus"].unique()
    return str(others[0]) if len(others) == 1 and others[0] != COMPLEMENT else None


def with_absent(frame: pd.DataFrame, found: VariableFindings) -> pd.DataFrame:
    """The rows of a table of estimates, after one of the reference group, before those left out."""
    counts = found.counts.set_index(found.counts["group"].astype(str))
    present = {*frame["group"], *frame["versus"]}
    reference = reference_of(frame)

    def row(group: str, **values: Any) -> dict[str, Any]:
        known = {name: counts[name].get(group) for name in COUNTS if name in counts}
        return {"group": group, "method": "", "note": "", **known, **values}

    rows = [] if reference is None else [
        row(reference, versus=reference, **dict.fromkeys(RATIOS, 1.0))
    ]  # fmt: skip
    rows += frame.to_dict("records")  # type: ignore[arg-type]
    versus = COMPLEMENT if reference is None else reference
    rows += [row(group, versus=versus) for group in found.left_out if group not in present]
    return pd.DataFrame(rows, columns=frame.columns).astype(
        {name: "Int64" for name in COUNTS if name in frame}
    )


def missing_word(rule: Rule | None) -> str:
    """What a count or a recorded ratio that is missing is said to be."""
    return HIDDEN if rule is not None and rule.hide else "not known"


def estimate_texts(frame: pd.DataFrame, found: VariableFindings, rule: Rule) -> Texts:
    """What a table of estimates says in place of missing values and of the reference group's."""
    texts: Texts = {}
    counted = set(found.counts["group"])
    for k, row in enumerate(frame.to_dict("records")):
        if row["group"] == row["versus"]:
            texts |= {(k, name): REFERENCE for name in RATIOS} | {(k, "p_value"): ""}
        elif pd.isna(row["estimate"]):
            why = found.left_out.get(row["group"]) or why_missing(row)
            texts[k, "estimate"] = f"none: {why}" if why else "none"
            texts[k, "p_value"] = ""
        elif pd.isna(row["ci_low"]):
            texts[k, "p_value"] = "no test"
        gone = missing_word(rule)
        if row["group"] in found.left_out and row["group"] not in counted:
            gone = "left out"
        for name in (*COUNTS, *RATIOS[1:], "p_value"):
            if (k, name) not in texts and pd.isna(row.get(name)):
                texts[k, name] = gone
    return texts


def reference_first(frame: pd.DataFrame) -> pd.DataFrame:
    """An analysis with the reference group before the groups compared with it."""
    if "versus" not in frame:
        return frame
    if "stratum" in frame:
        place, compared = pd.factorize(frame["stratum"])[0], (frame["versus"] != "").to_numpy()
        return frame.iloc[np.lexsort((compared, place))]
    reference = reference_of(frame)
    if reference is None:
        return frame
    first = {"group": reference, "versus": ""} | dict.fromkeys(set(frame) & ANALYSED, 1.0)
    return pd.DataFrame([first, *frame.to_dict("records")], columns=frame.columns)


def analysis_texts(frame: pd.DataFrame, columns: Iterable[str], rule: Rule) -> Texts:
    """What the table of an analysis says in place of missing values and of the reference group's.

    Hidden are those of ``columns``, counts and what would reveal them.
    """
    texts: Texts = {}
    hidden = [name for name in columns if name in frame]
    for k, row in enumerate(frame.to_dict("records")):
        why = "" if pd.isna(row.get("note", "")) else str(row.get("note", ""))
        if row.get("versus") == "" and why in ("", "reference"):
            texts |= {(k, name): REFERENCE for name in ANALYSED & set(frame)}
        for name in ANALYSED & set(frame):
            absent = name not in hidden or pd.isna(row.get("unadjusted", 0.0))
            if pd.isna(row[name]) and (why or absent):
                texts.setdefault((k, name), why or "none")
        for name in hidden:
            if pd.isna(row[name]):
                texts.setdefault((k, name), missing_word(rule))
    return texts


def count_texts(frame: pd.DataFrame, columns: Iterable[str], rule: Rule) -> Texts:
    """What a table says in place of hidden counts; a column without any value is not known."""
    counted = [name for name in columns if name in frame and frame[name].notna().any()]
    if not rule.hide:
        return {}
    return {
        (k, name): HIDDEN for name in counted for k, gone in enumerate(frame[name].isna()) if gone
    }
