from __future__ import annotations

import codecs
import gzip

import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_tables
from relprev.sources.encodings import as_utf8

TEXT = "id,dx,ward\r\n1,R51,Zürich\r\n2,R52,Málaga – Süd\r\n"
NAMES = {"visit_id": "id", "code": ["dx"], "version": "ICD10", "attributes": ["ward"]}
WARDS = [("Zürich",), ("Málaga – Süd",)]


def wards(file, **options):
    source = read_tables(file, **NAMES, **options)
    return source.query("SELECT ward FROM visits ORDER BY visit")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-16-le", "UTF8"])
def test_an_encoding_that_is_given_is_used(tmp_path, encoding):
    file = tmp_path / "visits.csv"
    file.write_bytes(TEXT.encode(encoding))
    assert wards(file, encoding=encoding) == WARDS
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(TEXT.encode(encoding)))
    assert wards(packed, encoding=encoding) == WARDS


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
     (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF8, "utf-8")],
)  # fmt: skip
def test_a_byte_order_mark_says_the_encoding(tmp_path, mark, encoding):
    file = tmp_path / "visits.csv"
    file.write_bytes(mark + TEXT.encode(encoding))
    assert wards(file) == WARDS
    assert wards(file, encoding="cp1252" if encoding != "utf-8" else None) == WARDS


def test_unicode_text_of_a_spreadsheet_is_read_under_its_own_ending(tmp_path):
    """Excel calls the file .txt; it was refused without a remedy."""
    file = tmp_path / "visits.txt"
    file.write_text(TEXT.replace(",", "\t"), encoding="utf-16")
    assert wards(file) == WARDS


def test_wrong_encodings_are_refused(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_bytes(TEXT.encode("cp1252"))
    with pytest.raises(InvalidInputError, match=r"not UTF-8 text; .*give its encoding"):
        wards(file)
    with pytest.raises(InvalidInputError, match="it is not ascii text"):
        wards(file, encoding="ascii")
    for unknown in ("cp12522", "rot13", "a\x00b"):
        with pytest.raises(InvalidInputError, match="is not known; expected utf-8, cp1252"):
            wards(file, encoding=unknown)
    cut = tmp_path / "visits.csv.gz"
    cut.write_bytes(gzip.compress(TEXT.encode("cp1252") * 999)[:-20])
    with pytest.raises(InvalidInputError, match="truncated"):
        wards(cut, encoding="cp1252")


def test_a_letter_may_be_cut_by_the_end_of_a_block(tmp_path):
    file = tmp_path / "visits.csv"
    text = "x" + "é" * 2**20
    file.write_text(text, encoding="utf-16")
    with as_utf8(file) as converted:
        assert converted.read_text(encoding="utf-8") == text
    assert not converted.exists()
