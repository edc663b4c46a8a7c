"""Files that appear whole or not at all, and folders that only their owner can read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from relprev.errors import InvalidInputError

PARTIAL = ".partial-"  # begins the name of a file that is being written
PREFIX = "relprev-"  # begins the name of a temporary folder
LOCK = ".lock"  # held while the process that made the folder is alive
OWNER_ONLY = 0o700


@contextmanager
def written_whole(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it to ``path`` if the block succeeds.

    An interruption at any moment leaves either the old file or the new one. The folder is created
    if missing. Only the owner can read a ``private`` file; otherwise the user's umask decides.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f"{PARTIAL}{path.stem}-", suffix=path.suffix, dir=path.parent
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o600 if private else 0o666 & ~_umask())
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def private_folder(path: str | Path) -> Path:
    """The folder, created if missing and closed to everybody but its owner.

    A folder that belongs to somebody else, who could open it again, is refused.
    """
    path = Path(path)
    path.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
    about = path.stat()
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise InvalidInputError(
            f"{path} belongs to another user, who could read patients' data in it; choose another "
            "folder"
        )
    if about.st_mode & 0o077:
        path.chmod(OWNER_ONLY)
    return path


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A private folder that is removed when it is closed, or when the process ends.

    If the process is killed, the next one to make such a folder removes it: nobody holds its lock.

    Examples
    --------
    >>> with TemporaryFolder() as name:
    ...     oct(Path(name).stat().st_mode & 0o777)
    '0o700'
    """

    def __init__(self) -> None:
        _remove_stale_once()
        super().__init__(prefix=PREFIX, ignore_cleanup_errors=True)
        self._lock = FileLock(Path(self.name) / LOCK)
        self._lock.acquire()

    def cleanup(self) -> None:
        """Remove the folder and its contents."""
        self._lock.release(force=True)
        super().cleanup()


def remove_stale(parent: str | Path) -> None:
    """Remove this user's temporary folders in ``parent`` whose processes are gone."""
    for lock_file in Path(parent).glob(f"{PREFIX}*/{LOCK}"):
        try:
            if hasattr(os, "getuid") and lock_file.stat().st_uid != os.getuid():
                continue
            with FileLock(lock_file, timeout=0):
                shutil.rmtree(lock_file.parent, ignore_errors=True)
        except (OSError, Timeout):  # in use, or just removed by another process
            continue


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed run was writing into a folder; nobody else may be writing there."""
    for path in [*folder.glob(".*"), *folder.glob(f"{PREFIX}*")]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name.startswith(PARTIAL):
            path.unlink(missing_ok=True)


@cache
def _remove_stale_once() -> None:
    remove_stale(tempfile.gettempdir())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
