"""Build wheel and sdist, install the wheel in an empty environment, and use it as a newcomer would.

    python release/check.py [--python /path/to/python]

Leaves the two files in ``dist/``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter to install into")
    python = parser.parse_args().python
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, DIST.iterdir()))
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    require_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as folder:
        installed = Path(folder, "environment")
        run(python, "-m", "venv", str(installed))
        scripts = installed / ("Scripts" if os.name == "nt" else "bin")
        run(str(scripts / "python"), "-m", "pip", "install", "-qq", str(wheel))
        run(str(scripts / "relprev"), "--version", inside=folder)
        run(str(scripts / "relprev"), "demo", "--visits", "20000", "--out", "demo", inside=folder)
        if not Path(folder, "demo", "report.html").is_file():
            sys.exit("relprev demo wrote no report")
    print(f"{wheel.name} and {sdist.name} are ready in {DIST.name}/")


def require_contents(wheel: Path, sdist: Path) -> None:
    """Fail if a file of the package that is no module is missing from the wheel or the sdist."""
    package = ROOT / "src" / "relprev"
    data = {
        file.relative_to(package.parent).as_posix()
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        absent = data - set(archive.namelist())
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2].removeprefix("src/") for name in archive.getnames()}
    absent |= data - names
    if absent:
        sys.exit(f"missing from wheel or sdist: {', '.join(sorted(absent)[:5])}")


def run(*command: str, inside: str | Path = ROOT) -> None:
    """Run a command; its failure is ours."""
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True, cwd=inside)


if __name__ == "__main__":
    main()
