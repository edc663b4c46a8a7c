"""A study file to start from, with comments, for every kind of source."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from relprev.codes import code_set
from relprev.errors import InvalidInputError
from relprev.settings import suggestion
from relprev.sources.kinds import Kind
from relprev.study.file.source import SOURCES

SIGNS = """
# Use signs of the condition (symptoms, findings, injuries); its causes and risk factors do not do.
# Diabetes, Black versus white adults of a survey that measured it: truth 1.69. Corrected with age,
# weight and blood pressure as features 0.93, with the laboratory value that shows it 1.58."""


def study_template(kind: str, condition: str = "ipv") -> str:
    """A commented study file for a kind of source and a named condition.

    Examples
    --------
    >>> print(study_template("neds").splitlines()[0])
    # A study of relative prevalence in NEDS, the Nationwide Emergency Department Sample.
    """
    if kind not in SOURCES:
        raise InvalidInputError(f"source={kind!r}: {suggestion(kind, list(SOURCES))}")
    code_set(condition)  # an unknown one is an error
    folder = resources.files("relprev") / "data" / "studies"
    head = (folder / f"{kind}.toml").read_text(encoding="utf-8")
    tail = (folder / "options.txt").read_text(encoding="utf-8")
    variable, group = SOURCES[kind].example
    lonely = "fail"
    if SOURCES[kind].has_strata:
        lonely = "adjust"
        tail = tail.replace("defaults.", 'defaults, except lonely_psu (default "fail").')
    words = {"@CONDITION@": condition, "@VARIABLE@": variable, "@GROUP@": group,
             "@LONELY@": lonely, "@ROLE@": SOURCES[kind].case_role}  # fmt: skip
    text = _with_kinds(head, SOURCES[kind].kinds) + tail
    for place, word in words.items():
        text = text.replace(place, word)
    return text


def _with_kinds(head: str, kinds: Sequence[Kind]) -> str:
    """The text with comments of [features]: what they should be, and the kinds there are."""
    name, prefix = (max(len(getattr(kind, key)) for kind in kinds) for key in ("name", "prefix"))
    chosen = ", ".join(f'"{kind.name}"' for kind in kinds if kind.default)
    lines = [] if len(kinds) == 1 else [
        f"# kinds = [{chosen}]  # kinds of features; these are used unless you say so. There are:",
        *(f"#   {kind.name:<{name}}  {kind.prefix:<{prefix}}  {kind.words}" for kind in kinds),
    ]  # fmt: skip
    example = next((kind.prefix for kind in kinds if not kind.default), "ICD10")
    lines.append(
        f'# exclude = ["{example}:..."]  # codes of any kind that name the condition itself'
    )
    before, found, after = head.partition("\n[features]\n")
    table, gap, rest = after.partition("\n\n")
    return before + SIGNS + found + "\n".join([table, *lines]) + gap + rest
