"""A table of visits."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 6000
    frame = pd.DataFrame(
        (rng.random((n, 10)) < 0.2).astype(int), columns=[f"dx_{j}" for j in range(10)]
    )
    frame["payer"] = np.where(np.arange(n) % 3 == 0, "public", "private")
    p = 1 / (1 + np.exp(2 - 2 * frame["dx_0"] - frame["dx_1"]))
    frame["ipv"] = (rng.random(n) < p * np.where(frame["payer"] == "public", 0.3, 0.6)).astype(int)
    frame["patient"] = np.arange(n) // 2
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    frame.to_csv(path, index=False)
    return path
