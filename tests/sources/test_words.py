from __future__ import annotations

import duckdb
import pytest

from relprev.errors import InvalidInputError
from relprev.sources.words import MIN_PEOPLE, add_words, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SOB", ("breath", "shortness")),
        ("S/P FALL", ("fall",)),
        ("Abd pain, N/V", ("abdominal", "nausea", "pain", "vomiting")),
        ("pain Pain PAIN", ("pain",)),
        ("denies fever, cough", ("cough",)),
        ("3 days of headache since 2019-03-04 at 14:30", ("days", "headache")),
        ("BP 200/100, room B12, tel 555-0199", ("blood", "pressure", "room", "tel")),
        ("mrn a1234567", ("mrn",)),
        ("___", ()),
        ("", ()),
        ("élan", ()),
    ],
)
def test_words_by_hand(text, expected):
    assert words_of(text) == expected


@pytest.mark.parametrize("text", ["12345", "03/12/2180", "x1y2", "#99 9-9", "4 yo"])
def test_no_number_or_date_becomes_a_word(text):
    assert not [word for word in words_of(text) if any(sign.isdigit() for sign in word)]


def said(texts, patients=None, **options):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits (visit BIGINT, patient BIGINT)")
    connection.execute(
        "CREATE TABLE codes (visit BIGINT, version VARCHAR, code VARCHAR, role VARCHAR)"
    )
    connection.execute("CREATE TABLE raw (visit BIGINT, text VARCHAR)")
    for visit, text in enumerate(texts):
        patient = None if patients is None else patients[visit]
        connection.execute("INSERT INTO visits VALUES (?, ?)", [visit, patient])
        connection.execute("INSERT INTO raw VALUES (?, ?)", [visit, text])
    add_words(connection, "SELECT visit, text FROM raw", "COMPLAINT", "complaint", **options)
    return connection.execute("SELECT * FROM codes ORDER BY ALL").fetchall()


def test_a_word_needs_eleven_people_and_not_eleven_visits():
    texts = ["cough"] * 11 + ["Smithson cough"] * 11
    people = [*range(11), *[99] * 11]
    assert {row[2] for row in said(texts, people)} == {"COUGH"}
    assert {row[2] for row in said(texts[:10], people[:10])} == set()
    assert len(said(texts, people)) == 22


def test_visits_are_counted_where_patients_are_not_known():
    assert {row[2] for row in said(["cough"] * 11)} == {"COUGH"}
    assert said(["cough"] * 10) == []


def test_a_word_is_one_code_of_a_visit():
    assert said(["cough, COUGH; cough"] * MIN_PEOPLE) == [
        (visit, "COMPLAINT", "COUGH", "complaint") for visit in range(MIN_PEOPLE)
    ]


def test_fewer_people_than_eleven_are_refused():
    with pytest.raises(InvalidInputError, match="min_people must be 11 or more, got 1"):
        said(["cough"], min_people=1)


def test_data_without_any_text_have_no_words():
    assert said([None, "", "12"]) == []
