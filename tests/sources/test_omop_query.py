"""The same query answers alike wherever the tables are."""

from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_omop

CODES = "SELECT visit_id, version, code FROM visits JOIN codes USING (visit) ORDER BY ALL"
RECORDS = """
1,2020-06-18,,501,local 8,0
1,2020-06-14,99,501,local 9,0
1,2021-02-01,,501,local 10,0
2,2020-03-01,,502,T74.11XA,600
"""


@pytest.fixture
def unmatched(small):
    """Four more records: two on a day of a visit, one on no such day, one after observation."""
    with (small / "condition_occurrence.csv").open("a") as file:
        file.write(RECORDS.lstrip())
    return small


def test_records_of_a_visit_are_found_by_its_number(small, moved):
    assert moved(small).query(CODES) == [
        (11, "ICD10", "T7411XA"), (11, "ICD9", "E9673"), (13, "SOURCE", "LOCAL7"),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:some of the condition records")
def test_records_without_a_visit_are_found_by_their_day(unmatched, moved):
    source = moved(unmatched, match="date", visit_concepts=[])
    assert source.query(CODES) == [
        (11, "ICD10", "T7411XA"), (11, "ICD9", "E9673"), (11, "SOURCE", "LOCAL9"),
        (12, "SOURCE", "LOCAL8"), (13, "SOURCE", "LOCAL7"),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:some of the condition records")
def test_a_visit_of_another_kind_keeps_its_records(unmatched, moved):
    source = moved(unmatched, match="date", visit_concepts=[9203])
    assert (12, "SOURCE", "LOCAL8") not in source.query(CODES)
    assert (11, "SOURCE", "LOCAL9") in source.query(CODES)


@pytest.mark.filterwarnings("ignore:some of the condition records")
def test_people_have_their_records_while_observed(unmatched, moved):
    source = moved(unmatched, unit="person")
    assert source.query(CODES) == [
        (1, "ICD10", "T7411XA"), (1, "ICD9", "E9673"), (1, "SOURCE", "LOCAL8"),
        (1, "SOURCE", "LOCAL9"), (2, "ICD10", "T7411XA"), (2, "SOURCE", "LOCAL7"),
    ]  # fmt: skip
    people = "SELECT visit_id, patient, age, year, observed_days, gender FROM visits ORDER BY visit"
    assert source.query(people) == [
        (1, 1, 39, 2020, 366, "FEMALE"), (2, 2, 28, 2019, 547, "MALE"),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:some of the condition records")
def test_a_window_cuts_observation_and_records(unmatched, moved):
    source = moved(unmatched, unit="person", start="2020-02-01", end="2020-06-15")
    assert source.query(CODES) == [
        (1, "ICD10", "T7411XA"), (1, "ICD9", "E9673"), (1, "SOURCE", "LOCAL9"),
        (2, "ICD10", "T7411XA"),
    ]  # fmt: skip
    assert source.query("SELECT DISTINCT observed_days FROM visits") == [(136,)]
    steps = source.attrition.steps
    assert [step.step for step in steps] == [
        "people in the database", "observed from 2020-02-01 until 2020-06-15",
    ]  # fmt: skip


def test_a_window_of_visits_is_by_their_first_day(small, moved):
    source = moved(small, visit_concepts=[], start="2020-06-15")
    assert source.query("SELECT visit_id FROM visits") == [(12,)]
    assert source.attrition.steps[-1].step == "visit from 2020-06-15"


def test_only_rows_and_columns_of_the_study_are_fetched(small, moved):
    source = moved(small, visit_concepts=[9202])
    assert source.query("SELECT person_id::BIGINT FROM raw_person") == [(1,)]
    assert source.query("SELECT concept_id::BIGINT FROM raw_concept ORDER BY 1") == [(8527,)]
    assert source.query("SELECT count(*) FROM codes") == [(0,)]


def test_of_several_visits_on_a_day_the_last_to_begin_is_taken(small):
    with (small / "visit_occurrence.csv").open("a") as file:
        file.write("14,1,9201,2020-06-10,2020-06-25\n15,1,9203,2020-06-16,2020-06-17\n")
    with (small / "condition_occurrence.csv").open("a") as file:
        file.write("1,2020-06-17,,501,local 8,0\n1,2020-06-22,,501,local 9,0\n")
    codes = read_omop(small, match="date", visit_concepts=[]).query(CODES)
    assert (15, "SOURCE", "LOCAL8") in codes
    assert (14, "SOURCE", "LOCAL9") in codes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": "stay"}, "unit must be 'visit' or 'person', got 'stay'"),
        ({"match": "day"}, "match must be 'visit' or 'date', got 'day'"),
        ({"unit": "person", "match": "date"}, "match is for unit='visit'"),
        ({"unit": "person", "visit_concepts": []}, "visit_concepts is for unit='visit'"),
        ({"start": "1/2/2019"}, "start must be a date such as '2019-01-31', got something else"),
        ({"end": 2019}, "end must be a date such as '2019-01-31', got something else"),
        ({"visit_concepts": ["9203"]}, "visit_concepts: expected numbers of concepts"),
        ({"visit_concepts": 9203}, "visit_concepts: expected numbers of concepts"),
        ({"visit_concepts": "9203"}, "visit_concepts: expected numbers of concepts"),
        ({"start": "2020-02-01", "end": "2020-01-01"}, "start must not be after end"),
    ],
)
def test_impossible_designs_are_refused(small, options, words):
    with pytest.raises(InvalidInputError, match=words):
        read_omop(small, **options)


def test_people_need_observation_periods(small):
    (small / "observation_period.csv").unlink()
    with pytest.raises(InvalidInputError, match=r"has no observation_period\.parquet"):
        read_omop(small, unit="person")


def test_dates_need_the_end_of_visits(small):
    file = small / "visit_occurrence.csv"
    file.write_text(file.read_text().replace("visit_end_date", "left"))
    with pytest.raises(InvalidInputError, match="lacks the column visit_end_date"):
        read_omop(small, match="date")


def test_studies_without_units_are_refused(small):
    with pytest.raises(InvalidInputError, match=r"no visit is of the kinds .*visit_concepts 262,"):
        read_omop(small, visit_concepts=[262])
    with pytest.raises(InvalidInputError, match="nobody is observed"):
        read_omop(small, unit="person", start="2030-01-01")
