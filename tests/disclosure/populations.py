"""Random small studies, counted person by person, and all their small counts.

Nothing is fitted: estimates are made up, but every count, share and recorded ratio is that of the
people, so that whoever has the results can try to work out what they hide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relprev.checks.check import CheckResult, Verdict
from relprev.checks.leakage import wilson
from relprev.disclosure import nested_groups
from relprev.disclosure.nesting import within
from relprev.messages import Count, Message, Number
from relprev.report import StudyFindings, VariableFindings
from relprev.report.analyses import Analysis

SEXES = ("women", "men")
SMALLEST_GROUP = 15  # visits; smaller ones are left out


@dataclass(frozen=True)
class Population:
    """Visits with patients (or none), groups (-1: not known), diagnoses and features."""

    groups: dict[str, np.ndarray]
    names: dict[str, list[str]]
    columns: dict[str, str]
    diagnosed: np.ndarray
    patients: np.ndarray | None
    features: dict[str, np.ndarray]
    bins: tuple[str, ...]
    excluded: tuple[int, ...]  # at the steps before the groups
    strata: np.ndarray | None = None  # 0, 1 or -1

    def people(self, mask: np.ndarray) -> int:
        """Patients of some visits, or the visits."""
        return int(mask.sum()) if self.patients is None else len(np.unique(self.patients[mask]))


def population(seed: int, *, crossed: bool = False, stratified: bool = False) -> Population:
    """Visits at random; ``crossed`` ones have states, races and the combinations of both.

    ``stratified`` ones have two strata, which some visits are in neither of.
    """
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(200), np.log(3000))))
    who = rng.integers(0, max(20, int(n * rng.uniform(0.3, 0.9))), n)
    each = int(who.max()) + 1
    state = rng.choice(4, each, p=_skewed(rng, 4))
    county = np.where(
        rng.random(each) < rng.uniform(0.9, 1), state * 2 + (rng.random(each) < 0.3), -1
    )
    race = rng.choice(5, each, p=_skewed(rng, 5))
    race = np.where(rng.random(each) < rng.uniform(0, 0.03), -1, race)
    merged = np.where(race >= 3, 3, race)  # two of the groups together
    labels = {"state": state[who], "county": county[who], "race": race[who], "again": merged[who]}
    chosen = [str(name) for name in rng.choice(list(labels), rng.integers(1, 4), replace=False)]
    if crossed:
        labels["both"] = np.where(race[who] < 0, -1, state[who] * 5 + race[who])
        chosen = ["state", "race", "both"]
    groups, names = {}, {}
    for name in chosen:
        label = labels[name].copy()
        for value in range(label.max() + 1):
            if (label == value).sum() < SMALLEST_GROUP:
                label[label == value] = -1
        kept = np.unique(label[label >= 0])
        if len(kept) >= 2:
            number = np.full(label.max() + 2, -1)
            number[kept] = np.arange(len(kept))
            groups[name], names[name] = number[label], [f"{name} {value}" for value in kept]
    if not groups:
        return population(seed + 10_000, crossed=crossed, stratified=stratified)
    rate = np.exp(rng.uniform(np.log(0.005), np.log(0.5), 8))
    diagnosed = rng.random(n) < rate[labels["race"]]
    if rng.random() < 0.3:
        diagnosed = ~diagnosed  # few without
    features = {
        f"F{k}": rng.random(n) < np.where(diagnosed, rng.random(), np.exp(rng.uniform(-6, 0)))
        for k in range(8)
    }
    age = rng.choice(4, n, p=_skewed(rng, 4))
    bins = tuple(f"age:[{10 * k},{10 * k + 10})" for k in range(4))
    features |= {name: age == k for k, name in enumerate(bins)}
    excluded = tuple(int(x) for x in rng.choice([0, 2, 5, 9, 30, 400], 2))
    return Population(
        groups, names, {"state": "state", "county": "county", "race": "race", "again": "race",
                 "both": ""},
        diagnosed, who if rng.random() < 0.5 else None, features, bins, excluded,
        rng.choice([-1, 0, 1], n, p=[0.02, 0.9, 0.08]) if stratified else None,
    )  # fmt: skip


def _skewed(rng: np.random.Generator, k: int) -> np.ndarray:
    return rng.dirichlet(np.full(k, 0.6)) * 0.98 + 0.02 / k


def findings(at: Population, seed: int) -> StudyFindings:
    """What a study of the population would find."""
    rng = np.random.default_rng([seed, 1])
    variables = tuple(_variable(at, name, rng) for name in at.groups)
    small = [(name, group, d) for name in at.groups for group, _, d, *_ in counts(at, name)]
    said = tuple(
        Message(
            "{group}: {n}", group=group, n=Count(d, "diagnosed visit", (("n_diagnosed", group),))
        )
        for name, group, d in small
    )
    return StudyFindings(
        f"Study {seed}", "asthma", "visits", "made up", variables, {"seed": seed},
        warnings=(*said, "3 of 40 patients are diagnosed", "diagnosed patients: 3"),
        inside=nested_groups(*_labels(at)), exclusive=(at.bins,),
    )  # fmt: skip


def _labels(at: Population) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """Groups of every visit, and their names; those within strata are groups too."""
    labels, names = dict(at.groups), dict(at.names)
    for name, label in at.groups.items():
        if at.strata is not None:
            own = at.names[name]
            both = at.strata * len(own) + label
            labels[within(name, "sex")] = np.where((at.strata < 0) | (label < 0), -1, both)
            names[within(name, "sex")] = [within(one, group) for one in SEXES for group in own]
    return labels, names


def _strata(at: Population, name: str, rng: np.random.Generator) -> tuple[Analysis, ...]:
    """Estimates within strata, made up, with the counts of the people."""
    if at.strata is None:
        return ()
    rows = []
    for k, stratum in enumerate(SEXES):
        inside = replace(at, groups={name: np.where(at.strata == k, at.groups[name], -1)})
        rows += [(stratum, *row) for row in counts(inside, name)]
    columns = ["stratum", "group", "n", "n_diagnosed", "patients", "patients_undiagnosed",
               "patients_diagnosed"]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    table = table if at.patients is not None else table[columns[:4]]
    n, d = (table.groupby("stratum")[key].transform("sum") for key in ("n", "n_diagnosed"))
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (table["n_diagnosed"] / table["n"]) / (
            (d - table["n_diagnosed"]) / (n - table["n"]))  # fmt: skip
    estimate = np.exp(rng.normal(0, 0.5, len(table)))
    table = table.assign(
        versus="complement", estimate=estimate, ci_low=estimate * 0.8, ci_high=estimate * 1.2,
        observed_ratio=observed, observed_ci_low=observed * 0.9, observed_ci_high=observed * 1.1,
        note="",
    )  # fmt: skip
    return (Analysis("strata", "sex", table),)


def counts(at: Population, name: str) -> list[tuple[str, int, int, int, int, int]]:
    """Group, visits, diagnosed visits, patients, those undiagnosed in some visit, diagnosed."""
    label = at.groups[name]
    found = []
    for k, group in enumerate(at.names[name]):
        here = label == k
        both = here & at.diagnosed
        never = at.people(here & ~at.diagnosed)
        people = at.people(here), never, at.people(both)
        found.append((group, int(here.sum()), int(both.sum()), *people))
    return found


def _variable(at: Population, name: str, rng: np.random.Generator) -> VariableFindings:
    columns = ["group", "n", "n_diagnosed", "patients", "patients_undiagnosed",
               "patients_diagnosed"]  # fmt: skip
    table = pd.DataFrame(counts(at, name), columns=columns)
    groups = table if at.patients is not None else table[columns[:3]]
    return VariableFindings(
        name, {"debiased": _estimates(table, rng)}, _attrition(at, name),
        (_leakage(at, name), _calibration(at, name, rng), _overlap(table, rng)),
        _symptoms(at, name, rng),
        {"nobody": Message("only {n}", n=Count(int(rng.integers(1, 11)), "visit"))},
        groups, at.columns[name], analyses=_strata(at, name, rng),
    )  # fmt: skip


def _estimates(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    n, d = table["n"], table["n_diagnosed"]
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (d / n) / ((d.sum() - d) / (n.sum() - n))
        cases = 1 / (1 / d + 1 / (d.sum() - d))
    estimate = np.exp(rng.normal(0, 0.5, len(table)))
    return pd.DataFrame({
        "group": table["group"], "versus": "complement", "estimate": estimate,
        "ci_low": estimate * 0.8, "ci_high": estimate * 1.25, "observed_ratio": observed,
        "observed_ci_low": observed * 0.9, "observed_ci_high": observed * 1.1,
        "diagnosis_ratio": observed / estimate, "diagnosis_ci_low": observed / estimate * 0.9,
        "diagnosis_ci_high": observed / estimate * 1.1, "n": n, "n_diagnosed": d,
        "std_error": 1 / np.sqrt(np.maximum(cases, 0.1)), "p_value": rng.random(len(table)),
        "effective_cases": cases, "degrees_of_freedom": np.maximum(cases, 1.0),
        "few_cases": cases < 20, "withheld": "",
    })  # fmt: skip


def _attrition(at: Population, name: str) -> pd.DataFrame:
    known = at.groups[name] >= 0
    everybody = np.ones(len(known), dtype=bool)
    visits = [sum(at.excluded), at.excluded[1], 0]
    levels = [len(known) + more for more in visits] + [int(known.sum())]
    people = [at.people(everybody) + more for more in visits] + [at.people(known)]
    patients = people if at.patients is not None else [pd.NA] * 4
    return pd.DataFrame({
        "step": ["files", "adults", "women", f"{name} known"], "visits": levels,
        "patients": pd.array(patients, dtype="Int64"),
    })  # fmt: skip


def _feature_counts(at: Population, name: str) -> pd.DataFrame:
    known = at.groups[name] >= 0
    rows = []
    for feature, has in at.features.items():
        here = has & known
        both = here & at.diagnosed
        rows.append((feature, here.sum(), both.sum(), at.people(here), at.people(both)))
    columns = ["feature", "n", "n_diagnosed", "patients", "patients_diagnosed"]
    table = pd.DataFrame(rows, columns=columns)
    return table if at.patients is not None else table[columns[:3]]


def _leakage(at: Population, name: str) -> CheckResult:
    table = _feature_counts(at, name)
    total = int((at.diagnosed & (at.groups[name] >= 0)).sum())
    n, d = table["n"].to_numpy(float), table["n_diagnosed"].to_numpy(float)
    low, high = wilson(d, n, 0.95)
    share = d / np.maximum(n, 1)
    table = table.assign(predictive_value=share, ci_low=low, ci_high=high, reach=d / max(total, 1))
    table = table[table["n_diagnosed"] >= 11].sort_values("ci_low", ascending=False, kind="stable")
    table = table.assign(suspicious=table["ci_low"] > 0.5).reset_index(drop=True)
    effect = Message("none")
    if len(table):
        top = table.iloc[0]
        effect = Message("highest {share} ({feature}): {k} of {n}", feature=top["feature"],
                         share=Number(top["predictive_value"], ".4f"), k=Count(top["n_diagnosed"]),
                         n=Count(top["n"]))  # fmt: skip
    return CheckResult("leakage", "Leakage", Verdict.NO_CONCERN, effect, table)


def _calibration(at: Population, name: str, rng: np.random.Generator) -> CheckResult:
    label, rows = at.groups[name], []
    score = rng.random(len(label)) + at.diagnosed
    for k, group in enumerate(at.names[name]):
        here = np.flatnonzero(label == k)
        order = here[np.argsort(score[here], kind="stable")]
        for fifth, part in enumerate(np.array_split(order, 5), 1):
            mask = np.zeros(len(label), dtype=bool)
            mask[part] = True
            both = mask & at.diagnosed
            rows.append({
                "group": group, "fifth": fifth, "predicted": rng.random(), "predicted_sd": 0.01,
                "recorded": both.sum() / mask.sum(), "recorded_sd": 0.01, "n": int(mask.sum()),
                "n_diagnosed": int(both.sum()), "patients": at.people(mask),
                "patients_diagnosed": at.people(both), "drawn": True, "slope": 1.0,
            })  # fmt: skip
    table = pd.DataFrame(rows)
    if at.patients is None:
        table = table.drop(columns=["patients", "patients_diagnosed"])
    return CheckResult("calibration", "Calibration", Verdict.NO_CONCERN, Message("fine"), table)


def _overlap(table: pd.DataFrame, rng: np.random.Generator) -> CheckResult:
    d = table["n_diagnosed"].to_numpy()
    sure = rng.binomial(d, rng.choice([0.02, 0.3, 0.98]))
    own = pd.DataFrame({
        "group": table["group"], "n_diagnosed": d, "effective_cases": d * 0.7,
        "mixing": rng.random(len(d)), "sure_share": sure / np.maximum(d, 1),
    })  # fmt: skip
    worst = own.iloc[int(own["mixing"].argmin())]
    effect = Message(
        "Least overlap in {group}: {cases} of {n}, {share} certain", group=worst["group"],
        cases=Count(round(worst["effective_cases"]), "case"),
        n=Count(worst["n_diagnosed"], "visit"), share=Number(worst["sure_share"], ".1%"),
    )  # fmt: skip
    return CheckResult("overlap", "Overlap", Verdict.NO_CONCERN, effect, own)


def _symptoms(at: Population, name: str, rng: np.random.Generator) -> pd.DataFrame:
    table = _feature_counts(at, name).rename(columns={"n": "visits"})
    weight = rng.normal(size=len(table))
    share = table["visits"] / (at.groups[name] >= 0).sum()
    table = table.assign(
        weight=weight, description="", strength=abs(weight) * np.sqrt(share * (1 - share))
    )
    table = table[table["strength"] > 0].sort_values("strength", ascending=False)
    kept = ["feature", "description", "weight", "visits"]
    return table[[*kept, "patients"] if "patients" in table else kept].reset_index(drop=True)
