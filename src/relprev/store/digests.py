"""Digests: 24 hexadecimal digits that tell whether two things are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from relprev.progress import progress
from relprev.store.files import written_whole

BLOCK = 2**22
SIZE = 12  # bytes
LONG = 2**30  # bytes that take a second or more to read


def digest(*parts: Any) -> str:
    """Digest of plain values, arrays (type, shape and content) and bytes.

    Examples
    --------
    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    >>> digest(np.zeros(2)) == digest(np.zeros(2, dtype=np.float32))
    False
    """
    total = hashlib.blake2b(digest_size=SIZE)
    for part in parts:
        if isinstance(part, np.ndarray):
            head, content = f"array {part.dtype} {part.shape}", np.ascontiguousarray(part).data
        elif isinstance(part, bytes):
            head, content = f"bytes {len(part)}", memoryview(part)
        else:
            text = json.dumps(part, sort_keys=True, default=str).encode()
            head, content = f"value {len(text)}", memoryview(text)
        total.update(f"{head}\n".encode())
        total.update(content)
    return total.hexdigest()


def file_digest(path: str | Path, read: Callable[[int], None] = lambda size: None) -> str:
    """Digest of a file's content; ``read`` is called with the size of each block read."""
    total = hashlib.blake2b(digest_size=SIZE)
    with Path(path).open("rb") as file:
        while block := file.read(BLOCK):
            total.update(block)
            read(len(block))
    return total.hexdigest()


def seal(path: str | Path) -> None:
    """Write a file's digest beside it, so that `is_sealed` can tell whether it has changed."""
    with written_whole(_seal(Path(path))) as temporary:
        temporary.write_text(file_digest(path), encoding="ascii")


def is_sealed(path: str | Path) -> bool:
    """Whether a file is as it was when it was sealed."""
    try:
        return _seal(Path(path)).read_bytes() == file_digest(path).encode()
    except OSError:
        return False


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.blake2b")


def files_digest(paths: Iterable[Path], *, verbose: bool = False) -> str:
    """Digest of the names and contents of files, including which of them are missing.

    Large files take a second per gigabyte; ``verbose`` then shows progress.
    """
    files = list(paths)
    total = sum(path.stat().st_size for path in files if path.is_file())
    steps = -(-total // LONG)
    with progress("Reading input", steps, verbose and steps > 1) as advance:
        done = 0

        def read(size: int) -> None:
            nonlocal done
            if done // LONG < (done + size) // LONG:
                advance("looking for changes")
            done += size

        return digest(*([str(path), _content(path, read)] for path in files))


def _content(path: Path, read: Callable[[int], None]) -> str | None:
    try:
        return file_digest(path, read)
    except OSError:
        return None
