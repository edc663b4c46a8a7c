"""The page docs/evidence/paper.md, from the results files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib
import pandas as pd
from benchmarks.measure import PLUS_MINUS, made_by
from matplotlib.figure import Figure

from evidence import illustrations, parity, printed, steps
from evidence.claims import CLAIMS
from evidence.store import FOLDER, RUNS, Stored, load
from relprev.codes import code_set
from relprev.experiments import figures
from relprev.experiments.methods import METHODS
from relprev.experiments.semisynthetic import SETTINGS
from relprev.store.files import written_whole

DOCS = FOLDER.parent / "docs" / "evidence"
PUBLISHED = {  # the authors' code, run unmodified, not separable; columns as in the tables
    "gauss-published": (
        "1.017 ± 0.035", "1.015 ± 0.039", "0.996 ± 0.016", "0.973 ± 0.027", "0.972 ± 0.056",
    ),
    "group-gap-published": (
        "1.001 ± 0.014", "0.990 ± 0.009", "0.998 ± 0.010", "1.013 ± 0.015", "1.012 ± 0.039",
    ),
}  # fmt: skip
NOT_RUN = "*Not run here: this needs data that are not in the repository.*"
FULL_GRID = 10 * 20 * 5  # scenarios, data sets and splits of gauss


def write(results: Path = FOLDER, docs: Path = DOCS) -> list[Path]:
    """Write the page and its figures; return their paths."""
    paths = [save(name, draw(), docs) for name, draw in illustrations.FIGURES.items()] + [
        save(name, figures.draw(stored.experiment, stored.table), docs)
        for name, stored in _runs(results).items()
    ]
    with written_whole(docs / "paper.md") as path:
        path.write_text(text(results), encoding="utf-8")
    return [docs / "paper.md", *paths]


def text(results: Path = FOLDER) -> str:
    """The page: template.md with its {{ places }} filled in; runs without results say so."""
    runs = _runs(results)
    content = {name: _run(runs[name]) if name in runs else NOT_RUN for name in RUNS}
    content |= {
        "claims": _claims(runs, "**no**" if results == FOLDER else "not at this size"),
        "steps": _steps(results),
        "symptoms": _symptoms(results),
        "times": _times(runs["gauss"]),
        "parity": table(
            ["data", "method", "quantity", "authors' code", "ours", "difference"], parity.rows()
        ),
        "km2-early": f"{parity.ours('nhds', 'KM2 published'):.3f}",
        "km2-optimum": f"{parity.ours('nhds', 'KM2'):.3f}",
        "numbers": table(["item", "the paper", "command", "ours"], printed.numbers(results)),
        "published-figure": _published_figure(),
    }
    template = (FOLDER / "template.md").read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\S+) \}\}", lambda place: content[place[1]], template)


def _runs(results: Path) -> dict[str, Stored]:
    return {name: load(name, results) for name in RUNS if (results / name).is_dir()}


def _run(stored: Stored) -> str:
    """Figure, tables and where they come from."""
    title = stored.experiment.title
    figure = f"![Estimate over truth: {title}](figures/{stored.name}.svg)"
    return "\n\n".join([figure, *_tables(stored), _made_by(stored)])


def _claims(runs: dict[str, Stored], no: str) -> str:
    rows = []
    for claim in (claim for claim in CLAIMS if claim.run in runs):
        found, holds = claim.check(runs[claim.run])
        rows.append([claim.run, claim.words, found, "yes" if holds else no])
    return table(["run", "claim", "found", "holds"], rows)


def _tables(stored: Stored) -> list[str]:
    """One table per panel: a row for each method (or series), a column for each value of x."""
    experiment, summary = stored.experiment, stored.table
    panels = summary.groupby(experiment.panel, sort=False) if experiment.panel else [("", summary)]
    line = experiment.series or "method"
    found = []
    for value, part in panels:
        columns = list(part[experiment.x].unique())
        rows = []
        for name, cells in part.groupby(line, sort=False):
            by_x = cells.set_index(experiment.x)
            label = METHODS[name].label if line == "method" else f"{line} {name}"
            rows.append([label.replace("_", " "), *(_cell(by_x.loc[x]) for x in columns)])
        if len(columns) == len(PUBLISHED.get(stored.name, ())) and value in ("", False):
            rows.append(["*PURPLE, published code*", *PUBLISHED[stored.name]])
        title = {True: "separable", False: "not separable", "": ""}.get(value, str(value))
        head = f"{title}; {experiment.x}".strip("; ").replace("_", " ")
        found.append(table([head, *(f"{x:g}" for x in columns)], rows))
    return found


def _published_figure() -> str:
    rates = ["0.1", "0.3", "0.5", "0.7", "0.9"]
    return "\n\n".join(
        table([f"{name}; rate b", *rates], rows) for name, rows in printed.figure().items()
    )


def _cell(row: pd.Series) -> str:
    failed = f" ({row['n_failed']} of {row['n'] + row['n_failed']} without estimate)"
    if row["n"] == 0:
        return "no estimate"
    value = f"{row['mean']:.3f}"
    value += f"{PLUS_MINUS}{row['sd']:.3f}" if row["n"] > 1 else ""
    return value + (failed if row["n_failed"] else "")


def _made_by(stored: Stored) -> str:
    """Commands, date, machine and versions behind a table."""
    results, machine = stored.results, stored.machine
    counts = results.groupby("method", sort=False)[["seed", "split"]].nunique()
    experiment, variant, data = RUNS[stored.name]
    commands = []
    for (seeds, splits), part in counts.groupby(["seed", "split"], sort=False):
        command = f"relprev reproduce {experiment} --seeds {seeds} --splits {splits}"
        command += f" --variant {variant}" if variant != "paper" else ""
        command += " --data nhds:FOLDER" if data == "nhds" else ""
        if len(part) < len(counts) or len(counts) < len(stored.experiment.methods):
            command += "".join(f" --method {name}" for name in part.index)
        commands.append(command)
    sources = results.groupby("source_digest", sort=False)["method"].unique()
    source = "; ".join(
        digest if len(sources) == 1 else f"{digest} ({', '.join(methods)})"
        for digest, methods in sources.items()
    )
    versions = ", ".join(
        f"{name} {' and '.join(sorted(results[name].unique()))}"
        for name in ("relprev", "numpy", "scipy", "scikit-learn")
    )
    return (
        "```bash\n"
        + "\n".join(commands)
        + "\n```\n\n"
        + _not_run(stored)
        + f"Mean ± SD over data sets and splits. Latest run on {machine['date']}, "
        f"{machine['processor']}, Python {machine['python']}, {versions}; digest of the source "
        f"{source}."
    )


def _not_run(stored: Stored) -> str:
    """What is still to be run, with the command."""
    experiment, variant, data = RUNS[stored.name]
    done = set(stored.results["method"])
    missing = [name for name in stored.experiment.methods_in(variant) if name not in done]
    if not missing:
        return ""
    command = f"relprev reproduce {experiment} --splits 1" + "".join(
        f" --method {name}" for name in missing
    )
    command += f" --variant {variant}" if variant != "paper" else ""
    command += " --data nhds:FOLDER --seeds 20" if data == "nhds" else ""
    names = ", ".join(METHODS[name].label for name in missing)
    return f"Not run yet as they are called now: {names} (`{command}`). "


def _steps(results: Path) -> str:
    lines = pd.read_csv(results / steps.RESULTS)
    found = lines.drop(columns="seed").groupby(["variant", "rate_b"]).mean()
    rows = [
        [
            "paper's text" if variant == "paper" else "authors' code", str(rate),
            f"{row.nearest_a:.2f}", f"{row.nearest_b:.2f}", f"{100 * row.lost_a:.1f}%",
            f"{100 * row.lost_b:.1f}%", f"{row.ratio:.3f}",
        ]
        for (variant, rate), row in found.iterrows()
    ]  # fmt: skip
    head = ["data", "rate b", "nearest a", "nearest b", "lost a", "lost b", "estimate / truth"]
    about = json.loads((results / steps.MACHINE).read_text(encoding="utf-8"))
    made = made_by("python -m evidence steps", about)
    count = lines["seed"].nunique()
    return f"{table(head, rows)}\n\nMeans over {count} data sets each. {made}"


def _symptoms(results: Path) -> str:
    """Tables S1 to S5: codes chosen from NHDS, those printed, and those of endometriosis."""
    file = results / "semisynthetic-nhds" / "symptoms.csv"
    if not file.is_file():
        return NOT_RUN
    chosen = pd.read_csv(file, dtype={"code": str})
    parts = [
        "Symptoms chosen from NHDS 2010 by the paper's rules, with the share of visits by Black "
        "(a) and white (b) patients that have each code. A dash hides shares that stand for 1 to "
        "10 visits. The command that runs the experiment writes the sets to `symptoms.csv`."
    ]
    for name in SETTINGS:
        rows = [
            [row["code"], str(row["description"]), _share(row["share_a"]), _share(row["share_b"])]
            for row in chosen[chosen["setting"] == name].to_dict("records")
        ]
        parts += [f"### {name}", table(["ICD-9-CM", "", "a", "b"], rows)]
    for title, rows in printed.symptoms(chosen).items():
        parts += [f"### {title}, as printed", table(["", "code", "", "chosen from NHDS"], rows)]
    codes = code_set("endometriosis").to_rows()
    rows = [[version, code, words] for version, code, words in codes]
    parts += ["### Endometriosis itself (not among the features)", table(["", "code", ""], rows)]
    return "\n\n".join(parts)


def _share(value: float) -> str:
    return f"{100 * value:.2f}%" if value == value else "–"


def _times(stored: Stored) -> str:
    seconds = stored.table.groupby("method", sort=False)["seconds"].mean()
    rows = [
        [METHODS[name].label, f"{value:.2f}", f"{value * FULL_GRID / 60:.1f}"]
        for name, value in seconds.items()
    ]
    total = seconds.sum() * FULL_GRID / 60
    rows.append(["all", f"{seconds.sum():.2f}", f"{total:.1f}"])
    return (
        "CPU time of one fit on Gauss-Synth with one thread. At these speeds the full grid (10 "
        f"scenarios, 20 data sets, 5 splits of each) takes {total:.0f} minutes of CPU time, or "
        f"{total / 2:.0f} minutes on two cores. KM2 is limited to 800 rows per group, because its "
        "time grows with the cube of that number.\n\n"
    ) + table(["method", "seconds per fit", "minutes for the full grid"], rows)


def save(name: str, figure: Figure, docs: Path) -> Path:
    """Save a figure of a page; the same results make the same file."""
    path = docs / "figures" / f"{name}.svg"
    same = {"svg.hashsalt": name, "svg.fonttype": "none"}
    with matplotlib.rc_context(same), written_whole(path) as temporary:
        figure.savefig(temporary, metadata={"Date": None})
    return path


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
