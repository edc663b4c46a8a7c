"""Figures as bytes: the same figure gives the same bytes at any time and on any machine.

SVG within the page has presentation attributes in place of styles, which the page's
content-security policy forbids. Its ids are its own, its text has the page's colour.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes

from relprev.report.figures.style import INK, STYLE, off_screen

FIGURE_FORMATS = ("svg", "png", "pdf")
DOTS = 300  # per inch in PNG files, as journals ask
SVG = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
_FONT = re.compile(
    r"(?:(?P<style>italic|oblique) )?(?:(?P<weight>bold|\d+) )?(?P<size>[\d.]+)px .*"
)

ElementTree.register_namespace("", SVG)


def figure_bytes(ax: Axes, kind: str) -> bytes:
    """The figure of the axes as "svg", "png" or "pdf"."""
    figure: Any = ax.figure
    out = io.BytesIO()
    settings: Any = {"svg.hashsalt": "relprev", "svg.fonttype": "none", "pdf.fonttype": 42}
    paper = "none" if kind == "svg" else "white"
    with mpl.rc_context(STYLE | settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        arranged = figure.get_layout_engine()
        if arranged is not None:  # once, for several formats
            arranged.execute(figure)
            figure.set_layout_engine(None)  # "none" would have it drawn twice for every format
        figure.savefig(out, format=kind, dpi=DOTS, facecolor=paper, metadata=NO_DATE.get(kind, {}))
    return out.getvalue()


def inline_svg(svg: bytes, name: str, title: str, description: str) -> str:
    """SVG for use within a page, with ids that begin with ``name``.

    Screen readers read ``title`` and ``description`` in place of the picture.
    """
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        _plain_attributes(element, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("id", name)
    root.set("aria-labelledby", f"{name}-title {name}-description")
    root.set("stroke-linejoin", "round")
    root.set("font-family", "system-ui, sans-serif")
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        words = ElementTree.Element(f"{{{SVG}}}{tag}")
        words.text = text
        words.set("id", f"{name}-{'title' if tag == 'title' else 'description'}")
        root.insert(place, words)
    return ElementTree.tostring(root, encoding="unicode")


def _plain_attributes(element: ElementTree.Element, name: str) -> None:
    style = element.attrib.pop("style", "")
    for part in filter(None, (piece.strip() for piece in style.split(";"))):
        key, _, value = (text.strip() for text in part.partition(":"))
        if key == "font" and (font := _FONT.fullmatch(value)):
            element.set("font-size", font["size"])
            if font["weight"]:
                element.set("font-weight", font["weight"])
        elif key != "font":
            element.set(key, "currentColor" if value.lower() == INK else value)
    if element.tag == f"{{{SVG}}}text" and "fill" not in element.attrib:
        element.set("fill", "currentColor")
    if "id" in element.attrib:
        element.set("id", f"{name}-{element.attrib['id']}")
    if LINK in element.attrib:
        element.set("href", f"#{name}-{element.attrib.pop(LINK).removeprefix('#')}")
    if "clip-path" in element.attrib:
        element.set("clip-path", element.attrib["clip-path"].replace("url(#", f"url(#{name}-"))


@dataclass(frozen=True)
class ReportFigure:
    """A figure, with a title and a description for readers who cannot see it.

    No notebook or window shows it.
    """

    name: str
    title: str
    description: str
    ax: Axes

    def __post_init__(self) -> None:
        off_screen(self.ax)

    @cached_property
    def svg(self) -> bytes:
        """As a file of its own."""
        return figure_bytes(self.ax, "svg")

    @property
    def inline(self) -> str:
        """As part of a page."""
        return inline_svg(self.svg, self.name, self.title, self.description)

    def as_bytes(self, kind: str) -> bytes:
        """As "svg", "png" or "pdf"."""
        return self.svg if kind == "svg" else figure_bytes(self.ax, kind)
