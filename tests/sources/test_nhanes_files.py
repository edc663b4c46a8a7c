"""Components of NHANES in a folder: which files are read, and how they are merged."""

from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_nhanes
from tests.sources.transport import demographics, write


def test_a_variable_that_moved_between_components_is_one_column(tmp_path):
    demographics(tmp_path)
    demographics(tmp_path, "B", 2, first=11)
    write(tmp_path, "L10_B", SEQN=[11], LBXGH=[5.5])
    write(tmp_path, "GHB_I", SEQN=[1], LBXGH=[6.5])
    found = read_nhanes(tmp_path).query("SELECT visit_id, LBXGH FROM visits WHERE LBXGH > 0")
    assert sorted(found) == [(1, 6.5), (11, 5.5)]


def test_only_the_components_named_are_read(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "GHB_I", SEQN=[1], LBXGH=[5.7])
    write(tmp_path, "RXQ_RX_I", SEQN=[1, 1], RXDUSE=[1, 1])
    with pytest.raises(InvalidInputError, match=r"RXQ_RX_I.XPT has more than one row per person"):
        read_nhanes(tmp_path)
    assert "LBXGH" in read_nhanes(tmp_path, components=["GHB"]).attributes


def test_a_missing_component_is_named(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "GHB_I", SEQN=[1], LBXGH=[5.7])
    with pytest.raises(
        InvalidInputError, match=r"no file of the component GHD.*did you mean 'GHB'"
    ):
        read_nhanes(tmp_path, components=["GHD"])
    (tmp_path / "DEMO_I.XPT").unlink()
    with pytest.raises(InvalidInputError, match="no file of the component DEMO"):
        read_nhanes(tmp_path)


def test_people_of_a_cycle_without_demographics_are_refused(tmp_path):
    demographics(tmp_path)
    write(tmp_path, "GHB_J", SEQN=[901], LBXGH=[5.7])
    with pytest.raises(InvalidInputError, match=r"GHB_J.XPT has people who are in no DEMO file"):
        read_nhanes(tmp_path)
