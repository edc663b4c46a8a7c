"""What is odd about the data is said before the fit."""

import numpy as np
import pytest
import scipy.sparse as sp

from relprev import PURPLE, DebiasedPURPLE
from relprev.errors import DataWarning


def test_group_without_diagnosed_rows_is_kept_with_a_warning(small):
    X, s, g = small
    s = np.where(g == "a", 0, s)
    with pytest.warns(DataWarning, match="few diagnosed rows or none: 'a'"):
        est = PURPLE(lambdas=1e-3).fit(X, s, groups=g)
    table = est.relative_prevalence().to_frame().set_index("group")
    assert table.loc["a", "diagnosis_ratio"] == 0
    assert np.isfinite(table.loc["a", "estimate"])


def test_constant_features_are_named_in_a_warning(small):
    X, s, g = small
    with pytest.warns(DataWarning, match=r"2 of 6 features are constant.*column 4, column 5"):
        PURPLE(lambdas=1e-3).fit(np.column_stack([X, np.zeros(300), np.ones(300)]), s, groups=g)
    sparse = sp.hstack([sp.csr_array(X), sp.csr_array((300, 1))])
    with pytest.warns(DataWarning, match="1 of 5 features are constant"):
        PURPLE(lambdas=1e-3).fit(sparse, s, groups=g)


def test_of_a_domain_it_is_not_said_that_features_are_constant(small):
    """Of every stratum of a study, hundreds of codes were said to be constant."""
    X, s, g = small
    X = np.column_stack([X, np.arange(300) < 150])
    inside = np.arange(300) >= 150
    with pytest.warns(DataWarning) as caught:
        DebiasedPURPLE(risk=None, strengths=[10.0]).fit(X, s, groups=g, domain=inside)
    assert not any("constant" in str(item.message) for item in caught)


def test_feature_that_nearly_gives_the_label_away_is_named(small):
    X, s, g = small
    synonym = np.where(np.arange(300) % 7 == 0, 0, s)  # most cases, no one else
    with pytest.warns(DataWarning, match="nearly everyone with column 4 is diagnosed"):
        PURPLE(lambdas=1e-2).fit(np.column_stack([X, synonym]), s, groups=g)
