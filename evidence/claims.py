"""What the results must show: each claim says what was found and whether it holds.

Errors refer to the mean of estimate / truth over data sets and splits. Standard errors (SE) are
computed over data sets, because splits of one data set are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evidence.store import Stored
from relprev.experiments.gauss import A_MORE, B_MORE
from relprev.experiments.methods import METHODS


@dataclass(frozen=True)
class Claim:
    """A sentence about a run, and a function that checks it and says what was found."""

    run: str
    words: str
    check: Callable[[Stored], tuple[str, bool]]


def means(stored: Stored, method: str) -> pd.DataFrame:
    """Mean and SE of a method's estimate / truth in every scenario."""
    rows = stored.results[stored.results["method"] == method]
    scenario = [name for name in stored.table.columns if name in _settings(stored)]
    by_seed = rows.groupby([*scenario, "seed"], sort=False)["ratio"].mean()
    found = by_seed.groupby(level=scenario, sort=False).agg(["mean", "std", "count"])
    found["se"] = found["std"] / np.sqrt(found["count"])
    return found.reset_index()


def _settings(stored: Stored) -> list[str]:
    experiment = stored.experiment
    return [name for name in (experiment.panel, experiment.series, experiment.x) if name]


def _place(stored: Stored, row: pd.Series) -> str:
    words = {True: "separable", False: "not separable"}
    values = [(name, row[name]) for name in _settings(stored)]
    return ", ".join(
        words[value] if isinstance(value, bool | np.bool_) else f"{name} {value}"
        for name, value in values
    ).replace("_", " ")


def _mean(row: pd.Series) -> str:
    noise = f"SE {row['se']:.3f}" if row["count"] > 1 else "one data set"
    return f"{row['mean']:.3f} ({noise})"


def _worst(stored: Stored, method: str) -> tuple[pd.Series, float]:
    found = means(stored, method)
    row = found.loc[np.log(found["mean"]).abs().idxmax()]
    return row, float(found["mean"].sub(1).abs().max())


def within(method: str, share: float) -> Callable[[Stored], tuple[str, bool]]:
    """The method's mean error is at most a share of the truth in every scenario."""

    def check(stored: Stored) -> tuple[str, bool]:
        row, error = _worst(stored, method)
        text = f"furthest {_mean(row)}: {_place(stored, row)}"
        return text, error <= share

    return check


def between(method: str, low: float, high: float) -> Callable[[Stored], tuple[str, bool]]:
    """The method's mean is between two values in every scenario."""

    def check(stored: Stored) -> tuple[str, bool]:
        found = means(stored, method)["mean"]
        return f"{found.min():.2f} to {found.max():.2f}", bool(found.between(low, high).all())

    return check


def off(methods: tuple[str, ...], share: float, **where: object) -> Callable:
    """Each method's mean error exceeds a share of the truth in some scenario."""

    def check(stored: Stored) -> tuple[str, bool]:
        texts, errors = [], []
        for method in methods:
            found = means(stored, method)
            for name, value in where.items():
                found = found[found[name] == value]
            texts.append(
                f"{METHODS[method].label} {found['mean'].min():.2f} to {found['mean'].max():.2f}"
            )
            errors.append(found["mean"].sub(1).abs().max())
        return "; ".join(texts), bool(min(errors) > share)

    return check


def follows_rates(method: str, tolerance: float) -> Callable[[Stored], tuple[str, bool]]:
    """The mean is off by about c_a / c_b = 0.5 / c_b."""

    def check(stored: Stored) -> tuple[str, bool]:
        found = means(stored, method)
        by_rate = found.groupby("rate_b")["mean"].mean()
        error = (found["mean"] * found["rate_b"] / 0.5 - 1).abs().max()
        return " → ".join(f"{value:.2f}" for value in by_rate), bool(error < tolerance)

    return check


