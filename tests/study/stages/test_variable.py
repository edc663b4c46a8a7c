from __future__ import annotations

import numpy as np

from relprev import PURPLE
from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, GroupVariable, Include
from relprev.disclosure import Rule
from relprev.model.splits import split
from relprev.simulate import ed_visits
from relprev.study import EstimateOptions, InferenceOptions, SourceOptions
from relprev.study.stages.variable import Variable
from tests.study.conftest import simulated


def test_patients_with_a_symptom_are_counted_once(visits):
    study = simulated()
    variable = Variable("group", lambda: visits.cohort, study.estimate, study.inference)
    table = variable.estimate("purple").tables["symptoms"]
    feature = table["feature"][0]
    j = list(visits.cohort.feature_names).index(feature)
    has = visits.cohort.X.matvec(np.eye(visits.cohort.n_cols)[j]) != 0
    assert table["visits"][0] == has.sum()
    assert table["patients"][0] == len(np.unique(visits.cohort.clusters[has]))


def test_groups_withheld_by_the_estimator_are_named():
    """Only one diagnosed patient in a group: it gets no estimate, and the report says why."""
    cohort = CohortSpec(
        CodeSet.of("it", ["SIMULATED:CONDITION"]),
        (GroupVariable("group", few_diagnosed="keep"),),
        (Include("age", maximum=12),),
    )
    source = {"visits": 8_000, "codes": 60, "prevalence": 0.2, "seed": 3}
    study = simulated(
        cohort=cohort,
        source=SourceOptions("simulated", source),
        estimate=EstimateOptions(methods=("debiased",)),
        disclosure=Rule(hide=False),
    )
    found = study.run(verbose=False).report.variables[0]
    thin = found.groups.loc[found.groups["n_diagnosed"] < 2, "group"].tolist()
    assert thin
    assert set(thin) <= set(found.left_out)
    table = found.estimates["debiased"].set_index("group")
    assert table.loc[thin, "estimate"].isna().all()


def test_the_papers_protocol_is_the_mean_over_five_splits():
    cohort = ed_visits(8_000, n_codes=60, prevalence=0.3, seed=2).cohort
    options = EstimateOptions(methods=("paper",), versus="reference")
    variable = Variable("group", lambda: cohort, options, InferenceOptions(), seed=3)
    table = variable.estimate("paper").tables["estimates"]
    each = []
    for k in range(5):
        train, chosen_on, test = (cohort.take(rows) for rows in split(cohort, (3, 1, 1), 3 + k))
        fitted = PURPLE(selection="auc", reference=variable.reference, random_state=3)
        fitted.fit(train, validation=chosen_on)
        each.append(fitted.relative_prevalence(variable.reference, on=test).to_frame()["estimate"])
    np.testing.assert_allclose(table["estimate"], np.mean(each, axis=0))
    np.testing.assert_allclose(table["split_sd"], np.std(each, axis=0, ddof=1))
    ratio = table["diagnosis_ratio"] * table["estimate"]
    np.testing.assert_allclose(ratio, table["observed_ratio"])
    assert table["ci_low"].isna().all()
