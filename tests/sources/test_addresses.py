from __future__ import annotations

import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_mimic, read_neds, read_nhamcs, read_nhds, read_tables
from relprev.sources.addresses import is_address

ADDRESSES = [
    "postgresql://me:hunter2@host/db",
    "POSTGRESQL+psycopg2://me:hunter2@host/db",
    "host=db user=me password=hunter2",
    "me:hunter2@host/db",
]
READS = {
    "mimic": lambda text: read_mimic(text, text),
    "neds": read_neds,
    "neds, several": lambda text: read_neds([text, text], year=None),
    "nhamcs": read_nhamcs,
    "nhds": read_nhds,
    "tables": lambda text: read_tables(text, visit_id="id", code="dx", version="ICD10"),
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("kind", READS)
def test_an_address_in_place_of_a_path_is_not_shown(kind, address):
    with pytest.raises(InvalidInputError, match=r"not shown") as caught:
        READS[kind](address)
    assert "hunter2" not in str(caught.value)


def test_paths_are_no_addresses():
    for path in ("data/a.csv", "/data/year=2019/a.csv", "C:/Users/a.csv", "~/a b.csv", "a=b"):
        assert not is_address(path), path


def test_variables_are_expanded_before_a_text_is_judged(monkeypatch):
    monkeypatch.setenv("RELPREV_TEST_URL", ADDRESSES[0])
    assert is_address("$RELPREV_TEST_URL")
