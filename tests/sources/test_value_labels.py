from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_tables
from relprev.sources.value_labels import sas_labels

FRAME = pd.DataFrame({"id": [1.0, 2.0, 3.0], "dx": ["R51", "R52", "I10"], "sex": [1.0, 2.0, 9.0],
                      "race": [1.0, 2.0, 7.0], "age": [30.0, 94.0, 50.0]})  # fmt: skip
NAMES = {"visit_id": "id", "code": ["dx"], "version": "ICD10", "age": "age", "sex": "sex",
         "attributes": ["race"]}  # fmt: skip
SEXES = {1: "Male", 2: "Female"}
RACES = {1: "White", 2: "Black"}
QUERY = "SELECT visit_id, sex, race, age FROM visits ORDER BY visit"
LABELLED = [(1, "M", "White", 30), (2, "F", "Black", 94), (3, None, "7", 50)]


@pytest.fixture
def stata(tmp_path):
    file = tmp_path / "visits.dta"
    labels = {"sex": SEXES, "race": RACES, "age": {94: "94 and over"}}
    FRAME.to_stata(file, value_labels=labels, write_index=False)
    return file


def test_labels_of_a_stata_file_name_sexes_and_groups(stata):
    """A labelled sex was missing for everybody; ages and identifiers stay numbers."""
    assert read_tables(stata, **NAMES).query(QUERY) == LABELLED


def test_numbers_are_used_if_the_study_says_so(stata):
    source = read_tables(stata, labels=False, **(NAMES | {"sex": None}))
    assert source.query("SELECT race FROM visits ORDER BY visit") == [(1,), (2,), (7,)]


CNTLOUT = (
    "FMTNAME,START,END,LABEL\nSEXF,1,1,Male\nSEXF,           2,           2,Female\n"
    "RACEF,1,1,White\nRACEF,2,2,Black\nRACEF,3,9,Others\n"
)


@pytest.fixture
def sas(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    file = tmp_path / "visits.xpt"
    frame = FRAME.assign(seen=[21639.0, 21640.0, None])  # 31 March 2019 is day 21639
    pyreadstat.write_xport(
        frame, str(file), file_format_version=5, table_name="VISITS",
        variable_format={"sex": "SEXF.", "race": "RACEF8.", "seen": "DATE9."},
    )  # fmt: skip
    return file


def test_formats_of_a_sas_file_name_sexes_and_groups(sas, tmp_path):
    file = tmp_path / "formats.csv"
    file.write_text(CNTLOUT)
    assert read_tables(sas, formats=file, **NAMES).query(QUERY) == LABELLED


def test_dates_of_a_sas_file(sas):
    source = read_tables(sas, date="seen", **(NAMES | {"sex": None}))
    assert source.query("SELECT year FROM visits ORDER BY visit") == [(2019,), (2019,), (None,)]


def test_labels_of_a_catalog():
    """pyreadstat joins a catalog to its metadata; values are floats."""
    metadata = SimpleNamespace(variable_value_labels={"sex": {1.0: "Male", 2.0: "Female"}})
    assert sas_labels(metadata, ["sex", "race"], Path("formats.sas7bcat")) == {
        "sex": {"1": "Male", "2": "Female"}
    }


def test_a_catalog_that_cannot_be_joined_is_refused(sas, tmp_path):
    catalog = tmp_path / "formats.sas7bcat"
    catalog.write_bytes(b"x" * 100)
    with pytest.raises(InvalidInputError, match="is a transport file"):
        read_tables(sas, formats=catalog, **NAMES)
    file = Path(__file__).with_name("files") / "nhamcs.sas7bdat"
    with pytest.raises(InvalidInputError, match="and its formats cannot be read"):
        read_tables(file, formats=catalog, **NAMES)


@pytest.mark.parametrize(
    ("content", "words"),
    [("FMTNAME,LABEL\nA,b\n", "lacks FMTNAME, START or LABEL"), ("", "lacks FMTNAME"),
     (b"\xff\xfe\x00", "cannot be read; expected .sas7bcat")],
)  # fmt: skip
def test_bad_formats_are_refused(sas, tmp_path, content, words):
    file = tmp_path / "formats.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInputError, match=words):
        read_tables(sas, formats=file, **NAMES)
    with pytest.raises(InvalidInputError, match="formats: expected a file"):
        read_tables(sas, formats=tmp_path / "nothing.csv", **NAMES)
