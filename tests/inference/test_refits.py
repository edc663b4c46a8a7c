"""Replicates are fitted alike in any number of processes, and never twice."""

import numpy as np
import pandas as pd
import pytest

from relprev import as_cohort
from relprev.baselines import Observed
from relprev.cohort import Cohort, write_parts
from relprev.errors import DataWarning, InvalidInputError
from relprev.inference import DebiasedPURPLE, bootstrap, refits, replicate_weights
from tests.inference.samples import blocks, survey
from tests.parts import cut


def test_replicates_keep_the_folds():
    """Dealing folds anew moves an estimate a little; JK1 multiplies that by the replicates."""
    cohort, weights = blocks()
    estimator = DebiasedPURPLE(risk=None, strengths=(1.0,))
    linear = estimator.fit(cohort).relative_prevalence("b").to_frame()["std_error"][0]
    found = replicate_weights(estimator, cohort, weights, "b", kind="jk1")
    assert found.std_errors()[0] == pytest.approx(linear, rel=0.1)


def test_replicates_keep_the_folds_in_parts(tmp_path):
    cohort, weights = blocks(1200, 10)
    write_parts(cut(cohort, 500), tmp_path / "visits")
    parts = Cohort.open(tmp_path / "visits")
    estimator = DebiasedPURPLE(risk=None, strengths=(1.0,))
    one, other = (replicate_weights(estimator, c, weights, kind="jk1") for c in (cohort, parts))
    np.testing.assert_allclose(other.std_errors(), one.std_errors(), rtol=1e-6)


def test_replicates_are_continued_from_the_folder(tmp_path, monkeypatch):
    cohort, out = as_cohort(**survey()), tmp_path / "replicates"
    bootstrap(Observed(), cohort, "b", replicates=8, out=out)
    whole = bootstrap(Observed(), cohort, "b", replicates=12)
    more = bootstrap(Observed(), cohort, "b", replicates=12, out=out)
    pd.testing.assert_frame_equal(more.replicates, whole.replicates)
    monkeypatch.setattr(refits, "_one", None)  # nothing is left to fit
    again = bootstrap(Observed(), cohort, "b", replicates=12, out=out)
    pd.testing.assert_frame_equal(again.replicates, whole.replicates)


def test_the_number_of_processes_does_not_matter(tmp_path):
    cohort = as_cohort(**survey())
    out = tmp_path / "replicates"
    one = bootstrap(Observed(), cohort, "b", replicates=12)
    bootstrap(Observed(), cohort, "b", replicates=5, out=out)
    two = bootstrap(Observed(), cohort, "b", replicates=12, processes=2, out=out)
    pd.testing.assert_frame_equal(two.replicates, one.replicates)


def test_replicates_of_another_study_are_not_used(tmp_path):
    """Patients who swap diagnoses leave the estimate as it is, but not its replicates."""
    cohort, out = as_cohort(**survey()), tmp_path / "replicates"
    s = cohort.diagnosed.copy()
    for g in range(cohort.n_groups):
        own = np.flatnonzero(cohort.groups == g)
        s[own] = s[own][::-1]
    swapped = cohort.with_values(diagnosed=s)
    bootstrap(Observed(), cohort, "b", replicates=4, out=out)
    for other, seed in ((cohort, 1), (as_cohort(**survey(seed=1)), 0), (swapped, 0)):
        alone = bootstrap(Observed(), other, "b", replicates=4, random_state=seed)
        found = bootstrap(Observed(), other, "b", replicates=4, random_state=seed, out=out)
        pd.testing.assert_frame_equal(found.replicates, alone.replicates)


def test_a_file_is_not_taken_for_the_folder(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match=r"out must be a folder.*other\.csv is a file"):
        bootstrap(Observed(), as_cohort(**survey()), "b", replicates=5, out=tmp_path / "other.csv")


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_damaged_replicates_are_made_again(kind, tmp_path):
    """One flipped bit used to change the standard error, or to end in a traceback."""
    cohort, out = as_cohort(**survey()), tmp_path / "replicates"
    whole = bootstrap(Observed(), cohort, "b", replicates=5, out=out)
    file = sorted(out.glob(f"*.{kind}"))[0]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 2
    file.write_bytes(content)
    again = bootstrap(Observed(), cohort, "b", replicates=5, out=out)
    pd.testing.assert_frame_equal(again.replicates, whole.replicates)
    assert file.read_bytes() != bytes(content)


@pytest.mark.parametrize("processes", [0, 1.5])
def test_number_of_processes_is_checked(processes):
    with pytest.raises(InvalidInputError, match="processes"):
        bootstrap(Observed(), as_cohort(**survey()), "b", processes=processes)


def test_degenerate_replicates_are_counted():
    rng = np.random.default_rng(0)
    g = np.repeat([0, 1], [300, 40])
    s = np.zeros(340, dtype=int)
    s[:60] = 1
    s[300:301] = 1  # one case only: many resamples miss it
    cohort = as_cohort(rng.normal(size=(340, 2)), s, groups=np.array(["a", "b"])[g])
    with pytest.warns(DataWarning, match="replicates gave no estimate"):
        bootstrap(Observed(), cohort, "a", replicates=30)


def test_failed_replicates_are_counted_with_their_reason(tmp_path):
    """Group b is diagnosed in two PSUs; without one of them nothing is left to train on."""
    cohort, _ = blocks(4000, 10)
    diagnosed = np.where((cohort.groups == 1) & (cohort.psus > 1), 0, cohort.diagnosed)
    cohort = cohort.with_values(diagnosed=diagnosed.astype(np.uint8))
    weights = (cohort.psus[:, None] != np.arange(10)) * 10 / 9
    estimator = DebiasedPURPLE(risk=None, strengths=(1.0,))
    words = r"2 of 10 replicates gave no estimate for a versus b; .*: group 'b' has recorded"
    for _ in range(2):  # the second time as kept
        with pytest.warns(DataWarning, match=words):
            found = replicate_weights(estimator, cohort, weights, "b", kind="jk1", out=tmp_path)
    assert found.replicates["estimate"].isna().sum() == 2
    with pytest.warns(DataWarning, match=r"2 of 2 replicates .* no standard error"):
        found = replicate_weights(estimator, cohort, weights[:, :2], "b", kind="jk1")
    assert np.isnan(found.std_errors()[0])
