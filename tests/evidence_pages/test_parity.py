"""The table of parity says what the tests of the baselines compute."""

from __future__ import annotations

from evidence import page, parity


def test_every_method_and_sample_is_on_the_page() -> None:
    found = parity.reference()
    assert set(found["method"]) == set(parity.LABELS)
    assert set(found["sample"]) == set(parity.SAMPLES)
    text = page.text()
    for row in parity.rows():
        assert "| " + " | ".join(row) + " |" in text


def test_largest_differences_are_those_the_page_allows() -> None:
    found = parity.reference()
    error = (found["ours"] - found["value"]).abs().groupby(found["method"]).max()
    for method in ("BBE", "ElkanNoto", "TIcE", "KM2", "KM2 published"):
        assert error[method] < 5e-7
    assert error["DEDPUL"] < 1e-3
    assert error[["SAREM", "SAREM no ridge", "SAREM group"]].max() < 2e-3


def test_a_difference_is_readable() -> None:
    assert parity.difference(1e-9) == "0"
    assert parity.difference(-2.5e-4) == "-2.5e-04"


def test_early_stopping_of_km2_matters_on_nhds() -> None:
    assert parity.ours("nhds", "KM2") - parity.ours("nhds", "KM2 published") > 0.1
