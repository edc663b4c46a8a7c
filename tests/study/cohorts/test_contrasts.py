from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError
from relprev.study import EstimateOptions, InferenceOptions, SourceOptions
from tests.study.conftest import simulated


def test_contrasts_follow_versus_and_reference():
    estimate = EstimateOptions(("purple",), "reference", {"group": "Group D"})
    table = simulated(estimate=estimate).run(verbose=False).table("group")
    assert table["versus"].tolist() == ["Group D"] * 3
    wrong = EstimateOptions(("purple",), "reference", {"group": "Group E"})
    with pytest.raises(InvalidInputError, match=r"'Group E' is not in the cohort \(no visits\)"):
        simulated(estimate=wrong).run(verbose=False)


def test_survey_designs_and_patients_are_used_unless_turned_off():
    """Standard errors differ with the design, with patients only, and with neither."""
    source = {"visits": 8_000, "codes": 60, "prevalence": 0.25, "seed": 1, "survey": True}
    errors = []
    for inference in (
        InferenceOptions(),
        InferenceOptions(design=False),
        InferenceOptions(design=False, clusters=False),
    ):
        study = simulated(
            source=SourceOptions("simulated", source),
            estimate=EstimateOptions(methods=("debiased",)),
            inference=inference,
        )
        table = study.run(verbose=False).table("group")
        errors.append(tuple(table["std_error"]))
    assert len(set(errors)) == 3
