"""The page of formulas: docstrings of numeric modules as they stand.

Indented formulas become literal blocks, and :mod: in any docstring leads to the page.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx


def _literal(app, what, name, obj, options, lines: list[str]) -> None:
    """Put ``::`` before every indented block of a module's docstring."""
    if what != "module":
        return
    shown: list[str] = []
    for line in lines:
        starts = line.startswith("    ") and (not shown or not shown[-1].startswith("    "))
        if starts and not (shown and shown[-1].strip()):
            shown += ["::", ""]
        shown.append(line)
    lines[:] = shown


def _lead_to_page(app: Sphinx, doctree: nodes.document) -> None:
    """Turn references to modules into references to their labels, which must exist."""
    for node in doctree.findall(pending_xref):
        if node["reftype"] == "mod":
            label = f"formula-{node['reftarget']}"
            node.update_all_atts(
                {"refdomain": "std", "reftype": "ref", "reftarget": label, "refexplicit": True},
                replace=True,
            )


def setup(app: Sphinx) -> dict[str, bool]:
    """Hear of every docstring before it is parsed."""
    app.connect("autodoc-process-docstring", _literal)
    app.connect("doctree-read", _lead_to_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
