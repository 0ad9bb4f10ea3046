"""Settings of the documentation site: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Doorbuster"
copyright = "the authors of Doorbuster"
html_title = "Doorbuster"
language = "en-GB"

extensions = ["myst_parser", "diagrams", "outside_links", "parts", "generated", "terms"]
exclude_patterns: list[str] = []
root_doc = "index"

myst_heading_anchors = 5
myst_fence_as_directive = ["mermaid"]
suppress_warnings = [
    "myst.header",  # tables of results begin at the third level, in files and reports alike
    "misc.highlighting_failure",  # DuckDB's structures in braces are unknown to the lexer of SQL
]
highlight_language = "text"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_favicon = "../lab/console/site/static/console/icon.svg"
html_copy_source = False
html_show_sphinx = False
templates_path = ["_templates"]
html_theme_options = {"top_of_page_buttons": []}
