from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable, Include
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_nhamcs
from relprev.sources.nhamcs_columns import FIELDS_2010, PROCEDURES, TESTS
from relprev.sources.nhamcs_features import KINDS, reason_names

ALL = [kind.name for kind in KINDS]
ROW = {"AGE": 30, "SEX": 1, "RACERETH": 1, "PAYTYPER": 3, "PATWT": 1000.5, "CSTRATM": 40100000,
       "CPSUM": 6, "DIAG1": "J45-", "YEAR": 2018, "TEMPF": 1012, "PULSE": 998, "RESPR": 18,
       "BPSYS": -9, "BPDIAS": 95, "POPCT": 93, "PAINSCALE": 8, "IMMEDR": 2, "RFV1": 10501,
       "RFV2": -9, "RFV3": 89990, "INJURY": 0, "INJPOISAD": 4, "INTENT15": -9, "ARREMS": 1,
       "RESIDNCE": 1, "SEEN72": -8, "EPISODE": 2, "CBC": 1, "EKG": 0, "SUTURE": 1,
       "MED1": 15395, "DRUGID1": "d00015", "MED2": -9, "DRUGID2": ""}  # fmt: skip
ZERO = dict.fromkeys((*TESTS, *PROCEDURES), 0)


def stata(path, *rows):
    pd.DataFrame([ZERO | row for row in rows]).to_stata(path, write_index=False)
    return path


def names(source, visit=0):
    default = ("principal", "secondary", "cause", "hospital")
    return [
        f"{version}:{code}"
        for version, code, role in source.query(
            "SELECT version, code, role FROM codes WHERE visit = ? ORDER BY ALL", [visit]
        )
        if role not in default
    ]


def test_every_kind_of_one_visit_by_hand(tmp_path):
    source = read_nhamcs(stata(tmp_path / "ed2018.dta", ROW), kinds=ALL)
    assert names(source) == [
        "ARRIVAL:AMBULANCE", "ARRIVAL:FOLLOW_UP", "MED:D00015", "PAIN:SEVERE", "PROC:SUTURE",
        "RFV:10501", "TEST:CBC", "TRIAGE:2", "VITAL:DIASTOLIC_PRESSURE_HIGH",
        "VITAL:OXYGEN_SATURATION_LOW", "VITAL:TEMPERATURE_HIGH",
    ]  # fmt: skip
    assert source.descriptions["RFV:10501"] == "Chest pain"
    assert source.descriptions["VITAL:TEMPERATURE_HIGH"] == "Temperature 100.5 to under 102.3 °F"
    assert set(names(source)) - set(source.descriptions) == {"MED:D00015"}  # no names in the file
    assert source.query(
        "SELECT round(temperature, 1), heart_rate, diastolic_pressure, pain, triage_level "
        "FROM visits"
    ) == [(101.2, None, 95.0, 8.0, 2)]


def test_without_kinds_nothing_is_added(tmp_path):
    file = stata(tmp_path / "ed2018.dta", ROW)
    source = read_nhamcs(file)
    assert names(source) == []
    assert source.attributes == ("race", "payer")
    assert source.descriptions == {}
    assert source.exclusive == ()


@pytest.mark.parametrize("missing", [-9, -8, -7])
def test_codes_for_missing_values_are_no_features(tmp_path, missing):
    filled = {
        name: missing
        for name, value in ROW.items()
        if isinstance(value, int) and name not in ("AGE", "SEX", "RACERETH", "CSTRATM", "CPSUM",
                                                   "YEAR")
    }  # fmt: skip
    file = stata(tmp_path / "ed2018.dta", ROW | filled | {"DRUGID1": ""})
    assert names(read_nhamcs(file, kinds=ALL)) == []


def test_a_year_without_a_column_has_no_such_feature(tmp_path):
    rest = {name: value for name, value in ROW.items() if not name.startswith(("RFV", "TEMP"))}
    source = read_nhamcs(stata(tmp_path / "ed2018.dta", rest), kinds=["reasons", "vitals"])
    assert names(source) == ["VITAL:DIASTOLIC_PRESSURE_HIGH", "VITAL:OXYGEN_SATURATION_LOW"]


def test_intent_of_other_years_is_not_read_by_the_codes_of_2010(tmp_path):
    file = stata(tmp_path / "ed2013.dta", ROW | {"YEAR": 2013, "INTENT": 2})
    assert names(read_nhamcs(file, kinds=["injuries"])) == []


def test_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="kinds: got 'symptoms'; available: diagnoses"):
        read_nhamcs(stata(tmp_path / "ed2018.dta", ROW), kinds=["symptoms"])


def test_bins_of_a_kind_that_was_not_read_are_explained(tmp_path):
    source = read_nhamcs(stata(tmp_path / "ed2018.dta", ROW))
    spec = CohortSpec(
        CodeSet.of("asthma", ["ICD10:J45*"]), (GroupVariable("race"),), (Include("pain", 1),)
    )
    with pytest.raises(InvalidInputError, match=r"has no pain \(it comes with the kind 'pain'"):
        build_cohorts(spec, source)