def without_estimate(method: str, settings: tuple[str, ...]) -> Callable:
    """The method has no estimate in most data sets of each setting."""

    def check(stored: Stored) -> tuple[str, bool]:
        rows = stored.results[stored.results["method"] == method]
        missing = rows["ratio"].isna().groupby(rows["setting"]).agg(["sum", "count"])
        found = [missing.loc[name] for name in settings]
        text = "; ".join(
            f"{name}: none in {row['sum']} of {row['count']}"
            for name, row in zip(settings, found, strict=True)
        )
        return text, all(row["sum"] > row["count"] / 2 for row in found)

    return check


def falls(method: str, settings: tuple[str, ...], factor: float) -> Callable:
    """The mean falls by more than a factor as the diagnosis rate of b goes from 0.3 to 0.9."""

    def check(stored: Stored) -> tuple[str, bool]:
        found = means(stored, method).set_index(["setting", "rate_b"])["mean"]
        ends = [(found[name, 0.3], found[name, 0.9]) for name in settings]
        text = "; ".join(
            f"{name} {first:.2f} → {last:.2f}"
            for name, (first, last) in zip(settings, ends, strict=True)
        )
        return text, all(first / last > factor for first, last in ends)

    return check


def lower_bound(stored: Stored) -> tuple[str, bool]:
    """Where a is more affected, 1 <= estimate <= truth, but for noise (3 SE)."""
    found = means(stored, "purple-no-penalty")
    found = found[found["higher"] == A_MORE]
    above = (found["mean"] - 1) / found["se"]
    row = found.loc[found["mean"].idxmax()]
    sides, _ = _sides(stored, A_MORE)
    text = f"largest {_mean(row)}: {_place(stored, row)}; on different sides of 1 in {sides} cells"
    return text, bool((above <= 3).all()) and sides == 0


def other_side(stored: Stored) -> tuple[str, bool]:
    """Where a is less affected, estimate and truth are on different sides of 1 in most cells."""
    apart, cells = _sides(stored, B_MORE)
    return f"{apart} of {cells} cells with alpha < 1", apart > cells / 2


def _sides(stored: Stored, higher: str) -> tuple[int, int]:
    """Cells with alpha < 1 whose mean estimate and truth are on different sides of 1, and all."""
    rows = stored.results
    rows = rows[(rows["higher"] == higher) & (rows["alpha"] < 1)]
    found = rows.groupby(["group_gap", "alpha"])[["estimate", "truth"]].mean()
    return int(((found["estimate"] > 1) != (found["truth"] > 1)).sum()), len(found)


def equals_alpha(stored: Stored) -> tuple[str, bool]:
    """Estimate / truth is alpha."""
    found = means(stored, "purple-no-penalty")
    error = (found["mean"] / found["alpha"] - 1).abs().max()
    return f"up to {100 * error:.1f}%", bool(error < 0.02)


def degrades(method: str, *, steadily: bool) -> Callable[[Stored], tuple[str, bool]]:
    """The error is near 0 at first and beyond noise later (and grows from step to step)."""

    def check(stored: Stored) -> tuple[str, bool]:
        found = means(stored, method).sort_values(stored.experiment.x)
        error, se = found["mean"].sub(1).abs().to_numpy(), found["se"].to_numpy()
        holds = error[0] < 0.01 and (error[1:] > 3 * se[1:]).all()
        if steadily:
            holds &= (np.diff(error) > 0).all()
        return " → ".join(f"{value:.3f}" for value in found["mean"]), bool(holds)

    return check


