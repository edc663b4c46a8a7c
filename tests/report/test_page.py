"""The report's files: complete, the same every time, escaped, and without small counts."""

import base64
import csv
import hashlib
import io
import itertools
import json
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from relprev.disclosure import NOT_SHOWN, Rule
from relprev.errors import InvalidInputError
from relprev.messages import Message
from relprev.report import (
    figures,
    plot_calibration,
    plot_check,
    plot_forest,
    plot_overlap,
    plot_sensitivity,
    plot_symptoms,
    render_page,
    write_report,
)
from tests.report.conftest import LONG, SCRIPT
from tests.report.studies import found, study

pytestmark = pytest.mark.xdist_group("report")  # one worker makes the reports
TEXT_FILES = ("*.html", "*.csv", "*.txt", "*.json", "tables/*", "figures/*.svg")


class Page(HTMLParser):
    """What a browser would see: tags with attributes, and the text outside script and style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.inside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and tag == self.inside[-1]:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def words(self):
        return re.sub(r"\s+", " ", " ".join(self.text))


@pytest.fixture(scope="module")
def bare(race):
    """Without checks: quickly drawn."""
    return replace(race, checks=())


@pytest.fixture(scope="module")
def html(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def texts(folder):
    for pattern in TEXT_FILES:
        for path in folder.glob(pattern):
            yield path, path.read_text(encoding="utf-8")


# -- files ---------------------------------------------------------------------------------


def test_all_files_are_there(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "report.html", "estimates.csv", "estimates.parquet", "checks.csv", "attrition.csv",
        "symptoms.csv", "methods.txt", "manifest.json", "figures", "tables",
    }  # fmt: skip
    figures = {path.stem for path in (folder / "figures").iterdir()}
    for stem in figures:
        assert all((folder / "figures" / f"{stem}.{kind}").stat().st_size > 500
                   for kind in ("svg", "pdf", "png"))  # fmt: skip
    assert {"forest-race", "check-race-calibration", "sensitivity-race-1", "symptoms-race"} <= (
        figures
    )
    tables = {path.stem for path in (folder / "tables").iterdir()}
    assert {"estimates-race", "decomposition-race", "attrition-race"} <= tables
    assert {path.suffix for path in (folder / "tables").iterdir()} == {".html", ".tex", ".csv"}


def test_same_report_gives_the_same_bytes(awkward, tmp_path):
    report = study(replace(awkward, checks=awkward.checks[-1:]))
    first, second = (write_report(report, tmp_path / name) for name in ("one", "two"))
    assert len(first) > 20
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name


def test_csv_and_parquet_hold_the_same_estimates_in_full(folder, race):
    table = pd.read_csv(folder / "estimates.csv")
    parquet = pd.read_parquet(folder / "estimates.parquet")
    assert list(table) == list(parquet)
    part = table[(table["variable"] == "race") & (table["method"] == "DebiasedPURPLE")]
    expected = race.estimates["DebiasedPURPLE"]
    np.testing.assert_array_equal(part["estimate"], expected["estimate"])
    np.testing.assert_array_equal(parquet["estimate"], table["estimate"])


def test_checks_file_names_every_check_with_its_verdict(folder, report):
    table = pd.read_csv(folder / "checks.csv")
    assert len(table) == sum(len(found.checks) for found in report.variables)
    assert set(table["verdict"]) <= {"concern", "no concern", "cannot tell"}
    assert "concern" in set(table["verdict"])


def test_manifest_is_the_reports(folder, report):
    assert json.loads((folder / "manifest.json").read_text()) == report.manifest


def test_nothing_is_written_if_the_page_cannot_be_made(race, tmp_path):
    broken = replace(race, symptoms=pd.DataFrame({"feature": ["S00"], "weight": ["heavy"]}))
    with pytest.raises(ValueError, match="heavy"):
        write_report(study(broken), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_findings_that_nobody_has_looked_through_are_refused(bare, tmp_path):
    for use in (render_page, lambda findings: write_report(findings, tmp_path / "out")):
        with pytest.raises(InvalidInputError, match="disclosed makes one"):
            use(found(bare))
    assert not (tmp_path / "out").exists()


def test_report_without_findings_is_refused(race, tmp_path):
    with pytest.raises(InvalidInputError, match="no group variable"):
        write_report(study(), tmp_path)
    with pytest.raises(InvalidInputError, match="no estimates by race"):
        write_report(study(replace(race, estimates={})), tmp_path)
    with pytest.raises(InvalidInputError, match="two group variables of one name"):
        write_report(study(race, race), tmp_path)


def test_variables_whose_names_look_alike_get_files_of_their_own(bare, tmp_path):
    names = ("race", "Race!", "日本")
    write_report(study(*(replace(bare, name=name) for name in names)), tmp_path)
    for slug in ("race", "race-2", "groups"):
        assert (tmp_path / "figures" / f"forest-{slug}.svg").exists()


# -- safety --------------------------------------------------------------------------------


def test_policy_allows_the_pages_own_style_and_script_only(html, page):
    policy = next(tag["content"] for tag in page.all("meta") if "http-equiv" in tag)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_nothing_points_outside_the_page(page):
    for tag, attrs in page.tags:
        for name in ("src", "href", "action", "data", "xlink:href"):
            assert attrs.get(name, "#").startswith("#"), (tag, attrs)
        assert not any(name.startswith("on") or name == "style" for name in attrs), (tag, attrs)


def test_data_are_escaped(html, page):
    assert html.count("<script>") == 1
    assert SCRIPT in page.words
    assert "{{ 7 * 7 }}" in page.words
    assert LONG in page.words


def test_tables_for_other_pages_are_escaped_and_latex_compiles_in_principle(folder):
    for path in (folder / "tables").glob("*.html"):
        assert "<script" not in path.read_text()
    for path in (folder / "tables").glob("*.tex"):
        body = path.read_text().split(r"\midrule")[1].split(r"\bottomrule")[0]
        assert not re.search(r"(?<!\\)[%#_]", body), path.name


def test_ids_are_unique(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [tag["href"][1:] for tag in page.all("a")]
    links += [tag["aria-labelledby"].split()[0] for tag in page.all("section")]
    assert set(links) <= set(ids)


# -- small counts --------------------------------------------------------------------------


def test_hidden_numbers_stand_in_no_file(findings_of_four, report, folder):
    """Neither in full nor as they would be read."""
    secrets, known = set(), set()
    for before, after in zip(findings_of_four.variables, report.variables, strict=True):
        pairs = [(before.estimates[name], after.estimates[name]) for name in before.estimates]
        pairs += [(one.table, two.table) for one, two in
                  zip(before.checks, after.checks, strict=True)]  # fmt: skip
        for whole, seen in pairs:
            if "feature" in whole:
                seen = seen.set_index("feature").loc[whole["feature"]]
            for column in whole.select_dtypes("float"):
                lost = whole[column].notna() & seen[column].isna().to_numpy()
                values = [value for value in whole.loc[lost, column] if value not in (0.0, 1.0)]
                secrets |= {f"{value!r}" for value in values}
                known |= {f"{value!r}" for value in seen[column].dropna()}
    secrets -= known  # another feature of as many people is shown
    secrets = {secret for secret in secrets if len(secret) > 8}  # 0.12 begins other numbers
    assert len(secrets) > 30
    for path, text in texts(folder):
        assert not any(secret in text for secret in secrets), path.name


def test_small_group_has_no_count_anywhere(folder, awkward):
    count = awkward.groups.set_index("group").loc[LONG, "n_diagnosed"]
    assert 1 <= count <= 10
    for path in folder.rglob("*.csv"):
        for row in csv.DictReader(io.StringIO(path.read_text())):
            if LONG in row.values() and "n_diagnosed" in row:
                assert row["n_diagnosed"] == "", path.name


def test_page_says_that_counts_are_hidden_only_if_they_are(page, bare):
    assert "Counts of 1 to 10 people" in page.words
    assert "only 3 patients" not in page.words
    assert "a group has only fewer than 11 patients with a recorded diagnosis" in page.words
    assert "3 of 40 patients" not in page.words
    assert NOT_SHOWN in page.words
    shown = Page(render_page(study(bare, rule=Rule(hide=False))))
    assert "Counts of 1 to 10 people" not in shown.words


# -- words ---------------------------------------------------------------------------------


def test_first_screen_asks_answers_and_judges(page, race):
    words = page.words
    assert "How much more common is intimate partner violence in one group" in words
    assert "women aged 18 or more" in words
    assert re.search(
        r"Intimate partner violence is estimated to be \d\.\d\d times as common", words
    )
    assert re.search(
        r"\(95% interval \d\.\d\d to \d\.\d\d\)\. Recorded diagnoses alone give", words
    )
    assert re.search(
        r"Read with care: \d+ of \d+ checks of the assumptions raises? a concern", words
    )
    assert (
        words.index("estimated to be") < words.index("Read with care") < words.index("Right of 1")
    )


def test_every_estimate_travels_with_its_interval_or_says_that_there_is_none(page):
    assert "among everybody else (no interval)" in page.words
    assert "No confidence intervals by marital status" in page.words


def test_groups_without_estimate_are_named(page):
    assert "No estimate by race for Other: only fewer than 11 visits." in page.words
    assert "No estimate by region for east." in page.words


def test_group_left_out_is_named_once(withheld):
    found = replace(withheld, checks=(), left_out={"east": Message("too few diagnosed")})
    words = Page(render_page(study(found))).words
    assert words.count("No estimate by region for") == 1


def test_columns_without_content_are_not_shown(bare):
    found = replace(bare, symptoms=bare.symptoms.assign(description=""))
    assert "Description" not in render_page(study(found))


def test_interval_that_includes_one_is_called_so(bare):
    frame = bare.estimates["DebiasedPURPLE"].assign(ci_low=0.9, ci_high=1.1, estimate=1.0)
    words = Page(render_page(study(replace(bare, estimates={"DebiasedPURPLE": frame})))).words
    assert "The interval includes 1" in words


def test_study_without_checks_is_not_judged(bare):
    words = Page(render_page(study(bare))).words
    assert "No check of the assumptions was made" in words


def test_methods_hold_the_numbers_of_the_run(folder, race):
    text = (folder / "methods.txt").read_text()
    joined = re.sub(r"\s+", " ", text)
    assert f"{int(race.attrition['visits'].iloc[-1]):,} visits" in joined
    assert "Seed 4" in joined
    assert "Shanmugam" in joined
    assert "Chernozhukov" in joined
    assert max(len(line) for line in text.splitlines() if LONG not in line) <= 90


def test_methods_say_what_standard_errors_allow_for(bare):
    words = Page(render_page(study(bare, sampling="repeat visits of patients"))).words
    assert "Standard errors allow for repeat visits of patients." in words


def test_decomposition_multiplies_out(folder):
    table = pd.read_csv(folder / "tables" / "decomposition-race.csv")
    np.testing.assert_allclose(
        table["observed_ratio"], table["diagnosis_ratio"] * table["estimate"], rtol=1e-9
    )


def test_decomposition_that_is_only_nearly_exact_says_so(page):
    """PURPLE's diagnosis rates are those of its fit."""
    assert "By marital status the product is the ratio that the fitted model predicts" in page.words
    assert "By race the product" not in page.words


