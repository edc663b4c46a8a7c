"""The results folder: it appears whole, and nothing that relprev did not write is ever removed.

Results are written into a working folder beside it (``results.work``) and moved into place when
complete. The file ``.relprev.json`` lists them, so that they, and only they, can be replaced
later. While a study runs, its working folder holds patients' data; only its owner can read it.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from relprev.disclosure import Rule, shown
from relprev.errors import ClusterError, InvalidInputError
from relprev.messages import message_of
from relprev.store.files import TemporaryFolder, private_folder, remove_unfinished, written_whole

LISTING = ".relprev.json"
FINISHED = "finished"
OLD = "replaced"
LOG = "run.log"


@contextmanager
def working_folder(out: Path | None) -> Iterator[Path]:
    """The folder in which a run keeps its stages, a temporary one without ``out``.

    It is private and locked against a second run. It stays if the run is interrupted or fails.
    """
    if out is None:
        with TemporaryFolder() as name:
            yield Path(name)
        return
    work = out.parent / f"{out.name}.work"
    try:
        private_folder(work)
        lock = FileLock(work / "lock")
        lock.acquire(timeout=0)
    except Timeout:
        raise InvalidInputError(
            f"another run is writing to {out}; wait for it, or give another out="
        ) from None
    except OSError as error:
        raise InvalidInputError(
            f"cannot write to {work} ({error.strerror}); give another out="
        ) from None
    try:
        remove_unfinished(work)
        yield work
    finally:
        lock.release()


def require_replaceable(out: Path, study: str, force: bool) -> None:
    """Fail unless ``out`` is free, or holds only results that may be replaced."""
    if not out.name:
        raise InvalidInputError(f"{out} cannot be a results folder; give another out=")
    if not out.exists():
        return
    if not out.is_dir():
        raise InvalidInputError(f"{out} is a file; give another out=")
    if not any(out.iterdir()):
        return
    listing = _listing(out)
    if listing is None:
        raise InvalidInputError(f"{out} holds files that relprev did not write; give another out=")
    present = {file.relative_to(out).as_posix() for file in out.rglob("*") if not file.is_dir()}
    strange = sorted(present - set(listing["files"]) - {LISTING})
    if strange:
        raise InvalidInputError(
            f"{out} holds {len(strange)} files that relprev did not write, such as {strange[0]}; "
            "move them, or give another out="
        )
    if listing["study"] != study and not force:
        raise InvalidInputError(
            f"{out} holds results of the study {listing['study']!r}, not of {study!r}; give "
            "another out=, or replace them with force="
        )


def put_in_place(finished: Path, out: Path, study: str) -> None:
    """Move the finished results to ``out``, replacing what `require_replaceable` allowed."""
    files = sorted(file.relative_to(finished).as_posix() for file in finished.rglob("*")
                   if file.is_file())  # fmt: skip
    with written_whole(finished / LISTING) as temporary:
        listing = {"study": study, "files": files}
        temporary.write_text(json.dumps(listing, indent=1) + "\n", encoding="utf-8")
    old = finished.parent / OLD
    if out.exists():
        shutil.rmtree(old, ignore_errors=True)
        out.rename(old)
    finished.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _listing(folder: Path) -> dict[str, Any] | None:
    try:
        listing = json.loads((folder / LISTING).read_text(encoding="utf-8"))
        return listing if {"study", "files"} <= set(listing) else None
    except (OSError, ValueError, TypeError):
        return None


@contextmanager
def run_log(path: Path, rule: Rule) -> Iterator[logging.Logger]:
    """The log of this run: stages, times and how it ended, and only what may be shown."""
    log = logging.Logger("relprev.study", logging.INFO)
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield log
    except BaseException as error:
        if (message := message_of(error)) is not None:
            words = shown(message, rule)
        else:  # errors of a cluster are about machines, never about data
            words = str(error) if isinstance(error, ClusterError) else type(error).__name__
        log.error("stopped: %s", words)
        raise
    finally:
        handler.close()
