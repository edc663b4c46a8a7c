import sys
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from relprev.cohort import table as table_module
from relprev.cohort.table import read_table
from relprev.errors import InvalidInputError
from relprev.matrix import BinaryCSR, Dense

ROLES = {"diagnosed": "ipv", "group": "payer", "features": ["dx_*"]}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        (rng.random((200, 12)) < 0.1).astype(int), columns=[f"dx_{j}" for j in range(12)]
    )
    table["ipv"] = (rng.random(200) < 0.3).astype(int)
    table["payer"] = np.where(np.arange(200) % 2, "private", "public")
    table["w"] = rng.uniform(1, 2, 200)
    table["patient"] = [f"p{i // 2}" for i in range(200)]
    return table


WRITERS = {
    "csv": lambda f, p: f.to_csv(p, index=False),
    "parquet": lambda f, p: f.to_parquet(p),
    "feather": lambda f, p: f.to_feather(p),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_same_cohort(frame, tmp_path, kind):
    path = tmp_path / f"visits.{kind}"
    WRITERS[kind](frame, path)
    cohort = read_table(path, **ROLES, weight="w", cluster="patient")
    assert isinstance(cohort.X, BinaryCSR)
    np.testing.assert_array_equal(cohort.X.to_scipy().toarray(), frame.filter(like="dx_"))
    np.testing.assert_allclose(cohort.weights, frame["w"])
    assert len(np.unique(cohort.clusters)) == 100
    assert cohort.feature_names == tuple(f"dx_{j}" for j in range(12))


def test_dense_numbers_stay_dense(frame, tmp_path):
    frame["dx_age"] = np.linspace(20, 80, 200)
    frame.to_csv(tmp_path / "v.csv", index=False)
    cohort = read_table(tmp_path / "v.csv", **(ROLES | {"features": ["dx_age"]}))
    assert isinstance(cohort.X, Dense)


@pytest.mark.parametrize("words", [("yes", "no"), ("TRUE", "FALSE"), (True, False), (1.0, 0.0)])
def test_diagnosis_may_be_words_or_booleans(frame, tmp_path, words):
    expected = frame["ipv"].to_numpy()
    frame["ipv"] = np.where(expected == 1, *words)
    frame.to_csv(tmp_path / "v.csv", index=False)
    np.testing.assert_array_equal(read_table(tmp_path / "v.csv", **ROLES).diagnosed, expected)


def test_label_and_group_never_become_features(frame, tmp_path):
    frame.to_csv(tmp_path / "v.csv", index=False)
    cohort = read_table(tmp_path / "v.csv", **(ROLES | {"features": ["dx_*", "ipv", "w", "payer"]}))
    assert cohort.feature_names[-1] == "w"
    assert "ipv" not in cohort.feature_names


def _broken(frame, column, value, row=4):
    frame[column] = frame[column].astype(object)
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(
    ("change", "roles", "message"),
    [
        (None, {"group": "payr"}, "no column 'payr' \\(group\\); did you mean 'payer'"),
        (None, {"diagnosed": "zzz"}, "no column 'zzz' \\(diagnosed\\); columns are"),
        (None, {"features": ["icd_*"]}, "no column matches features 'icd_\\*'"),
        (None, {"features": ["patient"]}, "'patient' must be numeric"),
        (("payer", None), {}, "'payer' is missing in 1 rows, first in data row 5"),
        (("dx_3", None), {}, "'dx_3' is missing in 1 rows, first in data row 5"),
        (("ipv", 3), {}, "'ipv' .* first data row 5"),
        (("w", np.inf), {"features": ["w"]}, "finite numbers.* 1 rows .* first data row 5"),
        (("w", 1e308), {"features": ["w"]}, "none beyond 1e\\+100.* first data row 5"),
        (("w", 1e308), {"weight": "w"}, "'w' \\(weight\\) .* at most 1e\\+100.* row 5"),
        (("ipv", 2**60), {}, "'ipv' .* first data row 5"),
        (("w", -1.0), {"weight": "w"}, "'w' \\(weight\\) .* first data row 5"),
    ],
)
def test_trouble_is_located_by_file_column_and_row(frame, tmp_path, change, roles, message):
    table = frame if change is None else _broken(frame, *change)
    path = tmp_path / "v.csv"
    table.to_csv(path, index=False)
    with pytest.raises(InvalidInputError, match=message) as error:
        read_table(path, **(ROLES | roles))
    assert "v.csv" in str(error.value)


def test_missing_unknown_and_damaged_files_are_told_apart(frame, tmp_path):
    with pytest.raises(InvalidInputError, match="there is no file"):
        read_table(tmp_path / "v.csv", **ROLES)
    (tmp_path / "v.sas").write_text("x")
    with pytest.raises(InvalidInputError, match=r"cannot read \.sas; expected one of \.csv"):
        read_table(tmp_path / "v.sas", **ROLES)
    (tmp_path / "v.parquet").write_text("not parquet")
    with pytest.raises(InvalidInputError, match="not a readable parquet file"):
        read_table(tmp_path / "v.parquet", **ROLES)


def test_ragged_csv_is_refused_without_quoting_its_rows(tmp_path):
    (tmp_path / "v.csv").write_text("a,b\n1,2\nsecret-4711,2,3\n")
    with pytest.raises(InvalidInputError, match="Expected 2 columns, got 3") as error:
        read_table(tmp_path / "v.csv", **ROLES)
    assert "4711" not in str(error.value)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["dx_3", "ipv", "payer", "w"])
