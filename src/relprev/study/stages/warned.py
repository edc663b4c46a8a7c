"""Warnings as messages, which a study may show as far as its rule allows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from relprev.disclosure import NOT_SHOWN, Rule, shown
from relprev.errors import RelprevError, RelprevWarning
from relprev.messages import Message, message_of


@contextmanager
def recorded_warnings(before: Sequence[Message] = ()) -> Iterator[list[Message]]:
    """Collect relprev's warnings instead of showing them; others are none of the user's.

    One that is plain text may hold counts that nobody declared: only that it was said is kept.
    An error of relprev takes along what was said, and what was said ``before``, as its notes: it
    may be the reason.
    """
    said: list[Message] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield said
        except RelprevError as error:
            for message in dict.fromkeys([*before, *_messages(caught)]):
                error.add_note(shown(message, Rule()))
            raise
    said += _messages(caught)


def _messages(caught: Sequence[warnings.WarningMessage]) -> list[Message]:
    return [
        message_of(item.message) or Message(NOT_SHOWN)
        for item in caught
        if isinstance(item.message, RelprevWarning)
    ]
