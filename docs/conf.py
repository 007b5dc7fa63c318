"""How the documentation site is built: `make site`."""

from dse.version import VERSION

project = "dse"
release = VERSION
author = "the dse developers"
copyright = "the dse developers"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"dse {VERSION}"
exclude_patterns = ["examples/**"]
html_show_sphinx = False
