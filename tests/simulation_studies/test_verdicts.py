"""How often checks say concern, no concern or cannot tell."""

import numpy as np
import pandas as pd
import pytest
from simulations import verdicts
from simulations.replicates import RESULTS, seed_of


@pytest.mark.parametrize("name", verdicts.VIOLATIONS)
def test_a_replicate_holds_every_check_that_is_made(name, monkeypatch):
    violation = verdicts.VIOLATIONS[name]
    if violation.made == verdicts.ON_ANY:  # some of these take long
        violation = verdicts.replace(violation, made=("informativeness", "leakage"))
        monkeypatch.setitem(verdicts.VIOLATIONS, name, violation)
    row = verdicts.replicate((f"{name}/2/200", 0))[0]
    assert row["n_diagnosed"] > 50
    found = verdicts.summary(pd.DataFrame([row]))
    assert found["check"].tolist() == list(violation.made)
    assert (found[list(verdicts.STATES)].sum(axis=1) == 1).all()


def test_every_violation_is_drawn_once_for_each_number_of_cases():
    cells = verdicts.scenarios([200, 2_000])
    assert len(cells) == len(set(cells)) == 2 * (8 * 2 + 4)
    assert "meaning/1/200" not in cells


def test_every_check_has_a_violation_that_it_looks_for():
    looked_for = [kind for one in verdicts.VIOLATIONS.values() for kind in one.looked_for]
    assert sorted(looked_for) == sorted(verdicts.KINDS)


def test_violations_are_as_large_as_they_say():
    """Counted in the cohorts themselves, 1.5-fold."""
    seed = seed_of(("any", 0))
    apart = verdicts._apart(1.5, 100_000, seed)
    in_a, s = apart.group_labels == "a", apart.diagnosed == 1
    code = apart.X.to_scipy()[:, [-1]].toarray().ravel() > 0
    assert not code[~in_a].any()
    assert (in_a & s).sum() / (in_a & s & ~code).sum() == pytest.approx(1.5, abs=0.05)
    synonym = verdicts._synonym(1.5, 100_000, seed)
    s = synonym.diagnosed == 1
    code = synonym.X.to_scipy()[:, [-1]].toarray().ravel() > 0
    assert s.sum() / (s & ~code).sum() == pytest.approx(1.5, abs=0.05)
    assert s[code].mean() == pytest.approx(verdicts.PREDICTIVE_VALUE, abs=0.02)
    silent = verdicts._silent(1.5, 100_000, seed)
    in_a = silent.group_labels == "a"
    ratio = silent.diagnosed[in_a].mean() / silent.diagnosed[~in_a].mean()
    assert ratio == pytest.approx(1.5, abs=0.08)


def test_a_pair_of_codes_changes_the_ratio_by_the_factor():
    ratios = []
    for factor in (1.0, 2.0):
        cohort = verdicts._paired(factor, 400_000, seed_of(("pairs", 1)))
        in_a = cohort.group_labels == "a"
        ratios.append(cohort.diagnosed[in_a].mean() / cohort.diagnosed[~in_a].mean())
    assert ratios[1] / ratios[0] == pytest.approx(2.0, abs=0.06)


def test_all_conditions_of_a_systematic_error_share_it():
    """Controls are recorded equally well, so that their recorded ratios hold the factor."""
    ratios = []
    for factor in (1.0, 2.0):
        cohort = verdicts._systematic(factor, 40_000, seed_of(("systematic", 1)))
        in_a = cohort.group_labels == "a"
        carried = (cohort.controls[:, None] >> np.arange(verdicts.N_CONTROLS)) & 1
        own = np.column_stack([carried, cohort.diagnosed])
        ratios.append(own[in_a].mean(axis=0) / own[~in_a].mean(axis=0))
    assert np.median(ratios[1] / ratios[0]) == pytest.approx(2.0, abs=0.1)
    assert (ratios[1] / ratios[0])[-1] == pytest.approx(2.0, abs=0.3)


def test_stored_verdicts_hold_what_they_promise():
    """No violation is seldom a concern, and one beyond the margin seldom no concern."""
    found = verdicts.own(verdicts.summary(pd.read_csv(RESULTS / "verdicts.csv")))
    assert set(found["check"]) == set(verdicts.KINDS)
    none = found[found["factor"] == 1]
    assert np.average(none["concern"], weights=none["replicates"]) <= 0.06
    twofold = found[(found["factor"] == 2) & (found["check"] != "models")]
    assert np.average(twofold["no concern"], weights=twofold["replicates"]) <= 0.06
