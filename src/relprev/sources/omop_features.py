"""Findings in OMOP databases besides conditions: observations, measurements, procedures, drugs.

Codes are numbers of standard concepts. A measurement is a feature if it lies outside its range
(``LAB:3004249_HIGH``) or its result is called high, low, positive or abnormal; one within its
range is none. An observation with a coded answer is the question and the answer
(``OBS:4275495=4310250``); numbers and texts in observations are not read. Drugs are features by
their ATC class of the third level (``MED:N02B``) where the vocabulary has one, otherwise by
ingredient, otherwise as recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relprev.sources.database import Connection, quoted
from relprev.sources.kinds import Kind

KINDS = (
    Kind("diagnoses", "ICD9, ICD10, SNOMED, ...", "conditions", default=True),
    Kind("observations", "OBS", "observations", ("observation",)),
    Kind("measurements", "LAB", "measurements outside their range", ("measurement",)),
    Kind("procedures", "PROC", "procedures", ("procedure",)),
    Kind("medications", "MED", "drugs by ATC class or ingredient", ("medication",)),
)
COLUMNS: dict[str, dict[str, tuple[str, ...]]] = {
    "observations": {
        "observation": ("visit_occurrence_id", "observation_concept_id", "value_as_concept_id"),
    },
    "measurements": {
        "measurement": ("visit_occurrence_id", "measurement_concept_id", "value_as_number",
                        "value_as_concept_id", "range_low", "range_high"),
    },
    "procedures": {"procedure_occurrence": ("visit_occurrence_id", "procedure_concept_id")},
    "medications": {
        "drug_exposure": ("visit_occurrence_id", "drug_concept_id"),
        "concept_ancestor": ("ancestor_concept_id", "descendant_concept_id"),
    },
}  # fmt: skip
MAY_LACK = ("concept_ancestor",)  # tables without which a kind is less, but can be made
RESULTS = {
    "HIGH": ("high", "very high", "elevated", "increased", "above reference range",
             "above normal"),
    "LOW": ("low", "very low", "decreased", "below reference range", "below normal"),
    "POSITIVE": ("positive", "detected", "present", "reactive"),
    "ABNORMAL": ("abnormal",),
}  # fmt: skip
WORDS = {"HIGH": "above its range", "LOW": "below its range", "POSITIVE": "positive",
         "ABNORMAL": "abnormal"}  # fmt: skip
ATC_THIRD = 4  # characters of a code of the third level, such as N02B


def tables_needed(kinds: Sequence[Kind]) -> dict[str, tuple[str, ...]]:
    """Tables and their columns that these kinds are made of."""
    return {
        table: columns for kind in kinds for table, columns in COLUMNS.get(kind.name, {}).items()
    }


def records_needed(kinds: Sequence[Kind]) -> dict[str, tuple[str, ...]]:
    """Tables of records that these kinds are made of, and what they say of a unit."""
    return {
        table: tuple(column for column in columns if column != "visit_occurrence_id")
        for table, columns in tables_needed(kinds).items()
        if table not in MAY_LACK
    }


def add_codes(connection: Connection, kinds: Sequence[Kind]) -> dict[str, str]:
    """Insert the codes of these kinds into ``codes``; return their descriptions."""
    makers: Mapping[str, Callable[[Connection], str]] = {
        "observations": _observations, "measurements": _measurements,
        "procedures": _procedures, "medications": _medications,
    }  # fmt: skip
    words: dict[str, str] = {}
    for kind in kinds:
        if kind.name not in makers:
            continue
        connection.execute(f"CREATE OR REPLACE TEMP TABLE found AS {makers[kind.name](connection)}")
        connection.execute(f"""
            INSERT INTO codes
            SELECT DISTINCT v.visit, {quoted(kind.prefix)}, f.code, {quoted(kind.roles[0])}
            FROM found f JOIN visits v ON v.visit_id = try_cast(f.visit_id AS BIGINT)
            WHERE f.code <> ''
        """)
        named = connection.execute(
            "SELECT code, min(words) FROM found WHERE words <> '' GROUP BY code ORDER BY code"
        ).fetchall()
        words |= {f"{kind.prefix}:{code}": text for code, text in named}
        connection.execute("DROP TABLE found")
    return words


def _concept(column: str) -> str:
    return f"nullif(try_cast({column} AS BIGINT), 0)"


def _named(number: str) -> str:
    """SQL for the name of a concept, NULL if the vocabulary lacks it."""
    return f"(SELECT any_value(concept_name) FROM raw_concept WHERE concept_id::BIGINT = {number})"


def _procedures(connection: Connection) -> str:
    return f"""
        SELECT visit_occurrence_id AS visit_id, concept::VARCHAR AS code,
               {_named("concept")} AS words
        FROM (SELECT visit_occurrence_id, {_concept("procedure_concept_id")} AS concept
              FROM raw_procedure_occurrence)
    """


def _observations(connection: Connection) -> str:
    return f"""
        SELECT visit_occurrence_id AS visit_id,
               concept || coalesce('=' || answer, '') AS code,
               {_named("concept")} || coalesce(': ' || {_named("answer")}, '') AS words
        FROM (SELECT visit_occurrence_id, {_concept("observation_concept_id")} AS concept,
                     {_concept("value_as_concept_id")} AS answer
              FROM raw_observation)
    """


def _measurements(connection: Connection) -> str:
    results = " ".join(
        f"WHEN lower(result) IN ({', '.join(map(quoted, names))}) THEN {quoted(level)}"
        for level, names in RESULTS.items()
    )
    words = " ".join(f"WHEN {quoted(level)} THEN {quoted(text)}" for level, text in WORDS.items())
    return f"""
        SELECT visit_id, concept || '_' || level AS code,
               {_named("concept")} || ', ' || CASE level {words} END AS words
        FROM (SELECT visit_id, concept,
                     CASE WHEN value < low THEN 'LOW' WHEN value > high THEN 'HIGH' {results} END
                         AS level
              FROM (SELECT visit_occurrence_id AS visit_id,
                           {_concept("measurement_concept_id")} AS concept,
                           try_cast(value_as_number AS DOUBLE) AS value,
                           try_cast(range_low AS DOUBLE) AS low,
                           try_cast(range_high AS DOUBLE) AS high,
                           {_named(_concept("value_as_concept_id"))} AS result
                    FROM raw_measurement))
        WHERE level IS NOT NULL
    """


def _medications(connection: Connection) -> str:
    """Exposures joined to the classes of their drugs, in the table ``classes``."""
    present = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'raw_concept_ancestor'"
    ).fetchall()[0][0]
    above = (
        "SELECT ancestor_concept_id::BIGINT, descendant_concept_id::BIGINT "
        "FROM raw_concept_ancestor"
        if present
        else "SELECT NULL::BIGINT, NULL::BIGINT WHERE false"
    )
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE classes AS
        WITH drugs AS (
            SELECT DISTINCT {_concept("drug_concept_id")} AS drug FROM raw_drug_exposure
        ),
        links(above, below) AS ({above}),
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
    """)
    return f"""
        SELECT visit_occurrence_id AS visit_id, code, words
        FROM raw_drug_exposure JOIN classes ON drug = {_concept("drug_concept_id")}
    """
