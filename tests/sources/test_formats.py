from __future__ import annotations

import bz2
import gzip
import zipfile

import pytest

from relprev.errors import InvalidInputError
from relprev.sources.database import connect
from relprev.sources.formats import first_row, load_table
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
    with pytest.raises(InvalidInputError, match="holds 2 files, expected one"), unpacked(file):
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
    with pytest.raises(InvalidInputError, match="damaged or cut short"), unpacked(file):
        pass


def test_an_error_while_using_the_file_is_not_blamed_on_it(tmp_path):
    file = pack(tmp_path / "a.zip", {"a.csv": "x"})
    with pytest.raises(OSError, match="disk full"), unpacked(file):
        raise OSError("disk full")


def test_columns_are_found_in_any_case_and_named_as_asked(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text('\ufeffAge,"Home, city",other\n30,"Paris, France",x\n', encoding="utf-8")
    assert first_row(file) == ["Age", "Home, city", "other"]
    connection = connect()
    load_table(connection, file, "t", ["age", "home, city"], optional=["OTHER", "nothing"])
    found = connection.execute("DESCRIBE t").fetchall()
    assert [name for name, *_ in found] == ["age", "home, city", "OTHER"]
    assert connection.execute("FROM t").fetchall() == [("30", "Paris, France", "x")]


def test_an_empty_file_is_refused(tmp_path):
    file = tmp_path / "a.csv"
    file.touch()
    with pytest.raises(InvalidInputError, match=r"a\.csv is empty"):
        load_table(connect(), file, "t")


def test_a_packed_file_damaged_inside_is_refused(tmp_path):
    """Bytes changed in the middle of the packed data: zlib's own error came through."""
    file = tmp_path / "visits.csv.gz"
    file.write_bytes(gzip.compress(b"visit,age\n" + b"1,30\n" * 500))
    content = bytearray(file.read_bytes())
    content[12:20] = b"\xff" * 8
    file.write_bytes(bytes(content))
    with pytest.raises(InvalidInputError, match=r"visits.csv.gz cannot be read .*damaged"):
        first_row(file)
