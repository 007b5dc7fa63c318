"""How the documentation site is built: `make site`."""

import sys
from pathlib import Path

from dse.version import VERSION

sys.path.insert(0, str(Path(__file__).parent))
project = "dse"
release = VERSION
author = "the dse developers"
copyright = "the dse developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
smartquotes = False  # would join the dashes of --options
html_theme = "furo"
html_theme_options = {"light_css_variables": {"code-font-size": "72%"}}  # 100 columns fit
html_title = f"dse {VERSION}"
exclude_patterns = ["examples/**", "gallery/**"]
html_show_sphinx = False
html_show_sourcelink = False
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("figures.drawn",),
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}
