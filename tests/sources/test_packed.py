from __future__ import annotations

import bz2
import zipfile

import pytest

from relprev.errors import InvalidInputError
from relprev.sources import packed
from relprev.sources.packed import unpacked


def pack(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_a_zip_of_one_file_is_unpacked_and_removed_again(tmp_path):
    file = pack(tmp_path / "a.zip", {"a.csv": "x\n1\n", "__MACOSX/._a.csv": "?"})
    with unpacked(file) as inner:
        assert inner.name == "a.csv"
        assert inner.read_text() == "x\n1\n"
    assert not inner.exists()


def test_a_zip_of_several_files_is_refused(tmp_path):
    file = pack(tmp_path / "a.zip", {"a.csv": "x", "b.csv": "y"})
    with pytest.raises(InvalidInputError, match="contains 2 files, expected one"), unpacked(file):
        pass


def test_an_encrypted_zip_is_refused(tmp_path):
    file = pack(tmp_path / "a.zip", {"a.csv": "x"})
    content = bytearray(file.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + flags] |= 1  # the bit that says "encrypted"
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match="unpack it with its password"), unpacked(file):
        pass


@pytest.mark.parametrize("ending", ["zip", "bz2"])
def test_damaged_archives_are_refused(tmp_path, ending):
    file = tmp_path / f"a.csv.{ending}"
    text = "".join(f"{k},{k * k}\n" for k in range(50_000))
    if ending == "zip":
        pack(file, {"a.csv": text}, compression=zipfile.ZIP_DEFLATED)
        content = bytearray(file.read_bytes())
        content[2_000:3_000] = bytes(1_000)
        file.write_bytes(content)
    else:
        file.write_bytes(bz2.compress(text.encode())[:-1_000])
    with pytest.raises(InvalidInputError, match="damaged or truncated"), unpacked(file):
        pass


def test_an_error_while_using_the_file_is_not_blamed_on_it(tmp_path):
    file = pack(tmp_path / "a.zip", {"a.csv": "x"})
    with pytest.raises(OSError, match="disk full"), unpacked(file):
        raise OSError("disk full")


@pytest.mark.parametrize("ending", ["zip", "bz2"])
def test_bombs_are_refused_while_they_unpack(tmp_path, monkeypatch, ending):
    """An archive of 10 MB unpacked to 10 GB on the disk for temporary files."""
    monkeypatch.setattr(packed, "ALWAYS_ALLOWED", 2**20)
    file, zeros = tmp_path / f"a.csv.{ending}", bytes(2**24)
    if ending == "zip":
        pack(file, {"a.csv": zeros}, compression=zipfile.ZIP_DEFLATED)
    else:
        file.write_bytes(bz2.compress(zeros))
    with pytest.raises(InvalidInputError, match="unpacks to more than 100 times"), unpacked(file):
        pass


def test_what_does_not_fit_on_the_disk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "LEFT_FREE", 2**60)
    file = pack(tmp_path / "a.zip", {"a.csv": "x\n1\n"})
    with pytest.raises(InvalidInputError, match="set TMPDIR"), unpacked(file):
        pass