def test_columns_that_are_there_twice_are_refused(frame, tmp_path, name, kind):
    """Two columns of one name ended in a traceback."""
    table = pa.Table.from_pandas(frame)
    table = table.append_column(name, table[name])
    path = tmp_path / f"v.{kind}"
    (pa.csv.write_csv if kind == "csv" else pa.parquet.write_table)(table, path)
    with pytest.raises(InvalidInputError, match=f"more than one column is named '{name}'"):
        read_table(path, **ROLES, weight="w")


def test_a_column_that_is_not_used_may_be_there_twice(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    pa.csv.write_csv(table.append_column("patient", table["patient"]), tmp_path / "v.csv")
    assert read_table(tmp_path / "v.csv", **ROLES).n == 200


def test_folders_names_add_no_columns(frame, tmp_path):
    folder = tmp_path / "dx_folder=1"
    folder.mkdir()
    frame.to_parquet(folder / "v.parquet")
    assert "dx_folder" not in read_table(folder / "v.parquet", **ROLES).feature_names


def test_what_does_not_fit_in_memory_is_refused_before_it_is_tried(frame, tmp_path, monkeypatch):
    """A dense table of 200 columns and a million rows took 10 GB."""
    frame["dx_age"] = np.linspace(20, 80, 200)
    frame.to_csv(tmp_path / "v.csv", index=False)
    monkeypatch.setattr(table_module, "available_memory", lambda: 4_000)
    with pytest.raises(InvalidInputError, match="GiB are free; use fewer columns"):
        read_table(tmp_path / "v.csv", **(ROLES | {"features": ["dx_age"]}))


def test_features_take_little_more_memory_than_their_numbers(tmp_path):
    """They were made sparse, stacked and made dense again: six times their size."""
    n, p = 20_000, 50
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"dx_{j}" for j in range(p)])
    table["ipv"], table["payer"] = np.arange(n) % 2, np.where(np.arange(n) % 3, "a", "b")
    table.to_parquet(tmp_path / "v.parquet")
    tracemalloc.start()
    cohort = read_table(tmp_path / "v.parquet", **ROLES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(cohort.X.to_scipy(), table.filter(like="dx_"))
    assert peak < 1.5 * n * p * 8


def test_free_memory_is_known_here():
    assert table_module.available_memory() > 2**20


def test_sas_files_without_the_package_that_reads_them_say_how_to_install_it(tmp_path, monkeypatch):
    """The remedy was cut off, and the file was said to be damaged."""
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    (tmp_path / "visits.xpt").write_bytes(b"x")
    with pytest.raises(InvalidInputError, match=r"pip install relprev\[sas\]$"):
        read_table(tmp_path / "visits.xpt", diagnosed="d", group="g", features=["x"])
