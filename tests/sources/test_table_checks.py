"""What would be misread is refused, and what would not is kept."""

from __future__ import annotations

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_tables
from tests.sources.wards import CODES, NAMES, VISITS, save


def test_codes_stored_as_decimals_are_refused():
    codes = pd.DataFrame({"id": ["a", "b"], "code": [401.9, 995.8], "icd_version": [9, 9]})
    with pytest.raises(InvalidInputError, match="code holds decimal numbers"):
        read_tables(VISITS, codes, code="code", version="icd_version", **NAMES)


def test_codes_of_unknown_visits_are_refused():
    strange = pd.concat([CODES, CODES.head(1).assign(id="nobody")])
    with pytest.raises(InvalidInputError, match="1 rows of the codes table match no row"):
        read_tables(VISITS, strange, code="code", version="icd_version", **NAMES)


@pytest.mark.parametrize("weight", ["heavy", "-1", "inf", "1,5"])
def test_weights_that_are_no_weights_are_refused_with_their_row(tmp_path, weight):
    """They were left out as if missing."""
    file = save(VISITS.assign(w=["1.5", "", weight]), tmp_path / "visits.csv")
    expected = r"visits \(visits\.csv\): column 'w' \(weight\) must .* but 1 row .*data row 3"
    with pytest.raises(InvalidInputError, match=expected) as caught:
        read_tables(file, code=["dx1"], version="ICD10", **NAMES)
    assert "heavy" not in str(caught.value)


def test_missing_weights_and_zeros_are_kept_for_the_attrition_table():
    for weights in ([1.5, None, 0.0], ["1.5", "", " 0 "]):
        source = read_tables(VISITS.assign(w=weights), code=["dx1"], version="ICD10", **NAMES)
        assert source.query("SELECT weight FROM visits ORDER BY visit") == [(1.5,), (None,), (0,)]


@pytest.mark.parametrize("weight", ["1e308", "1e101", "inf"])
def test_weights_beyond_reason_are_refused(weight):
    visits = VISITS.assign(w=[1.0, float(weight), 2.0])
    with pytest.raises(InvalidInputError, match=r"'w' \(weight\) .* first data row 2"):
        read_tables(visits, code=["dx1"], version="ICD10", **NAMES)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attributes": ["age"]}, "'age' has a fixed meaning.*give age = 'age'"),
        ({"attributes": ["visit"]}, "'visit' has a fixed meaning.*; rename the column"),
        ({"code": []}, "code: at least one column"),
        ({"code": 3}, "code must be a column name or a list of column names"),
        ({"visits": None}, "visits must be a path or a data frame, got NoneType"),
        ({"version": "id"}, "version: the column holds more than 100 different values"),
    ],
)
def test_arguments_that_would_be_misread_are_refused(change, words):
    visits = pd.DataFrame({"id": range(200), "age": 30, "visit": 1, "dx": "R51"})
    given = {"visits": visits, "visit_id": "id", "code": "dx", "version": "ICD10", **change}
    given["code"] = [given["code"]] if isinstance(given["code"], str) else given["code"]
    with pytest.raises(InvalidInputError, match=words):
        read_tables(**given)


def test_an_attribute_under_its_own_name_is_there_once():
    """A second column age_1 was made of it."""
    visits = VISITS.rename(columns={"years": "age"})
    source = read_tables(
        visits, visit_id="id", code=["dx1"], version=10, age="age", attributes=["age", "area"]
    )
    assert source.attributes == ("area",)
