from __future__ import annotations

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_tables


def visits(**columns):
    return pd.DataFrame({"id": [1, 2, 3], "dx": "R51", **columns})


def read(table, **names):
    return read_tables(table, visit_id="id", code=["dx"], version="ICD10", **names)


def test_age_and_year_follow_from_dates():
    table = visits(seen=["2020-06-14", "2020-06-15", "2021-01-01"], born="1980-06-15")
    source = read(table, date="seen", birth_date="born")
    found = source.query("SELECT age, year FROM visits ORDER BY visit")
    assert found == [(39, 2020), (40, 2020), (40, 2021)]


@pytest.mark.parametrize(("names", "words"), [
    ({"birth_date": "born"}, "birth_date gives the age at the date of the visit: give date"),
    ({"birth_date": "born", "date": "seen", "age": "years"}, "give date, and no age"),
    ({"birth_date": "seen", "date": "born"}, "birth_date: 3 visits are dated before the birth"),
    ({"age": "seen"}, "age: column 'seen' holds no numbers; .*under birth_date"),
    ({"sex": "seen"}, "sex: column 'seen' holds neither F nor M"),
    ({"year": "who"}, "year: column 'who' holds no numbers; .*under date"),
])  # fmt: skip
def test_columns_that_give_no_age_or_year_are_refused(names, words):
    table = visits(seen="2020-06-14", born="1980-06-15", years=40, who=["x", "y", ""])
    with pytest.raises(InvalidInputError, match=words):
        read(table, **names)


def test_words_for_the_sexes_in_any_case():
    source = read(visits(gender=["Woman", " MALE ", "unknown"]), sex="gender")
    assert source.query("SELECT sex FROM visits ORDER BY visit") == [("F",), ("M",), (None,)]


def test_ages_that_are_partly_text_are_missing_where_they_are():
    source = read(visits(years=["40", "ninety", None]), age="years")
    assert source.query("SELECT age FROM visits ORDER BY visit") == [(40,), (None,), (None,)]
