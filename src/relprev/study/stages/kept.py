"""Run the stages of a study that are not kept yet, and collect what they warn of."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from relprev.disclosure import NOT_SHOWN, Rule, shown
from relprev.errors import InvalidInputError, RelprevError, RelprevWarning
from relprev.messages import Message, message_of
from relprev.progress import Advance
from relprev.store.stages import Outcome, Store


@dataclass(frozen=True)
class Stages:
    """Runs the stages that are not kept yet, and remembers the outcomes of all."""

    store: Store
    log: logging.Logger
    advance: Advance
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def __call__(
        self, kind: str, key: str, make: Callable[[], Outcome], *, of: str = "",
        is_whole: Callable[[Outcome], bool] = lambda outcome: True,
        unless: type[InvalidInputError] | tuple[()] = (), failure: Message | None = None,
    ) -> Outcome:  # fmt: skip
        """The outcome kept under the key, or else made and kept now.

        An error of type ``unless`` gives an outcome too: a warning that says ``failure``.
        """
        name = f"{of}: {kind.replace('_', ' ')}" if of else kind
        self.advance(name)
        found = self.store.find(kind, key)
        if found is not None and not is_whole(found):
            self.log.warning("%s: what was kept is damaged or gone; it is made again", name)
            found = None
        if found is None:
            self.log.info("%s: begun", name)
            found = self.store.keep(kind, key, _made(make, of, unless, failure))
            told = f", {len(found.warnings)} warnings" if found.warnings else ""
            self.log.info("%s: finished in %.1f s%s", name, found.seconds, told)
        else:
            self.log.info("%s: kept from an earlier run", name)
        self.outcomes[name] = found
        return found


def _made(
    make: Callable[[], Outcome], of: str, unless: type[InvalidInputError] | tuple[()],
    failure: Message | None,
) -> Outcome:  # fmt: skip
    """The outcome with its time and warnings; for a failure, only the reason."""
    began = time.perf_counter()
    try:
        with recorded_warnings() as said:
            made = make()
    except unless as error:
        why = message_of(error) or Message(NOT_SHOWN)
        words = "{variable}: {failure}: {why}"
        return Outcome(warnings=(Message(words, variable=of, failure=failure, why=why),))
    seconds = time.perf_counter() - began
    return replace(made, warnings=(*dict.fromkeys(said), *made.warnings), seconds=seconds)


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
