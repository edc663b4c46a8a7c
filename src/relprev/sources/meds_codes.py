"""Codes of the Medical Event Data Standard, which leaves their vocabulary to whoever wrote them.

By custom the parts of a code are joined by slashes, from the general to the special:
``DIAGNOSIS//ICD//10//A047``, ``LAB//50912//mg/dL``, ``ICD10CM/A04.7``, ``GENDER//F``. What is
recognisably an ICD diagnosis gets the version ICD9 or ICD10, so that code sets match it; codes of
other vocabularies keep theirs; everything else is itself, with the version MEDS.
"""

from __future__ import annotations

import re

from relprev.codes.spelling import normalize, version_name

OWN = "MEDS"
ICD = re.compile(
    r"(?:(?:DIAGNOSIS|DIAGNOSES|CONDITION|DX)//?ICD[-_]?(?://?)?(9|10)(?:[-_]?CM)?"
    r"|ICD[-_]?(9|10)[-_]?CM)//?([^/]+).*",
    re.IGNORECASE,
)
VOCABULARY = re.compile(r"(SNOMED|LOINC|RXNORM|ATC|NDC|CPT4|HCPCS)//?([^/]+)", re.IGNORECASE)
PARTS = re.compile(r"(.+?)//(.*)|([A-Za-z][\w-]*)/(.*)", re.DOTALL)


def named(code: str) -> tuple[str, str, str]:
    """Version, code and role of a MEDS code; the role is its first part, in lower case.

    Examples
    --------
    >>> named("DIAGNOSIS//ICD//10//A04.7"), named("ICD9CM/038.9")
    (('ICD10', 'A047', 'diagnosis'), ('ICD9', '0389', 'diagnosis'))
    >>> named("PROCEDURE//ICD//9//3893"), named("SNOMED/65363002")
    (('MEDS', 'PROCEDURE//ICD//9//3893', 'procedure'), ('SNOMED', '65363002', 'snomed'))
    """
    icd = ICD.fullmatch(code)
    if icd:
        return version_name(icd[1] or icd[2]), normalize(icd[3]), "diagnosis"
    other = VOCABULARY.fullmatch(code)
    if other:
        return other[1].upper(), normalize(other[2]), other[1].lower()
    return OWN, normalize(code), split(code)[0].lower()


def split(code: str) -> tuple[str, str]:
    """The first part of a code, and the rest; a single slash parts words without blanks only.

    Examples
    --------
    >>> split("HOSPITAL_ADMISSION//EW EMER.//EMERGENCY ROOM"), split("Race/5"), split("MEDS_BIRTH")
    (('HOSPITAL_ADMISSION', 'EW EMER.//EMERGENCY ROOM'), ('Race', '5'), ('MEDS_BIRTH', ''))
    >>> split("BMI (kg/m2)")
    ('BMI (kg/m2)', '')
    """
    found = PARTS.fullmatch(code)
    return (found[1] or found[3], found[2] or found[4] or "") if found else (code, "")


def column_name(part: str) -> str:
    """The first part of a code as the name of a column.

    Examples
    --------
    >>> column_name("MARITAL STATUS"), column_name("Race")
    ('marital_status', 'race')
    """
    return re.sub(r"\W+", "_", part.strip().lower()).strip("_")
