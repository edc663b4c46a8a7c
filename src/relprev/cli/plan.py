"""``relprev plan``: how many visits a study needs, and what to expect of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from relprev.cli.app import app
from relprev.errors import InvalidInputError

FLAGS = {"recorded_rates": "--rates", "chance": "--power", "n": "--visits"}  # of other names
ASSUMED = (
    "Assumed: the recorded rates are as given; mixing says how alike the diagnosed of both groups "
    "are in symptoms (1: symptoms say nothing about the group, 0: they name it); one visit per "
    "patient, unless the design effect allows for more; and the assumptions of the method hold, "
    "which no number of visits can make up for."
)


def _two_numbers(texts: tuple[str, str]) -> tuple[str, str]:
    """Two texts that are numbers; with one alone, the next flag is taken for the second."""
    try:
        list(map(float, texts))
    except ValueError:
        raise typer.BadParameter(
            f"two numbers are needed, of groups A and B, with a space between them and no percent "
            f"sign, such as 0.004 0.005; got {texts[0]} and {texts[1]}"
        ) from None
    return texts


@app.command()
def plan(
    rates: Annotated[
        tuple[str, str],
        typer.Option(
            metavar="A B",
            callback=_two_numbers,
            help="Recorded rates to expect in groups A and B.",
        ),
    ],
    mixing: Annotated[
        float,
        typer.Option(
            help="How alike the groups' diagnosed are in symptoms, 0 to 1; the overlap check of a "
            "similar study reports it. Often 0.5 to 0.9."
        ),
    ],
    visits: Annotated[
        float | None, typer.Option(help="Visits of both groups together, if they are given.")
    ] = None,
    ratio: Annotated[
        float | None, typer.Option(help="The true relative prevalence that is to be found.")
    ] = None,
    power: Annotated[
        float, typer.Option(help="Wanted chance of finding it, if visits are not given.")
    ] = 0.8,
    factor: Annotated[
        float | None,
        typer.Option(help="Or: the wanted interval, from estimate / factor to estimate x factor."),
    ] = None,
    shares: Annotated[
        tuple[str, str],
        typer.Option(
            metavar="A B", callback=_two_numbers, help="The groups' shares of the visits."
        ),
    ] = ("0.5", "0.5"),
    design_effect: Annotated[
        float, typer.Option(help="Variance inflation by repeat visits, clusters and weights.")
    ] = 1.0,
    level: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
) -> None:
    """Sample size and power: how many visits a study needs, or what to expect of those it has.

    Examples:

    relprev plan --rates 0.004 0.005 --mixing 0.7 --ratio 1.2 --power 0.8

    relprev plan --rates 0.004 0.005 --mixing 0.7 --visits 100000 --ratio 1.2
    """
    from relprev.inference import plan as expected_precision
    from relprev.inference import power as power_of
    from relprev.inference import visits_needed

    if visits is None and ratio is None and factor is None:
        raise InvalidInputError("give --visits, or what the study is to find: --ratio or --factor")
    if visits is not None and factor is not None:
        raise InvalidInputError("give --visits or --factor, not both")
    (a, b), parts = map(float, rates), (float(shares[0]), float(shares[1]))
    more: dict[str, Any] = {"shares": parts, "design_effect": design_effect, "level": level}
    with _named_by_flags():
        if visits is None:
            wanted: dict[str, Any] = {"ratio": ratio, "chance": power, "factor": factor}
            visits = visits_needed((a, b), mixing, **wanted, **more)
            typer.echo(f"Visits needed, both groups together: {visits:,.0f}")
        found = expected_precision(visits, (a, b), mixing, **more)
        typer.echo(f"With {visits:,.0f} visits, {found}.")
        if ratio is not None:
            typer.echo(
                f"If the true relative prevalence is {ratio:g}, the power is "
                f"{power_of(found, ratio, level=level):.0%}: in so many studies like this the "
                f"{level:.0%} interval would leave out 1."
            )
    typer.echo(ASSUMED)


@contextmanager
def _named_by_flags() -> Iterator[None]:
    """Errors about parameters, which they begin with, speak of flags instead."""
    try:
        yield
    except InvalidInputError as error:
        name, _, rest = str(error).partition(" ")
        flag = FLAGS.get(name, f"--{name.replace('_', '-')}" if rest.startswith("must") else name)
        raise InvalidInputError(f"{flag} {rest}") from None
