"""A commented study file to start from, for every kind of source."""

from __future__ import annotations

from importlib import resources

from relprev.codes import code_set
from relprev.errors import InvalidInputError
from relprev.settings import suggestion
from relprev.study.source import SOURCES


def study_template(kind: str, condition: str = "ipv") -> str:
    """Text of a study file for a kind of source and a named condition.

    Examples
    --------
    >>> print(study_template("neds").splitlines()[0])
    # A study of relative prevalence in NEDS, the Nationwide Emergency Department Sample.
    """
    if kind not in SOURCES:
        raise InvalidInputError(f"source={kind!r}: {suggestion(kind, list(SOURCES))}")
    code_set(condition)  # fails on an unknown one
    folder = resources.files("relprev") / "data" / "studies"
    head = (folder / f"{kind}.toml").read_text(encoding="utf-8")
    tail = (folder / "options.txt").read_text(encoding="utf-8")
    variable, group = SOURCES[kind].example
    lonely = "adjust" if SOURCES[kind].has_strata else "fail"
    if SOURCES[kind].has_strata:
        tail = tail.replace("defaults.", 'defaults, except lonely_psu (default "fail").')
    words = {"@CONDITION@": condition, "@VARIABLE@": variable, "@GROUP@": group,
             "@LONELY@": lonely}  # fmt: skip
    text = head + tail
    for place, word in words.items():
        text = text.replace(place, word)
    return text
