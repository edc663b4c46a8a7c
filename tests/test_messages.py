"""Nothing that speaks of data holds a number that was not declared.

The first half reads the package's own source: every warning, every error about too few cases and
every effect of a check is a `Message` whose template is a literal. The second half proves that a
message shows nothing but what its renderer lets through.
"""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relprev
from relprev import errors
from relprev.messages import Count, Message, Number, joined, message_of

PACKAGE = Path(relprev.__file__).parent
NOT_YET: set[str] = set()  # files that still speak in plain text
WRAPS_TEXT: set[str] = {  # files that turn text which may be shown as it is into a message
    "disclosure/rendering.py",
}  # fmt: skip
FILES = {file.relative_to(PACKAGE).as_posix(): file for file in sorted(PACKAGE.rglob("*.py"))}
SPEAK_OF_DATA = {"TooFewCasesError"} | {name for name in errors.__all__ if "Warning" in name}
PEOPLE = r"(?:patients?|people|persons?|visits?|rows?|cases?|diagnos(?:ed|es))"
SMALL = r"(?:two|three|four|five|six|seven|eight|nine|ten)"
TELLS_A_COUNT = re.compile(
    rf"\d[\d,.]* (?:\w+ ){{0,2}}{PEOPLE}\b|{PEOPLE}:? \d|\b{SMALL} (?:\w+ )?{PEOPLE}\b"
    rf"|\bone (?:diagnosed )?{PEOPLE}\b",
    re.IGNORECASE,
)


# -- the source ----------------------------------------------------------------------------


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def calls(name: str) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Every call in a file, with the function (or module) around it."""
    found: list[tuple[ast.AST, ast.AST]] = [(tree(name), tree(name))]
    while found:
        node, around = found.pop()
        if isinstance(node, ast.Call):
            yield node, around
        inside = node if isinstance(node, ast.FunctionDef) else around
        found += [(child, inside) for child in ast.iter_child_nodes(node)]


def called(node: ast.AST | None) -> str:
    """The last name of what is called, such as ``warn`` of ``warnings.warn(...)``."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def is_message(node: ast.AST | None, around: ast.AST, name: str) -> bool:
    """Whether an expression is a message: made here, given as one, or returned as one."""
    if isinstance(node, ast.IfExp):
        return is_message(node.body, around, name) and is_message(node.orelse, around, name)
    if isinstance(node, ast.Call):
        return called(node) in makers()
    if not isinstance(node, ast.Name):
        return False
    given = [item for item in ast.walk(around) if isinstance(item, ast.arg)]
    if any(item.arg == node.id and _is_named(item.annotation, "Message") for item in given):
        return True
    values = assigned(node.id, around)
    return bool(values) and all(is_message(value, around, name) for value in values)


@cache
def makers() -> set[str]:
    """Names of all functions that return a message."""
    found = (item for name in FILES for item in ast.walk(tree(name)))
    return {"Message"} | {
        item.name
        for item in found
        if isinstance(item, ast.FunctionDef) and _is_named(item.returns, "Message")
    }


def assigned(name: str, around: ast.AST) -> list[ast.AST]:
    """All that is assigned to a name."""
    return [
        item.value
        for item in ast.walk(around)
        if isinstance(item, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == name for one in item.targets)
    ]


