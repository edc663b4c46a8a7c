"""Where the files that a study names are, and where dummy ones are written instead."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from relprev.sources.declared import resolved
from relprev.store.files import written_whole


@dataclass(frozen=True)
class Places:
    """Folders of a study and of its dummy data.

    Parameters
    ----------
    study : Path
        Where relative paths in the study file start.
    dummy : Path
        Where dummy files are written.

    Examples
    --------
    >>> places = Places(Path("study"), Path("dummy"))
    >>> places.given("sets/asthma.json").as_posix(), places.written("/data/a.csv").as_posix()
    ('study/sets/asthma.json', 'dummy/a.csv')
    """

    study: Path
    dummy: Path

    def given(self, path: str) -> Path:
        """The file that the study names."""
        return Path(resolved(path, self.study))

    def written(self, path: str) -> Path:
        """The dummy file in its place."""
        return self.dummy / own_name(path)

    def copied(self, path: str) -> Path:
        """A file about the data (it holds none), copied beside the dummy data."""
        with written_whole(self.written(path)) as temporary:
            temporary.write_bytes(self.given(path).read_bytes())
        return self.written(path)


def own_name(path: str) -> str:
    """A path below a folder: as it is if it is relative and stays below, else its name.

    Examples
    --------
    >>> own_name("raw/visits.csv"), own_name("/data/visits.csv"), own_name("../visits.csv")
    ('raw/visits.csv', 'visits.csv', 'visits.csv')
    """
    given = Path(path)
    if given.is_absolute() or ".." in given.parts or given.parts[:1] in (("~",), ()):
        return given.name or "data"
    return given.as_posix()
