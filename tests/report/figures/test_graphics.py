from __future__ import annotations

from xml.etree import ElementTree

import pytest
from matplotlib import pyplot as plt

from relprev.report.figures.graphics import FIGURE_FORMATS, figure_bytes, inline_svg

STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(3, 2))
    axes.plot([1, 2], [3, 4], label="<b>")
    axes.legend()
    yield axes
    plt.close(figure)


@pytest.mark.parametrize("kind", FIGURE_FORMATS)
def test_the_same_figure_gives_the_same_bytes(ax, kind):
    first = figure_bytes(ax, kind)
    assert first.startswith(STARTS[kind])
    assert figure_bytes(ax, kind) == first


def test_a_figure_within_a_page_has_no_styles_and_ids_of_its_own(ax):
    text = inline_svg(figure_bytes(ax, "svg"), "forest-race", "A & B", "What it shows")
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert "style" not in element.attrib
        assert element.get("id", "forest-race").startswith("forest-race")
    ids = {element.get("id") for element in root.iter()}
    for element in root.iter():
        target = element.get("href", "")
        assert not target or target[1:] in ids
    title, description = list(root)[:2]
    assert (title.text, description.text) == ("A & B", "What it shows")
    assert root.get("role") == "img"
