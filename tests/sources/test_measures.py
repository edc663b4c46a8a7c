from __future__ import annotations

import duckdb
import pytest

from relprev.codes import normalize
from relprev.sources.measures import PAIN, REFERENCE, VITALS, bins_of, code_list

BY_NAME = {measure.name: measure for measure in (*VITALS, PAIN)}


def codes(name, values):
    measure = BY_NAME[name]
    number = measure.value("x")
    sql = f"SELECT {measure.code(f'({number})')} FROM (SELECT unnest(?::VARCHAR[]) AS x)"
    return [code for (code,) in duckdb.execute(sql, [values]).fetchall()]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("heart_rate", "90", None),
        ("heart_rate", "91", "HEART_RATE_HIGH"),
        ("heart_rate", "110.5", "HEART_RATE_HIGH"),
        ("heart_rate", "131", "HEART_RATE_EXTREME"),
        ("heart_rate", "40", "HEART_RATE_VERY_LOW"),
        ("heart_rate", "998", None),  # measured by Doppler
        ("heart_rate", "-9", None),
        ("heart_rate", "", None),
        ("heart_rate", None, None),
        ("heart_rate", "fast", None),
        ("temperature", "98.6", None),
        ("temperature", "100.4", None),
        ("temperature", "100.5", "TEMPERATURE_HIGH"),
        ("temperature", "39.5", "TEMPERATURE_VERY_HIGH"),  # Celsius
        ("temperature", "37", None),
        ("temperature", "60", None),
        ("oxygen_saturation", "91", "OXYGEN_SATURATION_VERY_LOW"),
        ("oxygen_saturation", "100", None),
        ("systolic_pressure", "139.9", None),
        ("systolic_pressure", "180", "SYSTOLIC_PRESSURE_EXTREME"),
        ("pain", "0", None),
        ("pain", "10", "SEVERE"),
        ("pain", "13", None),
        ("pain", "unable", None),
    ],
)
def test_levels_by_hand(name, value, expected):
    assert codes(name, [value]) == [expected]


@pytest.mark.parametrize("name", BY_NAME)
def test_every_level_but_the_reference_can_be_reached_and_is_described(name):
    measure = BY_NAME[name]
    start, end = measure.limits
    grid = [start + (end - start) * k / 2000 for k in range(2001)]
    found = set(codes(name, [f"{value}" for value in grid])) - {None}
    assert found == set(measure.codes())
    assert len(measure.codes()) == len(measure.levels) - 1
    assert REFERENCE in dict(measure.levels)


@pytest.mark.parametrize("name", BY_NAME)
def test_codes_are_in_canonical_spelling(name):
    described = BY_NAME[name].codes()
    assert [normalize(code) for code in described] == list(described)


def test_bins_of_a_measure_are_features_of_its_prefix():
    assert bins_of("PAIN", [PAIN]) == (("PAIN:MILD", "PAIN:MODERATE", "PAIN:SEVERE"),)


def test_a_list_of_codes_leaves_nulls_out():
    made = ["NULL", "'a'"]
    assert duckdb.execute(f"SELECT {code_list(made)}").fetchall() == [(["a"],)]
    assert duckdb.execute(f"SELECT {code_list([])}").fetchall() == [([],)]
