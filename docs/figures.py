"""How the gallery finds its pictures: sphinx-gallery looks among pyplot's, and those of results.plot are not there."""

from typing import Any

from sphinx_gallery.scrapers import figure_rst


def drawn(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Save what an example called ``figure``; return the reStructuredText that shows it."""
    figure = variables["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return str(figure_rst([path], gallery["src_dir"]))
