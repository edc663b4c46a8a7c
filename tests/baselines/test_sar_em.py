import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from relprev.baselines import SAREM
from relprev.baselines.sar_em import fixed_rate_prevalence, most_likely, one_group
from relprev.errors import InvalidInputError
from relprev.model.em import fit_em
from relprev.simulate import gauss_synth


@pytest.fixture(scope="module")
def problem():
    cohort = gauss_synth((0.5, 0.4), n=(100, 3000), variant="published", seed=2).cohort
    return one_group(cohort.take(cohort.groups == 1))


def test_em_climbs_to_the_direct_maximum(problem) -> None:
    best = most_likely(problem)
    p = np.full(problem.n, 0.5)
    em = fit_em(
        problem, LogisticRegression(C=1e6, max_iter=1000), p, np.array([0.9]), tolerance=1e-9,
        max_iterations=2000,
    )  # fmt: skip
    assert em.losses[-1] == pytest.approx(best.certificate.objective, abs=2e-5)
    assert em.c[0] == pytest.approx(best.parameters.c[0], abs=0.02)


def test_prevalence_is_the_recorded_share_over_the_rate(problem) -> None:
    best = most_likely(problem)
    expected = problem.diagnosed_rate[0] / best.parameters.c[0]
    assert best.evaluation.condition[0] == pytest.approx(expected, rel=1e-3)


def test_holding_the_rate_at_its_maximum_changes_nothing(problem) -> None:
    best = most_likely(problem)
    held = fixed_rate_prevalence(problem, float(best.parameters.c[0]))
    assert held == pytest.approx(best.evaluation.condition[0], rel=1e-3)


def test_published_rate_inflates_the_prevalence(gauss) -> None:
    right = SAREM().fit(gauss.cohort)._summary.condition
    published = SAREM(compat="published").fit(gauss.cohort)._summary.condition
    assert (published > 1.1 * right).all()


def test_unknown_compat_is_refused(gauss) -> None:
    with pytest.raises(InvalidInputError, match="compat must be None or 'published'"):
        SAREM(compat="old").fit(gauss.cohort)
    with pytest.raises(InvalidInputError, match="leave classifier out"):
        SAREM(LogisticRegression(), compat="published").fit(gauss.cohort)