def literals(node: ast.AST | None, around: ast.AST) -> list[str]:
    """The texts an expression can be, if they are all written down; else none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        parts = [literals(node.body, around), literals(node.orelse, around)]
    elif isinstance(node, ast.Name):
        values = assigned(node.id, around)
        if not values and node.id.isupper():  # a constant, perhaps of another module
            values = [value for name in FILES for value in assigned(node.id, tree(name))]
        parts = [literals(value, around) for value in values]
    else:
        return []
    return [text for part in parts for text in part] if all(parts) else []


def _is_named(annotation: ast.AST | None, name: str) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == name


def said(name: str) -> Iterator[tuple[str, ast.AST | None, ast.AST]]:
    """Everything a file says about data: where, what, and the function around it."""
    for call, around in calls(name):
        where = f"{name}:{call.lineno}"
        first = call.args[0] if call.args else None
        if called(call) == "warn":
            again = isinstance(first, ast.Attribute) and first.attr == "message"  # as it was caught
            if not again and called(first) not in SPEAK_OF_DATA:
                yield f"{where} warns without a warning of relprev's", None, around
        elif called(call) in SPEAK_OF_DATA:
            yield f"{where} {called(call)}", first, around
        for keyword in call.keywords:
            if keyword.arg == "effect":
                yield f"{where} effect", keyword.value, around


def made() -> Iterator[tuple[str, ast.Call, ast.AST]]:
    """Every message made in the package, but for the module that defines them."""
    for name in FILES.keys() - {"messages.py"}:
        yield from (
            (f"{name}:{call.lineno}", call, around)
            for call, around in calls(name)
            if called(call) == "Message"
        )


def test_all_that_is_said_of_data_is_a_message():
    plain = [
        where for name in FILES if name not in NOT_YET
        for where, what, around in said(name) if not is_message(what, around, name)
    ]  # fmt: skip
    assert not plain
    assert not [name for name in NOT_YET if name not in FILES]


def test_what_is_said_is_found():
    """The tests below would pass if nothing were found."""
    everything = [where for name in FILES for where, *_ in said(name)]
    assert len(everything) > 20
    assert any("effect" in where for where in everything)
    assert len(list(made())) > 15


def test_templates_are_literal_and_hold_no_count():
    for where, call, around in made():
        templates = literals(call.args[0] if call.args else None, around)
        assert templates, f"{where}: the template is not a literal"
        assert not [text for text in templates if TELLS_A_COUNT.search(text)], where


def test_values_are_declared_and_not_written_into_text():
    """``x=f"{count} patients"`` would go around the declaration; quoting a name is fine."""
    for where, call, around in made():
        if where.partition(":")[0] in WRAPS_TEXT:
            continue
        for text in literals(call.args[0], around):
            whatever = re.fullmatch(r"\{\w+\}", text.strip())
            assert not whatever, f"{where}: the message is whatever text it is given"
        for keyword in call.keywords:
            for node in ast.walk(keyword.value):
                written = called(node) in ("str", "format")
                if isinstance(node, ast.FormattedValue):
                    written = node.conversion != ord("r")
                assert not written, f"{where}: {keyword.arg} is formatted text"


@pytest.mark.parametrize(
    "template",
    ["fewer than 2 diagnosed patients", "{group} has 3 of 40 patients", "diagnosed patients: 3",
     "4 effective cases", "too few for two diagnosed visits", "only one diagnosed patient"],
)  # fmt: skip
def test_templates_that_tell_a_count_are_known(template):
    assert TELLS_A_COUNT.search(template)


@pytest.mark.parametrize(
    "template",
    ["between {low} and {high} (1 and 0 expected)", "fewer than two groups have an estimate",
     "cases of low and of high risk (5th and 95th percentile)", "{n} of {total} carry it"],
)  # fmt: skip
def test_templates_that_tell_no_count_pass(template):
    assert not TELLS_A_COUNT.search(template)


# -- messages ------------------------------------------------------------------------------

LETTERS = st.text("abc XYZ,.;{}", max_size=12)  # no digits: any that is seen came from a number
CELLS = st.lists(st.tuples(st.just("n"), LETTERS), max_size=2).map(tuple)
COUNTS = st.builds(
    Count,
    st.integers(0, 10**7) | st.floats(0, 1e6),
    st.sampled_from(["", "patient", "visit"]),
    CELLS,
)
NUMBERS = st.builds(
    Number, st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["g", ".2f"]), CELLS
)


@st.composite
def messages(draw, depth=2):
    """Any message, of any depth, whose text holds no digit."""
    inner = [messages(depth=depth - 1)] if depth else []
    value = st.one_of(COUNTS, NUMBERS, LETTERS, *inner)
    places = draw(st.lists(st.sampled_from("pqrst"), max_size=4, unique=True))
    values = {place: draw(value | st.lists(value, max_size=3)) for place in places}
    texts = [draw(LETTERS).replace("{", "{{").replace("}", "}}") for _ in range(len(places) + 1)]
    template = texts[0] + "".join(
        f"{{{place}}}{text}" for place, text in zip(places, texts[1:], strict=True)
    )
    return Message(template, **values)


def hidden(item: Count | Number) -> str:
    return "few"


@given(messages())
def test_a_renderer_that_hides_shows_no_number(message):
    assert not re.search(r"\d", message.render(hidden))


@given(messages())
def test_a_renderer_that_hides_counts_shows_the_other_numbers_only(message):
    seen = []

    def show(item):
        seen.append(item)
        return "few" if isinstance(item, Count) else f"<{item}>"

    text = message.render(show)
    assert seen == message.counts()
    assert not re.search(r"\d", re.sub(r"<[^<>]*>", "", text))


@given(messages())
def test_messages_survive_being_kept(message):
    for back in (Message.from_plain(message.plain()), pickle.loads(pickle.dumps(message))):
        assert back == message
        assert str(back) == str(message)
        assert back.render(hidden) == message.render(hidden)


@given(st.lists(messages(), min_size=1, max_size=3))
def test_joined_messages_keep_their_declarations(several):
    one = joined(several)
    assert one.counts() == [item for message in several for item in message.counts()]
    assert str(one) == " ".join(map(str, several))


@given(st.integers() | st.floats() | st.booleans() | st.none())
def test_bare_numbers_are_refused(value):
    for given_value in (value, [value]):
        with pytest.raises(TypeError, match="bare number"):
            Message("{n}", n=given_value)


@pytest.mark.parametrize("template", ["{n.value}", "{n[0]}", "{}", "{0}", "plain"])
def test_places_cannot_reach_into_values(template):
    with pytest.raises(TypeError, match="they must match"):
        Message(template, n=Count(3))


def test_errors_and_warnings_carry_their_message():
    message = Message("too few: {n}", n=Count(3, "visit"))
    assert message_of(errors.TooFewCasesError(message)) == message
    assert message_of(errors.DataWarning("3 visits")) is None
    assert str(errors.DataWarning(message)) == "too few: 3 visits"
