"""Answers to questions of NHANES: refused and don't know become missing.

Where a question has a list of answers, 7 means refused and 9 don't know; where the largest answer
has two digits they are 77 and 99, and so on (777, 999; 7777, 9999). Transport files do not say
which variables are answers. The names do: the third letter of a question is Q (DIQ010, DPQ020), or
D where NCHS edited the answers (DMDEDUC2, SLD010H), while measurements begin with the letters of
their part (BMX, BPX, LBX, URX, ...) and design variables with RI, SD or WT. Numbers in the data
then tell whether a code is one: it is if no other value lies between it and the next code. So 7 is
a number where there is an 8, or where 6 is an answer and 9 is not.
"""

from __future__ import annotations

import numpy as np

from relprev.sources.database import Connection, identifier

NOT_ASKED = ("RI", "SD", "WT", "LB", "UR", "BM", "BP", "SP", "DX", "OH", "AU", "MG", "CV", "SE")
ASKED = ("BPQ", "BPD")  # questions on blood pressure, which measurements begin like


def is_answer(name: str) -> bool:
    """Whether a variable is an answer to a question.

    Examples
    --------
    >>> [name for name in ("DIQ010", "DMDEDUC2", "BPXSY1", "BPQ020", "RIDAGEYR", "LBDHDD")
    ...  if is_answer(name)]
    ['DIQ010', 'DMDEDUC2', 'BPQ020']
    """
    name = name.upper()
    if name.startswith(ASKED):
        return True
    return len(name) > 4 and name[2] in "QD" and not name.startswith(NOT_ASKED)


def refusal_codes(values: list[float]) -> tuple[int, ...]:
    """Which of the different values of an answer mean refused or don't know.

    Examples
    --------
    >>> refusal_codes([1, 2, 7, 9]), refusal_codes([0, 1, 5, 30, 77, 99])
    ((7, 9), (77, 99))
    >>> refusal_codes([1, 2, 6, 7]), refusal_codes([5, 6, 7, 8, 9]), refusal_codes([1.5, 7])
    ((), (), ())
    """
    if not values or min(values) < 0 or any(value != int(value) for value in values):
        return ()
    digits = len(str(int(max(values))))
    refused, unknown = int("7" * digits), int("9" * digits)
    before = int("6" * digits)
    largest = [value for value in values if value > before]
    if not set(largest) <= {refused, unknown} or (digits > 3 and not largest):
        return ()
    if unknown not in largest and before in values:  # 6, 7: the end of a count, not a code
        return ()
    return tuple(int(value) for value in sorted(largest))


def without_refusals(connection: Connection, table: str) -> None:
    """Set the codes for refused and don't know to NULL in all answers of a table."""
    described = connection.execute(f"DESCRIBE {table}").fetchall()
    names = [row[0] for row in described
             if row[1] not in ("VARCHAR", "BOOLEAN") and is_answer(row[0])]  # fmt: skip
    if not names:
        return
    columns = [identifier(name) for name in names]
    query = ", ".join(f"{column}::DOUBLE AS {column}" for column in columns)
    found = connection.execute(f"SELECT {query} FROM {table}").fetchnumpy()
    cleaned = []
    for name, column in zip(names, columns, strict=True):
        codes = refusal_codes(np.unique(np.ma.compressed(found[name])).tolist())
        if codes:
            listed = ", ".join(map(str, codes))
            cleaned.append(f"CASE WHEN {column} NOT IN ({listed}) THEN {column} END AS {column}")
    if cleaned:
        connection.execute(
            f"CREATE OR REPLACE TABLE {table} AS SELECT * REPLACE ({', '.join(cleaned)}) "
            f"FROM {table}"
        )
