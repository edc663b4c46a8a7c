from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_tables
from tests.sources.wards import CODES, NAMES, VISITS, save


def test_long_codes_with_a_version_column():
    source = read_tables(VISITS, CODES, code="code", version="icd_version", **NAMES)
    assert source.query("SELECT * FROM codes ORDER BY ALL") == [
        (0, "ICD10", "T7411XA", "diagnosis"), (0, "ICD9", "E9673", "diagnosis"),
        (1, "ICD10", "R102", "diagnosis"), (1, "ICD10", "R51", "diagnosis"),
    ]  # fmt: skip


def test_wide_codes_with_a_version_for_every_visit():
    visits = VISITS.assign(dxver=[9, 10, 10])
    source = read_tables(visits, code=["dx1", "dx2"], version="dxver", **NAMES)
    assert source.query("SELECT visit, version, code FROM codes ORDER BY ALL") == [
        (0, "ICD9", "R102"), (0, "ICD9", "T7411XA"), (1, "ICD10", "R51"),
    ]  # fmt: skip


def test_codes_stored_as_numbers():
    codes = pd.DataFrame({"id": ["a", "b"], "code": [4019, 99581], "icd_version": [9.0, 9.0]})
    source = read_tables(VISITS, codes, code="code", version="icd_version", **NAMES)
    assert source.query("SELECT version, code FROM codes ORDER BY ALL") == [
        ("ICD9", "4019"), ("ICD9", "99581"),
    ]  # fmt: skip


def test_numbers_with_gaps_keep_their_spelling():
    """Pandas stores whole numbers with a gap as 4019.0, which must not become the code 40190."""
    visits = VISITS.assign(dx=[4019, 99581, None], ward=[1, None, 2])
    source = read_tables(visits, visit_id="id", code=["dx"], version="ICD9", attributes=["ward"])
    assert source.query("SELECT visit, code FROM codes ORDER BY ALL") == [(0, "4019"), (1, "99581")]
    assert source.query("SELECT ward::VARCHAR FROM visits ORDER BY visit") == [
        ("1",), (None,), ("2",),
    ]  # fmt: skip


def test_sas_files_read_as_the_frame_they_came_from(tmp_path):
    """All numbers of a SAS file are floating point; identifiers and groups must not show it."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = VISITS.fillna("").assign(id=[7, 8, 9], area=[1, 2, 2])
    file = tmp_path / "visits.xpt"
    pyreadstat.write_xport(frame, str(file), file_format_version=5, table_name="VISITS")
    queries = ("SELECT * FROM visits ORDER BY visit", "SELECT * FROM codes ORDER BY ALL")
    from_file = read_tables(file, code=["dx1", "dx2"], version="ICD10", **NAMES)
    from_frame = read_tables(frame, code=["dx1", "dx2"], version="ICD10", **NAMES)
    for query in queries:
        assert from_file.query(query) == from_frame.query(query)
    assert from_file.query("SELECT visit_id, area::VARCHAR FROM visits") == [
        (7, "1"), (8, "2"), (9, "2"),
    ]  # fmt: skip
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(InvalidInputError, match="not a readable SAS file"):
        read_tables(file, code=["dx1", "dx2"], version="ICD10", **NAMES)


def test_blank_text_is_missing_and_sex_is_recognised():
    source = read_tables(VISITS, code=["dx1", "dx2"], version="ICD10", **NAMES)
    found = source.query("SELECT patient, age, sex, weight, area FROM visits ORDER BY visit")
    assert found == [
        (1, 20, "F", 1.5, "north"),
        (1, 30, "M", 2.0, None),
        (2, 40, None, 2.5, "south"),
    ]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".dta", ".csv.gz"])
def test_files_read_as_frames_do(tmp_path, ending):
    file = save(VISITS, tmp_path / f"visits{ending}")
    query = "SELECT visit, code FROM codes ORDER BY ALL"
    from_file = read_tables(file, code=["dx1", "dx2"], version="ICD10", **NAMES)
    from_frame = read_tables(VISITS, code=["dx1", "dx2"], version="ICD10", **NAMES)
    assert from_file.query(query) == from_frame.query(query) == [
        (0, "R102"), (0, "T7411XA"), (1, "R51"),
    ]  # fmt: skip
    assert from_file.query("SELECT age, sex FROM visits ORDER BY visit") == [
        (20, "F"), (30, "M"), (40, None),
    ]  # fmt: skip


def test_duplicate_and_missing_identifiers_are_refused():
    twice = pd.concat([VISITS, VISITS.tail(1)])
    with pytest.raises(InvalidInputError, match="1 of 4 rows repeat"):
        read_tables(twice, code=["dx1"], version="ICD10", **NAMES)
    missing = VISITS.assign(id=["a", None, "c"])
    with pytest.raises(InvalidInputError, match="missing in 1 rows"):
        read_tables(missing, code=["dx1"], version="ICD10", **NAMES)


def test_codes_without_a_version_are_refused():
    unversioned = CODES.assign(icd_version=[10, None, 10, 10])
    with pytest.raises(InvalidInputError, match="every code needs a version"):
        read_tables(VISITS, unversioned, code="code", version="icd_version", **NAMES)


def test_missing_columns_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match="lacks the columns nothing"):
        read_tables(VISITS, code=["nothing"], version="ICD10", **NAMES)
    file = save(VISITS, tmp_path / "visits.csv")
    with pytest.raises(InvalidInputError, match=r"visits\.csv lacks the column nothing"):
        read_tables(file, code=["nothing"], version="ICD10", **NAMES)


def test_unknown_formats_are_refused(tmp_path):
    file = tmp_path / "visits.docx"
    file.write_text("hello")
    with pytest.raises(InvalidInputError, match=r"expected \.csv"):
        read_tables(file, code=["dx1"], version="ICD10", **NAMES)


def test_text_that_claims_to_be_parquet_is_refused(tmp_path):
    file = tmp_path / "visits.parquet"
    file.write_text("this is not a Parquet file at all")
    with pytest.raises(InvalidInputError, match="not a Parquet file"):
        read_tables(file, code=["dx1"], version="ICD10", **NAMES)


def test_a_malformed_line_is_located_but_not_quoted(tmp_path):
    file = save(VISITS, tmp_path / "visits.csv")
    text = file.read_text() + "d,1,50,F,1.0,north,secret,secret,secret\n"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=r"line 5") as caught:
        read_tables(file, code=["dx1"], version="ICD10", **NAMES)
    assert "secret" not in str(caught.value)


R_TABLE = """\
"id","who","years","gender","w","area","dx1","dx2"
7,1,20,"female",1.5,"north","T74.11XA","R10.2"
8,1,NA,NA,NA,NA,"R51",NA
9,2,40,"M",2.5," NA ",.,NaN
"""


def test_missing_values_of_r_and_stata_are_no_data(tmp_path):
    """R's write.csv writes NA for a missing value; it became a group and a symptom."""
    file = tmp_path / "visits.csv"
    file.write_text(R_TABLE)
    source = read_tables(file, code=["dx1", "dx2"], version="ICD10", **NAMES)
    assert source.query("SELECT patient, age, sex, weight, area FROM visits ORDER BY visit") == [
        ("1", 20, "F", 1.5, "north"), ("1", None, None, None, None), ("2", 40, "M", 2.5, None),
    ]  # fmt: skip
    assert source.query("SELECT visit, code FROM codes ORDER BY ALL") == [
        (0, "R102"), (0, "T7411XA"), (1, "R51"),
    ]  # fmt: skip


