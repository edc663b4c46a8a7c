import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from relprev.cli import app
from tests.cli.commands import estimate_arguments, in_a_process, relprev


def test_estimate_reads_a_table_and_writes_results(table, tmp_path):
    done = in_a_process(
        *estimate_arguments(table, tmp_path / "out"), "--cluster", "patient", "--versus", "private"
    )
    assert done.returncode == 0, done.stderr
    assert "public" in done.stdout
    assert "no confidence interval" in done.stdout
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["converged"]
    assert "certificate" not in run  # its objective is a sum over visits: it pinned a count
    assert run["table"] == "visits.csv"


def test_debiased_method_prints_and_writes_intervals(table, tmp_path):
    done = relprev(*estimate_arguments(table, tmp_path / "out"), "--method", "debiased", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "95% confidence intervals" in done.stdout
    frame = pd.read_csv(tmp_path / "out" / "estimates.csv")
    assert (frame["ci_low"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["ci_high"]).all()
    assert re.search(r"\d\.\d\d \(\d\.\d\d to \d\.\d\d\)", done.stdout)


def test_small_counts_are_hidden_unless_asked_for(table, tmp_path):
    frame = pd.read_csv(table)
    rare = frame["payer"].eq("public") & frame["ipv"].eq(1)
    frame.loc[rare & (rare.cumsum() > 7), "ipv"] = 0
    frame.to_csv(tmp_path / "v.csv", index=False)
    arguments = [*estimate_arguments(tmp_path / "v.csv", tmp_path / "out"), "--lambda", "0.001"]
    assert relprev(*arguments).returncode == 0
    hidden = pd.read_csv(tmp_path / "out" / "estimates.csv")
    assert hidden["n_diagnosed"].isna().all()
    assert relprev(*arguments, "--show-small-cells").returncode == 0
    assert 7 in pd.read_csv(tmp_path / "out" / "estimates.csv")["n_diagnosed"].tolist()


def test_warnings_hide_small_counts_unless_asked_not_to(table, tmp_path):
    frame = pd.read_csv(table)
    rare = frame["payer"].eq("public") & frame["ipv"].eq(1)
    frame.loc[rare & (rare.cumsum() > 3), "ipv"] = 0
    frame.to_csv(tmp_path / "v.csv", index=False)
    arguments = [*estimate_arguments(tmp_path / "v.csv", tmp_path / "out"), "--method", "debiased"]
    words = r"too few diagnosed patients for 5 folds .*: 'public' \("
    assert re.search(rf"{words}fewer than 11 ", relprev(*arguments).stderr)
    assert re.search(rf"{words}3 ", relprev(*arguments, "--show-small-cells").stderr)


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
    arguments = estimate_arguments(table, tmp_path / "out")
    for option, value in change.items():
        if option in arguments:
            arguments[arguments.index(option) + 1] = value
        else:
            arguments += [option, value]
    done = relprev(*arguments, "--quiet")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_missing_file_and_missing_option_end_with_code_2(tmp_path):
    done = relprev(*estimate_arguments(tmp_path / "none.csv", tmp_path / "out"))
    assert done.returncode == 2
    assert "there is no file" in done.stderr
    assert relprev("estimate", "x.csv").returncode == 2


def test_warnings_are_one_line_without_a_source_path(table, tmp_path):
    frame = pd.read_csv(table).assign(dx_never=0)
    frame.to_csv(tmp_path / "v.csv", index=False)
    arguments = estimate_arguments(tmp_path / "v.csv", tmp_path / "out")
    done = relprev(*arguments, "--lambda", "0.001", "--quiet")
    assert done.returncode == 0
    assert "warning: 1 of 11 features are constant" in done.stderr
    assert ".py" not in done.stderr


def test_command_line_covers_a_reference_group_with_few_diagnosed(tmp_path):
    """The others' recorded ratios against it would give its count away."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [2000, 1500, 500])
    x = rng.random((4000, 5)) < 0.3
    diagnosed = (rng.random(4000) < 0.3 * x[:, 0]).astype(int)
    diagnosed[np.flatnonzero((group == "c") & (diagnosed == 1))[6:]] = 0
    table = pd.DataFrame(x.astype(int), columns=[f"dx_{j}" for j in range(5)])
    table.assign(s=diagnosed, g=group).to_csv(tmp_path / "visits.csv", index=False)
    done = CliRunner().invoke(app, [
        "estimate", str(tmp_path / "visits.csv"), "--diagnosed", "s", "--group", "g", "--features",
        "dx_*", "--versus", "c", "--lambda", "0.001", "--quiet", "--out", str(tmp_path / "out"),
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    written = pd.read_csv(tmp_path / "out" / "estimates.csv")
    assert written["estimate"].notna().all()
    assert written["observed_ratio"].isna().all()
