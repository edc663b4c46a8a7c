from __future__ import annotations

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.simulate.mimic import RACES, write_mimic


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_mimic(tmp_path_factory.mktemp("mimic"), 400, n_codes=60, seed=7)


def table(written, place, name):
    return pd.read_csv(getattr(written, place) / f"{name}.csv.gz")


def test_the_same_seed_writes_the_same_files(written, tmp_path):
    again = write_mimic(tmp_path, 400, n_codes=60, seed=7)
    for file in ("ed/edstays.csv.gz", "ed/diagnosis.csv.gz"):
        assert (written.ed / file).read_bytes() == (again.ed / file).read_bytes()


def test_keys_hold_across_the_tables(written):
    """But for the stays whose admission does not exist, which the rules must leave out."""
    stays, patients = table(written, "ed", "ed/edstays"), table(written, "hosp", "hosp/patients")
    admissions = table(written, "hosp", "hosp/admissions")
    assert stays["stay_id"].is_unique
    assert admissions["hadm_id"].is_unique
    assert set(stays["subject_id"]) | set(admissions["subject_id"]) <= set(patients["subject_id"])
    linked = stays["hadm_id"].dropna()
    assert 0 < (~linked.isin(admissions["hadm_id"])).sum() < len(linked) / 2
    assert set(table(written, "ed", "ed/diagnosis")["stay_id"]) <= set(stays["stay_id"])


def test_the_truth_is_of_the_races_in_the_files(written):
    assert written.truth.values == tuple(RACES)
    assert set(table(written, "hosp", "hosp/admissions")["race"]) <= set(RACES)


def test_an_unknown_layout_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InvalidInputError, match=r"layout must be one of 1\.0, 2\.2"):
        write_mimic(tmp_path, 100, layout="9")
    assert not list(tmp_path.iterdir())
