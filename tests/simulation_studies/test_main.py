"""The command line of the simulations."""

import subprocess
import sys
import time

import pandas as pd
import pytest
from simulations import __main__ as cli
from simulations import bias, power, study, verdicts
from simulations.__main__ import STUDIES, command_line, main


@pytest.fixture
def ran(monkeypatch):
    """What the commands would have run, instead of running it."""
    calls = []

    def watched(run, jobs, out, processes, command):
        calls.append({"run": run, "jobs": jobs, "out": out, "command": command})
        return pd.DataFrame()

    monkeypatch.setattr(study, "run_all", watched)
    for own in STUDIES.values():
        monkeypatch.setitem(
            STUDIES, own.name, study.Study(**{**vars(own), "summaries": lambda table, folder: []})
        )
    return calls


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_runs_as_many_replicates_of_each_scenario_as_told(name, ran, tmp_path):
    main([name, "--replicates", "2", "--out", str(tmp_path / "rows.csv")])
    (call,) = ran
    scenarios = {scenario for scenario, _ in call["jobs"]}
    assert len(call["jobs"]) == 2 * len(scenarios) > 0
    assert [number for _, number in call["jobs"]] == sorted(n for _, n in call["jobs"])
    assert call["command"] == f"{name} --replicates 2"
    assert call["out"] == tmp_path / "rows.csv"


def test_a_note_names_the_options_that_were_given_and_no_path(ran, tmp_path):
    main(["bias", "--nhds", str(tmp_path), "--replicates", "1"])
    main(["power", "--paper-checks", "7"])
    main(["verdicts", "--cases", "200", "--cases", "500", "--replicates", "3"])
    assert [call["command"] for call in ran] == [
        "bias --nhds PATH --replicates 1",
        "power --paper-checks 7 --replicates 1000",
        "verdicts --cases 200 --cases 500 --replicates 3",
    ]
    assert ran[0]["run"].func is bias.replicate
    assert ran[0]["run"].keywords == {"nhds": tmp_path}
    assert ran[1]["run"].func is power.replicate
    assert ran[1]["run"].keywords == {"paper_checks": 7}
    assert {name for name, _ in ran[2]["jobs"]} == set(verdicts.scenarios([200, 500]))


def test_an_unknown_scenario_is_told_what_there_is(ran, capsys):
    with pytest.raises(SystemExit):
        main(["coverage", "--scenario", "nobody"])
    assert "'two_groups', 'four_groups'" in capsys.readouterr().err
    assert not ran


def test_without_a_command_the_help_names_all(capsys):
    main([])
    shown = capsys.readouterr().out
    assert all(f"    {name}" in shown for name in [*STUDIES, "page"])


def test_the_page_is_written_where_told(monkeypatch, tmp_path):
    written = []
    monkeypatch.setattr(cli, "write_page", lambda results, out: written.append((results, out)))
    main(["page", "--results", str(tmp_path), "--out", str(tmp_path / "page.md")])
    assert written == [(tmp_path, tmp_path / "page.md")]


def test_options_and_defaults_are_in_the_help(capsys):
    with pytest.raises(SystemExit):
        command_line().parse_args(["verdicts", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "About how many are diagnosed. Repeatable; default: 200, 2000, 20000." in shown
    assert "Total number of replicates. Default: 100." in shown


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_a_command_that_is_ended_writes_what_it_has(tmp_path):
    out = tmp_path / "null.csv"
    command = [sys.executable, "-m", "simulations", "null", "--replicates", "5000", "--out", out]
    process = subprocess.Popen([*command, "--processes", "1"])
    deadline = time.monotonic() + 120
    while len(list(out.with_suffix(".cells").glob("[!.]*.json"))) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.terminate()
    assert process.wait(60) == 143
    assert len(pd.read_csv(out)) >= 3
    assert not out.with_suffix(".cells").exists()
