"""Splits whose test parts do not overlap."""

import numpy as np
import pandas as pd

from relprev import PURPLE
from relprev.checks.held_out import SplitFits, rotations
from relprev.model import tuning


def test_rotations_hold_every_row_out_once(steady):
    tested = np.concatenate([test for _, _, test in rotations(steady[0], 0)])
    assert sorted(tested) == list(range(steady[0].n))
    for train, validation, test in rotations(steady[0], 0):
        assert len(np.intersect1d(train, test)) == 0
        assert len(np.intersect1d(validation, test)) == 0
        assert len(train) + len(validation) + len(test) == steady[0].n


def test_one_path_serves_both_ways_to_choose(steady, monkeypatch):
    """What another check has fitted gives what a fit of its own would give, to the last bit."""
    cohort, fits, calls = steady[0], SplitFits(), []
    own = tuning.fit_path
    monkeypatch.setattr(tuning, "fit_path", lambda *a, **k: calls.append(1) or own(*a, **k))
    train, validation, _ = next(rotations(cohort, 0))
    for selection in ("likelihood", "auc", "likelihood"):
        found = fits.fit(PURPLE(selection=selection), cohort, train, validation)
        alone = PURPLE(selection=selection).fit(
            cohort.take(train), validation=cohort.take(validation)
        )
        calls.pop()  # that of the fit alone
        assert len(calls) == 1
        assert found.selection == selection
        assert found.lambda_ == alone.lambda_
        assert found.intercept_ == alone.intercept_
        np.testing.assert_array_equal(found.coef_, alone.coef_)
        pd.testing.assert_frame_equal(found.selection_, alone.selection_)
        pd.testing.assert_series_equal(found.diagnosis_ratios_, alone.diagnosis_ratios_)


def test_fits_to_other_rows_or_with_other_settings_are_not_taken(steady):
    cohort, fits = steady[0], SplitFits()
    (train, validation, _), (other, others, _) = list(rotations(cohort, 0))[:2]
    first = fits.fit(PURPLE(1e-3), cohort, train, validation)
    again = fits.fit(PURPLE(1e-3), cohort, other, others)
    less = fits.fit(PURPLE(1e-4), cohort, train, validation)
    assert not np.array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, less.coef_)
