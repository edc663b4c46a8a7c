"""The results files as one page of the documentation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.measure import PLUS_MINUS, made_by

from relprev.store.files import written_whole
from simulations import bias, constants, coverage, deals, informed, learners, power, verdicts
from simulations.nonlinear import NONLINEAR, WORLDS_HELD_BACK
from simulations.scenarios import SCENARIOS, WORLDS

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "coverage.md"
WORDS = {
    "two_groups": "two groups",
    "four_groups": "four groups",
    "repeat_patients": "patients with several visits, which are alike",
    "survey": "survey: 15 strata, 180 primary sampling units, unequal weights",
    "few_cases": "about 200 diagnosed in total",
    "interactions": "p(y\\|x) has interactions the model lacks",
    "strong_shift": "symptoms differ strongly between groups",
    "many_codes": "1,000 rare codes in addition to the symptoms",
    "many_codes_few_cases": "the same with few cases",
    "many_codes_same_in_all_groups": "the same, symptoms and codes alike in all groups",
    "presentations": "2,000 codes in presentations, a new world every time",
    "presentations_few_cases": "the same with few cases",
}
FEW_CASES = {  # where the row before is not the same with more of them
    "many_codes_few_cases": "1,000 rare codes in addition to the symptoms, few cases",
    "presentations_few_cases": "2,000 codes in presentations, few cases",
}
MANY_CODES = [name for name in SCENARIOS | WORLDS if name in WORLDS or SCENARIOS[name].codes]
LINEAR = "coverage_linear"  # results from before the models became adaptive
BEFORE_ADAPTIVE = "0.1.0"  # the last version whose models were linear
EARLIER = (
    'These cohorts were run before the models became adaptive, with `propensity="ridge"`, '
    '`risk="purple"` and one deal of folds. '
)
CHECKS = {
    "trend": "`check_constant_ratio`",
    "quintiles": "the same, by fifths of risk",
    "calibration": "`check_calibration`",
}


def write_page(results: Path, out: Path) -> None:
    """Write the page from the results files."""
    parts = [
        _INTRODUCTION, _coverage(results), *_nonlinear(results), *_deals(results),
        _informed(results), _verdicts(results), _power(results), _bias(results),
        *_constants(results),
    ]  # fmt: skip
    out.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(out) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


_INTRODUCTION = """\
<!-- Written by `python -m simulations page`; do not edit. -->

# Coverage, bias and the power of checks

