from __future__ import annotations

import bz2

import pytest

from relprev.codes import CodeSet
from relprev.errors import InvalidInputError
from relprev.sources import read_nhds

LINE = (
    "102119219021   71442   872064403646636472364903648232809-099536160-648934659-V5862V5869"
    "V232-V1302V173-                                04  778203     "
)


def make(path, lines):
    path.write_text("".join(line.ljust(149) + "\n" for line in lines))
    return path


def test_a_line_is_read_by_its_positions(tmp_path):
    source = read_nhds(make(tmp_path / "NHDS10.PU.txt", [LINE]))
    row = source.query("SELECT age, sex, race, marital_status, weight, year, payer FROM visits")
    assert row == [(19, "F", "White", None, 87.0, 2010, "Other government")]
    codes = [code for (code,) in source.query("SELECT code FROM codes ORDER BY code")]
    assert codes == sorted(
        ["64403", "64663", "64723", "64903", "64823", "2809", "09953", "6160", "64893", "4659",
         "V5862", "V5869", "V232", "V1302", "V173"]
    )  # fmt: skip


def test_the_first_diagnosis_is_the_principal_one(tmp_path):
    source = read_nhds(make(tmp_path / "nhds.txt", [LINE]))
    assert source.query("SELECT code FROM codes WHERE role = 'principal'") == [("64403",)]
    assert source.query("SELECT count(*) FROM codes WHERE role = 'secondary'") == [(14,)]


def test_ages_in_months_and_days_are_zero_years(tmp_path):
    months = LINE[:3] + "211" + LINE[6:]
    source = read_nhds(make(tmp_path / "nhds.txt", [months, LINE]))
    assert source.query("SELECT age FROM visits ORDER BY visit") == [(0,), (19,)]


def test_totals_of_the_real_file(real_data):
    source = read_nhds(real_data("nhds-2010/NHDS10.PU.txt.bz2"))
    assert source.query("""
        SELECT count(*), round(sum(weight) / 1e6, 1), count(*) FILTER (sex = 'F' AND age >= 18),
               sum(through_emergency), count(*) FILTER (race IS NULL)
        FROM visits
    """) == [(151_551, 38.9, 77_200, 48_050, 24_543)]
    abuse = [f"ICD9:995.8{k}" for k in range(6)] + ["ICD9:E967*", "ICD9:V61.11"]
    codes = source.query("SELECT DISTINCT version, code FROM codes")
    marks = ", ".join(f"'{code}'" for _, code in CodeSet.of("abuse", abuse).matching(codes))
    women = source.query(f"""
        SELECT count(DISTINCT visit) FROM codes JOIN visits USING (visit)
        WHERE sex = 'F' AND age >= 18 AND code IN ({marks})
    """)
    assert women == [(15,)]


@pytest.mark.parametrize("line", [LINE[:80], LINE.ljust(149) + "too long"])
def test_another_layout_is_refused(tmp_path, line):
    file = tmp_path / "nhds.txt"
    file.write_text(line + "\n")
    with pytest.raises(InvalidInputError, match="1 lines do not fit the layout"):
        read_nhds(file)


def test_errors_do_not_quote_the_file(tmp_path):
    file = make(tmp_path / "nhds.txt", ["secret of a patient"])
    with pytest.raises(InvalidInputError, match="is not a number") as caught:
        read_nhds(file)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_truncated_bz2_is_refused(tmp_path):
    packed = bz2.compress((LINE.ljust(149) + "\n").encode() * 20_000)
    file = tmp_path / "nhds.txt.bz2"
    file.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InvalidInputError, match="truncated"):
        read_nhds(file)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"expected a file at .*nothing\.txt, found nothing"
    ):
        read_nhds(tmp_path / "nothing.txt")
    with pytest.raises(InvalidInputError, match="found a folder"):
        read_nhds(tmp_path)
