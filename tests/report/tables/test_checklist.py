from dataclasses import replace

import pandas as pd

from relprev.report.analyses import Analysis
from relprev.report.page.layout import lay_out
from relprev.report.tables.checklist import AUTHORS, checklist
from tests.report.studies import study


def test_items_hold_what_the_study_knows_and_name_whose_the_others_are(bare):
    report = study(bare, condition_codes=("ICD10:N80*",), rules=("sex F",), weighted=True)
    table = checklist(report).frame.set_index("Topic")["Where, or who"]
    assert table["Variables: codes of the condition"] == "ICD10:N80*"
    assert table["Participants: selection"] == "sex F"
    assert "sampling weights" in table["Statistical methods"]
    assert table["Funding"] == AUTHORS
    assert table["Other analyses"] == "No check was run"


def test_analyses_are_among_the_others(bare):
    strata = Analysis("strata", "age", pd.DataFrame({"group": [], "versus": [], "estimate": []}))
    report = replace(study(bare), variables=(replace(bare, analyses=(strata, strata)),))
    table = checklist(report).frame.set_index("Topic")["Where, or who"]
    assert table["Other analyses"] == "No check was run; Estimates within strata"


def test_the_checklist_is_among_the_tables_of_a_report(bare):
    assert lay_out(study(bare)).tables[-1].name == "checklist"
