"""The sections on checks: what they notice, what they say, and what they cannot tell."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from simulations import informed, power, verdicts
from simulations.markdown import WORDS, earlier, made, table

CHECKS = {
    "trend": "`check_constant_ratio`",
    "quintiles": "the same, by fifths of risk",
    "calibration": "`check_calibration`",
}


def informed_section(results: Path) -> str:
    rows = informed.summary(pd.read_csv(results / "informed.csv"))
    rows = rows.sort_values("scenario", key=lambda names: names.map(informed.KINDS.index))
    body = [
        [
            WORDS.get(row["scenario"], "random codes, true ratio 2"), f"{row['replicates']:,}",
            f"{row['n_diagnosed']:,.0f}", f"{row['auc']:.2f}", f"{row['lift']:.2f}",
            f"{row['recorded']:.2f}", f"{row['estimate']:.2f}", f"{row['withheld']:.0%}",
            f"{row['cannot tell']:.0%}", f"{row['no concern']:.0%}",
        ]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    head = ["scenario", "cohorts", "diagnosed", "AUC within groups", "lift", "recorded ratio",
            "corrected ratio", "withheld", "cannot tell", "no concern"]  # fmt: skip
    return "\n\n".join(
        [
            "## Are uninformative symptoms noticed?",
            "If symptoms do not predict the condition, the corrected ratio is 1 by construction "
            "and should be withheld. The first row has 30 random codes, a true ratio of 2 and "
            "equal diagnosis rates, so that the recorded ratio is right; in the others symptoms "
            "predict the condition. Means (AUC, lift) and medians (ratios) over cohorts.",
            table(head, body),
            made(results / "informed.json"),
        ]
    )


def verdicts_section(results: Path) -> str:
    rows = verdicts.summary(pd.read_csv(results / "verdicts.csv"))
    factors = {1.0: "no violation", 1.5: "1.5-fold", 2.0: "2-fold"}
    looked_for = [
        [kind.replace("_", " "), verdicts.VIOLATIONS[violation].words, f"{cases:,}",
         *(_states(part[part["factor"] == factor]) for factor in factors)]
        for kind in verdicts.KINDS
        for (violation, cases), part in verdicts.own(rows).groupby(["violation", "cases"])
        if kind in set(part["check"])
        for part in [part[part["check"] == kind]]
    ]  # fmt: skip
    others = [
        [kind.replace("_", " "), f"{cases:,}",
         *(_states(rows[(rows["check"] == kind) & (rows["cases"] == cases)
                        & (rows["violation"] == violation) & (rows["factor"] == 2)])
           for violation in verdicts.ON_ALL)]
        for kind in verdicts.ON_ANY
        for cases in sorted(rows["cases"].unique())
    ]  # fmt: skip
    return "\n\n".join(
        [
            "## How often do checks say that they cannot tell?",
            "Two groups and one violation at a time: what each check looks for, by the factor at "
            "the head of the column. Every cell has the percentages of concern / no concern / "
            f"cannot tell, of {_from_to(rows['replicates'])} cohorts. The margin is 1.5, so that a "
            "1.5-fold violation lies on it; without violation there should rarely be a concern "
            "(intervals are 95% ones), and no concern only where there are enough cases to say so. "
            "For control conditions the number of cases is about that of each of the 20 controls. "
            "The check of models sees two linear models here; with the defaults, curves and "
            "products mend what it would find (last column of the second table).",
            table(
                ["check", "what grows by the factor", "diagnosed, about", *factors.values()],
                looked_for,
            ),
            "Checks look for different things. The same percentages for 2-fold violations that "
            "most of them do not look for:",
            table(
                ["check", "diagnosed, about",
                 *(verdicts.VIOLATIONS[name].words for name in verdicts.ON_ALL)],
                others,
            ),
            made(results / "verdicts.json"),
        ]
    )  # fmt: skip


def _from_to(counts: pd.Series) -> str:
    ends = [f"{count:,}" for count in sorted({counts.min(), counts.max()})]
    return " to ".join(ends)


def _states(rows: pd.DataFrame) -> str:
    """Percentages of the three states in one row, nothing without it."""
    if rows.empty:
        return ""
    return " / ".join(f"{100 * rows.iloc[0][state]:.0f}" for state in verdicts.STATES)


def power_section(results: Path) -> str:
    rows = power.summary(pd.read_csv(results / "power.csv"))
    body = [
        [
            _drift(row.drift) + _patients(row.scenario),
            f"{row.n_diagnosed:,.0f}", *(f"{getattr(row, check):.0%}" for check in CHECKS),
        ]
        for row in rows.itertuples()
    ]  # fmt: skip
    counts = [
        f"{rows[f'replicates_{check}'].min():,.0f} for {words}"
        for check, words in CHECKS.items()
        if check != "quintiles"
    ]
    return "\n\n".join(
        [
            "## Do the checks notice when they should?",
            "In one of two groups the diagnosis rate rises or falls with risk: between the 5th and "
            "the 95th percentile of risk, by the factor given in the first column. A falling rate "
            "is harder to see: the cases that would show it are the ones that are not diagnosed. "
            "The table shows the "
            "share of cohorts in which a check noticed something at the 5% level; in the rows "
            "without drift there is nothing to find. The last check is the paper's. "
            f"{earlier(results / 'power.json')}Replicates per row: {', '.join(counts)}.",
            table(["drift", "diagnosed", *CHECKS.values()], body),
            made(results / "power.json"),
        ]
    )


def _drift(factor: float) -> str:
    if factor == 1:
        return "none"
    return f"up, {factor:g}-fold" if factor > 1 else f"down, {1 / factor:g}-fold"


def _patients(scenario: str) -> str:
    return ", patients with several visits" if scenario.endswith("patients") else ""
