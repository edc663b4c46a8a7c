import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from relprev.cli import app, choices, main
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.experiments import EXPERIMENTS
from relprev.messages import Count, Message
from relprev.simulate.mimic import LAYOUTS
from relprev.study.demo import VISITS
from relprev.study.simulated import MOST_VISITS
from relprev.study.source import SOURCES
from tests.study.conftest import write_tables

ROOT = Path(__file__).resolve().parents[1]
runner = CliRunner()


def _relprev(*args, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "relprev", *map(str, args)],
        capture_output=True, text=True, cwd=cwd, check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 6000
    frame = pd.DataFrame(
        (rng.random((n, 10)) < 0.2).astype(int), columns=[f"dx_{j}" for j in range(10)]
    )
    frame["payer"] = np.where(np.arange(n) % 3 == 0, "public", "private")
    p = 1 / (1 + np.exp(2 - 2 * frame["dx_0"] - frame["dx_1"]))
    frame["ipv"] = (rng.random(n) < p * np.where(frame["payer"] == "public", 0.3, 0.6)).astype(int)
    frame["patient"] = np.arange(n) // 2
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    frame.to_csv(path, index=False)
    return path


def _arguments(table, out):
    return [
        "estimate",
        table,
        "--diagnosed",
        "ipv",
        "--group",
        "payer",
        "--features",
        "dx_*",
        "--out",
        out,
    ]


