from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError


def test_results_show_in_notebooks_and_as_text(whole):
    assert "Group A" in whole._repr_html_()
    assert repr(whole) == "<StudyResult 'Relative prevalence of it': group>"
    with pytest.raises(InvalidInputError, match="the study has"):
        whole.table("groups")
    with pytest.raises(InvalidInputError, match="the study has"):
        whole.table("group", "purpel")
