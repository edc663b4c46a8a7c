import pandas as pd
import pytest

from tests.cli.commands import invoke, relprev


@pytest.fixture
def quick_truth(monkeypatch):
    """The truth from a tenth of the visits, which is exact to half a percent."""
    monkeypatch.setattr("relprev.simulate.visits.TRUTH_VISITS", 20_000)


def test_reproduce_runs_one_experiment_and_refuses_an_unknown_one(tmp_path):
    done = relprev("reproduce", "group-gap", "--quick", "--jobs", 1, "--out", tmp_path, "--quiet")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "group-gap").glob("*.png"))
    done = relprev("reproduce", "gaus", "--quick", "--out", tmp_path)
    assert done.returncode == 2
    assert "there is no experiment 'gaus'" in done.stderr


def test_codes_are_listed_and_shown():
    assert "ipv " in invoke("codes", "list").output
    assert "ICD10  T7411" in invoke("codes", "show", "ipv").output
    assert relprev("codes", "show", "nonsense").returncode == 2


def test_simulated_raw_files_are_written(tmp_path, quick_truth):
    done = relprev("simulate", "neds", "--visits", 2000, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "NEDS_2019_Core.csv").read_text().splitlines()
    assert len(lines) == 2000
    assert lines[0].count(",") == 72
    truth = pd.read_csv(tmp_path / "truth.csv")
    assert set(truth["variable"]) == {"RACE", "PAY1", "ZIPINC_QRTL", "PL_NCHS"}
    assert truth["relative_prevalence"].between(0.5, 2).all()


@pytest.mark.parametrize(("layout", "people"), [("1.0", "core"), ("2.2", "hosp")])
def test_simulated_mimic_has_the_layout_asked_for(layout, people, tmp_path, quick_truth):
    done = relprev("simulate", "mimic", "--layout", layout, "--visits", 1000, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mimic-iv" / people / "patients.csv.gz").is_file()
    assert (tmp_path / "mimic-iv-ed" / "ed" / "edstays.csv.gz").is_file()
    assert set(pd.read_csv(tmp_path / "truth.csv")["variable"]) == {"race"}


def test_a_layout_that_does_not_exist_is_refused(tmp_path):
    for kind, layout, message in (
        ("mimic", "9", "layout must be one of 1.0, 2.2"),
        ("neds", "2.2", "--layout is for mimic"),
    ):
        done = relprev("simulate", kind, "--layout", layout, "--out", tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    assert not list(tmp_path.iterdir())
