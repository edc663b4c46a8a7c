"""Free text, such as chief complaints, as words that many people share.

A text becomes the set of its words: lower case, common abbreviations written out, without stop
words, numbers, single letters and anything with a digit (dates, times, phone numbers, room
numbers). A word is kept if at least 11 different people have it in all data read. What only a
few wrote, a name or a place, say, never becomes a code, and no text leaves this module.
"""

from __future__ import annotations

import re
from functools import cache

import pandas as pd

from relprev.errors import InvalidInputError
from relprev.sources.database import Connection, quoted

MIN_PEOPLE = 11  # whoever has a rarer word could be recognised by it
SHORTEST = 3  # letters
LONGEST = 30
PHRASES = {
    r"\bn\s*/\s*v\s*/\s*d\b": "nausea vomiting diarrhea",
    r"\bn\s*/\s*v\b": "nausea vomiting",
    r"\bc\s*/\s*p\b": "chest pain",
    r"\bs\s*/\s*p\b": "after",
    r"\bh\s*/\s*a\b": "headache",
    r"\br\s*/\s*o\b": "",
    r"\bf\s*/\s*c\b": "fever chills",
    r"\b(?:w/o|without|denies|denied|no|not)\s+\w+": "",  # what is denied is no complaint
}
ABBREVIATIONS = {
    "abd": "abdominal", "abdo": "abdominal", "abnl": "abnormal", "ams": "altered mental status",
    "afib": "atrial fibrillation", "bp": "blood pressure", "brbpr": "rectal bleeding",
    "chf": "heart failure", "cp": "chest pain", "cva": "stroke", "doe": "dyspnea exertion",
    "dka": "diabetic ketoacidosis", "dvt": "thrombosis", "dx": "diagnosis", "etoh": "alcohol",
    "eval": "evaluation", "fb": "foreign body", "fx": "fracture", "gib": "gastrointestinal bleed",
    "ha": "headache", "hi": "homicidal ideation", "htn": "hypertension", "ili": "flu",
    "inj": "injury", "lac": "laceration", "lbp": "low back pain", "llq": "abdominal pain",
    "loc": "loss consciousness", "luq": "abdominal pain", "mvc": "motor vehicle crash",
    "mva": "motor vehicle crash", "mvt": "motor vehicle crash", "od": "overdose",
    "palps": "palpitations", "pe": "embolism", "preg": "pregnant", "psych": "psychiatric",
    "resp": "respiratory", "rlq": "abdominal pain", "ruq": "abdominal pain", "rx": "medication",
    "sdh": "subdural hematoma", "si": "suicidal ideation", "sob": "shortness breath",
    "sz": "seizure", "tia": "ischemic attack", "uri": "respiratory infection",
    "uti": "urinary infection", "vag": "vaginal", "vom": "vomiting", "wk": "weakness",
}  # fmt: skip
STOP_WORDS = frozenset({
    "after", "and", "are", "but", "for", "from", "has", "have", "her", "him", "his", "left",
    "lower", "new", "other", "out", "right", "she", "since", "that", "the", "this", "unknown",
    "upper", "was", "with",
})  # fmt: skip


@cache
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, each once, in alphabetical order.

    Examples
    --------
    >>> words_of("Abd pain, N/V since 03/12, call 555-0199")
    ('abdominal', 'call', 'nausea', 'pain', 'vomiting')
    >>> words_of("SOB, denies fever")
    ('breath', 'shortness')
    """
    text = text.lower()
    for pattern, words in PHRASES.items():
        text = re.sub(pattern, f" {words} ", text)
    found: set[str] = set()
    for token in re.findall(r"[^\W_]+", text):
        for word in ABBREVIATIONS.get(token, token).split():
            if re.fullmatch(rf"[a-z]{{{SHORTEST},{LONGEST}}}", word) and word not in STOP_WORDS:
                found.add(word)
    return tuple(sorted(found))


def add_words(
    connection: Connection, texts: str, version: str, role: str, min_people: int = MIN_PEOPLE
) -> None:
    """Insert the words of texts into ``codes``; ``texts`` is SQL with the columns visit and text.

    People are counted by ``patient``, or by visit if patients are not known.
    """
    if min_people < MIN_PEOPLE:
        raise InvalidInputError(f"min_people must be {MIN_PEOPLE} or more, got {min_people}")
    different = connection.execute(f"SELECT DISTINCT text FROM ({texts}) WHERE text <> ''")
    pairs = [(text, word) for (text,) in different.fetchall() for word in words_of(text)]
    frame = pd.DataFrame(pairs, columns=["text", "word"], dtype="str")
    words_of.cache_clear()
    connection.register("frame", frame)
    connection.execute(f"""
        INSERT INTO codes
        WITH said AS (SELECT DISTINCT visit, word FROM ({texts}) JOIN frame USING (text)),
        shared AS (
            SELECT word FROM said JOIN visits USING (visit) GROUP BY word
            HAVING count(DISTINCT coalesce(patient::VARCHAR, 'visit ' || visit)) >= {min_people}
        )
        SELECT visit, {quoted(version)}, upper(word), {quoted(role)}
        FROM said JOIN shared USING (word)
    """)
    connection.unregister("frame")
