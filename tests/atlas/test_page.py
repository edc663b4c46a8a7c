"""The atlas as a page: escaped, self-contained, in a real browser."""

import re

import numpy as np
import pandas as pd
import pytest

from relprev.atlas import Atlas
from relprev.atlas.disclosing import VariableAtlas, disclosed_atlas
from relprev.atlas.page import AtlasReport, render_atlas, write_atlas
from relprev.atlas.result import atlas_of
from relprev.disclosure import Rule
from tests.atlas.test_result import scanned_row
from tests.report.screenshot import chromium, find_chromium

BAD = "<img src=x onerror=alert(1)>"


def report():
    rng = np.random.default_rng(0)
    rows = [
        scanned_row(f"CCS:{k + 1}", group, n_recorded=100 + k, diagnosis_ratio=float(ratio))
        for group in ("a", "b")
        for k, ratio in enumerate(np.exp(rng.normal(0, 0.2, 30)))
    ]
    rows[3]["condition"] = rows[33]["condition"] = BAD
    rows[0]["diagnosis_ratio"] = 6.0
    atlas = atlas_of([pd.DataFrame(rows)])
    names = atlas.table["condition"].map({"CCS:1": "Tuberculosis"}).fillna("")
    atlas = Atlas(atlas.table.assign(description=names), atlas.nulls)
    groups = pd.DataFrame({"group": ["a", "b", "z"], "n": 5_000})
    counts = pd.DataFrame(
        [
            {"condition": name, "group": group, "visits": 100, "patients": 100}
            for name in atlas.table["condition"].unique()
            for group in ("a", "b", "z")
        ]
    )
    shown = disclosed_atlas([VariableAtlas("race", atlas, groups, counts)], Rule())
    return AtlasReport("Atlas & more", "visits", "simulated", shown, warnings=("said",))


@pytest.fixture(scope="module")
def html():
    return render_atlas(report())


def test_text_from_data_is_escaped(html):
    assert BAD not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "Atlas &amp; more" in html


def test_page_names_nothing_outside(html):
    assert not re.search(r'(?:src|href)="(?!#)', html)
    assert "http://www.w3.org/2000/svg" in html
    assert html.count("http") == html.count("http://www.w3.org/2000/svg") + html.count("http-equiv")


def test_every_link_leads_to_a_place_on_the_page(html):
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([\w-]+)"', html)) <= set(ids)


def test_every_condition_has_a_row_a_point_and_a_section(html):
    assert html.count('class="condition"') == 30
    assert html.count("<circle") == 60
    assert html.count("stands out</span>") >= 1


def test_files_are_the_table_the_nulls_and_the_page(tmp_path):
    files = write_atlas(report(), tmp_path)
    assert [file.name for file in files] == [
        "atlas.html", "atlas.csv", "atlas.parquet", "nulls.csv", "nulls.parquet", "manifest.json",
    ]  # fmt: skip
    assert len(Atlas.load(tmp_path).table) == 60
    assert pd.read_csv(tmp_path / "atlas.csv")["variable"].unique().tolist() == ["race"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = find_chromium()
    if path is None:
        pytest.skip("needs chromium: `make browser` installs it, or set $RELPREV_CHROMIUM")
    folder = tmp_path_factory.mktemp("atlas")
    write_atlas(report(), folder)
    with chromium(path) as browser:
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.said, opened.asked = [], []
        opened.on("console", lambda message: opened.said.append(message.text))
        opened.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.on("request", lambda request: opened.asked.append(request.url))
        opened.goto((folder / "atlas.html").as_uri())
        yield opened


def test_browser_complains_of_nothing_and_asks_for_nothing(page):
    assert page.said == []
    assert len(page.asked) == 1


def test_search_leaves_the_rows_that_match(page):
    page.get_by_label("Search").fill("tubercul")
    assert page.locator(".searchable tbody tr:visible").count() == 2
    assert page.get_by_text("2 of 60 rows").is_visible()
    page.get_by_label("Search").fill("")
    assert page.locator(".searchable tbody tr:visible").count() == 60


def test_a_condition_opens_by_keyboard_and_closes_by_escape(page):
    link = page.locator(".searchable tbody a").first
    link.focus()
    page.keyboard.press("Enter")
    section = page.locator(".condition:target")
    assert section.is_visible()
    text = section.inner_text()
    assert "Back to all conditions" in text
    assert all(f"By race: {group} versus z" in text for group in "ab")  # all groups
    assert text.count("Checks") == text.count("What it would take to change the answer") == 2
    page.keyboard.press("Escape")
    assert page.locator(".condition:target").count() == 0
    assert page.evaluate("document.activeElement.getAttribute('href')") == link.get_attribute(
        "href"
    )


def test_a_point_opens_its_condition(page):
    page.locator("circle").last.dispatch_event("click")
    assert page.locator(".condition:target").count() == 1
    page.keyboard.press("Escape")


def test_columns_sort(page):
    heading = page.locator(".searchable thead th", has_text="Diagnosis-rate ratio")
    heading.locator("button").click()
    keys = page.locator(".searchable tbody tr td:nth-child(6)").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.key))"
    )
    assert keys == sorted(keys)


def test_axe_finds_nothing(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.locator(".searchable tbody a").first.click()
    found = axe.Axe().run(page)  # with a condition open
    assert found.violations_count == 0, found.generate_report()
