"""Columns from expressions over other columns, written as in Python and run by DuckDB.

    told = "DIQ160 == 1"
    systolic = "mean(BPXSY1, BPXSY2, BPXSY3)"
    raised = "systolic >= 140 or diastolic >= 90"
    group = "where(ward in ['a', 'b'], 'surgery', 'other')"

An expression is a number, a text or a truth value, or missing. What needs a missing value is
missing itself, except where the answer does not depend on it (``true or missing`` is true). Only
what is listed here is understood: nothing in an expression can read a file or call anything else.

    + - * /          arithmetic; a division by zero is missing
    == != < <= > >=  comparison, also chained: 5.7 <= LBXGH < 6.5
    in, not in       membership in a list: ward in ['a', 'b']
    and, or, not     of truth values
    mean, min, max   of numbers, without those that are missing
    nonzero(x)       x, missing if it is 0
    missing(x)       whether x is missing
    where(c, a, b)   a if c is true, b if it is false, missing if c is
    log(x), abs(x)   natural logarithm (of what is not positive: missing), absolute value
    egfr(creatinine, age, female)
                     estimated glomerular filtration rate, ml/min/1.73 m2, by CKD-EPI 2021:
                     142 min(c/k, 1)^a max(c/k, 1)^-1.2 0.9938^age (1.012 for women), with
                     creatinine c in mg/dl, k = 0.7, a = -0.241 (women), 0.9, -0.302 (men)
    column('a b')    a column whose name is no word
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

from relprev.errors import InvalidInputError
from relprev.settings import suggestion
from relprev.sources.database import identifier, quoted

Type = Literal["number", "text", "truth"]
LONGEST = 2_000  # characters
WORDS = {"number": "a number", "text": "a text", "truth": "true or false"}
COMPARISONS = {ast.Eq: "=", ast.NotEq: "<>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
               ast.GtE: ">="}  # fmt: skip
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


@dataclass(frozen=True)
class Sql:
    """A piece of an expression as SQL, and what kind of value it is."""

    text: str
    type: Type

    def number(self) -> str:
        """The value as a number; a text that is none is missing."""
        if self.type == "truth":
            raise _Problem("a number is expected where there is true or false")
        return self.text if self.type == "number" else f"try_cast({self.text} AS DOUBLE)"

    def truth(self) -> str:
        """The value as true or false; numbers and texts must be compared with something."""
        if self.type != "truth":
            raise _Problem(
                f"true or false is expected where there is {WORDS[self.type]}; compare it with "
                "something, as in x == 1"
            )
        return self.text


class _Problem(Exception):
    """What is wrong with an expression."""


def expression_sql(text: str, columns: Mapping[str, str]) -> Sql:
    """An expression as SQL.

    Parameters
    ----------
    text : str
        The expression.
    columns : mapping of name to DuckDB type
        The columns that it may use.

    Returns
    -------
    Sql
        For use in a SELECT over these columns.

    Examples
    --------
    >>> expression_sql("5.7 <= LBXGH < 6.5", {"LBXGH": "DOUBLE"})
    Sql(text='(5.7e0 <= "LBXGH" AND "LBXGH" < 6.5e0)', type='truth')
    >>> expression_sql("a + 1", {"a": "VARCHAR"}).text
    '(try_cast("a" AS DOUBLE) + 1)'
    >>> expression_sql("LBXGX > 5", {"LBXGH": "DOUBLE"})
    Traceback (most recent call last):
        ...
    relprev.errors.InvalidInputError: 'LBXGX > 5': there is no column 'LBXGX'; did you mean 'LBXGH'?
    """
    try:
        if len(text) > LONGEST:
            raise _Problem(f"it is longer than {LONGEST:,} characters")
        return _Translator(columns).translate(_parsed(text))
    except _Problem as problem:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise InvalidInputError(f"{shown!r}: {problem}") from None


def columns_in(text: str) -> set[str]:
    """The names of columns in an expression, whether or not there are such columns.

    Examples
    --------
    >>> sorted(columns_in("mean(a, b) > 1 and column('c d') == 2"))
    ['a', 'b', 'c d']
    """
    try:
        tree = _parsed(text)
    except _Problem as problem:
        raise InvalidInputError(f"{text!r}: {problem}") from None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions = {id(node.func) for node in calls}
    found = {node.id for node in ast.walk(tree)
             if isinstance(node, ast.Name) and id(node) not in functions
             and node.id not in ("true", "false")}  # fmt: skip
    named = [node.args[0].value for node in calls
             if isinstance(node.func, ast.Name) and node.func.id == "column" and node.args
             and isinstance(node.args[0], ast.Constant)]  # fmt: skip
    return found | {str(name) for name in named}


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        hint = "; write == for equality" if _lone_equals(text) else ""
        raise _Problem(f"it cannot be understood as an expression{hint}") from None


def _lone_equals(text: str) -> bool:
    return any(
        sign == "=" and text[k - 1 : k] not in tuple("=!<>") and text[k + 1 : k + 2] != "="
        for k, sign in enumerate(text)
    )


class _Translator:
    """Turns the syntax tree of an expression into SQL, and refuses whatever it does not know."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = {name.lower(): (name, kind) for name, kind in columns.items()}

    def translate(self, node: ast.expr) -> Sql:
        method: Callable[..., Sql] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise _Problem(f"{ast.unparse(node)!r} is not understood in an expression")
        return method(node)

    def _constant(self, node: ast.Constant) -> Sql:
        value = node.value
        if isinstance(value, bool):
            return Sql(str(value).lower(), "truth")
        if isinstance(value, int | float) and abs(value) < 1e300:
            exact = isinstance(value, int) or "e" in repr(value)
            return Sql(repr(value) if exact else f"{value!r}e0", "number")  # DOUBLE, not DECIMAL
        if isinstance(value, str):
            return Sql(quoted(value), "text")
        raise _Problem(f"{ast.unparse(node)!r} is not understood in an expression")

    def _name(self, node: ast.Name) -> Sql:
        if node.id in ("true", "false") and node.id not in self._columns:  # as TOML writes them
            return Sql(node.id, "truth")
        return self._column_named(node.id)

    def _column_named(self, name: str) -> Sql:
        if name.lower() not in self._columns:
            known = [name for name, _ in self._columns.values()]
            raise _Problem(f"there is no column {name!r}; {suggestion(name, known)}")
        name, kind = self._columns[name.lower()]
        sql = identifier(name)
        if kind == "BOOLEAN":
            return Sql(sql, "truth")
        if kind.startswith(("VARCHAR", "ENUM")):
            return Sql(sql, "text")
        if kind.startswith(("DATE", "TIME", "INTERVAL")):
            return Sql(f"{sql}::VARCHAR", "text")
        return Sql(sql, "number")

    def _unaryop(self, node: ast.UnaryOp) -> Sql:
        value = self.translate(node.operand)
        if isinstance(node.op, ast.Not):
            return Sql(f"(NOT {value.truth()})", "truth")
        if isinstance(node.op, ast.USub):
            return Sql(f"(-{value.number()})", "number")
        raise _Problem(f"{ast.unparse(node)!r} is not understood in an expression")

    def _binop(self, node: ast.BinOp) -> Sql:
        sign = ARITHMETIC.get(type(node.op))
        if sign is None:
            raise _Problem(f"{ast.unparse(node)!r} is not understood; use + - * and /")
        left, right = self.translate(node.left).number(), self.translate(node.right).number()
        right = f"nullif({right}, 0)" if sign == "/" else right
        return Sql(f"({left} {sign} {right})", "number")

    def _boolop(self, node: ast.BoolOp) -> Sql:
        word = " AND " if isinstance(node.op, ast.And) else " OR "
        return Sql(f"({word.join(self.translate(v).truth() for v in node.values)})", "truth")

    def _compare(self, node: ast.Compare) -> Sql:
        parts, left = [], node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                parts.append(self._membership(left, right, isinstance(operator, ast.NotIn)))
            elif type(operator) in COMPARISONS:
                parts.append(self._compared(left, COMPARISONS[type(operator)], right))
            else:
                raise _Problem(f"{ast.unparse(node)!r}: compare with == != < <= > >= or in")
            left = right
        return Sql(f"({' AND '.join(parts)})", "truth")

    def _compared(self, left: ast.expr, sign: str, right: ast.expr) -> str:
        one, two = self.translate(left), self.translate(right)
        if "number" in (one.type, two.type):
            return f"{one.number()} {sign} {two.number()}"
        if one.type != two.type:
            raise _Problem(f"{WORDS[one.type]} is compared with {WORDS[two.type]}")
        return f"{one.text} {sign} {two.text}"

    def _membership(self, left: ast.expr, right: ast.expr, negated: bool) -> str:
        if not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
            raise _Problem("'in' needs a list, as in x in [1, 2]")
        found = " OR ".join(self._compared(left, "=", value) for value in right.elts)
        return f"(NOT ({found}))" if negated else f"({found})"

    def _call(self, node: ast.Call) -> Sql:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS or node.keywords or any(
            isinstance(value, ast.Starred) for value in node.args
        ):  # fmt: skip
            raise _Problem(
                f"{ast.unparse(node.func)!r} is no function; {suggestion(name, [*FUNCTIONS])}"
            )
        if name == "column":
            given = node.args[0].value if len(node.args) == 1 and isinstance(
                node.args[0], ast.Constant) else None  # fmt: skip
            if not isinstance(given, str):
                raise _Problem("column needs a name in quotes, as in column('a b')")
            return self._column_named(given)
        least, most, make = FUNCTIONS[name]
        if not least <= len(node.args) <= most:
            wanted = str(least) if least == most else f"{least} or more"
            raise _Problem(f"{name} needs {wanted} arguments, got {len(node.args)}")
        return make(*(self.translate(value) for value in node.args))


