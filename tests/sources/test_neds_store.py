"""Conversion of NEDS files: layouts, damaged files, and the cache."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
import warnings

import pandas as pd
import pytest

from relprev.errors import DataWarning, InvalidInputError
from relprev.simulate.neds import write_neds
from relprev.sources import read_neds
from relprev.sources.neds_store import read_layout
from tests.sources.core_files import NAMES, make, row


def test_layouts_have_the_documented_number_of_columns():
    counts = {year: len(read_layout("Core", year)) for year in (2016, 2017, 2018, 2019)}
    assert counts[2017] == 58
    assert counts[2018] == 72
    assert counts[2019] == 73
    assert len(read_layout("Hospital", 2019)) == 15


def test_another_years_layout_is_refused_and_leaves_no_cache(tmp_path):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()], read_layout("Core", 2018))
    cache = tmp_path / "cache"
    with pytest.raises(InvalidInputError, match="has 72 columns, the layout has 73"):
        read_neds(file, cache=cache)
    wrong_year = make(tmp_path / "NEDS_2019_Core_b.csv", [row(YEAR=2020)])
    with pytest.raises(InvalidInputError, match="1 rows whose YEAR is not 2019"):
        read_neds(wrong_year, cache=cache)
    shifted = make(tmp_path / "NEDS_2019_Core_c.csv", [row(AGE=2019, FEMALE=7)])
    with pytest.raises(InvalidInputError, match="1 ages above 124, 1 values of FEMALE"):
        read_neds(shifted, cache=cache)
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda text: text[: len(text) // 2].rsplit(b"\n", 1)[0] + b"\n1,2,3\n",
            "number of columns",
        ),
        (lambda text: ",".join(NAMES).encode() + b"\n" + text, "has a header row"),
        (lambda text: text.replace(b"40,", b"forty,"), "is not a number"),
        (lambda text: b"", "has 0 columns"),
    ],
)
def test_damaged_files_are_refused_and_leave_no_cache(tmp_path, damage, message):
    file = make(tmp_path / "NEDS_2019_Core.csv", [row(KEY_ED=k) for k in range(50)])
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_neds(file, cache=tmp_path / "cache")
    assert "forty" not in str(caught.value)
    assert not list((tmp_path / "cache").glob("*"))


def test_a_truncated_gzip_is_refused_and_leaves_no_cache(tmp_path):
    rows = [row(KEY_ED=k, I10_DX1=f"R{k:04d}") for k in range(3_000)]
    text = make(tmp_path / "plain.csv", rows).read_bytes()
    file = tmp_path / "NEDS_2019_Core.csv.gz"
    packed = gzip.compress(text)
    file.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InvalidInputError, match="truncated"):
        read_neds(file, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_killed_conversion_leaves_no_store(tmp_path):
    """Killed without warning; the next reading starts afresh and succeeds."""
    cache = tmp_path / "cache"
    file = write_neds(tmp_path / "NEDS_2019_Core.csv", 60_000, n_codes=60).path
    program = (
        f"from relprev.sources import read_neds; read_neds({str(file)!r}, cache={str(cache)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    while process.poll() is None and not list(cache.glob("*")):
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert [path.name.startswith(".partial-neds-") for path in cache.iterdir()] == [True]
    assert read_neds(file, cache=cache).n_visits == 60_000
    assert len(list(cache.glob("neds-*.parquet"))) == 1


def test_the_cache_is_private(tmp_path):
    cache = tmp_path / "cache"
    read_neds(make(tmp_path / "NEDS_2019_Core.csv", [row()]), cache=cache)
    assert cache.stat().st_mode & 0o077 == 0


def test_the_cache_is_keyed_by_content(tmp_path):
    cache = tmp_path / "cache"
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()])
    read_neds(file, cache=cache)
    stored = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert sorted(path.suffix for path in stored) == [".blake2b", ".parquet"]
    make(file, [row()])
    read_neds(file, cache=cache)
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == stored
    make(file, [row(AGE=41)])
    assert read_neds(file, cache=cache).query("SELECT age FROM visits") == [(41,)]
    assert len(list(cache.glob("*.parquet"))) == 2


def test_a_damaged_cache_is_made_again_with_a_word(tmp_path):
    """One changed byte failed for ever, or changed the estimates."""
    file = make(tmp_path / "NEDS_2019_Core.csv", [row()])
    read_neds(file, cache=tmp_path / "cache")
    (store,) = (tmp_path / "cache").glob("*.parquet")
    assert store.stat().st_mode & 0o077 == 0
    whole = store.read_bytes()
    for damaged in (whole[:-9], bytes([whole[0] ^ 1]) + whole[1:], b""):
        store.write_bytes(damaged)
        with pytest.warns(
            DataWarning, match=r"copy of NEDS_2019_Core\.csv in the cache is damaged"
        ):
            assert read_neds(file, cache=tmp_path / "cache").n_visits == 1
    store.with_name(f"{store.name}.blake2b").unlink()  # stopped between the two files
    with pytest.warns(DataWarning, match="converting it again"):
        read_neds(file, cache=tmp_path / "cache")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_neds(file, cache=tmp_path / "cache")


def test_a_layout_file_serves_other_years(tmp_path):
    layout = tmp_path / "layout.csv"
    pd.DataFrame({"position": range(1, 74), "name": NAMES}).to_csv(layout, index=False)
    file = make(tmp_path / "NEDS_2021_Core.csv", [row(YEAR=2021)])
    with pytest.raises(InvalidInputError, match="no layout for the NEDS Core file of 2021"):
        read_neds(file, cache=tmp_path / "cache")
    source = read_neds(file, layout=layout, cache=tmp_path / "cache")
    assert source.query("SELECT year FROM visits") == [(2021,)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name\nAGE\n",
        "position,name\none,AGE\n",
        "position,name\n1,AGE\n2,age\n",
        "position,name\n1\n",
    ],
)
def test_a_layout_file_out_of_form_is_refused(tmp_path, text):
    layout = tmp_path / "layout.csv"
    layout.write_text(text)
    with pytest.raises(InvalidInputError, match=r"layout\.csv must be a CSV file with the columns"):
        read_layout("Core", 2021, layout)
