"""The committed results support the claims, and the page shows them as they are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from evidence import page, store
from evidence.claims import CLAIMS, Claim

from relprev.experiments import gauss, run
from relprev.experiments.experiment import Cell, compute


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.run}: {claim.words}")
def test_claim_holds(claim: Claim) -> None:
    found, holds = claim.check(store.load(claim.run))
    assert holds, found


def test_a_claim_can_fail() -> None:
    stored = store.load("gauss")
    wrong = stored.results.assign(ratio=1.03 * stored.results["ratio"])
    changed = store.Stored("gauss", stored.experiment, wrong, stored.table, stored.machine)
    assert not CLAIMS[0].check(changed)[1]


@pytest.mark.parametrize("name", store.RUNS)
def test_every_scenario_of_a_run_has_every_method(name: str) -> None:
    _, variant, data = store.RUNS[name]
    stored = store.load(name)
    scenarios = stored.experiment.scenarios(False, variant, data)
    for method, rows in stored.table.groupby("method"):
        assert len(rows) == len(scenarios), method
        assert rows["n"].nunique() == 1 or rows["n_failed"].any(), method
    written = pd.read_csv(store.FOLDER / name / "table.csv")
    pd.testing.assert_frame_equal(written, stored.table.round(4), check_dtype=False)


@pytest.mark.parametrize("method", ["purple", "debiased", "negative", "sar-em", "bbe", "dedpul"])
def test_stored_results_are_what_the_code_gives(method: str) -> None:
    results = store.load("gauss").results
    row = results[(results["method"] == method) & (results["seed"] == 1)].iloc[0]
    settings = {name: row[name] for name in ("variant", "separable", "rate_b")}
    again = compute(Cell("gauss", settings, method, 1, 0), gauss.simulate)
    assert again["ratio"] == pytest.approx(row["ratio"], rel=1e-3)


def test_page_is_what_the_command_writes() -> None:
    assert (page.DOCS / "paper.md").read_text(encoding="utf-8") == page.text()


def test_page_has_its_figures() -> None:
    for name in store.RUNS:
        assert f"figures/{name}.svg" in page.text()
        assert (page.DOCS / "figures" / f"{name}.svg").stat().st_size > 1000


def test_added_results_replace_those_of_the_same_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "FOLDER", tmp_path / "kept")
    options = {"quick": True, "jobs": 1}
    first = run("group-gap", tmp_path / "one", methods=["observed", "purple"], **options)
    store.add("group-gap", first.folder)
    second = run("group-gap", tmp_path / "two", methods=["observed"], seeds=2, **options)
    assert store.add("group-gap", second.folder) == 2 + 4
    counts = store.load("group-gap").results["method"].value_counts()
    assert counts.to_dict() == {"observed": 4, "purple": 2}
    with pytest.raises(SystemExit, match="alpha is"):
        store.add("alpha", second.folder)
    with pytest.raises(SystemExit, match="there is no run"):
        store.add("beta", second.folder)
