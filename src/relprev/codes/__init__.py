"""Diagnosis codes: canonical spelling, versions, and named sets of codes.

Some strings are codes in both ICD-9 and ICD-10 (E and V codes), so a code is always a pair
(version, code), written ``ICD9:E9673``. Codes are compared in canonical spelling: upper case,
without dots or padding.

A pattern is a code (``ICD9:E967.3``), a prefix (``ICD10:S00*``) or a regular
expression for the whole code (``ICD10:/S0[01].*/``).
"""

from relprev.codes.broader import category, roll_up
from relprev.codes.descriptions import describe
from relprev.codes.lists import read_code_list, read_phecode_sets, read_phecodes
from relprev.codes.patterns import CodePattern
from relprev.codes.sets import CodeSet, code_set, code_set_names
from relprev.codes.spelling import normalize, version_name

__all__ = [
    "CodePattern",
    "CodeSet",
    "category",
    "code_set",
    "code_set_names",
    "describe",
    "normalize",
    "read_code_list",
    "read_phecode_sets",
    "read_phecodes",
    "roll_up",
    "version_name",
]
