"""Somebody who has all files of a results folder and wants the counts that they hide.

He knows how the package works: which counts add up, which groups lie within others, what a share
is a share of and how recorded ratios are made. Everything published becomes a linear equation, and
linear programs give the range that is left for every count that is not shown. Of rounded numbers he
knows between which numbers they lie.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linprog

ROUNDING = 1e-7  # of shares and ratios as files hold them


class Adversary:
    """Equations over named counts, and the range of each."""

    def __init__(self, folder: Path, inside, bins, round_to: int = 0) -> None:
        self.folder, self.number, self.rows, self.round_to = folder, {}, [], round_to
        self.most: list[dict[int, float]] = []  # combinations that are zero or less
        self.estimates = pd.read_csv(folder / "estimates.csv")
        self.variables = list(dict.fromkeys(self.estimates["variable"]))
        for name in self.variables:
            self._variable(re.sub(r"[^a-z0-9]+", "-", name.lower()), name, bins)
        within: dict[tuple[str, str, str], list[str]] = {}
        for variable, group, other, whole in inside:
            within.setdefault((variable, other, whole), []).append(group)
        for (variable, other, whole), groups in within.items():
            for kind in ("n", "d"):
                parts = [(variable, kind, group) for group in groups]
                self._sum((other, kind, whole), [*parts, ("rest", variable, other, kind, whole)])

    # -- knowledge -------------------------------------------------------------------------

    def _column(self, cell) -> int:
        return self.number.setdefault(cell, len(self.number))

    def _terms(self, terms) -> dict[int, float]:
        return {self._column(cell): factor for cell, factor in terms}

    def _equation(self, terms, value=0.0, slack=0.0) -> None:
        self.rows.append((self._terms(terms), float(value), slack))

    def _share(self, part, whole, value) -> None:
        """A share of a whole: exact, or to the last digit that is printed."""
        if not self.round_to:
            self._equation([(part, 1.0), (whole, -value)])
            return
        half = 0.5 * 10.0 ** -len(f"{value:.10f}".rstrip("0").partition(".")[2])
        self.most.append(self._terms([(part, 1.0), (whole, -value - half)]))
        self.most.append(self._terms([(part, -1.0), (whole, value - half)]))

    def _sum(self, total, parts) -> None:
        self._equation([(total, -1.0), *((part, 1.0) for part in parts)])

    def _known(self, cell, value) -> None:
        if not pd.isna(value):
            self._equation([(cell, 1.0)], value, self.round_to / 2 if value else 0.0)

    def _table(self, name: str) -> pd.DataFrame:
        file = self.folder / "tables" / f"{name}.csv"
        return pd.read_csv(file) if file.exists() else pd.DataFrame()

    def _variable(self, slug: str, v: str, bins) -> None:
        own = self.estimates[self.estimates["variable"] == v]
        groups = list(dict.fromkeys(own["group"]))
        levels = pd.read_csv(self.folder / "attrition.csv")
        levels = levels[levels["variable"] == v].reset_index(drop=True)
        for kind, column in (("visits", "visits"), ("patients", "patients")):
            cells = [("level", kind, step) for step in levels["step"]]
            for cell, value in zip(cells, levels[column], strict=True):
                self._known(cell, value)
            for k in range(1, len(cells)):
                self._sum(cells[k - 1], [cells[k], ("drop", v, kind, str(k))])
            for k, gap in enumerate(levels.get("excluded_visits", [])):
                if kind == "visits" and k:
                    self._known(("drop", v, kind, str(k)), gap)
        N, D = (v, "N"), (v, "D")
        self._equation([(N, 1.0), (("level", "visits", levels["step"].iloc[-1]), -1.0)])
        self._sum(N, [(v, "n", g) for g in groups])
        self._sum(D, [(v, "d", g) for g in groups])
        self._sum(N, [D, (v, "U")])
        for g in groups:
            self._sum((v, "n", g), [(v, "d", g), (v, "u", g)])
        frames = [own, self._table(f"estimates-{slug}"), self._table(f"decomposition-{slug}")]
        for row in pd.concat(frames).to_dict("records"):
            self._known((v, "n", row["group"]), row["n"])
            self._known((v, "d", row["group"]), row["n_diagnosed"])
        if not self.round_to:  # else the visits they need are not known
            self._ratios(v, own)
        self._features(slug, v, bins)
        self._fifths(slug, v, groups)
        self._shares(slug, v)

    def _value(self, cell):
        for terms, value, _ in self.rows:
            if len(terms) == 1 and terms.get(self.number.get(cell)) == 1.0:
                return value
        return None

    def _ratios(self, v: str, frame: pd.DataFrame) -> None:
        """Of recorded rates; where visits are known, d (N - n) = r n (D - d) is linear in d."""
        N = sum(self._value((v, "n", g)) or np.nan for g in set(frame["group"]))
        for row in frame.to_dict("records"):
            n, r = self._value((v, "n", row["group"])), row["observed_ratio"]
            if pd.isna(r):
                r = row["diagnosis_ratio"] * row["estimate"]
            if not pd.isna(r) and n is not None and not pd.isna(N) and np.isfinite(r):
                d, D = (v, "d", row["group"]), (v, "D")
                self._equation([(d, (N - n) / n + r), (D, -r)])
            elif not pd.isna(r) and n is None:
                raise AssertionError(f"a ratio of {row['group']} tells its hidden visits")

    def _features(self, slug: str, v: str, bins) -> None:
        frames = pd.read_csv(self.folder / "symptoms.csv")
        frames = [frames[frames["variable"] == v].rename(columns={"visits": "n"}),
                  self._table(f"check-{slug}-leakage")]  # fmt: skip
        seen = set()
        for frame in frames:
            for row in frame.to_dict("records"):
                f = row["feature"]
                n, d, u = (("feature", v, kind, f) for kind in "ndu")
                if f not in seen:
                    self._sum((v, "N"), [n, ("without", v, "n", f)])
                    self._sum((v, "D"), [d, ("without", v, "d", f)])
                    self._sum((v, "U"), [u, ("without", v, "u", f)])
                    self._sum(n, [d, u])
                    seen.add(f)
                self._known(n, row["n"])
                self._known(d, row.get("n_diagnosed", np.nan))
                self._people(("feature", v, f), row)
                value = row.get("predictive_value", np.nan)
                if not pd.isna(value):
                    self._share(d, n, value)
                if not pd.isna(row.get("reach", np.nan)):
                    self._share(d, (v, "D"), row["reach"])
        here = [name for name in bins if name in seen]
        for kind, total in (("n", "N"), ("d", "D")):
            parts = [("feature", v, kind, name) for name in here]
            rest = ("other bins", v, kind)
            self._sum((v, total), [*parts, rest] if len(here) < len(bins) else parts)

    def _fifths(self, slug: str, v: str, groups) -> None:
        table = self._table(f"check-{slug}-calibration")
        for g in groups:
            own = table[table["group"] == g]
            for kind in "nd":
                self._sum((v, kind, g), [("fifth", v, kind, g, str(k)) for k in own["fifth"]])
            for row in own.to_dict("records"):
                n, d, u = (("fifth", v, kind, g, str(row["fifth"])) for kind in "ndu")
                self._sum(n, [d, u])
                self._known(n, row["n"])
                self._known(d, row["n_diagnosed"])
                self._people(("fifth", v, g, str(row["fifth"])), row)
                if not pd.isna(row["recorded"]):
                    self._share(d, n, row["recorded"])

    def _people(self, cell, row) -> None:
        """Patients are those diagnosed in one of these visits, and those never diagnosed there."""
        parts = [("patients", kind, *cell) for kind in ("all", "diagnosed", "never")]
        self._sum(parts[0], parts[1:])
        self._known(parts[0], row.get("patients", np.nan))
        self._known(parts[1], row.get("patients_diagnosed", np.nan))

    def _shares(self, slug: str, v: str) -> None:
        for row in self._table(f"check-{slug}-overlap").to_dict("records"):
            d, sure = (v, "d", row["group"]), ("sure", v, row["group"])
            self._known(d, row["n_diagnosed"])
            self._sum(d, [sure, ("unsure", v, row["group"])])
            if not pd.isna(row["sure_share"]):
                self._share(sure, d, row["sure_share"])

    # -- attack ----------------------------------------------------------------------------

    def ranges(self, cells) -> dict:
        """Smallest and largest value of each of the cells that is named anywhere."""
        A = self._matrix([terms for terms, *_ in self.rows])
        b, more = np.array([(value, slack) for _, value, slack in self.rows]).T
        slack = ROUNDING * (1 + abs(b)) + more
        both = sparse.vstack([A, -A, self._matrix(self.most)]).tocsr()
        upper = np.concatenate([b + slack, slack - b, np.full(len(self.most), ROUNDING)])
        found = {}
        for cell in cells:
            if cell not in self.number:
                continue
            aim = np.zeros(len(self.number))
            aim[self.number[cell]] = 1.0
            ends = []
            for sign in (1, -1):
                solved = linprog(sign * aim, A_ub=both, b_ub=upper, bounds=(0, 1e6), method="highs")
                assert solved.success, solved.message
                ends.append(sign * solved.fun)
            found[cell] = (ends[0], ends[1])
        return found

    def _matrix(self, rows):
        A = sparse.lil_array((len(rows), len(self.number)))
        for k, terms in enumerate(rows):
            for column, factor in terms.items():
                A[k, column] = factor
        return A.tocsr()

    def order_tells(self) -> list[str]:
        """Tables of features in which a hidden row has a place of its own."""
        told = []
        for file in [
            *self.folder.glob("tables/*leakage.csv"),
            *self.folder.glob("tables/symptoms-*.csv"),
        ]:
            table = pd.read_csv(file)
            number = "n" if "n" in table else "visits"
            hidden = table[number].isna().to_numpy()
            last = table["feature"][hidden].tolist()
            if (np.diff(hidden.astype(int)) < 0).any() or last != sorted(last):
                told.append(file.name)
            if "weight" in table and table["weight"][hidden].notna().any():
                told.append(file.name)
        return told

    def texts(self) -> str:
        """Words of all files that people read, or have read to them: attributes count too."""
        kinds = ("txt", "json", "html", "svg", "tex", "csv")
        files = [file for kind in kinds for file in self.folder.rglob(f"*.{kind}")]
        return "\n".join(_words(file.read_text(encoding="utf-8")) for file in files)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = []

    def handle_starttag(self, tag, attrs) -> None:
        self.text += [value for _, value in attrs if value]

    def handle_data(self, data) -> None:
        self.text.append(data)


def _words(text: str) -> str:
    parser = _Words()
    parser.feed(text)
    return " ".join(parser.text)
