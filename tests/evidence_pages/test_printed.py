"""What the page says about the paper's printed numbers and lists."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from evidence import counts, printed
from evidence.store import FOLDER

from relprev.experiments.semisynthetic import SETTINGS


def test_every_printed_number_names_a_command_and_what_it_needs() -> None:
    for item, paper, command, ours in printed.numbers(FOLDER):
        assert item
        assert paper
        assert command.startswith("`relprev ")
        assert ours.startswith(printed.NEEDED)


def test_counts_of_nhds_stand_beside_those_of_the_paper() -> None:
    ours = {item: ours for item, _, _, ours in printed.numbers(FOLDER)}
    table = pd.read_csv(FOLDER / "semisynthetic-nhds" / counts.RESULTS).set_index("setting")
    assert set(table.index) == set(SETTINGS)
    shown = ours["ipv: visits of Black (a) and white (b) patients"]
    assert shown.endswith(f"{table.loc['ipv', 'visits_a']:,} and {table.loc['ipv', 'visits_b']:,}")


def test_counts_are_what_the_command_gives(real_data, tmp_path: Path) -> None:
    (tmp_path / "semisynthetic-nhds").mkdir()
    again = counts.run(f"nhds:{real_data('nhds-2010')}", tmp_path)
    kept = pd.read_csv(FOLDER / "semisynthetic-nhds" / counts.RESULTS)
    pd.testing.assert_frame_equal(again, kept)


def test_printed_lists_have_the_length_the_paper_prints() -> None:
    tables = printed.symptoms(None)
    assert {name.split(",")[0]: len(rows) for name, rows in tables.items()} == {
        "Table S1": 19, "Table S2": 10, "Table S4": 25,
    }  # fmt: skip
    for rows in tables.values():
        assert all(words for _, _, words, _ in rows)


def test_a_printed_code_that_our_rule_chooses_is_marked() -> None:
    chosen = pd.DataFrame({"setting": ["common"], "version": ["ICD9"], "code": ["2724"]})
    rows = next(iter(printed.symptoms(chosen).values()))
    assert [code for _, code, _, found in rows if found == "yes"] == ["2724"]


def test_published_figure_has_five_rates_in_four_settings() -> None:
    figure = printed.figure()
    assert list(figure) == list(SETTINGS)
    assert all(len(row) == 6 for rows in figure.values() for row in rows)
    assert not any(row[0].startswith("SAR-EM") for row in figure["high-rp"])


def test_flat_stretches_of_published_km2_are_one_over_the_true_ratio() -> None:
    """There both groups are at the lower limit, and the estimated ratio is 1."""
    truth = {"high-rp": 0.061 / 0.098, "endometriosis": 0.0534 / 0.0495, "ipv": 0.0541 / 0.0568}
    for setting, ratio in truth.items():
        first = {row[0]: row[1] for row in printed.figure()[setting]}["KM2"]
        assert abs(float(first) * ratio - 1) < 0.05
