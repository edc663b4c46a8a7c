"""Replicates are fitted alike in any number of processes, and never twice."""

import numpy as np
import pytest

from relprev import as_cohort
from relprev.baselines import Observed
from relprev.cohort import Cohort, write_parts
from relprev.errors import DataWarning, InvalidInputError
from relprev.inference import DebiasedPURPLE, bootstrap, replicate_weights
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


def test_replicates_are_continued_from_the_file(tmp_path):
    cohort, path = as_cohort(**survey()), tmp_path / "replicates.csv"
    first = bootstrap(Observed(), cohort, "b", replicates=8, out=path)
    written = path.read_text()
    more = bootstrap(Observed(), cohort, "b", replicates=12, out=path)
    whole = bootstrap(Observed(), cohort, "b", replicates=12)
    assert len(first.replicates) == 8
    assert path.read_text().startswith(written)
    np.testing.assert_allclose(more.std_errors(), whole.std_errors())


def test_the_number_of_processes_does_not_matter(tmp_path):
    cohort = as_cohort(**survey())
    out = tmp_path / "replicates.csv"
    one = bootstrap(Observed(), cohort, "b", replicates=12)
    bootstrap(Observed(), cohort, "b", replicates=5, out=out)
    two = bootstrap(Observed(), cohort, "b", replicates=12, processes=2, out=out)
    np.testing.assert_allclose(two.std_errors(), one.std_errors(), rtol=1e-12)
    assert two.replicates["replicate"].tolist() == one.replicates["replicate"].tolist()


def test_a_file_of_another_study_is_not_continued(tmp_path):
    cohort, out = as_cohort(**survey()), tmp_path / "replicates.csv"
    bootstrap(Observed(), cohort, "b", replicates=3, out=out)
    for other, seed in ((cohort, 1), (as_cohort(**survey(seed=1)), 0)):
        with pytest.raises(InvalidInputError, match=r"replicates\.csv holds replicates of other"):
            bootstrap(Observed(), other, "b", replicates=5, random_state=seed, out=out)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="delete this one"):
        bootstrap(Observed(), cohort, "b", replicates=5, out=tmp_path / "other.csv")


@pytest.mark.parametrize("place", [0, 0.5])
def test_a_damaged_file_of_replicates_is_made_again(place, tmp_path):
    """One flipped bit used to change the standard error, or to end in a traceback."""
    cohort, out = as_cohort(**survey()), tmp_path / "replicates.csv"
    whole = bootstrap(Observed(), cohort, "b", replicates=5, out=out)
    content = bytearray(out.read_bytes())
    content[int(place * len(content))] ^= 2
    out.write_bytes(content)
    with pytest.warns(DataWarning, match=r"replicates\.csv is damaged; .* fitted again"):
        again = bootstrap(Observed(), cohort, "b", replicates=5, out=out)
    np.testing.assert_allclose(again.std_errors(), whole.std_errors(), rtol=1e-12)
    bootstrap(Observed(), cohort, "b", replicates=5, out=out)


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


def test_failed_replicates_are_counted_with_their_reason():
    """Group b is diagnosed in two PSUs; without one of them nothing is left to train on."""
    cohort, _ = blocks(4000, 10)
    diagnosed = np.where((cohort.groups == 1) & (cohort.psus > 1), 0, cohort.diagnosed)
    cohort = cohort.with_values(diagnosed=diagnosed.astype(np.uint8))
    weights = (cohort.psus[:, None] != np.arange(10)) * 10 / 9
    estimator = DebiasedPURPLE(risk=None, strengths=(1.0,))
    words = r"2 of 10 replicates gave no estimate for a versus b; .*: group 'b' has recorded"
    with pytest.warns(DataWarning, match=words):
        found = replicate_weights(estimator, cohort, weights, "b", kind="jk1")
    assert found.replicates["estimate"].isna().sum() == 2
    with pytest.warns(DataWarning, match=r"2 of 2 replicates .* no standard error"):
        found = replicate_weights(estimator, cohort, weights[:, :2], "b", kind="jk1")
    assert np.isnan(found.std_errors()[0])