# -- structure -----------------------------------------------------------------------------


def test_every_table_has_a_caption_and_scoped_headers(page):
    assert len(page.all("caption")) == len(page.all("table")) > 20
    assert all(tag.get("scope") in ("col", "row") for tag in page.all("th"))


def test_every_figure_has_words_for_those_who_do_not_see_it(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawings) > 15
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        kinds = [child.tag.rpartition("}")[2] for child in root][:2]
        assert kinds == ["title", "desc"]
        assert len(root[1].text) > 20


def test_headings_do_not_skip_levels(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(two - one <= 1 for one, two in itertools.pairwise(levels))


def test_notebook_shows_the_page_in_a_frame(bare):
    frame = study(bare, title='A "study"')._repr_html_()
    parsed = Page(frame)
    (attrs,) = parsed.all("iframe")
    assert attrs["title"] == 'A "study"'
    assert attrs["srcdoc"].lstrip().startswith("<!doctype html>")


# -- figures -------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_forest_draws_both_methods_and_the_recorded_ratio(race):
    ax = plot_forest(race.estimates)
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["DebiasedPURPLE", "PURPLE", "Recorded"]
    drawn = ax.get_lines()[1].get_xdata()
    np.testing.assert_array_equal(drawn, race.estimates["DebiasedPURPLE"]["estimate"])


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_labels_fit_into_the_figure(awkward):
    for ax in (plot_forest(awkward.estimates), plot_symptoms(awkward.symptoms),
               *(plot_check(check) for check in awkward.checks)):  # fmt: skip
        figure = ax.figure
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 > -0.02
        assert box.y0 > -0.02
        assert box.x1 < width + 0.02
        assert box.y1 < height + 0.02


def test_dollar_signs_in_names_are_not_mathematics(awkward):
    frame = awkward.estimates["PURPLE"].assign(group="$\\frac{1}{$")
    plot_forest(frame).figure.draw_without_rendering()


def test_check_is_drawn_on_the_axes_given(race):
    ax = plot_check(race.checks[0])
    assert plot_check(race.checks[0], ax) is ax


def test_legend_of_many_long_names_leaves_room_for_the_figure():
    fig, ax = plt.subplots(layout="constrained", figsize=(5.6, 3.6))
    for k in range(12):
        ax.plot([0, 1], [0, k], label=f"{k}: a metropolitan county of 250,000 to 999,999 people")
    figures._legend(ax)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the layout gives up with a warning
        fig.draw_without_rendering()
    width, height = ax.get_window_extent().size / fig.dpi
    assert width > 4
    assert height > 2
    plt.close(fig)


def test_named_plots_take_their_own_check_only(race):
    checks = {check.kind: check for check in race.checks}
    assert "diagnosed" in plot_calibration(checks["calibration"]).get_xlabel()
    assert "mixing" in plot_overlap(checks["overlap"]).get_xlabel()
    assert plot_sensitivity(checks["sensitivity"]).get_xscale() == "log"
    with pytest.raises(InvalidInputError, match="kind 'overlap', expected 'calibration'"):
        plot_calibration(checks["overlap"])


def test_hidden_points_are_not_drawn(race, report):
    """A picture must not show what the table hides."""
    (check,) = (one for one in report.variables[0].checks if one.kind == "calibration")
    table = check.table
    assert table["recorded"].isna().any()
    drawn = np.concatenate([line.get_ydata() for line in plot_check(check).get_lines()])
    seen = {round(float(value), 9) for value in drawn if np.isfinite(value)}
    before = next(one for one in race.checks if one.kind == "calibration").table
    lost = before.loc[table["recorded"].isna() & (before["recorded"] > 0), "recorded"]
    assert not seen & {round(value, 9) for value in lost}


def test_features_with_hidden_counts_are_named_but_not_drawn(bare):
    few = bare.symptoms.assign(visits=[3, *bare.symptoms["visits"][1:]])
    page = Page(render_page(study(replace(bare, symptoms=few))))
    name = few["feature"][0]
    assert page.words.count(name) == 1  # in the table, not in the picture
    none = Page(render_page(study(replace(bare, symptoms=few.head(1)))))
    assert name in none.words
    assert "the model uses no symptom" not in none.words


def test_writing_leaves_no_figure_open(race):
    before = plt.get_fignums()
    render_page(study(replace(race, checks=race.checks[:1])))
    assert plt.get_fignums() == before


def test_methods_are_drawn_in_the_first_ones_order(race):
    both = race.estimates
    mixed = {"one": both["DebiasedPURPLE"], "two": both["PURPLE"].iloc[::-1]}
    lines = {line.get_label(): line for line in plot_forest(mixed).get_lines()}
    np.testing.assert_array_equal(lines["two"].get_xdata(), both["PURPLE"]["estimate"])


def test_group_without_estimate_is_named_in_the_forest(withheld):
    texts = [text.get_text() for text in plot_forest(withheld.estimates).texts]
    missing = withheld.estimates["DebiasedPURPLE"]["estimate"].isna().sum()
    assert texts == ["no estimate"] * missing
    assert missing > 0


def test_figures_are_written_in_the_formats_asked_for_only(single, race, tmp_path):
    """A PDF file's fonts take longer than the rest of the report."""
    assert {path.suffix for path in (single / "figures").iterdir()} == {".svg", ".png"}
    write_report(study(race), tmp_path, formats=["pdf"])
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".pdf"}
    with pytest.raises(InvalidInputError, match="formats must be of svg, png, pdf, got 'eps'"):
        write_report(study(race), tmp_path, formats=["eps"])
