from __future__ import annotations

import duckdb
import numpy as np
import pytest

from relprev.errors import InvalidInputError
from relprev.sources.expressions import columns_in, expression_sql

TYPES = {"a": "DOUBLE", "b": "DOUBLE", "word": "VARCHAR", "yes": "BOOLEAN", "a b": "BIGINT",
         "day": "DATE"}  # fmt: skip
ROWS = "(VALUES (1.0, 2.0, 'x', true, 5, DATE '2020-01-01'), (NULL, 0.0, '7', false, 6, NULL)) "


def values(text: str) -> list:
    sql = expression_sql(text, TYPES).text
    columns = '(a, b, word, yes, "a b", day)'
    return [row[0] for row in duckdb.sql(f"SELECT {sql} FROM {ROWS} AS t{columns}").fetchall()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * 2 - 1", [4.0, None]),
        ("-b", [-2.0, 0.0]),
        ("1 / b", [0.5, None]),
        ("1 <= a < 2", [True, None]),
        ("a == 1 or b == 0", [True, True]),
        ("a == 1 and b == 2", [True, False]),
        ("not yes", [False, True]),
        ("b in [2, 3]", [True, False]),
        ("b not in [2, 3]", [False, True]),
        ("word in ['x', 'y']", [True, False]),
        ("word == 7", [None, True]),
        ("word != 'x'", [False, True]),
        ("mean(a, b)", [1.5, 0.0]),
        ("min(a, b)", [1.0, 0.0]),
        ("max(a, b, 9)", [9.0, 9.0]),
        ("nonzero(b)", [2.0, None]),
        ("missing(a)", [False, True]),
        ("where(a > 0, 'p', 'q')", ["p", None]),
        ("where(missing(a), 0, a)", [1.0, 0.0]),
        ("abs(0 - b)", [2.0, 0.0]),
        ("log(b) > 0", [True, None]),
        ("column('a b') > 5", [False, True]),
        ("A + B", [3.0, None]),
        ("day >= '2020-01-01'", [True, None]),
        ("true or missing(a)", [True, True]),
    ],
)
def test_an_expression_means_what_it_says(text, expected):
    assert values(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("creatinine", "age", "female", "expected"),
    [(1.0, 50, False, 92), (1.0, 50, True, 69), (0.6, 30, True, 124), (2.4, 70, False, 28)],
)
def test_filtration_is_that_of_ckd_epi_2021(creatinine, age, female, expected):
    """142 (1.0 / 0.9)^-1.2 0.9938^50 = 92, and so on, worked out apart from the code."""
    sql = expression_sql(f"egfr({creatinine}, {age}, {str(female).lower()})", {}).text
    assert round(duckdb.sql(f"SELECT {sql}").fetchall()[0][0]) == expected


def test_what_is_not_above_zero_has_no_filtration():
    sql = expression_sql("egfr(0, 50, true)", {}).text
    assert duckdb.sql(f"SELECT {sql}").fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1", "write == for equality"),
        ("a >", "cannot be understood"),
        ("", "cannot be understood"),
        ("word.upper()", "is no function"),
        ("__import__('os')", "is no function"),
        ("read_csv('x')", "is no function"),
        ("[a for a in b]", "is not understood"),
        ("a ** 2", "use + - * and /"),
        ("a is b", "compare with"),
        ("lambda: a", "is not understood"),
        ("a and b", "true or false is expected where there is a number; compare it"),
        ("yes + 1", "a number is expected where there is true or false"),
        ("yes == 'x'", "true or false is compared with a text"),
        ("a in 3", "'in' needs a list"),
        ("b in []", "'in' needs a list"),
        ("where(yes, 1, 'x')", "make both alike"),
        ("where(yes, 1)", "where needs 3 arguments, got 2"),
        ("mean()", "mean needs 1 or more arguments, got 0"),
        ("column(a)", "column needs a name in quotes"),
        ("mean(*a)", "is no function"),
        ("None", "is not understood"),
        ("a + 1e999", "is not understood"),
        ("wordd == 'x'", "there is no column 'wordd'; did you mean 'word'"),
        ("a == 1 # x\n", "."),
        ("a" * 3000, "longer than"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_reason(text, words):
    if words == ".":
        assert expression_sql(text, TYPES).type == "truth"  # a comment does no harm
        return
    with pytest.raises(InvalidInputError, match=words.replace("+", r"\+").replace("*", r"\*")):
        expression_sql(text, TYPES)


def test_a_quote_in_a_text_or_name_stays_inside_it():
    assert values('word == "x\' OR 1=1 --"') == [False, False]
    with pytest.raises(InvalidInputError, match="there is no column"):
        expression_sql("column('a\" OR 1=1 --')", TYPES)


def test_columns_of_an_expression():
    assert columns_in("where(x in [1], mean(y, column('z 1')), true)") == {"x", "y", "z 1"}
    with pytest.raises(InvalidInputError, match="cannot be understood"):
        columns_in("x >")


def test_numbers_keep_their_precision():
    sql = expression_sql("a >= 5.7", {"a": "DOUBLE"}).text
    below, at = (duckdb.sql(f"SELECT {sql} FROM (VALUES ({x!r}::DOUBLE)) t(a)").fetchall()
                 for x in (float(np.nextafter(5.7, 0)), 5.7))  # fmt: skip
    assert (below, at) == ([(False,)], [(True,)])
