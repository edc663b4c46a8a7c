"""The pages of real data with a known truth, docs/evidence/truth.md and species.md.

Both are templates, ``truth.md`` and ``species.md`` in this folder, filled in from the results that
``relprev reproduce nhanes`` and ``relprev reproduce species`` wrote and `add` keeps here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from benchmarks.measure import made_by, write_note

from evidence.page import DOCS, table
from evidence.store import FOLDER
from relprev.checks import bias_analysis
from relprev.checks.registry import CHECKS
from relprev.experiments.truth import summary
from relprev.experiments.truth.plan import nhanes_plan
from relprev.experiments.truth.species import species_plan
from relprev.store.files import written_whole

PAGES = {"nhanes": "truth", "species": "species"}
COMMANDS = {
    "nhanes": "relprev reproduce nhanes --data nhanes_2005_2016_adults.parquet",
    "species": "relprev reproduce species --data FOLDER",
}
NOT_RUN = """{title}

*Not run yet: this needs data that are not in the repository.*

```bash
relprev reproduce {name} --data PATH
python -m evidence add-truth {name} reproduce-output/{name}
python -m evidence truth
```
"""
SHORT = {"no concern": "none", "cannot tell": "?", "concern": "concern"}


def add(name: str, folder: Path, results: Path = FOLDER) -> int:
    """Keep the results of a folder that ``relprev reproduce`` wrote; return the number of rows."""
    if name not in PAGES:
        raise SystemExit(f"there is no run {name!r} with a known truth; there are nhanes, species")
    new = pd.read_parquet(folder / "results.parquet")
    kept = results / name / "results.parquet"
    with written_whole(kept) as path:
        new.to_parquet(path, index=False)
    write_note(kept.with_name("machine.json"))
    return len(new)


def load(name: str, results: Path = FOLDER) -> pd.DataFrame:
    """The results of a run: one row per cell."""
    return pd.read_parquet(results / name / "results.parquet")


def write(results: Path = FOLDER, docs: Path = DOCS) -> list[Path]:
    """Write the pages, with the figures of those whose results are there; return the paths."""
    paths = []
    for name, page in PAGES.items():
        with written_whole(docs / f"{page}.md") as path:
            path.write_text(text(name, results), encoding="utf-8")
        paths.append(docs / f"{page}.md")
        if not _is_kept(name, results):
            continue
        figure = summary.figure_of(name, summary.compared(load(name, results)))
        same = {"svg.hashsalt": name, "svg.fonttype": "none"}  # same results, same file
        place = docs / "figures" / f"{name}.svg"
        with matplotlib.rc_context(same), written_whole(place) as path:
            figure.savefig(path, metadata={"Date": None})
        paths.append(place)
    return paths


def _is_kept(name: str, results: Path) -> bool:
    return (results / name / "results.parquet").is_file()


def text(name: str, results: Path = FOLDER) -> str:
    """A page: its template with the {{ places }} filled in."""
    template = (FOLDER / f"{PAGES[name]}.md").read_text(encoding="utf-8")
    if not _is_kept(name, results):
        return NOT_RUN.format(title=template.splitlines()[0], name=name)
    content = _nhanes(results) if name == "nhanes" else _species(results)
    about = json.loads((results / name / "machine.json").read_text(encoding="utf-8"))
    content["made"] = made_by(COMMANDS[name], about)
    return re.sub(r"\{\{ (\S+) \}\}", lambda place: content[place[1]], template)


def _nhanes(results: Path) -> dict[str, str]:
    plan, every = nhanes_plan(), load("nhanes", results)
    rows = summary.compared(every)
    sets = {name: rows[rows["features"] == name] for name in plan.sets}
    seconds = every["seconds"].sum() / 60
    return {
        "cells": f"{len(rows):,}", "planned": f"{len(list(plan.cells())):,}",
        "absent": _absent(every), "not-run": _not_run(every),
        "minutes": f"{seconds:.0f}", "wall": f"{seconds / 2:.0f}",
        "aims": _aims(rows), "aims-apart": _aims(rows.assign(verdict=rows["verdict_apart"])),
        "concern": _share(rows["verdict"] == "concern"),
        "by-verdict": _by(rows, ("features", "recording", "verdict")),
        "by-apart": _by(rows, ("features", "recording", "verdict_apart")),
        "by-condition": _by(rows, ("condition", "features")),
        "by-contrast": _by(rows, ("contrast", "features")),
        "by-method": _by_method(rows, ("features", "recording")),
        "by-likeness": _by_likeness(rows),
        "checks": _checks(rows), "factors": _factors(rows), "cells-table": _cells(rows),
        "alpha-all": f"{np.exp(summary.spread(rows, 'alpha')['size']):.2f}",
        "left-all": f"{np.exp(summary.spread(rows, 'left')['size']):.2f}",
        "default-alpha": _default_alpha(), "default-gamma": f"{bias_analysis.GAMMA:g}",
        **{f"nearer-{name}": _share(part["nearer"]) for name, part in sets.items()},
        **{f"off-{name}": _share(part["off"]) for name, part in sets.items()},
        **{f"holds-{name}": _share(part["holds_allowing"]) for name, part in sets.items()},
        **_open_checks(rows), **_calibrated(rows),
        "concern-controls": _share(rows["check_controls"] == "concern"),
        **{f"calibrated-holds-{name}": _share(part["calibrated_holds_allowing"])
           for name, part in sets.items()},
        **{f"alpha-{name}": _range(part, "alpha") for name, part in sets.items()},
        **_conclusion(rows),
    }  # fmt: skip


def _species(results: Path) -> dict[str, str]:
    plan, every = species_plan(), load("species", results)
    rows = summary.compared(every)
    names = {name: one.title for name, one in plan.regions.items()}
    rows = rows.assign(region=rows["region"].map(names))
    return {
        "cells": f"{len(rows):,}", "species": f"{rows['species'].nunique():,}",
        "nearer": _share(rows["nearer"]), "off": _share(rows["off"]),
        "recorded-off": _share(np.abs(np.log(rows["recorded_error"])) > np.log(summary.OFF)),
        "holds": _share(rows["holds_allowing"]), "alpha": _range(rows, "alpha"),
        "by-region": _by(rows, ("region", "parts")), "by-verdict": _by(rows, ("verdict",)),
        "by-method": _by_method(rows, ("region",)),
        "cells-table": _cells(rows, ("region", "parts", "species")),
        "made-of": ", ".join(f"{one.title} ({one.species})" for one in plan.regions.values()),
    }  # fmt: skip


def _share(values: pd.Series) -> str:
    values = values.dropna().astype(float)
    return f"{values.sum():.0f} of {len(values)}" if len(values) else "none"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%" if value == value else "–"


def _number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if value == value else "–"


def _range(rows: pd.DataFrame, column: str) -> str:
    found = summary.spread(rows, column)
    return f"{found['median']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def _default_alpha() -> str:
    mean, sd = bias_analysis.ALPHA
    return f"{np.exp(mean - 1.96 * sd):.2f} to {np.exp(mean + 1.96 * sd):.2f}"


def _absent(every: pd.DataFrame) -> str:
    missing = every[every["debiased"].isna()]
    if missing.empty:
        return "Every cell of the plan has an estimate."
    rows = [[str(why), f"{len(part)}", ", ".join(sorted(part.iloc[:, 0].unique()))]
            for why, part in missing.groupby("notes", sort=False)]  # fmt: skip
    return table(["cells without an estimate, because", "cells", "of"], rows)


def _not_run(every: pd.DataFrame) -> str:
    """Cells of the plan that have not been run yet, if any."""
    names = ["condition", "recording", "features", "contrast"]
    done = {tuple(row) for row in every[names].itertuples(index=False)}
    missing = [cell for cell in nhanes_plan().cells()
               if tuple(getattr(cell, name) for name in names) not in done]  # fmt: skip
    if not missing:
        return ""
    kinds = ", ".join(dict.fromkeys(cell.condition for cell in missing))
    return (
        f"\n\n**Not complete.** {len(missing)} cells of the plan have not been run yet (of "
        f"{kinds}); the command below goes on where it stopped."
    )


def _aims(rows: pd.DataFrame) -> str:
    found = summary.judged_aims(rows, nhanes_plan().aims)
    cells = [[one["aim"], f"{one['count']} of {one['cells']}", f"**{one['met']}**"]
             for one in found]  # fmt: skip
    return table(["aim", "found", ""], cells)


def _open_checks(rows: pd.DataFrame) -> dict[str, str]:
    """How many checks of assumptions, besides that of the controls, do not clear a cell."""
    kinds = {kind: rows[f"check_{kind}"] != "no concern" for kind in summary.ASSUMPTIONS
             if f"check_{kind}" in rows}  # fmt: skip
    often = sorted(kinds, key=lambda kind: -kinds[kind].sum())[:3]
    words = [f"{CHECKS[kind].title.lower()} ({_share(kinds[kind])})" for kind in often]
    return {
        "fewest-open": str(int(pd.DataFrame(kinds).sum(axis=1).min())),
        "most-open": f"{', '.join(words[:-1])} and {words[-1]}",
    }


def _calibrated(rows: pd.DataFrame) -> dict[str, str]:
    """How calibrated answers fare, all together."""
    found = rows[rows["calibrated"].notna()]
    errors = {name: np.abs(np.log((found[name] / found["truth"]).to_numpy(dtype=float)))
              for name in ("calibrated", "recorded")}  # fmt: skip
    half = np.log((found["calibrated_high"] / found["calibrated_low"]).to_numpy(dtype=float)) / 2
    return {
        "calibrated-holds": _share(found["calibrated_holds_allowing"]),
        "calibrated-nearer": _share(pd.Series(errors["calibrated"] < errors["recorded"])),
        "calibrated-half": _number(np.exp(np.median(half)) if len(half) else np.nan, 1),
    }


def _by(rows: pd.DataFrame, names: tuple[str, ...]) -> str:
    found = summary.by(rows, *names).sort_values(list(names), kind="stable")
    head = [name.replace("_apart", "").replace("_", " ") for name in names] + [
        "cells", "recorded, typical error", "estimate, typical error", "nearer than recorded",
        "interval holds the truth", "calibrated interval holds it", "off by more than 1.25",
    ]  # fmt: skip
    cells = [
        [*(str(row[name]) for name in names), str(row["cells"]),
         f"{row['error_recorded']:.2f}", f"{row['error_debiased']:.2f}", _percent(row["nearer"]),
         _percent(row["holds"]),
         f"{_percent(row['calibrated_holds'])} of {row['calibrated']}" if row["calibrated"]
         else "–", _percent(row["off"])]
        for row in found.to_dict("records")
    ]  # fmt: skip
    return table(head, cells)


def _by_likeness(rows: pd.DataFrame) -> str:
    cells = [
        [row["features"], row["likeness"], str(row["cells"]), _number(row["error_debiased"]),
         _number(row["error_anyway"]), f"{row['nearer']} of {row['cells']}",
         _percent(row["holds"]), _percent(row["anyway_holds"])]
        for row in summary.by_likeness(rows).to_dict("records")
    ]  # fmt: skip
    return table(["features", "condition, beside the controls, is predicted", "cells",
                  "estimate, typical error", "calibrated, typical error",
                  "calibrated is nearer", "interval holds the truth",
                  "calibrated interval holds it"], cells)  # fmt: skip


def _by_method(rows: pd.DataFrame, names: tuple[str, ...]) -> str:
    found = summary.by_method(rows, *names)
    methods = [name for name in summary.METHODS if name in found and found[name].notna().any()]
    cells = [[*(str(row[name]) for name in names), str(row["cells"]),
              *(_number(row[name]) for name in methods)]
             for row in found.to_dict("records")]  # fmt: skip
    return table([*names, "cells", *(summary.METHODS[name] for name in methods)], cells)


def _checks(rows: pd.DataFrame) -> str:
    found = summary.warnings_by_check(rows)
    cells = [
        [CHECKS[row["check"]].title, "assumption" if row["assumption"] else "sensitivity",
         *(_percent(row[name]) for name in ("concern_off", "clear_off", "concern_near",
                                            "clear_near"))]
        for row in found.to_dict("records")
    ]  # fmt: skip
    return table(["check", "asks about", "off: concern", "off: no concern", "near: concern",
                  "near: no concern"], cells)  # fmt: skip


def _factors(rows: pd.DataFrame) -> str:
    cells = []
    for (features, recording), part in rows.groupby(["features", "recording"], sort=False):
        gamma = summary.gammas(part).to_frame()
        for words, found in (("α", summary.spread(part, "alpha")),
                             ("Γ", summary.spread(gamma, "gamma")),
                             ("what is left", summary.spread(part, "left"))):  # fmt: skip
            cells.append([words, str(features), str(recording), str(found["cells"]),
                          f"{found['low']:.2f}", f"{found['median']:.2f}", f"{found['high']:.2f}",
                          f"{np.exp(found['size']):.2f}"])  # fmt: skip
    cells.sort(key=lambda row: ("αΓw".index(row[0][0]), row[1]))
    return table(["", "features", "recording", "values", "2.5%", "median", "97.5%",
                  "typical (root mean square)"], cells)  # fmt: skip


def _conclusion(rows: pd.DataFrame) -> dict[str, str]:
    """Conditions by how the estimate with findings fares, strictly recorded."""
    found = rows[(rows["features"] == "findings") & (rows["recording"] == "strict")]
    parts = {str(name): part for name, part in found.groupby("condition", sort=False)}
    good = [f"{name} ({_share(part['nearer'])} nearer)" for name, part in parts.items()
            if part["nearer"].mean() > 0.5 and part["off"].mean() <= 0.25]  # fmt: skip
    bad = [f"{name} ({_share(part['off'])} off)" for name, part in parts.items()
           if part["off"].mean() > 0.25]  # fmt: skip
    worst = rows.iloc[np.argmax(np.abs(np.log(rows["error"].to_numpy(dtype=float))))]
    return {
        "good": ", ".join(good) or "none", "bad": ", ".join(bad) or "none",
        "worst": f"{worst['condition']}, {worst['group']} versus {worst['versus']}, "
        f"{worst['recording']}, {worst['features']}: truth {worst['truth']:.2f}, recorded "
        f"{worst['recorded']:.2f}, estimate {worst['debiased']:.2f} "
        f"({worst['debiased_low']:.2f}–{worst['debiased_high']:.2f})",
    }  # fmt: skip


def _cells(rows: pd.DataFrame, names: tuple[str, ...] = ()) -> str:
    names = names or ("condition", "features", "recording")
    head = [*names, "group versus other", "truth", "recorded", "estimate", "calibrated", "PURPLE",
            "estimate / truth", "holds", "verdict", "α", "Γ"]  # fmt: skip
    cells = [
        [*(str(row[name]) for name in names), f"{row['group']} vs {row['versus']}",
         _interval(row, "truth"), _number(row["recorded"]), _interval(row, "debiased"),
         _interval(row, "calibrated"), _number(row["purple"]), _number(row["error"]),
         "yes" if row["holds_allowing"] else "no", SHORT[row["verdict"]],
         _number(row["alpha"]), _gamma(row)]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    return table(head, cells)


def _gamma(row: dict) -> str:
    known = [row[name] for name in ("gamma_group", "gamma_versus") if not pd.isna(row[name])]
    return _number(np.mean(known), 1) if known else "–"


def _interval(row: dict, name: str) -> str:
    if pd.isna(row[name]):
        return "–"
    return f"{row[name]:.2f} ({row[f'{name}_low']:.2f}–{row[f'{name}_high']:.2f})"