CLAIMS = (
    Claim("gauss", "PURPLE is within 2% in every cell", within("purple", 0.02)),
    Claim(
        "gauss",
        "PURPLE without a penalty, as in the paper, is within 3% in every cell",
        within("purple-no-penalty", 0.03),
    ),
    Claim("gauss", "DebiasedPURPLE is within 1% in every cell", within("debiased", 0.01)),
    Claim(
        "gauss",
        "SAR-EM with the group as feature is within 3% in every cell",
        within("sar-em-group", 0.03),
    ),
    Claim(
        "gauss",
        "Elkan–Noto is off by more than 10% on data that are not separable",
        off(("elkan-noto",), 0.1, separable=False),
    ),
    Claim("gauss", "Oracle is within 1% in every cell", within("oracle", 0.01)),
    Claim(
        "gauss",
        "Negative is off by the diagnosis-rate ratio, 5 → 0.56",
        follows_rates("negative", 0.05),
    ),
    Claim(
        "gauss",
        "KM2, DEDPUL and BBE are off by more than 2% on data that are not separable",
        off(("km2", "dedpul", "bbe"), 0.02, separable=False),
    ),
    Claim(
        "gauss-published",
        "DebiasedPURPLE is within 1% in every cell, separable as coded or not",
        within("debiased", 0.01),
    ),
    Claim(
        "gauss-published",
        "without an intercept, Negative hardly depends on the diagnosis rates (0.5 to 0.8)",
        between("negative-no-intercept", 0.5, 0.8),
    ),
    Claim(
        "gauss-published",
        "SAR-EM's public default is too low everywhere, by a tenth or more",
        between("sar-em-published", 0.5, 0.9),
    ),
    Claim(
        "gauss-published",
        "BBE is off by more than 8% on data that are not separable",
        off(("bbe",), 0.08, separable=False),
    ),
    Claim("group-gap", "PURPLE is within 1% at every distance", within("purple", 0.01)),
    Claim(
        "group-gap-published",
        "PURPLE without a penalty is within 2% at every distance",
        within("purple-no-penalty", 0.02),
    ),
    Claim("group-gap", "DebiasedPURPLE is within 1% at every distance", within("debiased", 0.01)),
    Claim(
        "alpha",
        "where a is the more affected group, PURPLE is between 1 and the truth (3 SE)",
        lower_bound,
    ),
    Claim(
        "alpha",
        "where a is the less affected one, estimate and truth are mostly on different sides of 1",
        other_side,
    ),
    Claim("alpha", "estimate / truth is alpha, within 2%", equals_alpha),
    Claim(
        "false-positives",
        "PURPLE is right without false positives, and gets worse the more there are",
        degrades("purple", steadily=True),
    ),
    Claim(
        "selective-diagnosis",
        "PURPLE is right at beta = 0 and off for larger beta",
        degrades("purple", steadily=False),
    ),
    Claim(
        "semisynthetic-nhds",
        "DebiasedPURPLE is within 2% in every cell",
        within("debiased", 0.02),
    ),
    Claim(
        "semisynthetic-nhds",
        "PURPLE with the penalty chosen by AUC, as in the paper, is within 15% in every cell",
        within("purple-auc", 0.15),
    ),
    Claim(
        "semisynthetic-nhds",
        "as in the paper, it is off by more than 5% in the high-rp setting",
        off(("purple-auc",), 0.05, setting="high-rp"),
    ),
    Claim(
        "semisynthetic-nhds",
        "PURPLE with the penalty chosen by likelihood is within 5% in every cell",
        within("purple", 0.05),
    ),
    Claim(
        "semisynthetic-nhds",
        "Negative is off by the diagnosis-rate ratio, up to a factor of 5",
        follows_rates("negative", 0.15),
    ),
    Claim(
        "semisynthetic-nhds",
        "BBE is several times too high where nobody is certain to have the condition (ipv)",
        off(("bbe",), 1.0, setting="ipv"),
    ),
    Claim(
        "semisynthetic-nhds",
        "SAR-EM with the group as feature, PURPLE's fair rival, is within 7% in every cell",
        within("sar-em-group", 0.07),
    ),
    Claim(
        "semisynthetic-nhds",
        "KM2 has no estimate in most data sets where few are diagnosed (endometriosis, ipv)",
        without_estimate("km2", ("endometriosis", "ipv")),
    ),
    Claim(
        "semisynthetic-nhds",
        "where KM2 has one, it falls by more than a factor of 3 as c_b goes from 0.3 to 0.9",
        falls("km2", ("common", "high-rp"), 3.0),
    ),
)
