import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.main import get_command

from relprev.cli import app, choices, main
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.experiments import EXPERIMENTS
from relprev.experiments.truth.run import NAMES
from relprev.messages import Count, Message
from relprev.simulate.mimic import LAYOUTS
from relprev.study.demo import VISITS
from relprev.study.file.simulated import MOST_VISITS
from relprev.study.file.source import SOURCES
from tests.cli.commands import invoke
from tests.study.conftest import write_tables

ROOT = Path(__file__).resolve().parents[2]


def _commands(group, prefix=""):
    for name, command in group.commands.items():
        yield f"{prefix}{name}", command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix}{name} ")


def test_every_command_and_option_is_explained():
    for name, command in _commands(get_command(app)):
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


def test_help_shows_what_stands_in_brackets():
    """``relprev[dashboard]`` and ``[atlas]`` used to be taken for markup, and left out."""
    found = 0
    for name, command in _commands(get_command(app)):
        texts = [command.help, *(getattr(item, "help", "") for item in command.params)]
        bracketed = re.findall(r"\w*\[[a-z]+\]", " ".join(texts).replace("\\", ""))
        shown = invoke(*name.split(), "--help").output
        assert not [text for text in bracketed if text not in shown], name
        found += len(bracketed)
    assert found >= 3


def test_readme_mentions_every_command():
    readme = (ROOT / "README.md").read_text()
    for name, _ in _commands(get_command(app)):
        assert f"relprev {name}" in readme, name


def test_version_is_shown():
    assert re.fullmatch(r"relprev \d+\.\d+\.\d+\n", invoke("--version").output)


SENTINEL = "Xq7sentinel"  # stands for a value of the data


def _ends(monkeypatch, capsys, error, *arguments):
    """Exit code and output of a command in which an error is raised."""

    def fail(*args, **options):
        raise error

    monkeypatch.setattr("relprev.study.read_studies", fail)
    monkeypatch.setattr(sys, "argv", ["relprev", "run", "study.toml", *arguments])
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGTERM, handler)
    return ended.value.code, "".join(capsys.readouterr())


@pytest.mark.parametrize("kind", [ValueError, KeyError, TypeError, AssertionError, RecursionError])
def test_an_unexpected_error_shows_its_place_and_no_value(kind, monkeypatch, capsys):
    code, said = _ends(monkeypatch, capsys, kind(SENTINEL))
    assert code == 1
    assert SENTINEL not in said
    assert "Traceback" not in said
    expected = rf"relprev \S+ failed unexpectedly: {kind.__name__} at cli/study.py:\d+\..* report"
    assert re.search(expected, said)
    assert "RELPREV_TRACEBACK=1" in said


def test_the_traceback_is_shown_to_those_who_ask_for_it(monkeypatch, capsys):
    monkeypatch.setenv("RELPREV_TRACEBACK", "1")
    code, said = _ends(monkeypatch, capsys, ValueError(SENTINEL))
    assert code == 1
    assert "Traceback" in said
    assert SENTINEL in said


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("1 TB for 3 patients"), "not enough memory.* --out-of-core"),
        (OSError(28, "No space left on device", "/x"), "No space left on device: /x; free"),
        (PermissionError(13, "Permission denied", "postgresql:/me:sEcret9@host/db"),
         "Permission denied: .a database address, not shown"),
        (InvalidInputError("results is a file; give another out="), "give another --out\\n"),
        (InvalidInputError("replace them with force="), "replace them with --force\\n"),
        (TooFewCasesError(Message("group a has {n}", n=Count(3, "patient"))),
         "group a has fewer than 11 patients"),
        (EOFError(), "give all options on the command line"),
    ],
)  # fmt: skip
def test_what_the_user_can_mend_ends_with_code_2(error, words, monkeypatch, capsys):
    code, said = _ends(monkeypatch, capsys, error)
    assert code == 2
    assert re.search(words, said), said
    assert "Traceback" not in said
    assert "3 patients" not in said
    assert "sEcret9" not in said


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "Ctrl-C"]
)
def test_a_signal_ends_a_run_with_a_message_and_leaves_no_data_behind(number, code, tmp_path):
    """Nothing of patients stays in the temporary folder; the next run goes on."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    script = (
        "import sys, time\nfrom relprev.cli import main\nfrom relprev.study import run\n"
        "from relprev.store.files import TemporaryFolder\n"
        "def slow(*args, **options):\n"
        "    run.folder = TemporaryFolder()  # for as long as the process lives\n"
        "    open(run.folder.name + '/patients.csv', 'w').close()\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "run.build = slow\n"
        "sys.argv = ['relprev', 'run', sys.argv[1], '--out', 'results', '--quiet']\n"
        "main()\n"
    )
    file = write_tables(tmp_path, 600)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(file)], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert process.stdout.readline() == "begun\n"
    assert list(temporary.glob("relprev-*/patients.csv"))
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == code, said
    assert said.strip() == "error: stopped; run the same command again to go on where it was"
    assert not list(temporary.glob("relprev-*"))
    assert not (tmp_path / "results").exists()


def test_choices_in_help_texts_are_those_of_the_package():
    assert tuple(SOURCES) == choices.SOURCES
    assert tuple(EXPERIMENTS) == choices.EXPERIMENTS
    assert choices.TRUTH == NAMES
    assert choices.LAYOUTS == LAYOUTS
    assert (choices.DEMO_VISITS, choices.MOST_VISITS) == (VISITS, MOST_VISITS)
