import warnings

import pytest

from relprev.disclosure import NOT_SHOWN
from relprev.errors import ConvergenceWarning, DataWarning, InvalidInputError
from relprev.messages import Count, Message
from relprev.study.stages.kept import recorded_warnings


def test_messages_are_kept_with_their_counts_and_plain_text_is_not():
    few = Message("{n} lack a weight", n=Count(3, "visit"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing may escape
        with recorded_warnings() as said:
            warnings.warn(DataWarning(few), stacklevel=1)
            warnings.warn(ConvergenceWarning("3 visits of Group C"), stacklevel=1)
            warnings.warn("of another package: 3 visits", stacklevel=1)
    assert said == [few, Message(NOT_SHOWN)]


def test_an_error_passes_and_shows_no_warning():
    def fails():
        with recorded_warnings():
            warnings.warn(DataWarning(Message("before")), stacklevel=1)
            raise ValueError("stop")

    with warnings.catch_warnings(record=True) as seen, pytest.raises(ValueError, match="stop"):
        fails()
    assert not seen


def test_an_error_takes_along_what_was_said_before_it_as_far_as_it_may_be_shown():
    lost = Message("{n} match no visit", n=Count(3, "record"))

    def fails():
        with recorded_warnings([Message("the file is old")]):
            warnings.warn(DataWarning(lost), stacklevel=1)
            raise InvalidInputError("no features remain")

    with pytest.raises(InvalidInputError) as raised:
        fails()
    first, second = raised.value.__notes__
    assert first == "the file is old"
    assert "match no visit" in second
    assert "3" not in second
