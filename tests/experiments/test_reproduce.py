import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.experiments import EXPERIMENTS, run


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "semisynthetic"])
def test_every_experiment_writes_results_table_and_figure(name, tmp_path) -> None:
    done = run(name, tmp_path, quick=True, methods=["purple"], jobs=1)
    assert {path.name for path in (tmp_path / name).iterdir()} == {
        "cells", "results.parquet", "results.csv", "table.csv", "table.md",
        "figure.svg", "figure.png", "figure.pdf",
    }  # fmt: skip
    assert done.folder == tmp_path / name
    assert len(done.results) == len(EXPERIMENTS[name].scenarios(True, "paper", "simulated"))


def test_semisynthetic_also_writes_its_symptoms(tmp_path) -> None:
    run("semisynthetic", tmp_path, quick=True, methods=["observed", "oracle"], jobs=1)
    symptoms = pd.read_csv(tmp_path / "semisynthetic" / "symptoms.csv")
    assert set(symptoms["setting"]) == {"common", "high-rp", "endometriosis", "ipv"}


def test_lower_bound_under_alpha_holds(tmp_path) -> None:
    table = run("alpha", tmp_path, quick=True, jobs=1).table
    broken = table["mean"] / table["alpha"]
    assert broken.between(0.93, 1.07).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "gaus"}, "there is no experiment 'gaus'; available: gauss, group-gap"),
        ({"variant": "mine"}, "variant must be 'paper' or 'published' for gauss, got 'mine'"),
        ({"methods": ["magic"]}, "there is no magic; available: purple"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"data": "nhds:x"}, "is only for semisynthetic"),
        ({"name": "semisynthetic", "data": "neds"}, "data must be 'simulated', 'nhds:PATH'"),
    ],
)
def test_what_cannot_be_run_is_refused(options, message, tmp_path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        run(**{"name": "gauss", "out": tmp_path, "quick": True, "jobs": 1, **options})
