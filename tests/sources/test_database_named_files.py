"""The file that was named is read, and no other, whatever signs its path holds."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.simulate.mimic import write_mimic
from relprev.simulate.neds import write_neds
from relprev.sources import read_mimic, read_neds, read_nhds, read_tables
from relprev.sources.database import file_literal

NAMES = {"visits[1]": "visits1", "v*": "va", "v?": "va", "visits[!2]": "visits1", "v[a-c]": "va"}
ENDINGS = ["csv", "csv.gz", "tsv", "parquet", "zip"]


def write(path: Path, ward: str) -> None:
    frame = pd.DataFrame({"id": [1, 2], "dx": ["R51", "R11"], "ward": [ward, ward]})
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{path.stem}.csv", frame.to_csv(index=False))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def wards(path: Path, **options) -> list:
    source = read_tables(
        path, visit_id="id", code=["dx"], version="ICD10", attributes=["ward"], **options
    )
    return source.query("SELECT ward, count(*) FROM visits GROUP BY ward ORDER BY ward")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", NAMES)
def test_signs_in_a_name_are_no_pattern(tmp_path, name, ending):
    """visits[1].csv read visits1.csv instead, and v*.csv read two files."""
    write(tmp_path / f"{NAMES[name]}.{ending}", "wrong")
    named = tmp_path / f"{name}.{ending}"
    write(named, "right")
    assert wards(named) == [("right", 2)]
    named.unlink()
    with pytest.raises(InvalidInputError, match="expected a file at"):
        wards(named)


def test_signs_in_a_folder_are_no_pattern(tmp_path):
    for folder, ward in (("f1", "wrong"), ("f[1]", "right")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "visits.csv", ward)
    assert wards(tmp_path / "f[1]" / "visits.csv") == [("right", 2)]


def test_a_folder_named_like_a_column_adds_none(tmp_path):
    """DuckDB makes a column of a folder named year=2019."""
    folder = tmp_path / "year=2019"
    folder.mkdir()
    write(folder / "visits.parquet", "a")
    with pytest.raises(InvalidInputError, match="lacks the column year"):
        wards(folder / "visits.parquet", year="year")


def test_fixed_width_neds_and_mimic_files_too(tmp_path):
    line = "10211921" + " " * 9 + "3" + "  " + "   87" + "  " + "64403" + "2809-"
    for name, rows in (("NHDS[1].txt", 1), ("NHDS1.txt", 3)):
        (tmp_path / name).write_text((line.ljust(149) + "\n") * rows)
    assert read_nhds(tmp_path / "NHDS[1].txt").n_visits == 1
    folder = tmp_path / "data [2019] *"
    raw = write_neds(folder / "NEDS_2019_Core.csv", 300, n_codes=50).path
    assert read_neds(raw, cache=folder / "cache [1]").n_visits == 300
    written = write_mimic(folder, 200, n_codes=50)
    assert read_mimic(written.hosp, written.ed).n_visits == 200


def test_what_cannot_be_escaped_is_refused():
    with pytest.raises(InvalidInputError, match="rename the file or its folder"):
        file_literal(Path("a\\b[1].csv"))
    assert file_literal(Path("a\\b.csv")) == "'a\\b.csv'"
