"""The page in a real browser: Debian's chromium, without a window (`make browser`)."""

import re
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from relprev.report import render_page
from relprev.report.analyses import Analysis
from relprev.report.page.front import front_of
from relprev.report.page.layout import lay_out
from relprev.report.page.rendering import render_layout
from tests.report.screenshot import chromium, find_chromium
from tests.report.studies import study

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe (make test)")

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 812}


@pytest.fixture(scope="module")
def browser():
    path = find_chromium()
    if path is None:
        pytest.skip("needs chromium: `make browser` installs it, or set $RELPREV_CHROMIUM")
    with chromium(path) as running:
        yield running


@pytest.fixture
def opened(browser, folder):
    """Opens the report and keeps what the browser complains about or asks for."""
    contexts = []

    def show(address=None, viewport=WIDE, **more):
        context = browser.new_context(viewport=viewport, **more)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(address or (folder / "report.html").as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def many(race, tmp_path_factory):
    """The page of a report with eight group variables, and the groups of its first table."""
    kinds = ("sensitivity", "leakage", "constant_ratio")
    some = replace(race, checks=tuple(one for one in race.checks if one.kind in kinds))
    layout = lay_out(study(*(replace(some, name=f"place of birth {k}") for k in range(8))))
    file = tmp_path_factory.mktemp("many") / "report.html"
    file.write_text(render_layout(layout), encoding="utf-8")
    return file, front_of(layout).table.frame["group"]


@pytest.fixture(scope="module")
def stratified(bare, tmp_path_factory):
    """The page of a report with estimates within strata, and standardised."""
    others = ["Hispanic", "White", "White", "White"]
    main = bare.main.assign(versus=others, observed_ci_low=0.66, observed_ci_high=0.94)
    ends = {f"unadjusted_{end}": main[end] for end in ("ci_low", "ci_high")}
    parts = pd.concat(
        [
            main.assign(
                stratum=name, n=main["n"] // 3, note="", n_diagnosed=main["n_diagnosed"] // 3
            )
            for name in ("under 18 / Female", "18 to 64 / Male", "65 or older / Female")
        ]
    )
    found = replace(bare, analyses=(
        Analysis("strata", "age and sex", parts.reset_index(drop=True)),
        Analysis("standardised", "age and sex", main.drop(columns=["n", "n_diagnosed"]).assign(
            unadjusted=main["estimate"], **ends)),
    ))  # fmt: skip
    file = tmp_path_factory.mktemp("stratified") / "report.html"
    file.write_text(render_page(study(found)), encoding="utf-8")
    return file


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")


def test_page_renders_without_a_complaint_or_a_request(opened):
    page = opened()
    open_all(page)
    page.mouse.wheel(0, 50_000)
    assert page.said == []
    assert len(page.asked) == 1  # the page itself
    assert page.locator("h1").is_visible()
    assert page.locator("figure svg").first.is_visible()


def test_page_served_by_a_web_server_asks_for_nothing_else(opened, folder):
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page = opened(f"http://127.0.0.1:{server.server_port}/report.html")
        assert page.locator("button", has_text="Copy as CSV").count() > 5
    finally:
        server.shutdown()
        server.server_close()
    assert asked == ["/report.html"]
    assert page.said == []


def test_policy_stops_what_the_page_does_not_bring(opened):
    page = opened()
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.broken = true";
        document.body.append(script);
    }""")
    assert page.evaluate("window.broken") is None
    assert any("Content Security Policy" in text for text in page.said)


def test_group_names_do_not_become_elements(opened):
    page = opened()
    assert page.locator("script").count() == 1
    assert page.locator("main b, main i, main img").count() == 0


def test_tables_sort_by_number_and_by_name(opened):
    page = opened()
    table = page.locator("[data-name=estimates-race] table")
    column = [words.strip() for words in table.locator("thead th").all_inner_texts()].index(
        "Visits"
    )
    heading = table.locator("thead th").nth(column)

    def visits():
        cells = table.locator(f"tbody tr td:nth-child({column + 1})").all_inner_texts()
        return [int(text.replace(",", "")) for text in cells if text != "left out"]

    before = visits()
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert visits() == sorted(before)
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert visits() == sorted(before, reverse=True)
    table.locator("thead button").first.click()
    assert heading.get_attribute("aria-sort") is None
    names = table.locator("tbody th").all_inner_texts()
    assert names == sorted(names)


def test_hidden_values_stay_last_when_sorted(opened):
    page = opened()
    table = page.locator("[data-name^=estimates-pay] table")
    heading = table.locator("thead th", has_text="Diagnosed")
    for _ in range(2):
        heading.locator("button").click()
        assert table.locator("tbody tr").last.locator("td").last.inner_text() == "hidden"


def test_table_is_copied_as_csv_with_intervals_in_columns(opened):
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.locator("[data-name=decomposition-race] .tool").click()
    page.wait_for_function("document.getElementById('said').textContent === 'Table copied.'")
    lines = page.evaluate("navigator.clipboard.readText()").strip().split("\n")
    assert lines[0].startswith("Group,Corrected ratio (pointwise 95% CI),Corrected ratio (point")
    assert len(lines) == 6  # four groups, and one that was left out
    assert len(lines[1].split(",")) == 1 + 3 * 3


def test_figure_is_downloaded_as_svg_that_stands_alone(opened, browser, tmp_path):
    page = opened()
    with page.expect_download() as waiting:
        page.locator("#comparisons figure .tool").first.click()
    assert waiting.value.suggested_filename == "forest-race.svg"
    waiting.value.save_as(tmp_path / "forest.svg")
    drawing = opened((tmp_path / "forest.svg").as_uri())
    assert drawing.said == []
    assert drawing.locator("text", has_text="Relative prevalence").count() == 1


def test_checks_open_and_show_picture_and_table(opened):
    page = opened()
    part = page.locator("#check-race-unconstrained-details")
    assert not part.locator("figure").is_visible()
    part.locator("summary").click()
    assert part.locator("figure svg").is_visible()
    assert part.locator("table").is_visible()


def test_checks_with_a_concern_are_open_from_the_start(opened):
    page = opened()
    parts = page.locator("details.check")
    states = [(part.get_attribute("open") is not None, part.locator("summary").inner_text())
              for part in parts.all()]  # fmt: skip
    assert any(is_open for is_open, _ in states)
    for is_open, words in states:
        assert is_open == ("no concern" not in words and "cannot tell" not in words)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_reader_and_the_button(opened, scheme):
    page = opened(color_scheme=scheme)

    def brightness():
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    assert (brightness() > 600) == (scheme == "light")
    ink = page.evaluate("getComputedStyle(document.querySelector('figure text')).fill")
    page.locator(".theme").click()
    assert (brightness() > 600) == (scheme == "dark")
    assert page.evaluate("getComputedStyle(document.querySelector('figure text')).fill") != ink


def test_phone_needs_no_sideways_scrolling(opened):
    page = opened(viewport=PHONE)
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


SEEN = """(where) => [...document.querySelectorAll(where)].flatMap(table => {
    const names = [...table.tHead.rows[0].cells].map(cell => cell.textContent.trim());
    const k = names.findIndex(name => name.startsWith("Corrected ratio"));
    return k < 0 ? [] : [...table.rows].map(row => row.cells[k].getBoundingClientRect().right);
})"""


def test_corrected_ratios_are_seen_on_a_phone(opened):
    """They were the last column of the first table, to be scrolled to."""
    right = opened(viewport=PHONE).evaluate(SEEN, ".front table")
    assert right
    assert max(right) <= PHONE["width"]


def test_corrected_ratios_within_strata_are_seen_on_a_phone(opened, stratified):
    """After columns of strata and of both groups they ended beyond the screen."""
    right = opened(stratified.as_uri(), viewport=PHONE).evaluate(SEEN, "#analyses table")
    assert len(right) > 12
    assert max(right) <= PHONE["width"]


def test_figures_are_legible_on_a_phone(opened):
    page = opened(viewport=PHONE)
    size = page.evaluate("""() => {
        const drawing = document.querySelector("figure svg");
        const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
        return 10 * scale;
    }""")
    assert size > 7


def test_paper_shows_everything_in_light_colours(opened):
    page = opened(color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#check-race-unconstrained-details figure svg").is_visible()
    assert not page.locator("nav").is_visible()
    assert not page.locator(".tool").first.is_visible()
    assert not page.locator("#manifest").is_visible()  # pages of JSON: manifest.json has it
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#check-race-unconstrained-details").get_attribute("open") is None


FRONT = ["answer", "estimates", "overturn", "who"]


def printed(browser, file, paper):
    """How many pages the front of a report takes on paper, and its sections."""
    page = browser.new_page()
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('.appendix, footer').forEach(part => part.remove())")
    ids = page.evaluate("Array.from(document.querySelectorAll('.front > section')).map(s => s.id)")
    pdf = page.pdf(format=paper)
    page.close()
    return len(re.findall(rb"/Type\s*/Page\b", pdf)), ids


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_first_two_printed_pages_stand_alone(single, browser, paper):
    """Answer, recorded against corrected, what could overturn it and who: the rest is appendix."""
    pages, ids = printed(browser, single / "report.html", paper)
    assert pages <= 2
    assert ids == FRONT


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_two_printed_pages_hold_four_group_variables(folder, browser, paper):
    """They took three, with a figure and a table of each variable and every finding in full."""
    pages, ids = printed(browser, folder / "report.html", paper)
    assert pages <= 2
    assert ids == FRONT


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_two_printed_pages_hold_eight_group_variables_in_short(many, browser, paper):
    """Answers of four in sentences, of the others in short, and 24 of 40 comparisons."""
    file, rows = many
    pages, ids = printed(browser, file, paper)
    assert pages <= 2
    assert ids == FRONT
    assert len(rows) == 24
    assert set(rows.str.split(":").str[0]) == {f"place of birth {k}" for k in range(8)}


def test_page_prints_to_pdf(opened):
    assert opened().pdf(format="A4").startswith(b"%PDF")


def test_page_can_be_read_without_scripts(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("h1").is_visible()
    assert page.locator("table").first.is_visible()
    assert page.locator("button").count() == 0


def test_keyboard_reaches_the_answer_first(opened):
    page = opened()
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.textContent")
    assert focused == "Skip to the answer"
    assert page.locator(".skip").is_visible()


@pytest.mark.parametrize(("scheme", "viewport"), [("light", WIDE), ("dark", PHONE)])
def test_axe_finds_no_violation(opened, scheme, viewport):
    page = opened(color_scheme=scheme, viewport=viewport)
    open_all(page)
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
