"""The results files as one page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relprev.inference.repeats import repeats_for
from relprev.store.files import written_whole
from simulations import bias, constants, coverage, deals, learners, standardised
from simulations.markdown import WORDS, earlier, made, table
from simulations.nonlinear import NONLINEAR, WORLDS_HELD_BACK
from simulations.page_checks import informed_section, power_section, verdicts_section
from simulations.scenarios import SCENARIOS, WORLDS

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "coverage.md"
FEW_CASES = {  # where the row before is not the same with more of them
    "many_codes_few_cases": "1,000 rare codes in addition to the symptoms, few cases",
    "presentations_few_cases": "2,000 codes in presentations, few cases",
}
MANY_CODES = [name for name in SCENARIOS | WORLDS if name in WORLDS or SCENARIOS[name].codes]
BEFORE_FURTHER = (
    " These cohorts were run before further deals were made where the first ones disagree."
)
LINEAR = "coverage_linear"  # results from before the models became adaptive


def write_page(results: Path, out: Path) -> None:
    """Write the page from the results files."""
    parts = [
        _INTRODUCTION, _coverage(results), _standardised(results), *_nonlinear(results),
        *_deals(results), informed_section(results), verdicts_section(results),
        power_section(results), _bias(results), *_constants(results),
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
    kept, before = (pd.read_csv(results / f"{name}.csv") for name in ("coverage", LINEAR))
    wanted = [*coverage.BY, "coverage", "mean_std_error", "replicates"]
    rows = coverage.summary(kept, truths).merge(
        coverage.summary(before, truths)[wanted], on=coverage.BY, suffixes=("", "_linear")
    )
    rows = rows.sort_values("scenario", key=_order, kind="stable")
    hard = rows.scenario.isin(MANY_CODES)
    size = coverage.rejections(kept).merge(
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
            table(["scenario", "trend in risk", "linear", "fifths of risk", "linear"], tested),
            f"{made(results / 'coverage.json')} Linear: {made(results / f'{LINEAR}.json')}",
        ]
    )


def _standardised(results: Path) -> str:
    return "\n\n".join([
        "## And of standardised ratios?",
        "Cohorts of 8,000 visits by two groups that differ in age. Symptoms become commoner with "
        "age, and the first group has more of them at the same age. Medians of the unadjusted and "
        "the recorded ratio stand beside the truth.",
        table(standardised.HEAD, standardised.body(pd.read_csv(results / "standardised.csv"))),
        made(results / "standardised.json"),
    ])  # fmt: skip


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
    return table(head, body)


def _nonlinear(results: Path) -> list[str]:
    """The section, if such worlds have been simulated."""
    if not (results / "nonlinear.csv").is_file():
        return []
    kept = pd.read_csv(results / "nonlinear.csv")
    rows = learners.summary(kept, learners.true_ratios(results))
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
                table(head, body),
                made(results / "nonlinear.json"),
            ]
        )
    ]


def _deals(results: Path) -> list[str]:
    """The section, if folds have been dealt anew."""
    if not (results / "deals.csv").is_file():
        return []
    kept = pd.read_csv(results / "deals.csv")
    rows = deals.summary(kept)
    further = (kept.deals > kept.n_diagnosed.map(repeats_for)).any()
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
                f"confirm it.{'' if further else BEFORE_FURTHER}",
                table(head, body),
                made(results / "deals.json"),
            ]
        )
    ]


def _group(name: str) -> str:
    return name if " " in name else f"group {name}"


def _order(scenario: pd.Series) -> pd.Series:
    return scenario.map(list(WORDS).index)


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
            f"{earlier(results / 'bias.json')}"
            f"Mean ± SD over {int(rows.draws.min())} draws of condition and diagnosis; the "
            "standard error of the mean is the SD divided by the square root of that number.",
            table(head, body),
            made(results / "bias.json"),
        ]
    )


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
                table(head, body),
                made(results / "constants.json"),
            ]
        )
    ]


def _value(row: Any) -> str:
    if row.constant == constants.DEGREES:
        return "infinite" if np.isinf(row.value) else "**effective cases**"
    default = constants.CONSTANTS[row.constant].values[1]
    return f"**{row.value:g}**" if row.value == default else f"{row.value:g}"
