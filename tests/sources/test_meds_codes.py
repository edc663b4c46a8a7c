from __future__ import annotations

import pytest

from relprev.sources.meds_codes import named, split


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("DIAGNOSIS//ICD//9//99581", ("ICD9", "99581", "diagnosis")),
        ("DIAGNOSIS//ICD10CM//T74.11XA", ("ICD10", "T7411XA", "diagnosis")),
        ("ICD10CM/T74.11XA", ("ICD10", "T7411XA", "diagnosis")),
        ("PROCEDURE//ICD//10//02HV33Z", ("MEDS", "PROCEDURE//ICD//10//02HV33Z", "procedure")),
        ("ICD9Proc/38.93", ("MEDS", "ICD9PROC/3893", "icd9proc")),
        ("ICD10PCS/02HV33Z", ("MEDS", "ICD10PCS/02HV33Z", "icd10pcs")),
        ("Blood Pressure", ("MEDS", "BLOODPRESSURE", "blood pressure")),
        ("LOINC/2160-0", ("LOINC", "21600", "loinc")),
    ],
)
def test_vocabularies_of_codes(code, expected):
    """Procedures of ICD-9 look like diagnoses: 38.93 is no code of hearing loss."""
    assert named(code) == expected


def test_parts_of_codes():
    assert split("RACE//WHITE//X") == ("RACE", "WHITE//X")
    assert split("/odd") == ("/odd", "")
