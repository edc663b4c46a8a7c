from __future__ import annotations

import re

import pytest

from relprev.errors import InvalidInputError
from relprev.sources import SOURCES, read_nhds, read_tables
from relprev.sources.kinds import CAUSES, DIAGNOSES, Kind, kind_of_role, read_kinds

VITALS = Kind("vitals", "VITAL", "vital signs", ("vital",))
OFFERED = (DIAGNOSES, CAUSES, VITALS)


def test_default_kinds_are_always_read():
    assert read_kinds((), OFFERED) == (DIAGNOSES, CAUSES)
    assert read_kinds(["vitals"], OFFERED) == OFFERED


@pytest.mark.parametrize("names", [["vital"], "vital"])
def test_an_unknown_kind_is_refused_with_a_suggestion(names):
    with pytest.raises(InvalidInputError, match="kinds: got 'vital'; did you mean 'vitals'"):
        read_kinds(names, OFFERED)


def test_a_role_that_no_kind_claims_is_a_diagnosis():
    found = [kind_of_role(role, OFFERED).name for role in ("vital", "cause", "hospital", None)]
    assert found == ["vitals", "causes", "diagnoses", "diagnoses"]


@pytest.mark.parametrize("name", SOURCES)
def test_kinds_of_a_source_do_not_share_names_roles_or_prefixes(name):
    kinds = SOURCES[name].kinds
    assert kinds[0].default
    assert kinds[0].roles == ()
    assert len({kind.name for kind in kinds}) == len(kinds)
    roles = [role for kind in kinds for role in kind.roles]
    assert len(set(roles)) == len(roles)
    prefixes = [kind.prefix for kind in kinds if not kind.default]
    assert len(set(prefixes)) == len(prefixes)
    assert all(re.fullmatch("[A-Z]+", prefix) for prefix in prefixes)


@pytest.mark.parametrize("read", [read_nhds, read_tables])
def test_sources_without_further_kinds_take_none(read):
    assert "kinds" not in read.__wrapped__.__code__.co_varnames
