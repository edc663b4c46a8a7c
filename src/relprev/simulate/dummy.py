"""Dummy visits that a cohort specification can be applied to.

Their columns hold the values that rules and recodes name, and a few others; their codes include
those of the condition. Symptoms, groups and diagnoses come from `relprev.simulate.ed_visits`, so
that every step of a study has something to do. They say nothing about anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relprev.codes import CodeSet, describe
from relprev.codes.descriptions import icd9_descriptions
from relprev.codes.patterns import example_code, is_expression
from relprev.cohort import CohortSpec
from relprev.errors import InvalidInputError
from relprev.simulate.neds import icd10_like
from relprev.simulate.visits import ed_visits

N_CODES = 200
PREVALENCE = 0.3
RATES = (0.25, 0.45, 0.35, 0.55)
OTHERS = 0.05  # share of values that no rule or recode names
NAMES = ("A", "B", "C")
YEAR = 2019
OLDEST = 95
ANY_NUMBERS = (60.0, 120.0)  # between which there are some, of a column that must hold numbers


@dataclass(frozen=True, eq=False)
class Dummy:
    """Dummy data.

    Parameters
    ----------
    visits : DataFrame
        One row per visit, with visit_id, patient, age, sex, year, date, birth_date, weight,
        stratum, psu and the columns that the specification names.
    codes : DataFrame
        Columns visit (row of ``visits``), version, code and is_condition.
    """

    visits: pd.DataFrame
    codes: pd.DataFrame


def dummy(
    spec: CohortSpec, n_visits: int, versions: tuple[str, ...], columns: tuple[str, ...], seed: int
) -> Dummy:
    """Dummy data for a specification, in these vocabularies, with further columns of A, B and C."""
    rng = np.random.default_rng([seed, 5])
    first = spec.groups[0]
    driver = (*spec.parts_of(first), first)[0]
    column = driver.columns[0]
    names = [str(name) for name in driver.recode or _values(spec, column)]
    names = names if len(names) > 1 else [*names, "B" if names != ["B"] else "A"]
    rates = {name: RATES[k % len(RATES)] for k, name in enumerate(names)}
    simulation = ed_visits(
        n_visits, n_codes=N_CODES, diagnosis_rates=rates, prevalence=PREVALENCE, survey=True,
        seed=seed,
    )  # fmt: skip
    cohort = simulation.cohort
    visits = _people(cohort.clusters, n_visits, rng)
    visits = visits.assign(weight=cohort.weights, stratum=cohort.strata, psu=cohort.psus)
    for name in sorted((spec.columns() | set(columns)) - {"age", "sex", "year"}):
        visits[name] = _column(spec, name, n_visits, rng)
    labels = np.asarray(cohort.group_labels)
    if column not in ("age", "year") and not driver.edges:
        known = rng.random(n_visits) >= OTHERS
        visits.loc[known, column] = _raw(driver.recode, labels, rng)[known]
    return Dummy(visits, _codes(spec.condition, simulation, versions, rng))


def _people(patient: Any, n: int, rng: np.random.Generator) -> pd.DataFrame:
    patients = int(np.max(patient)) + 1
    born = rng.integers(0, OLDEST * 365, patients)[patient]
    day = pd.Timestamp(f"{YEAR}-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    birth = pd.Timestamp(f"{YEAR}-01-01") - pd.to_timedelta(born, unit="D")
    had_birthday = (day.month > birth.month) | ((day.month == birth.month) & (day.day >= birth.day))
    return pd.DataFrame({
        "visit_id": np.arange(1, n + 1), "patient": np.asarray(patient) + 1,
        "sex": np.array(["F", "M"])[(rng.random(patients) < 0.4).astype(int)][patient],
        "date": day, "birth_date": birth, "year": day.year,
        "age": day.year - birth.year - ~had_birthday,
    })  # fmt: skip


def _values(spec: CohortSpec, column: str) -> list[str]:
    """Values that rules and recodes name, or some."""
    if column == "sex":
        return ["F", "M"]
    if spec.tested and column == spec.tested.column:
        return [spec.tested.one_of[0], "no"]
    recoded = [value for division in (*spec.groups, *spec.strata) if division.columns == (column,)
               for values in division.recode.values() for value in values]  # fmt: skip
    allowed = [value for rule in spec.include if rule.column == column for value in rule.one_of]
    excluded = [value for rule in spec.exclude if rule.column == column for value in rule.one_of]
    return list(dict.fromkeys([*(recoded + allowed or NAMES), *excluded]))


def _column(spec: CohortSpec, column: str, n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Numbers around the limits that the specification sets, or the values that it names."""
    ends = [end for rule in (*spec.include, *spec.exclude) if rule.column == column
            for end in (rule.minimum, rule.maximum) if end is not None]  # fmt: skip
    ends += [edge for extra in spec.features.extra if extra.column == column
             for edge in (extra.edges or extra.knots or ANY_NUMBERS * extra.is_number)]  # fmt: skip
    ends += [edge for division in (*spec.groups, *spec.strata) if division.columns == (column,)
             for edge in division.edges]  # fmt: skip
    if ends:
        width = max(ends) - min(ends) or abs(ends[0]) or 10.0
        made = rng.uniform(min(ends) - width / 2, max(ends) + width, n)
        as_it_is = any(one.is_number for one in spec.features.extra if one.column == column)
        return np.round(made, 3) if as_it_is else np.round(made).astype(np.int64)
    values = rng.choice(np.array(_values(spec, column), dtype=object), n)
    values[rng.random(n) < OTHERS] = "Other"
    return values


