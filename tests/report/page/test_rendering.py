"""The page: self-contained, escaped, legible for all."""

import base64
import hashlib
import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree

from relprev.disclosure import NOT_SHOWN, Rule
from relprev.report import render_page
from tests.report.conftest import LONG, SCRIPT
from tests.report.pages import Page
from tests.report.studies import study


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


def test_page_says_that_counts_are_hidden_only_if_they_are(page, bare):
    assert "Counts of 1 to 10 people" in page.words
    assert "only 3 patients" not in page.words
    assert "a group has only fewer than 11 patients with a recorded diagnosis" in page.words
    assert "3 of 40 patients" not in page.words
    assert NOT_SHOWN in page.words
    shown = Page(render_page(study(bare, rule=Rule(hide=False))))
    assert "Counts of 1 to 10 people" not in shown.words


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
    judged = re.search(
        r"(None|Read with care:|Not fully examined:) of \d+ checks of the assumptions", words
    )
    assert judged
    assert words.index("estimated to be") < judged.start() < words.index("Right of 1")


def test_every_estimate_travels_with_its_interval_or_says_that_there_is_none(page):
    assert "in married as in unmarried (no interval)" in page.words
    assert "No confidence intervals by marital status" in page.words


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


def test_features_with_hidden_counts_are_named_but_not_drawn(bare):
    few = bare.symptoms.assign(visits=[3, *bare.symptoms["visits"][1:]])
    page = Page(render_page(study(replace(bare, symptoms=few))))
    name = few["feature"][0]
    assert page.words.count(name) == 1  # in the table, not in the picture
    none = Page(render_page(study(replace(bare, symptoms=few.head(1)))))
    assert name in none.words
    assert "the model uses no symptom" not in none.words
