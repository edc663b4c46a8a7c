"""Warnings as messages, which a study may show as far as its rule allows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from relprev.disclosure import NOT_SHOWN
from relprev.errors import RelprevWarning
from relprev.messages import Message, message_of


@contextmanager
def recorded_warnings() -> Iterator[list[Message]]:
    """Collect relprev's warnings instead of showing them; others are none of the user's.

    One that is plain text may hold counts that nobody declared: only that it was said is kept.
    """
    said: list[Message] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said += [
        message_of(item.message) or Message(NOT_SHOWN)
        for item in caught
        if isinstance(item.message, RelprevWarning)
    ]