def test_demo_shows_the_wrong_way_ratio_and_writes_the_report(tmp_path):
    done = _relprev("demo", "--visits", 60_000, "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    for heading in ("Recorded", "Diagnosis-rate", "Corrected", "Truth"):
        assert heading in done.stdout
    row = next(line for line in done.stdout.splitlines() if "Group A" in line)
    assert row.endswith("│")  # not cut off
    assert "Group A: records say 0." in done.stdout
    assert f"Report: {tmp_path / 'demo' / 'report.html'}" in done.stdout
    assert "Study" in done.stderr  # the progress bar
    table = pd.read_csv(tmp_path / "demo" / "estimates.csv")
    table = table[table["method"] == "DebiasedPURPLE"].set_index("group")
    assert table.loc["Group A", "observed_ratio"] < 1 < table.loc["Group A", "truth"]
    assert abs(np.log(table["estimate"] / table["truth"])).max() < 0.15
    assert (tmp_path / "demo" / "report.html").stat().st_size > 50_000
    assert not (tmp_path / "demo.work").exists()


def test_estimate_reads_a_table_and_writes_results(table, tmp_path):
    done = _relprev(
        *_arguments(table, tmp_path / "out"), "--cluster", "patient", "--versus", "private"
    )
    assert done.returncode == 0, done.stderr
    assert "public" in done.stdout
    assert "no confidence interval" in done.stdout
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["converged"]
    assert "certificate" not in run  # its objective is a sum over visits: it pinned a count
    assert run["table"] == "visits.csv"


def test_debiased_method_prints_and_writes_intervals(table, tmp_path):
    done = _relprev(*_arguments(table, tmp_path / "out"), "--method", "debiased", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "95% confidence intervals" in done.stdout
    frame = pd.read_csv(tmp_path / "out" / "estimates.csv")
    assert (frame["ci_low"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["ci_high"]).all()
    assert re.search(r"\d\.\d\d \(\d\.\d\d to \d\.\d\d\)", done.stdout)


def test_reproduce_runs_one_experiment_and_refuses_an_unknown_one(tmp_path):
    done = _relprev("reproduce", "group-gap", "--quick", "--jobs", 1, "--out", tmp_path, "--quiet")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "group-gap").glob("*.png"))
    done = _relprev("reproduce", "gaus", "--quick", "--out", tmp_path)
    assert done.returncode == 2
    assert "there is no experiment 'gaus'" in done.stderr


def test_codes_are_listed_and_shown():
    assert "ipv " in runner.invoke(app, ["codes", "list"]).output
    assert "ICD10  T7411" in runner.invoke(app, ["codes", "show", "ipv"]).output
    assert _relprev("codes", "show", "nonsense").returncode == 2


def test_simulated_raw_files_are_written(tmp_path):
    done = _relprev("simulate", "neds", "--visits", 2000, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "NEDS_2019_Core.csv").read_text().splitlines()
    assert len(lines) == 2000
    assert lines[0].count(",") == 72
    truth = pd.read_csv(tmp_path / "truth.csv")
    assert set(truth["variable"]) == {"RACE", "PAY1", "ZIPINC_QRTL", "PL_NCHS"}
    assert truth["relative_prevalence"].between(0.5, 2).all()


@pytest.mark.parametrize(("layout", "people"), [("1.0", "core"), ("2.2", "hosp")])
def test_simulated_mimic_has_the_layout_asked_for(layout, people, tmp_path):
    done = _relprev("simulate", "mimic", "--layout", layout, "--visits", 1000, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mimic-iv" / people / "patients.csv.gz").is_file()
    assert (tmp_path / "mimic-iv-ed" / "ed" / "edstays.csv.gz").is_file()
    assert set(pd.read_csv(tmp_path / "truth.csv")["variable"]) == {"race"}


def test_a_layout_that_does_not_exist_is_refused(tmp_path):
    for kind, layout, message in (
        ("mimic", "9", "layout must be one of 1.0, 2.2"),
        ("neds", "2.2", "--layout is for mimic"),
    ):
        done = _relprev("simulate", kind, "--layout", layout, "--out", tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_small_counts_are_hidden_unless_asked_for(table, tmp_path):
    frame = pd.read_csv(table)
    rare = frame["payer"].eq("public") & frame["ipv"].eq(1)
    frame.loc[rare & (rare.cumsum() > 7), "ipv"] = 0
    frame.to_csv(tmp_path / "v.csv", index=False)
    arguments = [*_arguments(tmp_path / "v.csv", tmp_path / "out"), "--lambda", "0.001"]
    assert _relprev(*arguments).returncode == 0
    hidden = pd.read_csv(tmp_path / "out" / "estimates.csv")
    assert hidden["n_diagnosed"].isna().all()
    assert _relprev(*arguments, "--show-small-cells").returncode == 0
    assert 7 in pd.read_csv(tmp_path / "out" / "estimates.csv")["n_diagnosed"].tolist()


def test_warnings_hide_small_counts_unless_asked_not_to(table, tmp_path):
    frame = pd.read_csv(table)
    rare = frame["payer"].eq("public") & frame["ipv"].eq(1)
    frame.loc[rare & (rare.cumsum() > 3), "ipv"] = 0
    frame.to_csv(tmp_path / "v.csv", index=False)
    arguments = [*_arguments(tmp_path / "v.csv", tmp_path / "out"), "--method", "debiased"]
    words = r"fewer folds are used than the 5 asked for: group 'public' has too few .* patients \("
    assert re.search(rf"{words}fewer than 11 ", _relprev(*arguments).stderr)
    assert re.search(rf"{words}3 ", _relprev(*arguments, "--show-small-cells").stderr)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--group": "payr"}, "did you mean 'payer'"),
        ({"--features": "icd*"}, "no column matches"),
        ({"--versus": "uninsured"}, "versus='uninsured'"),
        ({"--diagnosed": "patient"}, "must hold 0/1"),
    ],
)
def test_misuse_ends_with_one_clear_line_and_code_2(table, tmp_path, change, message):
    arguments = _arguments(table, tmp_path / "out")
    for option, value in change.items():
        if option in arguments:
            arguments[arguments.index(option) + 1] = value
        else:
            arguments += [option, value]
    done = _relprev(*arguments, "--quiet")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_missing_file_and_missing_option_end_with_code_2(tmp_path):
    done = _relprev(*_arguments(tmp_path / "none.csv", tmp_path / "out"))
    assert done.returncode == 2
    assert "there is no file" in done.stderr
    assert _relprev("estimate", "x.csv").returncode == 2


def test_warnings_are_one_line_without_a_source_path(table, tmp_path):
    frame = pd.read_csv(table).assign(dx_never=0)
    frame.to_csv(tmp_path / "v.csv", index=False)
    done = _relprev(
        *_arguments(tmp_path / "v.csv", tmp_path / "out"), "--lambda", "0.001", "--quiet"
    )
    assert done.returncode == 0
    assert "warning: 1 of 11 features are constant" in done.stderr
    assert ".py" not in done.stderr


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


def test_readme_mentions_every_command():
    readme = (ROOT / "README.md").read_text()
    for name, _ in _commands(get_command(app)):
        assert f"relprev {name}" in readme, name


def test_version_is_shown():
    assert re.fullmatch(r"relprev \d+\.\d+\.\d+\n", runner.invoke(app, ["--version"]).output)


# -- whatever goes wrong -------------------------------------------------------------------

SENTINEL = "Xq7sentinel"  # stands for a value of the data


def _ends(monkeypatch, capsys, error, *arguments):
    """Exit code and output of a command in which an error is raised."""

    def fail(*args, **options):
        raise error

    monkeypatch.setattr("relprev.study.Study.from_toml", fail)
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
    assert choices.LAYOUTS == LAYOUTS
    assert (choices.DEMO_VISITS, choices.MOST_VISITS) == (VISITS, MOST_VISITS)
