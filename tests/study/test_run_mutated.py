"""Mistakes of every kind: always one of our errors, never a traceback or partial results."""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relprev.errors import RelprevError
from relprev.study import Study
from relprev.study import run as run_module
from tests.corpus.test_bad_inputs import REMEDY
from tests.study.conftest import TABLES, write_tables

STUDY = TABLES.replace('["debiased", "purple"]', '["purple"]').replace('"overlap", ', "")
VALUES = [
    "-1", "0", "1", "1e308", "nan", "inf", "true", '""', '"x"', "[]", "{}", "2020-01-01", "[[]]",
    "1" * 40, '["N", "S"]', "{a = 1}", '"visits.csv"', '"age"', "[1, 2]", '"../nowhere"', '"."',
]  # fmt: skip
RUN = settings(
    deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
JUNK = st.text(st.characters(codec="utf-8"), max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small tables of which everything valid can be estimated in a moment."""
    folder = tmp_path_factory.mktemp("mutations")
    write_tables(folder, visits=600)
    visits = pd.read_csv(folder / "visits.csv")
    visits.to_csv(folder / "visits.csv.gz", index=False)
    visits.to_parquet(folder / "visits.parquet")
    (folder / "pain.toml").write_text(STUDY)
    return folder


@pytest.fixture(autouse=True)
def quick_report(monkeypatch):
    """The report is not what is tested here: one file stands for it."""
    monkeypatch.setattr(
        run_module,
        "write_report",
        lambda report, folder, formats: (folder / "whole").write_text(str(report)),
    )


def _outcome(folder: Path) -> str:
    """Run the study in a folder: "done", or the error's message. Anything else is a bug."""
    out = folder / "results"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Study.from_toml(folder / "pain.toml").run(out, verbose=False)
    except RelprevError as error:
        assert not out.exists(), "partial results"
        return str(error)
    finally:
        work = folder / "results.work"
        shutil.rmtree(work, ignore_errors=True)
    assert (out / "whole").is_file()
    shutil.rmtree(out)
    return "done"


def _require_place_and_remedy(message: str) -> None:
    """A message names the file, where it can the line, and what was expected or what to do."""
    if message == "done":
        return
    for line in message.splitlines():
        if not line.startswith("... and "):
            assert "pain.toml" in line
            assert re.search(r"pain\.toml, line \d+: |line \d+, column|end of document|pain\.toml: "
                             "|not UTF-8", line), line  # fmt: skip
            assert REMEDY.search(line), line


@st.composite
def mutated_study(draw):
    lines = STUDY.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        kind = draw(st.sampled_from(["delete", "twice", "value", "key", "letter", "junk", "swap"]))
        if kind == "delete" and len(lines) > 1:
            del lines[at]
        elif kind == "twice":
            lines.insert(at, line)
        elif kind == "value" and "=" in line:
            lines[at] = f"{line.partition('=')[0]}= {draw(st.sampled_from(VALUES))}"
        elif kind == "key" and "=" in line:
            lines[at] = f"{draw(st.sampled_from(['a', 'column', 'seed', 'x.y']))} ={line}"
        elif kind == "letter" and line:
            where = draw(st.integers(0, len(line) - 1))
            lines[at] = line[:where] + draw(JUNK) + line[where + draw(st.integers(0, 2)) :]
        elif kind == "junk":
            lines.insert(at, draw(JUNK))
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def test_the_study_itself_runs(folder):
    assert _outcome(folder) == "done"


@settings(RUN, max_examples=120)
@given(text=mutated_study())
def test_mutated_study_files_end_in_results_or_in_a_message(folder, text):
    file = folder / "pain.toml"
    file.write_text(text, encoding="utf-8")
    try:
        message = _outcome(folder)
    finally:
        file.write_text(STUDY)
    _require_place_and_remedy(message)


@st.composite
def damage(draw):
    """Name of a file and a function of its bytes; None removes it."""
    name = draw(st.sampled_from(["visits.csv", "codes.csv", "visits.csv.gz", "visits.parquet"]))
    kind = draw(st.sampled_from(["cut", "flip", "empty", "gone", "folder", "bytes", "column",
                                 "line", "quote", "comma"]))  # fmt: skip
    share = draw(st.floats(0, 0.999))
    noise = draw(st.binary(min_size=1, max_size=20))

    def change(content: bytes) -> bytes | None:
        at = int(share * len(content))
        lines = content.split(b"\n")
        row = int(share * len(lines))
        if kind == "column":
            return b"\n".join(b",".join(line.split(b",")[1:]) for line in lines)
        if kind in ("line", "comma"):
            changed = noise if kind == "line" else lines[row].replace(b",", b",,")
            return b"\n".join([*lines[:row], changed, *lines[row + 1 :]])
        return {
            "cut": content[:at], "flip": content[:at] + noise + content[at + len(noise) :],
            "empty": b"", "bytes": noise * 50, "quote": content[:at] + b'"' + content[at:],
        }.get(kind)  # fmt: skip

    return name, kind, change


@settings(RUN, max_examples=50)
@given(damage=damage())
def test_damaged_inputs_end_in_results_or_in_a_message(folder, damage):
    name, kind, change = damage
    file = folder / name
    if name != "codes.csv":
        (folder / "pain.toml").write_text(STUDY.replace("visits.csv", name))
    content = file.read_bytes()
    damaged = change(content)
    file.unlink()
    if damaged is not None:
        file.write_bytes(damaged)
    elif kind == "folder":
        file.mkdir()
    try:
        message = _outcome(folder)
    finally:
        if file.is_dir():
            file.rmdir()
        file.write_bytes(content)
        (folder / "pain.toml").write_text(STUDY)
    _require_place_and_remedy(message)
