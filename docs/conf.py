"""How Sphinx makes the site (`make docs`): pages are Markdown, the Python reference comes from the docstrings."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

project = "Sordino"
author = "The Sordino developers"
copyright = author
(version,) = re.findall(r'^version = "([0-9.]+)"', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
release = version

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "tables", "reports"]
nitpicky = False
exclude_patterns = ["_*"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the types stand in the docstrings, in words
napoleon_google_docstring = False
napoleon_use_rtype = False

highlight_language = "none"  # a block without a language is output, or a listing of the theory

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"Sordino {release}"
html_copy_source = False
html_show_sphinx = False
