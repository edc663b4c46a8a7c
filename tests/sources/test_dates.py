from __future__ import annotations

import datetime

import duckdb
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_tables
from relprev.sources.dates import FORMATS, date_sql

DAYS = [datetime.date(2019, 3, 31), datetime.date(2020, 12, 1), None]


def dates(values, given=None):
    connection = duckdb.connect()
    frame = pd.DataFrame({"d": values})
    connection.register("frame", frame)
    connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    sql = date_sql(connection, "t", "d", "date", given)
    return [day for (day,) in connection.execute(f"SELECT {sql} FROM t").fetchall()]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_recognised(form):
    texts = [day.strftime(form) for day in DAYS[:2]]
    assert dates([*texts, ""]) == DAYS
    assert dates([text.upper() for text in texts] + [None]) == DAYS


def test_examples_of_formats_are_the_same_day():
    for form, example in FORMATS.items():
        assert datetime.datetime.strptime(example, form).date() == DAYS[0]


def test_times_after_dates_are_dropped():
    assert dates(["2019-03-31 10:00:00", "2020-12-01T23:59:59Z", " "]) == DAYS


def test_dates_of_other_types():
    stamps = pd.to_datetime(["2019-03-31", "2020-12-01", None])
    assert dates(stamps) == DAYS
    assert dates([20190331, 20201201]) == DAYS[:2]


def test_days_and_months_that_cannot_be_told_apart_are_refused():
    with pytest.raises(InvalidInputError, match=r"03/31/2019 .*31/03/2019 .*give date_format"):
        dates(["03/04/2019", "05/06/2019"])
    assert dates(["03/04/2019", "05/06/2019"], "%d/%m/%Y")[0] == datetime.date(2019, 4, 3)
    assert dates(["03/03/2019"]) == [datetime.date(2019, 3, 3)]


def test_other_values_are_refused_without_being_shown():
    with pytest.raises(InvalidInputError, match="1 of 3 values of column 'd' are not dates like"):
        dates(["2019-03-31", "2019-04-31", "2019-05-31"])
    with pytest.raises(InvalidInputError, match=r"no dates in a known format.*give date_format"):
        dates(["Monday", "Tuesday"])


VISITS = pd.DataFrame({
    "id": [1, 2], "dx": ["R51", "R52"], "seen": ["06/14/2020", "06/15/2020"],
    "born": ["06/15/1980", "06/15/1980"],
})  # fmt: skip
NAMES = {"visit_id": "id", "code": ["dx"], "version": "ICD10"}


def test_year_and_age_follow_from_dates():
    source = read_tables(VISITS, date="seen", birth_date="born", **NAMES)
    assert source.query("SELECT age, year FROM visits ORDER BY visit") == [(39, 2020), (40, 2020)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"birth_date": "born"}, "give date, and no age"),
        ({"birth_date": "born", "date": "seen", "age": "id"}, "give date, and no age"),
        ({"birth_date": "seen", "date": "born"}, "2 visits are dated before the birth"),
        ({"year": "seen"}, "year: column 'seen' holds no numbers; .*under date"),
        ({"age": "born"}, "age: column 'born' holds no numbers; .*under birth_date"),
        ({"date": "dx"}, "holds no dates"),
        ({"date": "nothing"}, "lacks the columns nothing"),
    ],
)
def test_dates_that_do_not_fit_are_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        read_tables(VISITS, **options, **NAMES)


def test_years_of_two_digits_are_never_read_as_those_of_antiquity():
    for values in (["03/31/19", "12/01/20"], ["31.03.19", "01.12.20"], ["19-03-31", "20-12-01"]):
        with pytest.raises(InvalidInputError, match=r"no dates in a known format.*'%m/%d/%y'"):
            dates(values)
    with pytest.raises(InvalidInputError, match=r"no dates in the format '%m/%d/%Y'"):
        dates(["03/31/19", "12/01/20"], "%m/%d/%Y")
    assert dates(["03/31/19", "12/01/20"], "%m/%d/%y") == DAYS[:2]
