"""How the documentation is built: `make docs`, warnings are errors, nothing from the network."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import relprev

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
warnings.filterwarnings("ignore", message=".*is non-interactive.*")

project = "relprev"
author = copyright = "The relprev developers"
release = version = relprev.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "formulas",
    "mathml",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "conftest.py", "gallery/README.rst"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
default_role = "py:obj"  # `name` in a docstring is a link where the name is in the reference
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "min_reported_time": 1e9,  # no running times on the pages
    "write_computation_times": False,  # its page would load scripts from the network
    "remove_config_comments": True,
}

html_theme = "furo"
html_title = f"relprev {release}"
html_static_path = ["_static"]
html_css_files = ["relprev.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00558a", "color-brand-content": "#00558a"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f4", "color-brand-content": "#7cc4f4"},
}
