"""Bad inputs of every kind: a clear line, exit code 2, no traceback, no hang, no value shown."""

from __future__ import annotations

import re
import signal
import sys
import tomllib
import warnings
from pathlib import Path

import pandas as pd
import pytest

from relprev.cli import main
from tests.study.conftest import TABLES, write_tables

CORPUS = tomllib.loads(Path(__file__).with_name("bad_inputs.toml").read_text(encoding="utf-8"))
SECONDS = 60
SECRET = "sEcret9"
SENTINEL = "Xq7sentinel"  # a value in a table of patients
RUN = ["run", "pain.toml", "--out", "results", "--quiet"]
REMEDY = re.compile(
    r"did you mean|available: |there (is|are|was) |it should be|it holds|must |expected|give "
    r"|choose |write |check |remove |this key is missing|nested too deeply|not valid TOML|Usage|Try "
    r"|compare |merge |drop |run the study|unpack|rename|missing|needed|lacks|has no |is not |exists"
    r"|other columns|needs |is empty|leave (it|them) out|is it |is left|it should have"
    r"|requires |groups are"
)
PLACES = {
    "database": 'kind = "omop"\ndatabase = {}',
    "database in a list": 'kind = "omop"\ndatabase = [{}]',
    "visits": 'kind = "tables"\nvisits = {}\nvisit_id = "v"\ncode = "c"\nversion = "ICD10"',
    "codes": 'kind = "tables"\nvisits = "visits.csv"\ncodes = {}\nvisit_id = "visit"\n'
    'code = "code"\nversion = "ICD10"',
    "core": 'kind = "neds"\ncore = [{}]',
    "kind": "kind = {}",
    "patient": 'kind = "tables"\nvisits = "visits.csv"\nvisit_id = "visit"\ncode = ["sex"]\n'
    'version = "ICD10"\npatient = {}',
    "key": 'kind = "omop"\n{} = 1',
    "table": 'kind = "omop"\ndatabase = {{a = {}}}',
}


class Hang(BaseException):
    """It took too long."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Small tables, made once; every test has a copy."""
    folder = tmp_path_factory.mktemp("data")
    write_tables(folder, visits=600)
    n = 200
    table = pd.DataFrame({"dx_0": [0, 1] * (n // 2), "dx_1": [0, 0, 1, 1] * (n // 4)})
    table = table.assign(
        ipv=[0, 0, 1, 0, 1] * (n // 5), payer=["public", "private"] * (n // 2), never=0, minus=-1,
        patient=range(n), note=SENTINEL, alone="one", gaps=[None, "a"] * (n // 2),
    )  # fmt: skip
    table.to_csv(folder / "table.csv", index=False)
    (folder / "empty.csv").write_text("")
    for kind in ("csv", "parquet", "feather"):
        (folder / f"binary.{kind}").write_bytes(bytes(range(256)) * 4)
    head = "variable,method,group,versus,estimate\n"
    kept = {"text": f"{head}v,m,a,b,{SENTINEL}\n", "garbage": "\x00\x01,,\n\x02", "empty": "",
            "twice": f"{head}v,m,a,b,1\nv,m,a,b,2\n", "kept": head}  # fmt: skip
    for name, content in kept.items():
        (folder / name).mkdir()
        (folder / name / "estimates.csv").write_text(content)
    return folder


@pytest.fixture
def refused(data, tmp_path, monkeypatch, capsys):
    """A function that runs a command in a copy of the data, and returns what it says."""
    for path in data.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(data)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("RELPREV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "stdin", open("/dev/null"))  # noqa: SIM115

    def late(*_):
        raise Hang

    def run(arguments):
        monkeypatch.setattr(sys, "argv", ["relprev", *arguments])
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
                main()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)
        said = "".join(capsys.readouterr())
        assert ended.value.code == 2, said
        assert "Traceback" not in said
        assert "failed unexpectedly" not in said
        assert SENTINEL not in said
        assert SECRET not in said
        assert REMEDY.search(said), said
        assert not (tmp_path / "results").exists()
        for log in tmp_path.rglob("run.log"):
            assert SECRET not in log.read_text()
        return said

    return run


def _named(cases):
    return [pytest.param(*case, id=_name(case)) for case in cases]


def _name(case):
    return re.sub(r"[^ -~]|[\[\]]", "", " ".join(map(str, case[:-1])))[:60]


@pytest.mark.parametrize(("old", "new", "words"), _named(CORPUS["study"]))
def test_study_files(old, new, words, refused):
    assert old in TABLES
    Path("pain.toml").write_text(TABLES.replace(old, new, 1), encoding="utf-8")
    said = refused(RUN)
    assert re.search(words, said, re.DOTALL), said
    assert "pain.toml" in said


@pytest.mark.parametrize(("text", "words"), _named(CORPUS["whole"]))
def test_whole_study_files(text, words, refused):
    Path("pain.toml").write_text(text, encoding="utf-8")
    said = refused(RUN)
    assert re.search(words, said, re.DOTALL), said
    assert "pain.toml" in said


@pytest.mark.parametrize(("name", "how", "what", "words"), _named(CORPUS["tables"]))
def test_tables(name, how, what, words, refused):
    file = Path(name)
    content = file.read_text()
    if how == "cell":
        column, _, value = what.partition("=")
        table = pd.read_csv(file, dtype=str)
        table.loc[0, column] = value
        content = table.to_csv(index=False)
    elif how == "header":
        content = what + content[content.index("\n") :]
    else:
        content = what if how == "set" else content[: int(float(what) * len(content))]
    file.write_text(content)
    said = refused(RUN)
    assert re.search(words, said, re.DOTALL), said


@pytest.mark.parametrize(("arguments", "words"), _named(CORPUS["flags"]))
def test_command_lines(arguments, words, refused):
    if arguments[:1] == ["run"]:
        arguments = ["run", "--quiet", *arguments[1:]]
    said = refused(arguments)
    assert re.search(words, said, re.DOTALL), said


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("address", CORPUS["addresses"])
def test_addresses_of_databases_are_never_shown(address, place, refused):
    source = PLACES[place].format(f'"{address}"')
    Path("pain.toml").write_text(f'cohort = "ipv-neds"\n[source]\n{source}\n')
    assert "line" in refused(RUN)


def test_files_that_are_too_large_or_too_deep(refused):
    """Each of them took minutes, or ended in a traceback."""
    dots = ".".join("a" * 10_000)
    for text in (
        f"{dots} = 1\n",
        f"[{dots}]\n",
        f"a = {'[' * 5000}{']' * 5000}\n",
        "a" * 11_000_000,
    ):
        Path("pain.toml").write_text(text)
        assert re.search("nested too deeply|too long", refused(RUN))


def test_a_study_file_may_begin_with_a_byte_order_mark(refused):
    Path("pain.toml").write_text("\ufeff" + TABLES.replace("seed = 1", "sed = 1"), "utf-8")
    assert "line 2: sed: there is no such key" in refused(RUN)


def test_there_are_three_hundred_of_them():
    known = sum(len(CORPUS[name]) for name in ("study", "whole", "tables", "flags"))
    assert known + len(CORPUS["addresses"]) * len(PLACES) >= 300
