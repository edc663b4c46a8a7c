"""Procedures of the supplemental NEDS files."""

from __future__ import annotations

import pandas as pd
import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable
from relprev.cohort.build import build_cohorts
from relprev.errors import InvalidInputError
from relprev.sources import read_neds
from relprev.sources.derived import with_derived
from relprev.sources.neds_store import read_layout

CORE = {"AGE": 40, "FEMALE": 1, "DISCWT": 4.5, "HOSP_ED": 10001, "NEDS_STRATUM": 20001,
        "YEAR": 2019, "RACE": 1, "PAY1": 1, "ZIPINC_QRTL": 1, "PL_NCHS": 1}  # fmt: skip


def write(path, kind, rows, year=2019):
    names = read_layout(kind, year)
    frame = pd.DataFrame([{name: row.get(name, "") for name in names} for row in rows])
    frame.to_csv(path, header=False, index=False)
    return path


@pytest.fixture
def files(tmp_path):
    core = [CORE | {"KEY_ED": key, "PAY1": 1 + key % 2, "I10_DX1": dx}
            for key, dx in ((7, "T7411XA"), (8, "R51"), (9, "R51"), (10, "T7411XA"))]  # fmt: skip
    return {
        "core": write(tmp_path / "NEDS_2019_Core.csv", "Core", core),
        "ed": write(
            tmp_path / "NEDS_2019_ED.csv",
            "ED",
            [
                {"KEY_ED": 9, "CPT1": "99283", "CPT35": "12001", "CPTCCS1": 227},
                {"KEY_ED": 7, "CPT1": "99283"},
                {"KEY_ED": 555, "CPT1": "70450"},
            ],
        ),
        "ip": write(tmp_path / "NEDS_2019_IP.csv", "IP", [{"KEY_ED": 8, "I10_PR_IP2": "0hq0xzz"}]),
        "cache": tmp_path / "cache",
    }


def procedures(source):
    return source.query(
        "SELECT visit_id, version, code FROM codes JOIN visits USING (visit) "
        "WHERE role = 'procedure' ORDER BY ALL"
    )


def test_procedures_of_both_files_join_their_visits(files):
    source = read_neds(**files, kinds=["procedures"])
    expected = [(7, "PROC", "99283"), (8, "PROC", "0HQ0XZZ"), (9, "PROC", "12001"),
                (9, "PROC", "99283")]  # fmt: skip
    assert procedures(source) == expected
    again = read_neds(**files, kinds=["procedures"])
    assert procedures(again) == expected


def test_without_the_kind_the_files_are_not_read(files):
    files["ed"].write_text("damaged")
    source = read_neds(**files)
    assert procedures(source) == []
    assert [kind.name for kind in source.kinds] == ["diagnoses", "causes"]


def test_procedures_are_features(files):
    source = read_neds(**files, kinds=["procedures"])
    spec = CohortSpec(
        CodeSet.of("abuse", ["ICD10:T74*"]),
        (GroupVariable("payer"),),
        features=Features(kinds=("procedures",), exclude=("PROC:12001",)),
    )
    built = build_cohorts(spec, source)["payer"]
    assert built.cohort.feature_names == ("PROC:0HQ0XZZ", "PROC:99283")
    assert built.kinds == {"procedures": 2}
    assert built.cohort.diagnosed.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("kinds", [(), ("procedures",)])
def test_roles_are_known_without_a_look_at_the_codes(files, kinds):
    """A role that were not known would be left out of the cohort."""
    source = read_neds(**files, kinds=kinds)
    recorded = {tuple(pair) for pair in source.query("SELECT DISTINCT version, role FROM codes")}
    assert recorded <= set(source.code_roles())
    assert len(source.code_roles()) == 3 + len(kinds)
    derived = with_derived(source, {"early": "visit_id <= 8"})
    assert ("IS", "derived") in derived.code_roles()
    spec = CohortSpec(CodeSet.of("early", ["IS:early"]), (GroupVariable("payer"),),
                      features=Features(min_count=0))  # fmt: skip
    assert build_cohorts(spec, derived)["payer"].cohort.diagnosed.sum() == 2


def test_procedures_need_a_supplemental_file(files):
    with pytest.raises(InvalidInputError, match="procedures are in the supplemental files"):
        read_neds(files["core"], cache=files["cache"], kinds=["procedures"])


def test_the_wrong_supplemental_file_is_refused(files):
    with pytest.raises(InvalidInputError, match="columns, the layout has 73"):
        read_neds(files["core"], ed=files["ip"], cache=files["cache"], kinds=["procedures"])


def test_a_visit_twice_in_a_supplemental_file_is_refused(files, tmp_path):
    ed = write(tmp_path / "NEDS_2019_ED.csv", "ED", [{"KEY_ED": 7, "CPT1": "1"}] * 2)
    with pytest.raises(InvalidInputError, match=r"1 of 2 rows of NEDS_2019_ED\.csv repeat"):
        read_neds(files["core"], ed=ed, cache=files["cache"], kinds=["procedures"])


def test_one_supplemental_file_per_core_file(files):
    with pytest.raises(InvalidInputError, match="ed: give one file per Core file"):
        read_neds(files["core"], ed=[files["ed"]] * 2, cache=files["cache"])


def test_years_without_a_layout_name_the_option():
    with pytest.raises(
        InvalidInputError, match=r"no layout for the NEDS ED file of 2018.*ed_layout="
    ):
        read_layout("ED", 2018)
