from __future__ import annotations

import warnings

import pytest

from relprev.errors import DataWarning
from relprev.messages import Number
from relprev.sources import read_omop
from relprev.sources.omop_visits import Match


def with_records(folder, matched, unmatched):
    with (folder / "condition_occurrence.csv").open("a") as file:
        file.writelines("1,2020-06-14,11,501,local 8,0\n" * matched)
        file.writelines("1,2021-06-14,,501,local 8,0\n" * unmatched)
    return folder


def test_many_records_without_a_visit_are_told_and_warned_of(small):
    """99% of the records of a database named no visit, were left out, and nothing was said."""
    with_records(small, matched=97, unmatched=900)
    with pytest.warns(DataWarning) as said:
        source = read_omop(small)
    assert str(said[0].message) == (
        "90% of the condition records (more than 5%) match no visit and are not used, so diagnoses "
        'and features are missing; use match = "date", or unit = "person"'
    )
    last = source.attrition.steps[-1]
    assert last.step == "condition records not used, as they match no visit: 90%"
    assert (last.visits, last.patients) == (2, 2)


def test_remedies_depend_on_what_was_tried(small):
    with_records(small, matched=97, unmatched=900)
    with pytest.warns(DataWarning, match=r'match no visit and .*; use unit = "person"$'):
        read_omop(small, match="date")
    with pytest.warns(DataWarning, match=r"match no time of observation .*; look at observation_"):
        read_omop(small, unit="person")


def test_a_few_percent_are_told_without_a_warning(small):
    with_records(small, matched=997, unmatched=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps = read_omop(small).attrition.steps
    assert steps[-1].step == "condition records not used, as they match no visit: 5%"


def test_no_line_if_every_record_has_a_visit(small):
    assert [step.step for step in read_omop(small).attrition.steps] == [
        "visits in the database", "visit of the kinds asked for",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("records", "matched", "told"),
    [
        (1000, 990, "some"), (1000, 989, Number(0.011, ".0%")), (1000, 10, "some"),
        (1000, 0, "all"), (5, 0, "some"), (100_000, 99_900, "less than 1%"),
        (100_000, 100, "more than 99%"),
    ],
)  # fmt: skip
def test_shares_of_few_records_are_not_told(records, matched, told):
    found = Match("condition_occurrence", records, matched).told
    assert str(found) == (str(told) if isinstance(told, str) else "1%")


def test_races_and_genders_are_named_without_a_vocabulary(small):
    """An extract without the concepts of races said "concept 8527"."""
    concepts = small / "concept.csv"
    concepts.write_text(concepts.read_text().replace("8527,White,Race,5\n", ""))
    query = "SELECT race, gender, sex FROM visits ORDER BY visit"
    assert read_omop(small).query(query) == [("White", "FEMALE", "F"), (None, "MALE", "M")]


def test_genders_and_races_of_other_vocabularies_have_their_concepts_names(small):
    person, concepts = small / "person.csv", small / "concept.csv"
    person.write_text(person.read_text().replace("2,8507", "2,77").replace("8527,0", "78,79"))
    concepts.write_text(concepts.read_text() + "77,Female,X,f\n78,Sami,X,s\n")
    query = "SELECT race, ethnicity, gender, sex FROM visits ORDER BY visit"
    assert read_omop(small).query(query) == [
        ("Sami", "concept 79", "FEMALE", "F"), (None, None, "Female", "F"),
    ]  # fmt: skip


def test_people_can_be_included_by_their_time_of_observation(small):
    source = read_omop(small, unit="person")
    assert source.attributes == ("race", "ethnicity", "gender", "observed_days")
