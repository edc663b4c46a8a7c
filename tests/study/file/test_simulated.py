from __future__ import annotations

import numpy as np

from relprev.simulate import ed_visits


def test_truth_of_simulated_visits_is_that_of_the_simulation(whole):
    visits = ed_visits(8_000, n_codes=60, prevalence=0.25, seed=1)
    truth = visits.relative_prevalence().to_frame()
    found = whole.table("group")
    np.testing.assert_allclose(found["truth"], truth["estimate"], rtol=1e-12)
    np.testing.assert_allclose(found["observed_ratio"], truth["observed_ratio"], rtol=1e-12)
    assert abs(np.log(found["estimate"] / found["truth"])).max() < 0.3
