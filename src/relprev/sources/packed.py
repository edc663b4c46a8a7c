"""Decompress .zip and .bz2 files into a temporary folder, within limits.

A few kilobytes may decompress to terabytes, so the output is measured as it grows. It may
reach 256 megabytes or a hundred times the size of the compressed file (tables usually shrink
to about a tenth), and must leave some disk space free.
"""

from __future__ import annotations

import bz2
import errno
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from relprev.errors import InvalidInputError
from relprev.store.files import TemporaryFolder

ENCRYPTED = 0x1  # flag of a zip member
ALWAYS_ALLOWED = 2**28  # bytes
LARGEST_RATIO = 100
LEFT_FREE = 2**29  # bytes of the disk
BLOCK = 2**20


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A path to the file without .zip or .bz2 compression; temporary if it was compressed."""
    if path.suffix.lower() not in (".zip", ".bz2"):
        yield path
        return
    with TemporaryFolder() as folder:
        yield _unpack(path, Path(folder))


def _unpack(path: Path, folder: Path) -> Path:
    try:
        if path.suffix.lower() == ".zip":
            return _unpack_zip(path, folder)
        with bz2.open(path) as packed:
            return _copy(packed, path, folder / path.stem)
    except NotImplementedError:
        raise InvalidInputError(
            f"{path.name} uses an unsupported compression method; unpack it and give the path of "
            "the file to read"
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk, not the file
        raise InvalidInputError(
            f"{path.name} cannot be unpacked ({type(error).__name__}); it is damaged or "
            "truncated: download or copy it again"
        ) from None


def _unpack_zip(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = [
            item
            for item in archive.infolist()
            if not item.is_dir() and not item.filename.startswith("__MACOSX")
        ]
        if len(members) != 1:
            raise InvalidInputError(
                f"{path.name} contains {len(members)} files, expected one; unpack it and give the "
                "path of the file to read"
            )
        if members[0].flag_bits & ENCRYPTED:
            raise InvalidInputError(
                f"{path.name} is encrypted; unpack it with its password and give the path of the "
                "file to read"
            )
        require_plausible(members[0].file_size, path)  # the size it claims
        with archive.open(members[0]) as packed:
            return _copy(packed, path, folder / Path(members[0].filename).name)


def _copy(packed: IO[bytes], path: Path, target: Path) -> Path:
    """Decompress to ``target``, as long as the size is plausible and the disk has room."""
    room = shutil.disk_usage(target.parent).free - LEFT_FREE
    size = 0
    with target.open("wb") as file:
        while block := packed.read(BLOCK):
            size += len(block)
            require_plausible(size, path)
            if size > room:
                raise InvalidInputError(
                    f"{path.name} is too large to be unpacked in {tempfile.gettempdir()}; free "
                    "some space, or set TMPDIR to a folder on a larger disk"
                )
            file.write(block)
    return target


def require_plausible(size: int, path: Path) -> None:
    """Fail if a compressed file unpacks to a size that no table has."""
    if size > max(ALWAYS_ALLOWED, LARGEST_RATIO * path.stat().st_size):
        raise InvalidInputError(
            f"{path.name} unpacks to more than {LARGEST_RATIO} times its size, as no table should; "
            "if that is expected, unpack it and give the path of the file to read"
        )
