from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError
from relprev.sources.database import connect
from relprev.sources.meds_visits import make_spans, matching

CODES = ["ED_IN//WALK", "ED_IN//AMBULANCE", "ED_OUT", "LAB//1"]
EVENTS = [  # subject, day of January, code
    (1, 1, "ED_IN//WALK"), (1, 3, "ED_OUT"), (1, 4, "LAB//1"), (1, 10, "ED_IN//AMBULANCE"),
    (1, 12, "LAB//1"), (2, 5, "LAB//1"), (2, 7, "LAB//1"),
]  # fmt: skip


@pytest.fixture
def connection():
    with connect() as opened:
        opened.execute("CREATE TABLE events (subject BIGINT, time TIMESTAMP, code VARCHAR)")
        rows = [(subject, f"2020-01-{day:02}", code) for subject, day, code in EVENTS]
        opened.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
        yield opened


def spans(connection, anchors=(), ends=(), days=None):
    make_spans(connection, CODES, anchors, ends, days, "true")
    return connection.execute(
        "SELECT subject, day(start), CASE WHEN until < TIMESTAMP '2021-01-01' THEN day(until) END "
        "FROM spans ORDER BY subject, start"
    ).fetchall()


def test_patterns_match_whole_codes_or_their_beginnings():
    assert matching(CODES, ["ED_IN*"]) == CODES[:2]
    assert matching(CODES, ["ED_IN", "ED_OUT"]) == ["ED_OUT"]
    assert matching(CODES, []) == []


def test_without_anchor_a_subject_is_one_span(connection):
    assert spans(connection) == [(1, 1, 12), (2, 5, 7)]


def test_a_span_ends_at_its_end_or_before_the_next_anchor(connection):
    assert spans(connection, ["ED_IN*"], ["ED_OUT"]) == [(1, 1, 3), (1, 10, None)]


def test_without_an_end_the_next_anchor_or_the_days_end_it(connection):
    assert spans(connection, ["ED_IN*"], days=4) == [(1, 1, 5), (1, 10, 14)]


def test_an_anchor_that_occurs_nowhere_suggests_another(connection):
    with pytest.raises(
        InvalidInputError, match=r"anchor: no event has the code 'ED_INN\*'; did you"
    ):
        spans(connection, ["ED_INN*"])