def _raw(recode: Any, labels: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """A value in the data for every group's name."""
    raw = labels.astype(object)
    for name, values in recode.items():
        here = labels == name
        raw[here] = rng.choice(np.array(values, dtype=object), int(here.sum()))
    return raw


def _codes(
    condition: CodeSet, simulation: Any, versions: tuple[str, ...], rng: np.random.Generator
) -> pd.DataFrame:
    of_condition = {version: condition_codes(condition, version) for version in versions}
    of_condition = {version: codes for version, codes in of_condition.items() if codes}
    if not of_condition:
        raise InvalidInputError(
            f"condition: no code of {condition.name!r} is of {' or '.join(versions)}, which the "
            "source has"
        )
    usable = tuple(of_condition)
    other = {version: _other_codes(condition, version) for version in usable}
    X = simulation.cohort.X.to_scipy().tocoo()
    version_of = np.array(usable, dtype=object)[rng.integers(0, len(usable), simulation.cohort.n)]
    rows = [(int(row), version_of[row], other[version_of[row]][col], False)
            for row, col in zip(X.row, X.col, strict=True)]  # fmt: skip
    for row in np.flatnonzero(simulation.cohort.diagnosed):
        codes = of_condition[version_of[row]]
        rows.append((int(row), version_of[row], codes[rng.integers(len(codes))], True))
    frame = pd.DataFrame(rows, columns=["visit", "version", "code", "is_condition"])
    return frame.sort_values("visit", kind="stable", ignore_index=True)


def condition_codes(condition: CodeSet, version: str) -> list[str]:
    """Codes of a condition in a vocabulary: real ones where their list is installed.

    Examples
    --------
    >>> from relprev.codes import code_set
    >>> condition_codes(code_set("asthma"), "ICD9")[:2]
    ['49300', '49301']
    """
    patterns = [p for p in condition.patterns if p.version == version]
    if not patterns:
        return []
    known = _known(version)
    real = [code for code in known if any(p.matches(version, code) for p in patterns)]
    return real or [example_code(p.text) for p in patterns if not is_expression(p.text)]


def _known(version: str) -> list[str]:
    if version == "ICD9":
        return sorted(icd9_descriptions())
    if version == "ICD10" and describe("ICD10", "A00"):
        import simple_icd_10_cm  # type: ignore[import-untyped]

        listed = simple_icd_10_cm.get_all_codes(with_dots=False)
        return [code for code in listed if code[0].isalpha() and simple_icd_10_cm.is_leaf(code)]
    return []


def _other_codes(condition: CodeSet, version: str) -> list[str]:
    """Codes of the vocabulary, or strings that look like some, none of them of the condition."""
    known = _known(version)
    if known:
        made = known[:: len(known) // (5 * N_CODES)]
    elif version == "ICD10":
        made = icd10_like(5 * N_CODES)
    elif version == "ICD9":
        made = [f"{k:05d}" for k in range(100, 100 + 5 * N_CODES)]
    else:
        made = [f"DUMMY{k:04d}" for k in range(5 * N_CODES)]
    return [code for code in made if (version, code) not in condition][:N_CODES]