def _of_numbers(name: str) -> Callable[..., Sql]:
    def make(*values: Sql) -> Sql:
        return Sql(f"{name}([{', '.join(value.number() for value in values)}])", "number")

    return make


def _where(test: Sql, one: Sql, other: Sql) -> Sql:
    if one.type != other.type:
        raise _Problem(f"where gives {WORDS[one.type]} or {WORDS[other.type]}; make both alike")
    truth = test.truth()
    return Sql(f"CASE WHEN {truth} THEN {one.text} WHEN NOT {truth} THEN {other.text} END",
               one.type)  # fmt: skip


def _egfr(creatinine: Sql, age: Sql, female: Sql) -> Sql:
    truth, years = female.truth(), age.number()

    def of(k: float, a: float, factor: float) -> str:
        c = f"({creatinine.number()} / {k})"
        return (
            f"CASE WHEN {c} > 0 THEN {142 * factor} * pow(least({c}, 1), {a}) "
            f"* pow(greatest({c}, 1), -1.2) * pow(0.9938, {years}) END"
        )

    return Sql(
        f"(CASE WHEN {truth} THEN {of(0.7, -0.241, 1.012)} "
        f"WHEN NOT {truth} THEN {of(0.9, -0.302, 1.0)} END)",
        "number",
    )


def _log(value: Sql) -> Sql:
    number = value.number()
    return Sql(f"CASE WHEN {number} > 0 THEN ln({number}) END", "number")


def _column(*values: Sql) -> NoReturn:
    raise AssertionError("columns are looked up by name")


MANY = 1_000
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Sql]]] = {  # least, most arguments
    "mean": (1, MANY, _of_numbers("list_avg")),
    "min": (1, MANY, _of_numbers("list_min")),
    "max": (1, MANY, _of_numbers("list_max")),
    "nonzero": (1, 1, lambda value: Sql(f"nullif({value.number()}, 0)", "number")),
    "missing": (1, 1, lambda value: Sql(f"({value.text} IS NULL)", "truth")),
    "where": (3, 3, _where),
    "log": (1, 1, _log),
    "abs": (1, 1, lambda value: Sql(f"abs({value.number()})", "number")),
    "egfr": (3, 3, _egfr),
    "column": (1, 1, _column),
}
