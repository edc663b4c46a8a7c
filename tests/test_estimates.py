import numpy as np
import pytest

from relprev import PURPLE
from relprev.errors import InvalidInputError
from relprev.estimates import GroupSummary, contrasts, ratio, relative_prevalence


@pytest.fixture
def groups():
    return GroupSummary(
        names=("a", "b", "c"),
        weight=np.array([0.5, 0.3, 0.2]),
        diagnosed_rate=np.array([0.02, 0.06, 0.01]),
        condition=np.array([0.2, 0.1, 0.1]),
        diagnosis_rate=np.array([0.1, 0.6, 0.1]),
        n=np.array([50, 30, 20]),
        n_diagnosed=np.array([1, 2, 0]),
    )


def test_complement_is_weighted_by_hand(groups):
    table = relative_prevalence(groups).to_frame().set_index("group")
    assert table.loc["b", "estimate"] == pytest.approx(0.1 / ((0.5 * 0.2 + 0.2 * 0.1) / 0.7))
    assert table.loc["b", "observed_ratio"] == pytest.approx(
        0.06 / ((0.5 * 0.02 + 0.2 * 0.01) / 0.7)
    )


def test_recorded_ratio_is_corrected_ratio_times_diagnosis_ratio(groups):
    """Holds exactly when diagnosed share = prevalence x diagnosis rate in every group."""
    for versus in ("complement", "a", "pairwise"):
        table = relative_prevalence(groups, versus).to_frame()
        np.testing.assert_allclose(
            table["observed_ratio"], table["estimate"] * table["diagnosis_ratio"]
        )


def test_common_factor_of_condition_cancels(groups):
    scaled = GroupSummary(**(vars(groups) | {"condition": 7.0 * groups.condition}))
    a, b = relative_prevalence(groups).to_frame(), relative_prevalence(scaled).to_frame()
    np.testing.assert_allclose(a["estimate"], b["estimate"])


def test_pairwise_names_every_ordered_pair():
    assert len(contrasts(["a", "b", "c"], "pairwise")) == 6


def test_group_called_complement_wins_over_the_keyword():
    assert contrasts(["complement", "b"], "complement") == [(1, 0)]


def test_unknown_contrast_lists_the_groups():
    with pytest.raises(InvalidInputError, match=r"groups: \['a', 'b'\]"):
        contrasts(["a", "b"], "c")


def test_ratio_to_nothing_is_nan_not_infinite():
    assert np.isnan(ratio([1.0, 0.0], [1, 1], 0, 1))
    assert np.isnan(ratio([1.0, 0.0], [1, 1], 0, None))


def test_notebook_shows_a_table(groups):
    assert "<table" in relative_prevalence(groups)._repr_html_()


def test_a_result_shows_itself_as_a_short_table(gauss):
    shown = repr(PURPLE(lambdas=1e-3).fit(gauss.cohort).relative_prevalence("b")).splitlines()
    assert shown[0] == "<RelativePrevalence by PURPLE>"
    assert shown[1].split() == ["group", "versus", "observed_ratio", "diagnosis_ratio", "estimate"]
    assert shown[2].split()[:2] == ["a", "b"]
