"""The Python on the pages of sources whose data cannot be simulated, run where the data are."""

import bz2
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.sources.conftest import TABLES

ROOT = Path(__file__).resolve().parents[2]


def run(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Run a page's block in a folder with the example study and the data."""
    text = (ROOT / "docs" / "sources" / f"{page}.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", text, re.DOTALL)
    shutil.copy(ROOT / "examples" / f"{page}.toml", folder)
    monkeypatch.chdir(folder)
    names: dict = {}
    exec(compile(code, f"{page}.md", "exec"), names)
    return names


def test_nhds(real_data, tmp_path, monkeypatch):
    packed = real_data("nhds-2010/NHDS10.PU.txt.bz2").read_bytes()
    (tmp_path / "NHDS10.PU.txt").write_bytes(bz2.decompress(packed))
    assert run("nhds", tmp_path, monkeypatch)["cohort"].n_groups > 1


def test_nhanes(real_data, tmp_path, monkeypatch):
    (tmp_path / "nhanes").symlink_to(real_data("nhanes"))
    assert run("nhanes", tmp_path, monkeypatch)["cohort"].n_groups > 1


def test_nhamcs(real_data, tmp_path, monkeypatch):
    for name in ("ED2018-stata.zip", "ED2019-stata.zip"):
        (tmp_path / name).symlink_to(real_data(f"nhamcs-ed/{name}"))
    assert run("nhamcs", tmp_path, monkeypatch)["cohort"].n_groups > 1


def test_meds(real_data, tmp_path, monkeypatch):
    pytest.importorskip("meds")
    file = real_data("meds-mimic-iv-demo/mimic_iv_demo_meds_events.parquet")
    (tmp_path / "meds" / "data" / "train").mkdir(parents=True)
    (tmp_path / "meds" / "data" / "train" / "0.parquet").symlink_to(file)
    assert run("meds", tmp_path, monkeypatch)["cohort"].n_groups > 1


def test_omop(real_data, tmp_path, monkeypatch):
    (tmp_path / "omop").mkdir()
    with zipfile.ZipFile(real_data("omop-synthea27nj/Synthea27Nj_5.4.zip")) as archive:
        for table in TABLES:
            archive.extract(f"{table.upper()}.csv", tmp_path / "omop")
    assert run("omop", tmp_path, monkeypatch)["cohort"].n_groups > 1