With simulated data, estimates can be compared with a known truth. This page is written by
`python -m simulations page` from the tables in `simulations/results`; each section names the
command that made its table."""


def _coverage(results: Path) -> str:
    truths = coverage.true_ratios(results)
    table, before = (pd.read_csv(results / f"{name}.csv") for name in ("coverage", LINEAR))
    wanted = [*coverage.BY, "coverage", "mean_std_error", "replicates"]
    rows = coverage.summary(table, truths).merge(
        coverage.summary(before, truths)[wanted], on=coverage.BY, suffixes=("", "_linear")
    )
    rows = rows.sort_values("scenario", key=_order, kind="stable")
    hard = rows.scenario.isin(MANY_CODES)
    size = coverage.rejections(table).merge(
        coverage.rejections(before), on="scenario", suffixes=("", "_linear")
    )
    tested = [
        [WORDS[row.scenario], *_share(row, "trend"), *_share(row, "quintiles")]
        for row in size.sort_values("scenario", key=_order).itertuples()
    ]
    return "\n\n".join(
        [
            "## Do 95% intervals contain the truth 95% of the time?",
            "Cohorts of 20,000 visits each (4,000 where about 200 are diagnosed), 30 symptoms and "
            "diagnosis rates between 20% and 50%. Estimates are by `DebiasedPURPLE`; *case-only* "
            "is `DebiasedPURPLE(risk=None)`. *Linear*: the same cohorts, and more of them, "
            f'with `propensity="ridge"`, `risk="purple"` and one deal of folds. {_pooled(rows)} '
            "The mean standard error, the SD of the estimates and "
            "the bias all refer to the logarithm of the ratio. ± is the standard error due to the "
            "finite number of replicates.",
            _covered(rows[~hard]),
            "Many codes. The last rows are the hardest: 2,000 codes that occur together, so few "
            "cases per code that the risk model learns little, and codes, groups and truth (the "
            "table shows its median) redrawn every time. Where intervals err, they are too long "
            "rather than too short.",
            _covered(rows[hard]),
            "How often the test of a constant diagnosis-rate ratio rejects at the 5% level on "
            "the same cohorts, in which the ratio is constant.",
            _table(["scenario", "trend in risk", "linear", "fifths of risk", "linear"], tested),
            f"{_made(results / 'coverage.json')} Linear: {_made(results / f'{LINEAR}.json')}",
        ]
    )


def _share(row: Any, name: str) -> tuple[str, str]:
    return f"{getattr(row, name):.1%}", f"{getattr(row, f'{name}_linear'):.1%}"


def _pooled(rows: pd.DataFrame) -> str:
    """Coverage over all kinds, by both rules."""
    ours = rows[rows.method == "doubly robust"]
    words = []
    for suffix, name in (("", "the defaults"), ("_linear", "linear models")):
        count = ours[f"replicates{suffix}"]
        share = float((ours[f"coverage{suffix}"] * count).sum() / count.sum())
        words.append(f"{share:.1%} of {count.sum():,} intervals hold the truth with {name}")
    return f"Over all kinds below, {' and '.join(words)}."


def _covered(rows: pd.DataFrame) -> str:
    ours, cases = (rows[rows.method == name] for name in ("doubly robust", "case-only"))
    groups = rows.groupby("scenario").group.nunique()
    body = [
        [
            WORDS[row.scenario] + (f", {_group(row.group)}" if groups[row.scenario] > 1 else ""),
            f"{row.replicates:,}", f"{row.n_diagnosed:,.0f}", f"{row.truth:.2f}",
            f"{row.coverage:.1%} ± {row.coverage_error:.1%}", f"{other.coverage:.1%}",
            f"{row.coverage_linear:.1%} of {row.replicates_linear:,}",
            f"{row.mean_std_error:.3f}", f"{row.mean_std_error / row.mean_std_error_linear:.2f}",
            f"{row.sd:.3f}", f"{row.bias:+.4f} ± {row.sd / np.sqrt(row.replicates):.4f}",
        ]
        for row, other in zip(ours.itertuples(), cases.itertuples(), strict=True)
    ]  # fmt: skip
    head = ["scenario", "cohorts", "diagnosed", "true ratio", "covered", "covered, case-only",
            "covered, linear", "mean standard error", "÷ linear", "SD of estimates",
            "bias of log ratio"]  # fmt: skip
    return _table(head, body)


def _nonlinear(results: Path) -> list[str]:
    """The section, if such worlds have been simulated."""
    if not (results / "nonlinear.csv").is_file():
        return []
    table = pd.read_csv(results / "nonlinear.csv")
    rows = learners.summary(table, learners.true_ratios(results))
    names = list(NONLINEAR)
    rows = rows.sort_values("scenario", key=lambda own: own.map(names.index), kind="stable")
    kinds = rows.groupby("scenario").group.nunique()
    body = [
        [
            ("*" if row.scenario in WORLDS_HELD_BACK else "") + NONLINEAR[row.scenario].words
            + (f", {_group(row.group)}" if kinds[row.scenario] > 1 else ""),
            row.method, f"{row.replicates:,}", f"{row.n_diagnosed:,.0f}", f"{row.truth:.2f}",
            f"{row.coverage:.0%}", f"{row.bias:+.3f}", f"{row.sd:.3f}",
            f"{row.mean_std_error:.3f}", f"{row.richer:.0%}", f"{row.found:.0%}",
            f"{row.concern:.0%}",
        ]
        for row in rows.itertuples()
    ]  # fmt: skip
    head = ["world", "models", "cohorts", "diagnosed", "true ratio", "covered", "bias of log ratio",
            "SD of estimates", "mean standard error", "richer models used",
            "`check_models` rejects", "is a concern"]  # fmt: skip
    return [
        "\n\n".join(
            [
                "## What if the models are not linear?",
                "Worlds in which all assumptions hold, but groups, risk or both depend on the "
                "symptoms in ways that a linear model does not know. *Linear*: "
                '`DebiasedPURPLE(propensity="ridge", risk="purple")`; *adaptive*: defaults. The '
                "defaults were chosen with the first worlds in mind; those marked with a * only "
                "confirm them. The number of cohorts is small, so that a coverage is uncertain by "
                f"± {np.sqrt(0.05 * 0.95 / rows.replicates.min()):.0%}. In the worlds whose models "
                "are linear, the check should reject in at most 5%.",
                _table(head, body),
                _made(results / "nonlinear.json"),
            ]
        )
    ]


def _deals(results: Path) -> list[str]:
    """The section, if folds have been dealt anew."""
    if not (results / "deals.csv").is_file():
        return []
    rows = deals.summary(pd.read_csv(results / "deals.csv"))
    held_back = {name: f"*{NONLINEAR[name].words}" for name in deals.HELD_BACK}
    names = WORDS | FEW_CASES | held_back
    rows = rows.sort_values("scenario", key=lambda own: own.map(list(names).index), kind="stable")
    body = [
        [
            names[row.scenario], row.rule, f"{row.deals:.0f}", f"{row.cohorts:,}",
            f"{row.n_diagnosed:,.0f}", f"{row.spread:.2f}", f"{row.largest:.2f}",
            f"{row.error_spread:.0%}",
        ]
        for row in rows.itertuples()
    ]  # fmt: skip
    head = ["scenario", "rule", "deals", "cohorts", "diagnosed", "spread of the log ratio",
            "largest", "spread of the standard error"]  # fmt: skip
    return [
        "\n\n".join(
            [
                "## How much hangs on the deal of folds?",
                f"The same cohort, its folds dealt anew {deals.SEEDS} times: standard deviation of "
                "the log ratio in units of its standard error (root mean square over cohorts and "
                "groups, and the largest), and that of the standard error as a share of itself. "
                "By default folds are dealt several times where cases are few, and medians taken. "
                "How many times was chosen on the first kinds; those marked with a * only "
                "confirm it.",
                _table(head, body),
                _made(results / "deals.json"),
            ]
        )
    ]


def _group(name: str) -> str:
    return name if " " in name else f"group {name}"


def _order(scenario: pd.Series) -> pd.Series:
    return scenario.map(list(WORDS).index)


def _informed(results: Path) -> str:
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
            _table(head, body),
            _made(results / "informed.json"),
        ]
    )


def _verdicts(results: Path) -> str:
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
            _table(
                ["check", "what grows by the factor", "diagnosed, about", *factors.values()],
                looked_for,
            ),
            "Checks look for different things. The same percentages for 2-fold violations that "
            "most of them do not look for:",
            _table(
                ["check", "diagnosed, about",
                 *(verdicts.VIOLATIONS[name].words for name in verdicts.ON_ALL)],
                others,
            ),
            _made(results / "verdicts.json"),
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


def _power(results: Path) -> str:
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
            f"{_earlier(results / 'power.json')}Replicates per row: {', '.join(counts)}.",
            _table(["drift", "diagnosed", *CHECKS.values()], body),
            _made(results / "power.json"),
        ]
    )


def _drift(factor: float) -> str:
    if factor == 1:
        return "none"
    return f"up, {factor:g}-fold" if factor > 1 else f"down, {1 / factor:g}-fold"


def _patients(scenario: str) -> str:
    return ", patients with several visits" if scenario.endswith("patients") else ""


def _bias(results: Path) -> str:
    rows = bias.summary(pd.read_csv(results / "bias.csv"))
    body = [
        [
            *row.scenario.split("/"), f"{row.n_diagnosed:,.0f}", f"{row.truth:.2f}",
            f"{row.recorded:.2f}", f"{row.purple:.3f} ± {row.purple_sd:.3f}",
            f"{row.debiased:.3f} ± {row.debiased_sd:.3f}", f"{row.std_error:.3f}",
        ]
        for row in rows.itertuples()
    ]  # fmt: skip
    head = ["data", "condition", "rate in b", "diagnosed", "true ratio", "recorded ÷ true",
            "PURPLE ÷ true", "DebiasedPURPLE ÷ true", "its mean standard error"]  # fmt: skip
    return "\n\n".join(
        [
            "## Bias on real and artificial codes",
            "Codes of real discharges (National Hospital Discharge Survey 2010, Black versus white "
            "patients) or of artificial visits, from which a condition is simulated in four ways. "
            "The diagnosis rate in group a is 0.5. "
            f"{_earlier(results / 'bias.json')}"
            f"Mean ± SD over {int(rows.draws.min())} draws of condition and diagnosis; the "
            "standard error of the mean is the SD divided by the square root of that number.",
            _table(head, body),
            _made(results / "bias.json"),
        ]
    )


def _earlier(note: Path) -> str:
    """What to know of a table made before the models became adaptive; otherwise nothing."""
    made = json.loads(note.read_text(encoding="utf-8"))
    return EARLIER if made["versions"]["relprev"] == BEFORE_ADAPTIVE else ""


def _made(note: Path) -> str:
    made: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    return made_by(f"python -m simulations {made['command']}", made)


def _constants(results: Path) -> list[str]:
    """The section, if other values of the constants have been tried."""
    if not (results / "constants.csv").is_file():
        return []
    rows = constants.summary(pd.read_csv(results / "constants.csv"), constants.true_ratios(results))
    body = [
        [
            f"`{row.constant}`" if row.constant in constants.CONSTANTS else row.constant,
            WORDS.get(row.world) or NONLINEAR[row.world].words, _value(row),
            f"{row.bias:+.3f}", f"{row.rmse:.3f}", f"{row.mean_std_error:.3f}",
            f"{row.coverage:.0%}", f"{row.withheld:.0%}",
        ]
        for row in rows.itertuples()
    ]  # fmt: skip
    head = ["constant", "world", "value", "bias of log ratio", "root mean square error",
            "mean standard error", "covered", "withheld"]  # fmt: skip
    return [
        "\n\n".join(
            [
                "## What do the constants do?",
                "The constants that the [formulas](../formulas.md#constants) give reasons for, "
                "each in a world where it matters, at its default (**bold**) and around it. All "
                "rows of a constant are of the same cohorts, so that differences between them "
                f"are not chance, although a coverage from {rows.replicates.min():,} cohorts is "
                "itself uncertain.",
                _table(head, body),
                _made(results / "constants.json"),
            ]
        )
    ]


def _value(row: Any) -> str:
    if row.constant == constants.DEGREES:
        return "infinite" if np.isinf(row.value) else "**effective cases**"
    default = constants.CONSTANTS[row.constant].values[1]
    return f"**{row.value:g}**" if row.value == default else f"{row.value:g}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return text.replace(" ± ", PLUS_MINUS)
