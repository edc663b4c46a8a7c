"""The built documentation: every link leads somewhere, and nothing is asked of the network.

`make docs` builds the site and then runs these tests.
"""

import io
import os
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from tests.report.screenshot import chromium, find_chromium

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("RELPREV_SITE", "")).resolve()
EXTERNAL = {  # looked at by people; there may be no network where the tests run
    "https://medical-event-data-standard.github.io",
    "https://www.opencodelists.org",
    "https://github.com/pradyunsg/furo",
    "https://hcup-us.ahrq.gov/nedsoverview.jsp",
    "https://physionet.org/content/mimic-iv-ed/",
    "https://physionet.org/content/mimiciv/",
    "https://pradyunsg.me",
    "https://sphinx-gallery.github.io",
    "https://www.cdc.gov/nchs/nhamcs/",
    "https://www.cdc.gov/nchs/nhanes/",
    "https://www.cdc.gov/nchs/nhds/",
    "https://www.dask.org",
    "https://www.sphinx-doc.org/",
}

pytestmark = pytest.mark.skipif(
    "RELPREV_SITE" not in os.environ, reason="needs $RELPREV_SITE; `make docs` builds and checks it"
)


@cache
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path: Path) -> frozenset[str]:
    found = soup(path).find_all(attrs={"id": True}) + soup(path).find_all("a", attrs={"name": True})
    return frozenset(tag.get("id") or tag.get("name") for tag in found)


def pages() -> list[Path]:
    return sorted(SITE.rglob("*.html"))


def is_external(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def missing(page: Path, address: str) -> str | None:
    """What is wrong with a link inside the site."""
    target, anchor = urldefrag(address)
    file = (page.parent / unquote(target)).resolve() if target else page
    if not file.is_file():
        return f"{page.relative_to(SITE)}: {address}: there is no such file"
    if anchor and file.suffix == ".html" and unquote(anchor) not in anchors(file):
        return f"{page.relative_to(SITE)}: {address}: there is no such place"
    return None


def test_every_link_inside_the_site_leads_somewhere():
    found = [
        missing(page, tag["href"])
        for page in pages()
        for tag in soup(page).find_all("a", href=True)
        if not is_external(tag["href"])
    ]
    assert len(found) > 1000
    assert not [words for words in found if words]


def test_a_dead_link_would_be_found():
    assert "no such file" in missing(SITE / "index.html", "nowhere.html")
    assert "no such place" in missing(SITE / "index.html", "quickstart.html#nowhere")


def test_links_outside_are_those_we_have_looked_at():
    found = {
        tag["href"]
        for page in pages()
        for tag in soup(page).find_all("a", href=True)
        if is_external(tag["href"])
    }
    for address in found:
        parts = urlsplit(address)
        assert parts.scheme == "https", address
        assert re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc), address
    assert found == EXTERNAL


def test_pictures_styles_and_scripts_are_the_sites_own():
    for page in pages():
        tags = soup(page).find_all(["img", "script", "iframe", "source", "video"], src=True)
        addresses = [tag["src"] for tag in tags]
        links = soup(page).find_all("link", href=True)
        addresses += [tag["href"] for tag in links if "canonical" not in tag.get("rel", [])]
        for address in addresses:
            assert not is_external(address), f"{page.name}: {address}"
            assert not missing(page, urlsplit(address).path), f"{page.name}: {address}"


def test_styles_load_nothing_from_outside():
    for style in SITE.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        asked = re.findall(r"url\(\s*['\"]?(.*?)['\"]?\s*\)|@import\s+['\"](.*?)['\"]", text)
        for address in filter(None, (first or second for first, second in asked)):
            assert address.startswith("data:") or not is_external(address), f"{style}: {address}"


def test_no_script_names_another_host():
    for script in SITE.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        calls = re.findall(r"(?:fetch|import|open|src\s*=)\s*\(?\s*['\"](https?://[^'\"]+)", text)
        assert not calls, f"{script}: {calls}"


def test_readme_links_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", line.lstrip("# ")).strip().lower().replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    addresses = re.findall(r"\]\(([^)\s]+)\)", text)
    assert addresses
    for address in addresses:
        target, anchor = urldefrag(address)
        assert not is_external(address), address
        assert not target or (ROOT / target).exists(), address
        assert target or anchor in headings, address


def test_in_a_browser_no_page_asks_for_anything_outside():
    path = find_chromium()
    if path is None:
        pytest.skip("needs chromium: `make browser` installs it, or set $RELPREV_CHROMIUM")
    with chromium(path) as browser:
        page = browser.new_page()
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: said.append(str(error)))
        for file in [*SITE.glob("*.html"), *SITE.glob("evidence/*.html"),
                     *SITE.glob("sources/*.html"), *SITE.glob("auto_gallery/*.html"),
                     SITE / "api" / "relprev.PURPLE.html"]:  # fmt: skip
            page.goto(file.as_uri())
        assert len(asked) > 20
        assert not [url for url in asked if not url.startswith((SITE.as_uri(), "data:"))]
        assert not said


@pytest.mark.parametrize(("scheme", "paper"), [("light", 255), ("dark", 60)])
def test_figures_can_be_seen_in_the_light_and_in_the_dark(scheme, paper):
    path = find_chromium()
    if path is None:
        pytest.skip("needs chromium: `make browser` installs it, or set $RELPREV_CHROMIUM")
    with chromium(path) as browser:
        page = browser.new_page(color_scheme=scheme)
        page.goto((SITE / "evidence" / "paper.html").as_uri())
        taken = page.locator("article img").first.screenshot()
    shades = Image.open(io.BytesIO(taken)).convert("L")
    assert abs(shades.getpixel((2, 2)) - paper) < 60  # what it is drawn on
    low, high = shades.getextrema()
    assert high - low > 150
