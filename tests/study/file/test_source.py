from __future__ import annotations

import json
from pathlib import Path

import pytest

from relprev.errors import InvalidInputError
from relprev.simulate.mimic import write_mimic
from relprev.simulate.neds import write_neds
from relprev.sources import read_mimic
from relprev.study import SourceOptions, Study
from relprev.study.file.source import SOURCES, source_words

HEAD = 'cohort = "ipv-neds"\n[source]\n'


def study(tmp_path: Path, text: str) -> Study:
    file = tmp_path / "study.toml"
    file.write_text(HEAD + text)
    return Study.from_toml(file)


def opened(tmp_path: Path, text: str) -> None:
    """Everything a run does with the source before it has data."""
    found = study(tmp_path, text)
    assert "hunter2" not in repr(found) + json.dumps(found.described())
    assert "hunter2" not in json.dumps(found.source.described_files())
    found.open_source()


def test_every_source_is_named_in_the_words_of_a_report(tmp_path):
    """WORDS knew "mimic", the source is "mimic-iv": its reports said mimic-iv."""
    written = write_mimic(tmp_path, 200, n_codes=50)
    with read_mimic(written.hosp, written.ed) as source:
        assert source_words(source) == "MIMIC-IV"
    raw = write_neds(tmp_path / "NEDS_2019_Core.csv", 300, n_codes=50).path
    options = SourceOptions("neds", {"core": str(raw), "cache": str(tmp_path / "cache")})
    with options.open() as source:
        assert source_words(source) == "NEDS 2019"
    with SourceOptions("simulated", {"visits": 500, "codes": 50}).open() as source:
        assert source_words(source) == "simulated visits"


@pytest.mark.parametrize(
    "text",
    [
        'kind = "omop"\ndatabase = "postgresql+psycopg2://me:hunter2@127.0.0.1:1/db"\n',
        'kind = "omop"\ndatabase = "POSTGRES://me:hunter2@127.0.0.1:1/db"\n',
        'kind = "omop"\ndatabase = "host=127.0.0.1 port=1 user=me password=hunter2"\n',
        'kind = "omop"\ndatabase = "postgresql://me:hunter2@[::1/db"\n',
        'kind = "omop"\ndatabase = ["postgresql://me:hunter2@127.0.0.1:1/db"]\n',
        'kind = "omop"\ndatabase = {url = "postgresql://me:hunter2@127.0.0.1:1/db"}\n',
        'kind = "neds"\ncore = "postgresql://me:hunter2@127.0.0.1:1/db"\n',
        'kind = "neds"\ncore = ["postgresql://me:hunter2@h/db", "password=hunter2 host=h"]\n',
        'kind = "neds"\ncore = [["postgresql://me:hunter2@h/db"]]\n',
        'kind = "mimic-iv"\nhosp = "postgresql://me:hunter2@h/db"\ned = "x"\n',
        'kind = "tables"\nvisits = "postgresql://me:hunter2@h/db"\nvisit_id = "i"\ncode = "c"\n'
        'version = "ICD10"\n',
        'kind = "tables"\nvisits = ["password=hunter2"]\nvisit_id = "i"\ncode = "c"\n'
        'version = "ICD10"\n',
    ],
)
def test_no_error_or_repr_carries_an_address(tmp_path, text):
    with pytest.raises(InvalidInputError) as caught:
        opened(tmp_path, text)
    assert "hunter2" not in str(caught.value)


def test_files_are_described_by_their_names_alone(tmp_path):
    """Bytes divided by the length of a line are a number of rows."""
    file = tmp_path / "NHDS10.PU.txt"
    file.write_text("x" * 149 + "\n")
    options = SourceOptions("nhds", {"path": "NHDS10.PU.txt"}, tmp_path)
    assert options.files() == [file]
    assert options.described_files() == [{"name": "NHDS10.PU.txt"}]


def test_what_a_source_writes_is_none_of_its_files(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "old.parquet").touch()
    options = SourceOptions("neds", {"core": "a.csv", "cache": "cache"}, tmp_path)
    assert options.files() == [tmp_path / "a.csv"]


def test_an_unknown_kind_is_refused_with_what_there_is():
    with pytest.raises(InvalidInputError, match="did you mean 'neds'"):
        SourceOptions("nedss", {})
    assert "neds" in SOURCES
