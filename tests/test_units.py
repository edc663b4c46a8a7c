import pandas as pd

from relprev.messages import Count, Message
from relprev.units import PERSON, VISIT


def test_only_whole_words_of_ours_are_changed():
    message = Message("{column}: no visit has it; revisit all visits", column="first visit")
    assert str(message.about(PERSON)) == "first visit: no person has it; revisit all people"
    assert message.about(VISIT) == message


def test_counts_have_the_plural_of_their_noun():
    few = Message("{n} of {all}", n=Count(1, "diagnosed visit"), all=Count(40, "visit"))
    assert str(few.about(PERSON)) == "1 diagnosed person of 40 people"
    assert Count(3, "person").of("fewer than 11") == "fewer than 11 people"
    assert str(Message("{what}", what=[few]).about(PERSON)).endswith("of 40 people")


def test_a_table_of_people_has_no_column_of_their_patients():
    steps = pd.DataFrame({"step": ["all"], "visits": [3], "patients": [3], "excluded_visits": [0]})
    assert list(PERSON.table(steps)) == ["step", "people", "excluded_people"]
    assert VISIT.table(steps) is steps
