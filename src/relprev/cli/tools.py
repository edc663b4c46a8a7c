"""Commands beside studies: reproduce, codes and simulate."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from relprev.cli.app import Out, Quiet, app
from relprev.cli.choices import EXPERIMENTS, LAYOUTS, MOST_VISITS, TRUTH
from relprev.codes import code_set, code_set_names
from relprev.errors import InvalidInputError

RAW_VISITS, LIKE_VISITS = 100_000, 5_000
codes_app = typer.Typer(no_args_is_help=True, help="Named sets of diagnosis codes.")
app.add_typer(codes_app, name="codes")


class Variant(StrEnum):
    """Whose definition of the simulated data."""

    paper = "paper"
    published = "published"


class RawFiles(StrEnum):
    """Formats of raw data."""

    neds = "neds"
    mimic = "mimic"


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(EXPERIMENTS)}, or 'all' of them; or, with --data PATH, "
            f"{' or '.join(TRUTH)}."
        ),
    ],
    out: Out = Path("reproduce-output"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small grid: minutes, not hours.")
    ] = False,
    variant: Annotated[
        Variant, typer.Option(help="The paper's text or the authors' published code.")
    ] = Variant.paper,
    data: Annotated[
        str,
        typer.Option(
            help="For semisynthetic: simulated, nhds:PATH or mimic:PATH (PATH contains hosp). For "
            "nhanes: a folder of transport files, or one file of all variables. For species: the "
            "folder of disdat's files."
        ),
    ] = "simulated",
    method: Annotated[
        list[str] | None, typer.Option(help="A method to try; may be repeated. Default: all.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Data sets of every scenario. Default: 20, semisynthetic 5."),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(min=1, help="Splits of each data set. Default: 5, semisynthetic 1."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. Default: all cores.")] = None,
    quiet: Quiet = False,
) -> None:
    """Rerun the paper's experiments on simulated truth, with every method beside PURPLE.

    Or compare estimates with a truth that was measured: nhanes (people told of a condition, and
    examined for it) and species (records, and surveys). A run that was stopped resumes where it
    was. Writes results, a table of estimate / truth and a figure for each experiment.
    """
    from relprev.experiments import run as run_experiment

    for experiment in EXPERIMENTS if name == "all" else [name]:
        source = data if experiment == "semisynthetic" or name != "all" else "simulated"
        done = run_experiment(
            experiment, out, quick=quick, variant=variant.value, data=source, methods=method,
            seeds=seeds, splits=splits, jobs=jobs, verbose=not quiet,
        )  # fmt: skip
        typer.echo(f"{experiment}: written to {done.folder}")


@codes_app.command("list")
def list_codes() -> None:
    """List the code sets that come with relprev, and whether the method suits them."""
    names = code_set_names()
    width = max(map(len, names))
    for name in names:
        found = code_set(name)
        typer.echo(f"{name:{width}}  {found.suits or '-':9}  {found.title}")


@codes_app.command("show")
def show_codes(
    name: Annotated[str, typer.Argument(help="Name of a code set, or a TOML file.")],
) -> None:
    """Show where a set comes from, whether the method suits it, and its codes.

    Example: relprev codes show ipv
    """
    found = code_set(name)
    about = {"": found.title, "Source: ": found.source}
    about["Does the method suit it? "] = " ".join(
        filter(None, [f"{found.suits.capitalize()}." if found.suits else "", found.note])
    )
    for label, words in about.items():
        if words:
            typer.echo(label + words)
    for version, code, words in found.to_rows():
        typer.echo(f"{version:6} {code:10} {words}")


@codes_app.command("import")
def import_codes(
    file: Annotated[Path, typer.Argument(help="CSV file: a list of codes, or a map of phecodes.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The code set to write (.toml).")],
    version: Annotated[
        str, typer.Option(help="Vocabulary of the codes, if the file does not say it: ICD10, ...")
    ] = "",
    phecode: Annotated[
        str, typer.Option(help="The phecode to take from a map, with all below it.")
    ] = "",
    children: Annotated[
        bool, typer.Option("--children", help="Let J45 stand for J45 and all longer codes.")
    ] = False,
    code: Annotated[str, typer.Option(help="Column of codes, if it is not called code.")] = "",
    term: Annotated[
        str, typer.Option(help="Column of descriptions, if it is not called term.")
    ] = "",
) -> None:
    """Make a code set of a CSV list (OpenCodelists) or of a phecode.

    Look at the result before using it: a list made for another purpose may hold codes that are
    used without the condition. Examples:

    relprev codes import asthma.csv --version ICD10 --children --out asthma.toml

    relprev codes import phecode_map.csv --phecode 495 --out asthma.toml
    """
    from relprev.codes import read_code_list, read_phecodes
    from relprev.messages import Count
    from relprev.store.files import written_whole

    if out.suffix != ".toml":
        raise InvalidInputError(f"--out must end in .toml, got {out}")
    if out.exists():
        raise InvalidInputError(f"{out} exists already; choose another --out")
    if phecode and (children or code or term):
        raise InvalidInputError("--phecode needs none of --children, --code and --term; remove it")
    if phecode:
        found = read_phecodes(file, phecode, version)
    else:
        found = read_code_list(file, version, code=code, term=term, children=children)
    with written_whole(out) as temporary:
        temporary.write_text(found.to_toml(), encoding="utf-8")
    n = Count(len(found.patterns), "code")
    typer.echo(f'Written: {out}, {n}. In a study: condition = "{out}"')


@app.command()
def simulate(
    kind: Annotated[RawFiles | None, typer.Argument(help="Format of the files.")] = None,
    like: Annotated[
        Path | None, typer.Option(help="Write dummy data that fit this study file instead.")
    ] = None,
    out: Out = Path("simulated"),
    visits: Annotated[
        int | None,
        typer.Option(
            min=1000, max=MOST_VISITS, help="Number of visits. Default: 100,000; --like 5,000."
        ),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help=f"MIMIC-IV's version: {' or '.join(LAYOUTS)}. Default: {LAYOUTS[-1]}."),
    ] = None,
    condition: Annotated[
        str, typer.Option(help="Code set of the condition; for MIMIC-IV files only ipv.")
    ] = "ipv",
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="The same seed writes the same files.")
    ] = 0,
) -> None:
    """Write simulated raw data: in the official NEDS or MIMIC-IV format, or like a study file's.

    truth.csv says how common the condition is among women aged 18 or older with each value of a
    group variable, over how common it is among all of them. Examples:

    relprev simulate neds --visits 200000 --out raw

    relprev simulate neds --condition endometriosis --out raw

    relprev simulate mimic --layout 1.0 --out raw

    With --like, the files have the names, columns and values that a study file of tables, meds,
    omop or neds asks for, with made-up content: a study can be written and tested where its
    data are not. A copy of the study file lies beside them.

    relprev simulate --like study.toml --out dummy
    """
    import pandas as pd

    from relprev.simulate.mimic import write_mimic
    from relprev.simulate.neds import write_neds
    from relprev.store.files import written_whole

    if like is not None:
        if kind is not None or layout is not None or condition != "ipv":
            raise InvalidInputError(
                "--like takes format and condition from the study file; remove the other arguments"
            )
        _simulate_like(like, out, visits or LIKE_VISITS, seed)
        return
    if kind is None:
        raise InvalidInputError("give the format of the files, neds or mimic, or --like")
    visits = visits or RAW_VISITS
    if kind is RawFiles.neds:
        if layout is not None:
            raise InvalidInputError(
                "--layout is for mimic: leave it out; simulated NEDS files are those of 2019"
            )
        file = out / "NEDS_2019_Core.csv"
        truth = dict(write_neds(file, visits, condition=condition, seed=seed).truth)
    elif condition != "ipv":
        raise InvalidInputError(
            "--condition is for neds: leave it out; simulated MIMIC-IV files have ipv"
        )
    else:
        written = write_mimic(out, visits, layout=layout or LAYOUTS[-1], seed=seed)
        truth = {"race": written.truth}
    table = pd.concat([known.to_frame().assign(variable=name) for name, known in truth.items()])
    with written_whole(out / "truth.csv") as temporary:
        table[["variable", "value", "relative_prevalence"]].to_csv(temporary, index=False)
    typer.echo(f"Written to {out}/, with the truth in truth.csv")


def _simulate_like(file: Path, out: Path, visits: int, seed: int) -> None:
    """Write dummy data for a study, and a copy of its file that names them."""
    from relprev.simulate.dummy_tables import listed
    from relprev.simulate.like import write_like
    from relprev.simulate.places import own_name
    from relprev.sources.declared import Role
    from relprev.store.files import written_whole
    from relprev.study import read_studies
    from relprev.study.file.source import SOURCES

    study, *more = read_studies(file)
    copy = out / file.name
    if copy.exists():
        raise InvalidInputError(f"{copy} exists already; choose another --out")
    given = study.source.arguments
    codes = [code for one in (study, *more) for code in one.cohort.condition.patterns]
    condition = replace(study.cohort.condition, patterns=tuple(dict.fromkeys(codes)))
    written = write_like(
        replace(study.cohort, condition=condition),
        study.source.kind,
        given,
        out,
        visits,
        base=study.source.folder,
        seed=seed,
    )
    text = study.text
    for key in SOURCES[study.source.kind].path_keys(Role.INPUT) & set(given):
        for path in listed(given[key]):
            text = text.replace(f'"{path}"', f'"{own_name(path)}"')
    with written_whole(copy) as temporary:
        temporary.write_text(text, encoding="utf-8")
    names = ", ".join(str(path.relative_to(out)) for path in written)
    typer.echo(f"Written to {out}/: {names}. They are made up: results mean nothing.")
    typer.echo(f"Try: relprev check {copy}")
