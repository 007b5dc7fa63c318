"""A Matplotlib figure that shows itself in a notebook, without pyplot and its global state."""

from __future__ import annotations

import io
import warnings
from typing import Any

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure; notebooks ask it for its PNG."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Write the picture as Matplotlib does; what its font has no glyph for is a box, without a word for each."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        """Return the picture as a PNG file."""
        page = io.BytesIO()
        self.savefig(page, format="png", dpi=100)
        return page.getvalue()
