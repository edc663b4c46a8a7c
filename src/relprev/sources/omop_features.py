"""Findings in OMOP databases besides conditions: observations, measurements, procedures, drugs.

Codes are numbers of standard concepts. A measurement is a feature if it lies outside its range
(``LAB:3004249_HIGH``) or its result is called high, low, positive or abnormal; one within its
range is none. An observation with a coded answer is the question and the answer
(``OBS:4275495=4310250``); numbers and texts in observations are not read. Drugs are features by
their ATC class of the third level (``MED:N02B``) where the vocabulary has one, otherwise by
ingredient, otherwise as recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from relprev.sources.database import Connection, column_names, execute, quoted
from relprev.sources.kinds import Kind
from relprev.sources.omop_concepts import PREFIX

KINDS = (
    Kind("diagnoses", "ICD9, ICD10, SNOMED, ...", "conditions", default=True),
    Kind("observations", "OBS", "observations", ("observation",)),
    Kind("measurements", "LAB", "measurements outside their range", ("measurement",)),
    Kind("procedures", "PROC", "procedures", ("procedure",)),
    Kind("medications", "MED", "drugs by ATC class or ingredient", ("medication",)),
)
TABLES = {
    "observations": "observation", "measurements": "measurement",
    "procedures": "procedure_occurrence", "medications": "drug_exposure",
}  # fmt: skip
RESULTS = {
    "HIGH": ("high", "very high", "elevated", "increased", "above reference range",
             "above normal"),
    "LOW": ("low", "very low", "decreased", "below reference range", "below normal"),
    "POSITIVE": ("positive", "detected", "present", "reactive"),
    "ABNORMAL": ("abnormal",),
}  # fmt: skip
WORDS = {"HIGH": "above its range", "LOW": "below its range", "POSITIVE": "positive",
         "ABNORMAL": "abnormal"}  # fmt: skip
UNIT = "visit_occurrence_id"  # of the unit that a record belongs to, a visit or a person
ATC_THIRD = 4  # characters of a code of the third level, such as N02B


def tables_needed(kinds: Sequence[Kind]) -> list[str]:
    """Tables of records that these kinds are made of."""
    return [TABLES[kind.name] for kind in kinds if kind.name in TABLES]


def add_codes(connection: Connection, kinds: Sequence[Kind]) -> dict[str, str]:
    """Insert the codes of these kinds into ``codes``; return their descriptions.

    Codes are worked out once for each combination of what records say (the table ``said``).
    Records of a concept of ``members`` get the code of its set, as conditions do.
    """
    makers = {
        "observations": _OBSERVATIONS, "measurements": _measurements(),
        "procedures": _PROCEDURES, "medications": _MEDICATIONS,
    }  # fmt: skip
    words: dict[str, str] = {}
    for kind in kinds:
        if kind.name not in makers:
            continue
        table = f"raw_{TABLES[kind.name]}"
        columns = [name for name in column_names(connection, table) if name != UNIT]
        connection.execute(
            f"CREATE TEMP TABLE said AS SELECT DISTINCT {', '.join(columns)} FROM {table}"
        )
        if kind.name == "medications":
            connection.execute(_CLASSES)
        connection.execute(f"CREATE TEMP TABLE found AS {makers[kind.name]}")
        alike = " AND ".join(f"r.{name} IS NOT DISTINCT FROM f.{name}" for name in columns)
        execute(connection, f"""
            INSERT INTO codes
            SELECT DISTINCT v.visit, if(m.set IS NULL, {quoted(kind.prefix)}, {quoted(PREFIX)}),
                   coalesce(m.set, f.code), {quoted(kind.roles[0])}
            FROM {table} r JOIN found f ON {alike} JOIN visits v ON v.visit_id = r.{UNIT}::BIGINT
            LEFT JOIN members m ON m.concept = f.concept
            WHERE f.code <> ''
        """)  # fmt: skip
        named = connection.execute(
            "SELECT code, min(words) FROM found ANTI JOIN members USING (concept) "
            "WHERE words <> '' GROUP BY code ORDER BY code"
        ).fetchall()
        words |= {f"{kind.prefix}:{code}": text for code, text in named}
        connection.execute(f"DROP TABLE found; DROP TABLE said; DROP TABLE {table}")
    return words


def _concept(column: str) -> str:
    return f"nullif(try_cast({column} AS BIGINT), 0)"


def _named(number: str) -> str:
    """SQL for the name of a concept, NULL if the vocabulary lacks it."""
    return f"(SELECT any_value(concept_name) FROM raw_concept WHERE concept_id::BIGINT = {number})"


_PROCEDURES = f"""
    SELECT *, concept::VARCHAR AS code, {_named("concept")} AS words
    FROM (SELECT *, {_concept("procedure_concept_id")} AS concept FROM said)
"""
_OBSERVATIONS = f"""
    SELECT *, concept || coalesce('=' || answer, '') AS code,
           {_named("concept")} || coalesce(': ' || {_named("answer")}, '') AS words
    FROM (SELECT *, {_concept("observation_concept_id")} AS concept,
                 {_concept("value_as_concept_id")} AS answer
          FROM said)
"""


def _measurements() -> str:
    results = " ".join(
        f"WHEN lower(result) IN ({', '.join(map(quoted, names))}) THEN {quoted(level)}"
        for level, names in RESULTS.items()
    )
    words = " ".join(f"WHEN {quoted(level)} THEN {quoted(text)}" for level, text in WORDS.items())
    return f"""
        SELECT *, concept || '_' || level AS code,
               {_named("concept")} || ', ' || CASE level {words} END AS words
        FROM (SELECT *, coalesce(outside, CASE {results} END) AS level
              FROM (SELECT *, {_concept("measurement_concept_id")} AS concept,
                           {_named(_concept("value_as_concept_id"))} AS result
                    FROM said))
        WHERE level IS NOT NULL
    """


_CLASSES = f"""
    CREATE TEMP TABLE classes AS
    WITH drugs AS (
        SELECT DISTINCT {_concept("drug_concept_id")} AS drug FROM said
    ),
    links AS (
        SELECT ancestor_concept_id::BIGINT AS above, descendant_concept_id::BIGINT AS below
        FROM raw_concept_ancestor
    ),
    ancestors AS (
        SELECT drug, above, vocabulary_id AS vocabulary, concept_code AS code,
               concept_name AS words
        FROM drugs JOIN links ON below = drug JOIN raw_concept c ON c.concept_id::BIGINT = above
    ),
    atc AS (
        SELECT DISTINCT drug, code, words FROM ancestors
        WHERE vocabulary = 'ATC' AND length(code) = {ATC_THIRD}
    ),
    ingredients AS (
        SELECT DISTINCT drug, above::VARCHAR AS code, words FROM ancestors a
        WHERE vocabulary LIKE 'RxNorm%' AND NOT EXISTS (
            SELECT 1 FROM links l JOIN raw_concept c ON c.concept_id::BIGINT = l.above
            WHERE l.below = a.above AND l.above <> a.above AND c.vocabulary_id LIKE 'RxNorm%')
    )
    SELECT * FROM atc
    UNION ALL SELECT * FROM ingredients ANTI JOIN atc USING (drug)
    UNION ALL SELECT drug, drug::VARCHAR, {_named("drug")} FROM drugs
        ANTI JOIN atc USING (drug) ANTI JOIN ingredients USING (drug)
"""
_MEDICATIONS = f"""
    SELECT said.*, drug AS concept, code, words
    FROM said JOIN classes ON drug = {_concept("drug_concept_id")}
"""
