from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.report import render_page, write_report
from tests.report.studies import found, study


def test_findings_that_nobody_has_looked_through_are_refused(bare, tmp_path):
    for use in (render_page, lambda findings: write_report(findings, tmp_path / "out")):
        with pytest.raises(InvalidInputError, match="disclosed makes one"):
            use(found(bare))
    assert not (tmp_path / "out").exists()


def test_report_without_findings_is_refused(race, tmp_path):
    with pytest.raises(InvalidInputError, match="no group variable"):
        write_report(study(), tmp_path)
    with pytest.raises(InvalidInputError, match="no estimates by race"):
        write_report(study(replace(race, estimates={})), tmp_path)
    with pytest.raises(InvalidInputError, match="two group variables of the same name"):
        write_report(study(race, race), tmp_path)


def test_variables_whose_names_look_alike_get_files_of_their_own(bare, tmp_path):
    names = ("race", "Race!", "日本")
    write_report(study(*(replace(bare, name=name) for name in names)), tmp_path, ["svg"])
    for slug in ("race", "race-2", "groups"):
        assert (tmp_path / "figures" / f"forest-{slug}.svg").exists()


def test_columns_without_content_are_not_shown(bare):
    found = replace(bare, symptoms=bare.symptoms.assign(description=""))
    assert "Description" not in render_page(study(found))


def test_decomposition_multiplies_out(folder):
    table = pd.read_csv(folder / "tables" / "decomposition-race.csv")
    np.testing.assert_allclose(
        table["observed_ratio"], table["diagnosis_ratio"] * table["estimate"], rtol=1e-9
    )


def test_decomposition_that_is_only_nearly_exact_says_so(page):
    """PURPLE's diagnosis rates are those of its fit."""
    assert "By marital status the product is the ratio that the fitted model predicts" in page.words
    assert "By race the product" not in page.words
