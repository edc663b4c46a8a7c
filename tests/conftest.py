"""Data shared by tests: small simulated cohorts, and where real data are if there are any."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import settings

from relprev.matrix import BinaryCSR, Dense, FloatCSR
from relprev.model.likelihood import Problem
from relprev.simulate import ed_visits, gauss_synth

os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("relprev", deadline=None)  # a busy machine is no defect
settings.load_profile("relprev")

# L1 logistic regression by scikit-learn, which spells it in another way since 1.8.
NEW_SPELLING = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
LASSO = {"l1_ratio": 1.0} if NEW_SPELLING else {"penalty": "l1"}


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Path of a file or folder of real data; skips the test where it is not there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RELPREV_DATA", "") or beside)

    def find(name: str) -> Path:
        path = folder / name
        if not path.exists():
            pytest.skip(f"needs {name} in $RELPREV_DATA or ../shared/data")
        return path

    return find


@pytest.fixture(scope="session")
def visits():
    """20,000 visits of four groups with 300 codes."""
    return ed_visits(20_000, n_codes=300, prevalence=0.1, seed=5)


@pytest.fixture(scope="session")
def gauss():
    """The paper's Gauss-Synth data, 6,000 rows."""
    return gauss_synth((0.5, 0.2), n=(2000, 4000), seed=3)


def random_problem(
    rng: np.random.Generator,
    kind: str = "dense",
    n: int = 60,
    p: int = 5,
    groups: int = 3,
    weighted: bool = True,
) -> Problem:
    """A small problem with a diagnosed row in every group."""
    matrix = (rng.random((n, p)) < 0.4).astype(float)
    if kind == "float":
        matrix *= rng.normal(size=(n, p))
    g = (np.arange(n) % groups).astype(np.uint8)
    s = (rng.random(n) < 0.4).astype(np.uint8)
    s[: 2 * groups] = np.repeat([1, 0], groups)
    omega = rng.random(n) + 0.5 if weighted else np.ones(n)
    return Problem.of(design_of(matrix, kind), s, g, omega / omega.sum(), groups)


def design_of(matrix: np.ndarray, kind: str):
    """The matrix as "dense", "float" (sparse) or "binary" (sparse) design."""
    if kind == "dense":
        return Dense(matrix)
    csr = sp.csr_array(matrix)
    if kind == "binary":
        return BinaryCSR(csr.indptr, csr.indices, matrix.shape[1])
    return FloatCSR(csr.indptr, csr.indices, csr.data, matrix.shape[1])
