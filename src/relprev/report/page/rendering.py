"""Render the report as one self-contained HTML page.

The templates escape data. The content-security policy allows the page's own style and script, by
their hashes, and nothing else: the page can make no request.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from relprev.report.findings import StudyReport
from relprev.report.page.front import front_of
from relprev.report.page.layout import Layout, lay_out
from relprev.report.sentences.answers import question
from relprev.report.sentences.words import ASSUMPTIONS, GLOSSARY
from relprev.report.tables.table import ReportTable

FOLDER = "relprev.report.page"


def rendered(template: str, report: Any, package: str = FOLDER, **values: Any) -> str:
    """A page of a report with title and manifest, from a template of a package.

    The page has the report's style and script and, of another package, its own after them.
    """
    own = [] if package == FOLDER else [(template.removesuffix(".html"), package)]
    css, js = (
        "".join(_text(f"{name}.{kind}", where) for name, where in [("report", FOLDER), *own])
        for kind in ("css", "js")
    )
    return _templates(package).get_template(template).render(
        report=report, css=css, js=js, policy=content_policy(css, js),
        manifest=manifest_text(report.manifest), **values,
    )  # fmt: skip


@cache
def _templates(package: str) -> Environment:
    """The templates of a package, and those of the report, which they may extend."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(FOLDER)]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _text(name: str, package: str) -> str:
    """Content of a file beside the templates, such as ``"report.css"``."""
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def render_page(report: StudyReport) -> str:
    """The report as one HTML page.

    Parameters
    ----------
    report : StudyReport
        From `disclosed`: everything in it is shown.

    Returns
    -------
    str
        HTML that needs no other file.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from relprev.study.demo import demo_study
    >>> from relprev.study import CheckOptions, EstimateOptions
    >>> small = replace(demo_study(5_000), estimate=EstimateOptions(methods=("purple",)),
    ...                 checks=CheckOptions(run=()))
    >>> render_page(small.run(verbose=False).report)[:15]
    '<!doctype html>'
    """
    return render_layout(lay_out(report))


def render_frame(report: StudyReport) -> str:
    """The page in a frame, for use within another page such as a notebook."""
    page = Markup.escape(render_page(report))
    return (
        f'<iframe title="{Markup.escape(report.title)}" srcdoc="{page}" width="100%" height="720" '
        'sandbox="allow-scripts allow-downloads" loading="lazy"></iframe>'
    )


def render_layout(layout: Layout) -> str:
    """The page of a report whose tables and figures are made already."""
    return rendered(
        "report.html",
        layout.report,
        layout=layout,
        front=front_of(layout),
        question=question(layout.report),
        assumptions=ASSUMPTIONS,
        glossary=GLOSSARY,
        has_sensitivity=any(part.sensitivity for part in layout.variables),
        has_analyses=any(part.analyses for part in layout.variables),
    )


def render_table(table: ReportTable) -> str:
    """One table as HTML, to look at or to use in another page."""
    parts = _templates(FOLDER).get_template("parts.html").module
    head = (
        f'<!doctype html>\n<meta charset="utf-8">\n<title>{Markup.escape(table.caption)}</title>\n'
    )
    return head + str(parts.table(table)).strip() + "\n"  # type: ignore[attr-defined]


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A manifest as JSON."""
    return json.dumps(manifest, indent=2, ensure_ascii=False, default=str) + "\n"


def content_policy(css: str, js: str) -> str:
    """A content-security policy that allows a page this style and this script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(js)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
