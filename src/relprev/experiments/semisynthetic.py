"""Semi-synthetic data (Figure 2C): a simulated condition on real or simulated code vectors.

With ``count`` the number of suspicious codes of a visit,

    p(y=1|x) = sigma(k count - 3),    s ~ Bernoulli(c_g y)

for four sets of suspicious codes, chosen from the data by the paper's rules:

    common          25 of the 50 most common codes, k = 1
    high-rp         the 10 codes with the highest ratio of prevalence in b to that in a, among
                    codes used at least 50 times in each; adults, k = 4
    endometriosis   the 25 codes most over-represented in visits with endometriosis, whose own
                    codes are then dropped; women, k = 1
    ipv             injuries of the head, neck and face; adult women, k = 4

Codes used ten times or fewer are dropped. (The paper prints another formula for p(y=1|x), but
only this one, from its code, gives the prevalences it reports.) With ``variant="published"``, a
fifth of the visits are used, as in the authors' code, except for ipv, and the codes that go with
endometriosis are sought among the hundred most frequent ones in visits with endometriosis.

On MIMIC-IV the populations are those of the authors' code: hospital admissions, in "common" of
patients over 18 too, in "ipv" only those through the emergency room.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.arrays import FloatArray
from relprev.codes import describe
from relprev.cohort import as_cohort
from relprev.errors import TooFewCasesError
from relprev.experiments.experiment import Experiment, Settings
from relprev.experiments.methods import COMPARED
from relprev.experiments.visits import CodedVisits, load_visits
from relprev.messages import Message
from relprev.simulate import Simulation
from relprev.store.files import written_whole

RATE_A = 0.5
RATES_B = (0.1, 0.3, 0.5, 0.7, 0.9)
LEAST_USES = 10
LEAST_USES_IN_GROUP = 50
PUBLISHED_SHARE = 0.2
PUBLISHED_CANDIDATES = 100
Columns = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """How to choose visits and suspicious codes, and the weight k of the codes.

    ``choose`` takes the visits and whether to follow the authors' code where it differs.
    """

    k: float
    women: bool
    adults: Literal["everywhere", "mimic", "nowhere"]
    choose: Callable[[CodedVisits, bool], Columns]
    emergency: bool = False
    subsampled: bool = True  # in the authors' code


@dataclass(frozen=True)
class Prepared:
    """Visits of a setting, columns of the suspicious codes and p(y=1|x)."""

    visits: CodedVisits
    suspicious: Columns
    probability: FloatArray


def _common(visits: CodedVisits, published: bool) -> Columns:
    top = np.argsort(-_uses(visits), kind="stable")[:50]
    return np.sort(np.random.default_rng(0).choice(top, min(25, len(top)), replace=False))


def _high_relative_prevalence(visits: CodedVisits, published: bool) -> Columns:
    in_a, in_b = (_uses(visits, visits.group == g) for g in (0, 1))
    often = np.flatnonzero((in_a >= LEAST_USES_IN_GROUP) & (in_b >= LEAST_USES_IN_GROUP))
    return often[np.argsort(-in_b[often] / in_a[often], kind="stable")[:10]]


def _with_endometriosis(visits: CodedVisits, published: bool) -> Columns:
    own = visits.columns_of(visits.endometriosis)
    cases = np.asarray(visits.X[:, own].sum(axis=1)).ravel() > 0
    if not cases.any():
        raise TooFewCasesError(
            Message("no visit has an endometriosis code, from which symptoms are chosen")
        )
    with_it = _uses(visits, cases)
    candidates = np.setdiff1d(np.arange(len(with_it)), own)
    if published:
        most = np.argsort(-with_it[candidates], kind="stable")[:PUBLISHED_CANDIDATES]
        candidates = np.sort(candidates[most])
    order = np.argsort(-with_it[candidates] / _uses(visits)[candidates], kind="stable")
    return candidates[order[:25]]


def _injuries(visits: CodedVisits, published: bool) -> Columns:
    found = visits.columns_of(visits.injuries)
    if len(found) == 0:
        raise TooFewCasesError(Message("no injury code is used often enough to be a symptom"))
    return found


def _uses(visits: CodedVisits, rows: NDArray[np.bool_] | None = None) -> FloatArray:
    X = visits.X if rows is None else visits.X[np.flatnonzero(rows)]
    return np.asarray(X.sum(axis=0), dtype=float).ravel()


SETTINGS = {
    "common": Setting(1.0, women=False, adults="mimic", choose=_common),
    "high-rp": Setting(4.0, women=False, adults="everywhere", choose=_high_relative_prevalence),
    "endometriosis": Setting(1.0, women=True, adults="nowhere", choose=_with_endometriosis),
    "ipv": Setting(
        4.0, women=True, adults="everywhere", choose=_injuries, emergency=True, subsampled=False
    ),
}


@lru_cache(maxsize=len(SETTINGS))
def prepare(data: str, name: str, published: bool = False) -> Prepared:
    """Visits, suspicious codes and p(y=1|x) of a setting."""
    everybody, setting = load_visits(data), SETTINGS[name]
    rows = np.ones(len(everybody.group), dtype=bool)
    if setting.women:
        rows &= everybody.female
    if setting.adults == "everywhere" or (setting.adults == "mimic" and data.startswith("mimic:")):
        rows &= everybody.adult
    if setting.emergency:
        rows &= everybody.emergency
    visits = everybody.restricted(rows, LEAST_USES)
    suspicious = setting.choose(visits, published)
    if len(suspicious) == 0:
        raise TooFewCasesError(Message("no code is used often enough to be a symptom"))
    count = np.asarray(visits.X[:, suspicious].sum(axis=1)).ravel()
    return Prepared(visits, suspicious, 1 / (1 + np.exp(3 - setting.k * count)))


def simulate(settings: Settings, seed: int) -> Simulation:
    """Simulate y and s for the visits of a setting."""
    name = settings["setting"]
    published = settings["variant"] == "published"
    prepared = prepare(settings["data"], name, published)
    visits, p = prepared.visits, prepared.probability
    rng = np.random.default_rng(seed)
    rows = np.arange(len(p))
    if published and SETTINGS[name].subsampled:
        rows = np.sort(rng.choice(rows, int(PUBLISHED_SHARE * len(p)), replace=False))
    kept = np.arange(visits.X.shape[1])
    if name == "endometriosis":
        kept = np.setdiff1d(kept, visits.columns_of(visits.endometriosis))
    X = visits.X[rows][:, kept]
    used = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel() > 0)
    p, g = p[rows], visits.group[rows]
    rates = np.array([RATE_A, settings["rate_b"]])
    y = (rng.random(len(p)) < p).astype(np.uint8)
    s = ((rng.random(len(p)) < rates[g]) & (y == 1)).astype(np.uint8)
    patients = None if visits.patients is None else visits.patients[rows]
    cohort = as_cohort(X[:, used], s, groups=np.array(["a", "b"])[g], clusters=patients)
    return Simulation(cohort, p, y, rates)


def scenarios(quick: bool, variant: str, data: str) -> list[Settings]:
    """Every setting with every diagnosis rate of group b; only the kind of ``data`` is recorded."""
    kind = "simulated-small" if quick and data == "simulated" else data.partition(":")[0]
    rates = RATES_B[:1] if quick else RATES_B
    return [
        {"setting": name, "rate_b": rate, "variant": variant, "data": kind}
        for name in SETTINGS
        for rate in rates
    ]


def write_symptoms(folder: Path, data: str, variant: str) -> None:
    """Write ``symptoms.csv``: the suspicious codes of each setting, and how common they are.

    A setting for which the data are too few is left out.
    """
    tables = []
    for name in SETTINGS:
        with suppress(TooFewCasesError):
            prepared = prepare(data, name, variant == "published")
            tables.append(symptoms(prepared).assign(setting=name))
    with written_whole(folder / "symptoms.csv") as path:
        pd.concat(tables).to_csv(path, index=False)


def symptoms(prepared: Prepared) -> pd.DataFrame:
    """One row per suspicious code: version, code, description, share of visits in a and in b.

    Shares of 1 to 10 visits are hidden (NaN).
    """
    visits = prepared.visits
    shares = []
    for g in (0, 1):
        uses = _uses(visits, visits.group == g)[prepared.suspicious]
        small = (uses > 0) & (uses <= LEAST_USES)
        shares.append(np.where(small, np.nan, uses / np.sum(visits.group == g)))
    return pd.DataFrame(
        {
            "version": [visits.codes[j][0] for j in prepared.suspicious],
            "code": [visits.codes[j][1] for j in prepared.suspicious],
            "description": [describe(*visits.codes[j]) for j in prepared.suspicious],
            "share_a": shares[0],
            "share_b": shares[1],
        }
    )


EXPERIMENT = Experiment(
    "semisynthetic",
    "Simulated conditions on code vectors",
    scenarios,
    simulate,
    COMPARED,
    x="rate_b",
    x_label="Diagnosis rate of group b (group a: 0.5)",
    panel="setting",
    seeds=5,
    splits=1,
    write_extras=write_symptoms,
)