def test_positions_of_2010_do_not_overlap():
    taken = sorted((first, last) for _, first, last in FIELDS_2010)
    assert all(one[1] < two[0] for one, two in pairwise(taken))


def test_reasons_are_five_digits_with_words():
    assert len(reason_names()) > 800
    assert all(
        len(code) == 5 and code.isdigit() and words for code, words in reason_names().items()
    )


# -- real files -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def years(real_data):
    return read_nhamcs(
        [real_data("nhamcs-ed/ED2019-stata.zip"), real_data("nhamcs-ed-2010/ED2010.zip")],
        kinds=ALL,
    )


def test_counts_of_2019_are_those_of_pandas(years, real_data):
    columns = ["PULSE", "TEMPF", "PAINSCALE", "IMMEDR", "ARREMS", "CTHEAD", "SUTURE",
               *(f"RFV{k}" for k in range(1, 6)),
               *(f"DRUGID{k}" for k in range(1, 31))]  # fmt: skip
    raw = pd.read_stata(
        real_data("nhamcs-ed/ED2019-stata.zip"), convert_categoricals=False, columns=columns
    )
    reasons, drugs = (raw.filter(regex=text) for text in ("^RFV", "^DRUGID"))
    expected = {
        "VITAL:HEART_RATE_HIGH": raw["PULSE"].between(91, 110).sum(),
        "VITAL:TEMPERATURE_VERY_HIGH": raw["TEMPF"].between(1023, 1150).sum(),
        "PAIN:SEVERE": raw["PAINSCALE"].between(7, 10).sum(),
        "TRIAGE:1": (raw["IMMEDR"] == 1).sum(),
        "ARRIVAL:AMBULANCE": (raw["ARREMS"] == 1).sum(),
        "TEST:CTHEAD": (raw["CTHEAD"] == 1).sum(),
        "PROC:SUTURE": (raw["SUTURE"] == 1).sum(),
        "RFV:10501": (reasons == 10501).any(axis=1).sum(),
        "MED:D00015": (drugs == "d00015").any(axis=1).sum(),
    }
    found = dict(
        years.query("""
            SELECT version || ':' || code AS name, count(DISTINCT visit)
            FROM codes JOIN visits USING (visit) WHERE year = 2019 GROUP BY name
        """)
    )
    assert {name: found[name] for name in expected} == expected
    assert years.descriptions["MED:D00015"] == "Ibuprofen"


def test_positions_of_2010_give_the_documented_range_of_values(years):
    """Read one column to the side, vital signs would not be within them."""
    lows_and_highs = years.query("""
        SELECT round(min(temperature), 1), round(max(temperature), 1), max(heart_rate),
               max(systolic_pressure), max(diastolic_pressure), max(oxygen_saturation),
               min(pain), max(pain), min(triage_level), max(triage_level)
        FROM visits WHERE year = 2010
    """)[0]
    assert lows_and_highs == (87.1, 109.9, 200, 276, 190, 100, 0, 10, 1, 5)
    known = years.query("SELECT count(*) FROM visits WHERE year = 2010 AND heart_rate IS NOT NULL")
    assert known[0][0] > 30_000


def test_tests_of_2010_are_as_common_as_in_2019(years):
    """A shift of the one-character columns by one would mix common and rare tests."""
    shares = {
        year: dict(
            years.query(
                "SELECT code, count(DISTINCT visit) / (SELECT count(*) FROM visits WHERE year = $1)"
                " FROM codes JOIN visits USING (visit)"
                " WHERE year = $1 AND version IN ('TEST', 'PROC') GROUP BY code",
                [year],
            )
        )
        for year in (2010, 2019)
    }
    both = sorted(set(shares[2010]) & set(shares[2019]))
    assert len(both) > 30
    logs = [[np.log(shares[year][code]) for code in both] for year in (2010, 2019)]
    assert np.corrcoef(logs)[0, 1] > 0.85


def test_reasons_alone_predict_asthma_and_keep_the_cohort(years):
    """The cohort does not depend on kinds; the reason for visit "asthma" is excluded by name."""
    asthma = CodeSet.of("asthma", ["ICD10:J45*"])
    rules = (Include("age", minimum=18), Include("year", minimum=2019))

    def built(**features):
        spec = CohortSpec(
            asthma, (GroupVariable("race"),), rules, Features(min_count=10, **features)
        )
        return build_cohorts(spec, years)["race"]

    default = built()
    reasons = built(kinds=("reasons", "vitals"))
    without = built(kinds=("reasons", "vitals"), exclude=("RFV:2625.0",))
    assert default.kinds.keys() == {"diagnoses", "causes"}
    assert reasons.attrition == default.attrition
    np.testing.assert_array_equal(reasons.cohort.diagnosed, default.cohort.diagnosed)
    assert "RFV:26250" in reasons.cohort.feature_names
    assert set(reasons.cohort.feature_names) - set(without.cohort.feature_names) == {"RFV:26250"}
    assert {name.partition(":")[0] for name in without.cohort.feature_names} == {"RFV", "VITAL"}
