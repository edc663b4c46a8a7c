"""The NHANES source, on transport files written by the tests and on the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_nhanes
from relprev.sources.nhanes_answers import is_answer, refusal_codes

pyreadstat = pytest.importorskip("pyreadstat")


def write(folder: Path, name: str, **columns) -> Path:
    file = folder / f"{name}.XPT"
    frame = pd.DataFrame(columns).astype(float)
    pyreadstat.write_xport(frame, str(file), table_name=name[:8], file_format_version=5)
    return file


def demographics(folder: Path, cycle: str = "I", number: int = 9, first: int = 1, **more) -> None:
    people = {
        "SEQN": range(first, first + 4), "SDDSRVYR": number, "RIAGENDR": [1, 2, 1, 2],
        "RIDAGEYR": [20, 35, 77, 9], "RIDRETH1": [3, 4, 1, 5], "DMDEDUC2": [5, 1, 9, np.nan],
        "INDFMPIR": [0.5, 5.0, 1.25, np.nan], "WTMEC2YR": [100.0, 200.0, 300.0, 0.0],
        "SDMVSTRA": 100 + number, "SDMVPSU": [1, 2, 1, 2],
    }  # fmt: skip
    write(folder, f"DEMO_{cycle}", **(people | more))


def test_components_are_merged_by_respondent(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "GHB_I", SEQN=[3, 1], LBXGH=[7.0, 5.7])
    write(tmp_path, "DIQ_I", SEQN=[1, 2, 3, 4], DIQ010=[1, 2, 9, 7], DID040=[50, 666, 999, np.nan])
    source = read_nhanes(tmp_path)
    found = source.query(
        "SELECT visit_id, age, sex, race, education, LBXGH, DIQ010, DID040, year "
        "FROM visits ORDER BY visit"
    )
    assert found == [
        (1, 20, "M", "Non-Hispanic White", "College graduate", 5.7, 1, 50, 2015),
        (2, 35, "F", "Non-Hispanic Black", "Less than 9th grade", None, 2, 666, 2015),
        (3, 77, "M", "Mexican American", None, 7.0, None, None, 2015),
    ]
    assert source.attrition.to_frame()["visits"].tolist() == [4, 3]
    assert source.query("SELECT count(*) FROM codes") == [(0,)]


def test_cycles_are_pooled_and_their_weights_divided(tmp_path):
    demographics(tmp_path)
    demographics(tmp_path, "H", 8, first=11)
    write(tmp_path, "BMX_H", SEQN=[11, 12], BMXBMI=[20.0, 40.0])
    write(tmp_path, "BMX_I", SEQN=[1], BMXBMI=[30.5], BMXWAIST=[99.0])
    source = read_nhanes(tmp_path)
    assert source.query("SELECT year, sum(weight), count(BMXBMI) FROM visits GROUP BY 1 "
                        "ORDER BY 1") == [(2013, 300.0, 2), (2015, 300.0, 1)]  # fmt: skip
    assert source.query("SELECT count(DISTINCT stratum), count(DISTINCT psu) FROM visits") == [
        (2, 4)
    ]


def test_a_longer_cycle_weighs_more(tmp_path):
    demographics(tmp_path)
    people = {
        "SEQN": [21, 22], "SDDSRVYR": 66, "RIAGENDR": [1, 2], "RIDAGEYR": [30, 40],
        "WTMECPRP": [100.0, 100.0], "SDMVSTRA": 170, "SDMVPSU": [1, 2],
    }  # fmt: skip
    write(tmp_path, "P_DEMO", **people)
    source = read_nhanes(tmp_path)
    found = dict(source.query("SELECT year, sum(weight) FROM visits GROUP BY year"))
    assert found[2015] == pytest.approx(600 * 2 / 5.2)
    assert found[2017] == pytest.approx(200 * 3.2 / 5.2)


def test_a_variable_that_moved_between_components_is_one_column(tmp_path):
    demographics(tmp_path)
    demographics(tmp_path, "B", 2, first=11)
    write(tmp_path, "L10_B", SEQN=[11], LBXGH=[5.5])
    write(tmp_path, "GHB_I", SEQN=[1], LBXGH=[6.5])
    found = read_nhanes(tmp_path).query("SELECT visit_id, LBXGH FROM visits WHERE LBXGH > 0")
    assert sorted(found) == [(1, 6.5), (11, 5.5)]


def test_codes_for_refused_can_be_kept(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "DIQ_I", SEQN=[1, 2, 3], DIQ010=[1, 2, 9])
    kept = read_nhanes(tmp_path, refusals=True).query("SELECT DIQ010 FROM visits ORDER BY visit")
    assert kept == [(1,), (2,), (9,)]


def test_measurements_are_never_taken_for_codes(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "BMX_I", SEQN=[1, 2, 3], BMXARMC=[30.0, 77.0, 99.0])
    write(tmp_path, "BIOPRO_I", SEQN=[1, 2, 3], LBXSGL=[5.0, 77.0, 99.0], LBDHDD=[7.0, 9.0, 2.0])
    found = read_nhanes(tmp_path).query("SELECT count(BMXARMC), count(LBXSGL), count(LBDHDD), "
                                        "count(age) FROM visits")  # fmt: skip
    assert found == [(3, 3, 3, 3)]


def test_only_the_components_named_are_read(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "GHB_I", SEQN=[1], LBXGH=[5.7])
    write(tmp_path, "RXQ_RX_I", SEQN=[1, 1], RXDUSE=[1, 1])
    with pytest.raises(InvalidInputError, match=r"RXQ_RX_I.XPT has more than one row per person"):
        read_nhanes(tmp_path)
    assert "LBXGH" in read_nhanes(tmp_path, components=["GHB"]).attributes


def test_a_missing_component_is_named(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "GHB_I", SEQN=[1], LBXGH=[5.7])
    with pytest.raises(
        InvalidInputError, match=r"no file of the component GHD.*did you mean 'GHB'"
    ):
        read_nhanes(tmp_path, components=["GHD"])
    (tmp_path / "DEMO_I.XPT").unlink()
    with pytest.raises(InvalidInputError, match="no file of the component DEMO"):
        read_nhanes(tmp_path)


def test_people_of_a_cycle_without_demographics_are_refused(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "GHB_J", SEQN=[901], LBXGH=[5.7])
    with pytest.raises(InvalidInputError, match=r"GHB_J.XPT has people who are in no DEMO file"):
        read_nhanes(tmp_path)


def test_a_cycle_without_weights_is_named(tmp_path):
    demographics(tmp_path)
    demographics(tmp_path, "H", 8, first=11, WTMEC2YR=[np.nan] * 4)
    with pytest.raises(
        InvalidInputError, match="cycle that begins in 2013 has no examination weig"
    ):
        read_nhanes(tmp_path)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("WTMEC2YR", "there are no examination weights"),
        ("SDMVSTRA", "there is no variable SDMVSTRA"),
        ("SDDSRVYR", "which cycles the people belong to is unknown"),
        ("SEQN", "has no variable SEQN"),
    ],
)
def test_demographics_without_a_needed_variable(tmp_path, column, words):
    demographics(tmp_path)
    frame = pyreadstat.read_xport(str(tmp_path / "DEMO_I.XPT"))[0].drop(columns=column)
    write(tmp_path, "DEMO_I", **{name: frame[name] for name in frame})
    with pytest.raises(InvalidInputError, match=words):
        read_nhanes(tmp_path)


def test_an_unknown_cycle_is_refused(tmp_path):
    demographics(tmp_path, number=40)
    with pytest.raises(InvalidInputError, match="a row's cycle is '40', which is not known"):
        read_nhanes(tmp_path)


def test_a_broken_transport_file_is_named(tmp_path):
    demographics(tmp_path)
    file = write(tmp_path, "GHB_I", SEQN=[1], LBXGH=[5.7])
    file.write_bytes(file.read_bytes()[:900])
    with pytest.raises(InvalidInputError, match=r"GHB_I.XPT"):
        read_nhanes(tmp_path)
    file.write_bytes(b"<html>not found</html>" * 100)
    with pytest.raises(InvalidInputError, match=r"GHB_I.XPT is not a readable SAS file"):
        read_nhanes(tmp_path)


def test_paths_that_are_no_data(tmp_path):
    with pytest.raises(InvalidInputError, match="has no transport files"):
        read_nhanes(tmp_path)
    with pytest.raises(InvalidInputError, match="found nothing"):
        read_nhanes(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match="expected a folder of transport files, got"):
        read_nhanes("postgresql://user:secret@host/db")
    pd.DataFrame({"SEQN": [1]}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(InvalidInputError, match="leave components out"):
        read_nhanes(tmp_path / "x.csv", components=["DEMO"])


def test_single_precision_is_read_as_decimals(tmp_path):
    """An extract with 32-bit numbers had people of exactly 5.7 below a threshold of 5.7."""
    frame = pd.DataFrame({
        "SEQN": [1, 2], "cycle": "2005-2006", "RIDAGEYR": [30, 40], "RIAGENDR": [1, 2],
        "WTMEC2YR": [1.0, 1.0], "SDMVSTRA": [44, 44], "SDMVPSU": [1, 2],
        "LBXGH": np.array([5.7, 6.5], dtype=np.float32),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "extract.parquet")
    source = read_nhanes(tmp_path / "extract.parquet")
    assert source.query("SELECT LBXGH >= 5.7, LBXGH < 6.5, year FROM visits ORDER BY visit") == [
        (True, True, 2005), (True, False, 2005),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 7, 9], (7, 9)),
        ([1, 2, 9], (9,)),
        ([1, 2, 3, 7], (7,)),
        ([1, 2], ()),
        ([1, 2, 3, 4, 5, 6, 77, 99], (77, 99)),
        ([0, 1, 30, 60, 70], ()),
        ([18, 40, 77, 80], ()),
        ([1, 2, 3, 4, 5, 6, 7], ()),
        ([5, 80, 666, 999], (999,)),
        ([], ()),
        ([-1, 7], ()),
    ],
)
def test_codes_for_refused_and_unknown(values, expected):
    assert refusal_codes([float(value) for value in values]) == expected


def test_which_variables_are_answers():
    answers = ["DIQ160", "HUQ030", "DPQ090", "DMDMARTL", "SXQ260", "SMQ040", "KIQ022", "HSD010"]
    others = ["BMXBMI", "BPXDI1", "LBXHE2", "URXUMA", "RIDRETH3", "SDDSRVYR", "WTMEC2YR", "SEQN"]
    assert [name for name in (*answers, *others) if is_answer(name)] == answers


def test_real_files_have_the_totals_of_the_extract(real_data):
    """2011-2012 and 2015-2016 as NCHS publishes them, against another project's copy of them."""
    folder = real_data("nhanes")
    names = ["RIDAGEYR", "LBXGH", "BMXBMI", "BPXSY1", "BPXDI3", "LBXTC", "LBXSCR", "DIQ010",
             "DIQ160", "BPQ020", "BPQ080", "DPQ010", "HIQ011", "SMQ020", "INDFMPIR"]  # fmt: skip
    sums = ", ".join(f"count({name}), round(sum({name}), 3)" for name in names)
    query = (
        f"SELECT year, count(*), round(sum(WTMEC2YR), 2), count(DISTINCT psu), {sums} FROM visits "
        "WHERE age >= 20 AND year IN (2011, 2015) GROUP BY year ORDER BY year"
    )
    extract = read_nhanes(folder / "nhanes_2005_2016_adults.parquet")
    assert read_nhanes(folder).query(query) == extract.query(query)
    weights = extract.query("SELECT sum(weight) FROM visits")[0][0]
    assert weights == pytest.approx(222e6, rel=0.01)  # adults of the United States, 2005 to 2016
