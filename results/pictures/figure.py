"""A Matplotlib figure that shows itself in a notebook, without pyplot and its global state."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure; notebooks ask it for its PNG."""

    def _repr_png_(self) -> bytes:
        """Return the picture as a PNG file."""
        page = io.BytesIO()
        self.savefig(page, format="png", dpi=100)
        return page.getvalue()
