from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from relprev.codes import CodeSet, code_set
from relprev.cohort import CohortSpec, GroupVariable, Include
from relprev.cohort.build import build_cohorts
from relprev.errors import DataWarning, InvalidInputError
from relprev.sources import read_nhamcs

WOMEN = (Include("sex", one_of=("F",)), Include("age", minimum=18))
ROW = {"AGE": 30, "SEX": 1, "RACERETH": 1, "PAYTYPER": 3, "PATWT": 1000.5, "CSTRATM": 40100000,
       "CPSUM": 6, "DIAG1": "T741", "DIAG2": "J02-", "DIAG3": "-9", "CAUSE1": "Y070",
       "HDDIAG1": "-7", "YEAR": 2018}  # fmt: skip


def stata(path, rows):
    pd.DataFrame(rows).to_stata(path, write_index=False)
    return path


@pytest.fixture(scope="module")
def three_years(real_data):
    files = [
        "nhamcs-ed/ED2018-stata.zip",
        "nhamcs-ed/ED2019-stata.zip",
        "nhamcs-ed-2010/ED2010.zip",
    ]
    return read_nhamcs([real_data(name) for name in files])


def test_entries_that_are_no_diagnosis_are_left_out(tmp_path):
    rows = [ROW, ROW | {"DIAG1": "ZZZ0", "DIAG2": "V99-"}]
    source = read_nhamcs(stata(tmp_path / "ed2018.dta", rows))
    assert source.query("SELECT visit, code, role FROM codes ORDER BY ALL") == [
        (0, "J02", "secondary"), (0, "T741", "principal"), (0, "Y070", "cause"),
        (1, "V99", "secondary"), (1, "Y070", "cause"),
    ]  # fmt: skip


def test_principal_diagnoses_of_asthma(three_years):
    """Counted with pandas from DIAG1 of the Stata files."""
    found = three_years.query(
        "SELECT year, count(DISTINCT visit) FROM visits JOIN codes USING (visit) "
        "WHERE role = 'principal' AND code LIKE 'J45%' GROUP BY year ORDER BY year"
    )
    assert found == [(2018, 251), (2019, 220)]


def test_strata_and_units_carry_their_year(tmp_path):
    files = [
        stata(tmp_path / f"ed{year}.dta", [ROW | {"YEAR": year, "PAYTYPER": -9}])
        for year in (2018, 2019)
    ]
    source = read_nhamcs(files)
    assert source.query("SELECT stratum, psu, payer FROM visits ORDER BY visit") == [
        ("2018:40100000", "2018:40100000:6", None),
        ("2019:40100000", "2019:40100000:6", None),
    ]


def test_the_same_year_twice_is_refused(tmp_path):
    file = stata(tmp_path / "ed2018.dta", [ROW])
    with pytest.raises(InvalidInputError, match="year 2018 is given twice"):
        read_nhamcs([file, file])


def test_another_stata_file_is_refused(tmp_path):
    file = stata(tmp_path / "other.dta", [{"AGE": 1, "X": 2}])
    with pytest.raises(InvalidInputError, match="lacks the columns SEX, RACERETH"):
        read_nhamcs(file)


def test_a_damaged_zip_is_refused(tmp_path):
    file = tmp_path / "ED2018-stata.zip"
    file.write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(InvalidInputError, match="cannot be unpacked"):
        read_nhamcs(file)


def test_weighted_totals_are_those_of_nchs(three_years):
    totals = three_years.query("""
        SELECT year, count(*), round(sum(weight) / 1e6, 2), count(DISTINCT stratum)
        FROM visits GROUP BY year ORDER BY year
    """)
    assert totals == [
        (2010, 34_936, 129.84, 8), (2018, 20_291, 129.97, 8), (2019, 19_481, 150.65, 8),
    ]  # fmt: skip
    assert three_years.query("SELECT round(sum(weight)) FROM visits WHERE year = 2010") == [
        (129_843_377,)
    ]


def test_four_character_ipv_codes_are_counted(three_years, real_data):
    """Counted again by pandas, column by column."""
    columns = [*(f"DIAG{k}" for k in range(1, 6)), *(f"HDDIAG{k}" for k in range(1, 6)),
               *(f"CAUSE{k}" for k in range(1, 4))]  # fmt: skip
    frame = pd.read_stata(real_data("nhamcs-ed/ED2019-stata.zip"), convert_categoricals=False,
                          columns=["SEX", "AGE", *columns])  # fmt: skip
    coded = frame[columns].isin(["T741", "T761", "Y070", "Y079"]).any(axis=1)
    expected = int((coded & (frame["SEX"] == 1) & (frame["AGE"] >= 18)).sum())
    race = GroupVariable("race")
    year = Include("year", minimum=2019)
    spec = CohortSpec(code_set("ipv"), (race,), (*WOMEN, year))
    with pytest.warns(DataWarning, match="too few diagnosed patients: Other, non-Hispanic"):
        built = build_cohorts(spec, three_years)["race"]
    assert int(built.cohort.diagnosed.sum()) <= expected
    race = GroupVariable("race", few_diagnosed="keep")
    built = build_cohorts(replace(spec, groups=(race,)), three_years)["race"]
    assert int(built.cohort.diagnosed.sum()) == expected > 10
    assert not {"ICD10:T741", "ICD10:Y070"} & set(built.cohort.feature_names)


def test_abuse_counts_of_2010(three_years):
    abuse = ["ICD9:E967*", *(f"ICD9:995.8{k}" for k in range(6)), "ICD9:V61.11"]
    race = GroupVariable("race")
    only_2010 = Include("year", maximum=2010)
    study = CohortSpec(
        CodeSet.of("abuse", abuse), (race,), (*WOMEN, only_2010), without_codes="keep"
    )
    cohort = build_cohorts(study, three_years)["race"].cohort
    assert cohort.n == 15_394
    assert int(cohort.diagnosed.sum()) == 38
    assert round(cohort.weights[cohort.diagnosed == 1].sum()) == 130_847


FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize("ending", ["sas7bdat", "xpt"])
def test_sas_files(ending):
    """Six invented visits; written by ReadStat (command ``readstat``) and by pyreadstat."""
    pytest.importorskip("pyreadstat")
    source = read_nhamcs(FILES / f"nhamcs.{ending}")
    assert source.attributes == ("race", "payer")
    assert source.query("SELECT age, sex, race, payer, weight, psu FROM visits LIMIT 2") == [
        (34, "F", "White, non-Hispanic", None, 4733.76, "2019:20119201:100013"),
        (52, "M", "Black, non-Hispanic", "Medicaid", 1200.5, "2019:20119201:100014"),
    ]
    assert source.query("SELECT visit, code, role FROM codes ORDER BY ALL") == [
        (0, "R109", "secondary"), (0, "T741", "principal"), (0, "Y070", "cause"),
        (1, "I10", "principal"), (2, "R51", "principal"), (4, "J069", "principal"),
        (4, "W199", "cause"), (5, "S009", "principal"), (5, "Y070", "secondary"),
    ]  # fmt: skip


def test_a_damaged_sas_file_is_a_clear_error(tmp_path):
    pytest.importorskip("pyreadstat")
    damaged = tmp_path / "nhamcs.sas7bdat"
    damaged.write_bytes((FILES / "nhamcs.sas7bdat").read_bytes()[:9000])
    with pytest.raises(InvalidInputError, match=r"nhamcs\.sas7bdat is not a readable SAS file"):
        read_nhamcs(damaged)