def test_missing_values_in_a_table_of_codes(tmp_path):
    visits, codes = tmp_path / "visits.csv", tmp_path / "codes.tsv"
    visits.write_text(R_TABLE)
    codes.write_text("id\tcode\tv\n7\tR51\t10\n8\tNA\tNA\n9\tI10\t10\n")
    source = read_tables(visits, codes, code="code", version="v", **NAMES)
    assert source.query("SELECT visit, code FROM codes ORDER BY ALL") == [(0, "R51"), (2, "I10")]


def test_a_group_may_be_called_na(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("id,area,dx\n1,NA,R51\n2,-9,R51\n3,x,\n")
    for missing, expected in (([], ["NA", "-9", "x"]), (["-9"], ["NA", None, "x"])):
        source = read_tables(
            file, visit_id="id", code=["dx"], version="ICD10", attributes=["area"], missing=missing
        )
        assert [area for (area,) in source.query("SELECT area FROM visits ORDER BY visit")] == (
            expected
        )


def test_messages_name_the_key_and_the_file(tmp_path):
    """They spoke of raw_visits, a table the user never made."""
    with pytest.raises(InvalidInputError, match=r"^visits: expected a file at .*nofile\.csv"):
        read_tables(tmp_path / "nofile.csv", visit_id="id", code=["dx1"], version="ICD10")
    file = save(pd.concat([VISITS, VISITS]), tmp_path / "twice.csv")
    expected = r'"id" must identify a row of visits \(twice\.csv\), but 3 of 6 rows'
    with pytest.raises(InvalidInputError, match=expected):
        read_tables(file, code=["dx1"], version="ICD10", **NAMES)


@pytest.mark.parametrize(("separator", "words"), [(";", "semicolons"), ("\t", "tabs")])
def test_another_separator_is_recognised(tmp_path, separator, words):
    file = tmp_path / "visits.csv"
    VISITS.to_csv(file, index=False, sep=separator)
    with pytest.raises(InvalidInputError, match=rf"visits\.csv: .* contains {words}; .*commas"):
        read_tables(file, code=["dx1"], version="ICD10", **NAMES)


@pytest.mark.parametrize("ending", ["csv", "parquet", "frame"])
def test_wanted_columns_that_are_there_twice_are_refused(tmp_path, ending):
    """Two columns of one name ended in a BinderException."""
    visits = pa.Table.from_pandas(VISITS[["id", "dx1", "area"]])
    names = {"visit_id": "id", "code": ["dx1"], "version": "ICD10"}

    def read(table):
        path = tmp_path / f"visits.{ending}"
        if ending == "frame":
            return read_tables(table.to_pandas(), **names)
        (pa.csv.write_csv if ending == "csv" else pa.parquet.write_table)(table, path)
        return read_tables(path, **names)

    for name in ("dx1", "DX1"):
        with pytest.raises(InvalidInputError, match="more than one column named 'dx1'"):
            read(visits.append_column(name, visits["area"]))
    assert read(visits.append_column("area", visits["area"])).n_visits == 3


def test_a_column_without_a_name_is_no_mistake(tmp_path):
    """As pandas writes its index."""
    VISITS.to_csv(tmp_path / "visits.csv")
    source = read_tables(tmp_path / "visits.csv", visit_id="id", code=["dx1"], version="ICD10")
    assert source.n_visits == 3
