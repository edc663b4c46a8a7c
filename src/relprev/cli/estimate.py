"""``relprev estimate``: estimate relative prevalences from one table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relprev.cli.app import Out, Quiet, app, say_warning, say_written
from relprev.errors import RelprevError, RelprevWarning
from relprev.messages import message_of

if TYPE_CHECKING:
    from relprev.disclosure import Rule

NO_INTERVAL = (
    "PURPLE as published gives no confidence interval; --method debiased, the default, does."
)
INTERVAL = (
    "Intervals are 95% confidence intervals, clustered by patient and by the survey's sampling "
    "units where they are given."
)
ASSUMPTIONS = (
    "The estimate holds if nobody is diagnosed wrongly, if diagnosis within a group does not "
    "depend on symptoms, and if the same symptoms mean the same risk in every group."
)


class Method(StrEnum):
    """The estimator."""

    purple = "purple"
    debiased = "debiased"


class LonelyPSU(StrEnum):
    """What to do with a stratum of one primary sampling unit."""

    fail = "fail"
    adjust = "adjust"
    certainty = "certainty"


class Selection(StrEnum):
    """How the penalty is chosen."""

    likelihood = "likelihood"
    auc = "auc"
    cv = "cv"


@app.command()
def estimate(
    table: Annotated[
        Path, typer.Argument(help="CSV, Parquet, Feather, Stata or SAS file, one row per visit.")
    ],
    diagnosed: Annotated[
        str, typer.Option(help="Column: condition recorded? 0/1, true/false or yes/no.")
    ],
    group: Annotated[str, typer.Option(help="Column with the group, for example insurance.")],
    features: Annotated[
        list[str],
        typer.Option(help="Pattern of the symptom columns, such as 'dx_*'. May be repeated."),
    ],
    weight: Annotated[str | None, typer.Option(help="Column with sampling weights.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column with the patient; patients are never split.")
    ] = None,
    stratum: Annotated[str | None, typer.Option(help="Column with a survey's strata.")] = None,
    psu: Annotated[
        str | None, typer.Option(help="Column with a survey's primary sampling units.")
    ] = None,
    lonely_psu: Annotated[
        LonelyPSU, typer.Option(help="What to do with a stratum of one sampling unit.")
    ] = LonelyPSU.fail,
    versus: Annotated[
        str, typer.Option(help="'complement' (everyone else), 'pairwise' or a group's name.")
    ] = "complement",
    method: Annotated[
        Method,
        typer.Option(help="'debiased', with confidence intervals, or 'purple', as published."),
    ] = Method.debiased,
    lambda_: Annotated[
        float | None,
        typer.Option("--lambda", min=0, help="Fixed L1 penalty. Default: chosen on held-out rows."),
    ] = None,
    selection: Annotated[
        Selection,
        typer.Option(help="How 'purple' chooses the penalty; 'auc' is the paper's way."),
    ] = Selection.likelihood,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the splits.")] = 0,
    out: Out = Path("relprev-output"),
    show_small_cells: Annotated[
        bool, typer.Option("--show-small-cells", help="Do not hide counts of 1 to 10 people.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Estimate relative prevalences from a table with one row per visit.

    The symptom columns must not contain the codes that define the diagnosis. Example:

    relprev estimate visits.csv --diagnosed ipv --group insurance --features 'dx_*' --cluster
    patient
    """
    from relprev.cohort import read_table
    from relprev.disclosure import Rule
    from relprev.inference import DebiasedPURPLE
    from relprev.model import PURPLE
    from relprev.report import disclosed_estimates, render_text, write_results
    from relprev.study.cohorts.building import groups_table

    cohort = read_table(
        table, diagnosed=diagnosed, group=group, features=features, weight=weight,
        cluster=cluster, stratum=stratum, psu=psu,
    )  # fmt: skip
    lambdas: Any = "paper" if lambda_ is None else lambda_
    shared = {"lambdas": lambdas, "random_state": seed, "verbose": not quiet}
    purple = method is Method.purple
    estimator: Any = (
        PURPLE(**shared, selection=selection) if purple
        else DebiasedPURPLE(**shared, lonely_psu=lonely_psu.value)
    )  # fmt: skip
    rule = Rule(hide=not show_small_cells)
    with _said_by(rule):
        frame = estimator.fit(cohort).relative_prevalence(versus).to_frame()
    frame = disclosed_estimates(frame, groups_table(cohort), rule)
    typer.echo(render_text(frame, f"Relative prevalence by {group}", rule=rule))
    if rule.words:
        typer.echo(rule.words)
    typer.echo(NO_INTERVAL if purple else INTERVAL)
    typer.echo(ASSUMPTIONS)
    run = {
        "command": "estimate", "table": table.name, "diagnosed": diagnosed, "group": group,
        "features": features, "weight": weight, "cluster": cluster, "versus": versus,
        "stratum": stratum, "psu": psu,
        "method": method.value, "selection": selection.value, "seed": seed,
        "lambda": estimator.lambda_, "small_cells_hidden": not show_small_cells,
    }  # fmt: skip
    if purple:  # not its objective, a sum over all visits from which counts would follow
        run["converged"] = estimator.certificate_.converged
    say_written(write_results(frame, out, run))


@contextmanager
def _said_by(rule: Rule) -> Iterator[None]:
    """Show warnings and errors as far as the rule allows."""
    from relprev.disclosure import shown

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except RelprevError as error:
            message = message_of(error)
            raise type(error)(str(error) if message is None else shown(message, rule)) from None
    said = [item.message for item in caught if isinstance(item.message, RelprevWarning)]
    for text in dict.fromkeys(shown(message_of(one) or str(one), rule) for one in said):
        say_warning(text)
