"""Text files in encodings other than UTF-8, converted on the way.

DuckDB reads UTF-8. A byte order mark says UTF-16 or UTF-32, as spreadsheets write "Unicode
text"; anything else (cp1252 on Windows) must be said, because no byte proves it.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from relprev.errors import InvalidInputError
from relprev.store.files import TemporaryFolder

BLOCK = 2**20
MARKS = {  # UTF-32's first: it begins like UTF-16's
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip


@contextmanager
def as_utf8(file: Path, encoding: str | None = None) -> Iterator[Path]:
    """A path to the text, gzipped or not, in UTF-8; temporary if it had to be converted.

    A byte order mark overrules ``encoding``.
    """
    found = _by_mark(file) or _known(encoding)
    if found in (None, "utf-8"):
        yield file
        return
    with TemporaryFolder() as folder:
        name = file.name[:-3] if file.suffix.lower() == ".gz" else file.name
        target = Path(folder, name)
        _convert(file, target, str(found))
        yield target


def _known(encoding: str | None) -> str | None:
    """Python's name of an encoding of text."""
    if encoding is None:
        return None
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding:
        raise InvalidInputError(
            f"encoding: {encoding!r} is not known; expected utf-8, cp1252 (Windows), latin-1, "
            "utf-16 or another of Python's names"
        )
    return found.name


def _by_mark(file: Path) -> str | None:
    try:
        with _opened(file) as packed:
            start = packed.read(4)
    except (OSError, EOFError, zlib.error):
        return None  # whoever reads it says what is wrong
    return next((name for mark, name in MARKS.items() if start.startswith(mark)), None)


def _opened(file: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb")


def _convert(file: Path, target: Path, encoding: str) -> None:
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        with _opened(file) as packed, target.open("w", encoding="utf-8", newline="") as converted:
            first = True
            while block := packed.read(BLOCK):
                text = decoder.decode(block)
                converted.write(text.removeprefix("\ufeff") if first else text)
                first = False
            converted.write(decoder.decode(b"", final=True))
    except UnicodeError:
        raise InvalidInputError(
            f"{file.name} cannot be read: it is not {encoding} text; give the right encoding"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidInputError(
            f"{file.name} cannot be read: it is damaged or truncated; download or copy it again"
        ) from None
