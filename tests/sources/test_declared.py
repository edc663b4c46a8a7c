from __future__ import annotations

import dataclasses
import inspect

import pytest

from relprev.sources.declared import Role
from relprev.study.file.source import SOURCES


@pytest.mark.parametrize("kind", SOURCES)
def test_a_declaration_names_exactly_the_parameters_of_its_reader(kind):
    declared = SOURCES[kind]
    fields = {field.name: field for field in dataclasses.fields(declared)}
    assert fields.pop("kind").type.startswith("Literal")
    parameters = dict(inspect.signature(declared.read).parameters)
    kinds = parameters.pop("kinds", None)  # [features] names them, not [source]
    assert (kinds is not None) == (len(declared.kinds) > 1)
    assert set(fields) == set(parameters)
    for name, parameter in parameters.items():
        required = parameter.default is inspect.Parameter.empty
        assert (fields[name].default is dataclasses.MISSING) == required, name


def test_paths_in_and_out_are_told_apart():
    neds = SOURCES["neds"]
    assert neds.path_keys(Role.INPUT) == {
        "core", "hospital", "ed", "ip", "layout", "hospital_layout", "ed_layout", "ip_layout",
    }  # fmt: skip
    assert neds.path_keys(Role.OUTPUT) == {"cache"}
    assert SOURCES["omop"].path_keys(*Role) == {"database", "concept_sets"}
    assert SOURCES["tables"].path_keys(*Role) == {"visits", "codes", "formats"}
    assert SOURCES["simulated"].path_keys(*Role) == set()


def test_surveys_are_said_to_be_surveys():
    surveys = {kind for kind, declared in SOURCES.items() if declared.is_survey}
    assert surveys == {"neds", "nhamcs", "nhanes", "nhds"}
    strata = {kind for kind, declared in SOURCES.items() if declared.has_strata}
    assert strata == {"neds", "nhamcs", "nhanes"}
