"""A Matplotlib figure that shows itself in a notebook, without pyplot and its global state."""

from __future__ import annotations

import io
import textwrap
import warnings
from typing import Any

from matplotlib.figure import Figure

# a label below this share of what a panel has of the picture is not looked at: it fits
SHORT_LABEL = 0.6


def _folded(line: str, most: int) -> str:
    """Return a line as lines of so many letters, what stands in brackets at its end in one of its own if it fits."""
    start, blank, rest = line.rpartition(" (")
    if blank and max(len(start), len(rest) + 1) <= most:
        return f"{start}\n({rest}"
    return textwrap.fill(line, most)


class Picture(Figure):
    """A figure; notebooks ask it for its PNG."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Write the picture as Matplotlib does; what its font has no glyph for is a box, without a word for each."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
            self._fold_labels()
            super().savefig(*args, **kwargs)

    def _fold_labels(self) -> None:
        """Write the labels of axes across in several lines where they would run over an edge of the picture."""
        wide = self.bbox.width
        labels = [
            (panel, panel.xaxis.label)
            for panel in self.axes
            if (spec := panel.get_subplotspec()) is not None
            and panel.xaxis.label.get_text()
            and panel.xaxis.label.get_window_extent().width > SHORT_LABEL * wide / spec.get_gridspec().ncols
        ]
        if not labels:
            return
        # only a laid out picture knows where its panels stand
        self.draw_without_rendering()
        for panel, label in labels:
            middle = (panel.bbox.x0 + panel.bbox.x1) / 2
            room, needed = 2 * min(middle, wide - middle), label.get_window_extent().width
            if needed > room > 0:
                lines = label.get_text().split("\n")
                most = max(int(max(map(len, lines)) * room / needed), 1)
                label.set_text("\n".join(_folded(line, most) for line in lines))

    def _repr_png_(self) -> bytes:
        """Return the picture as a PNG file."""
        page = io.BytesIO()
        self.savefig(page, format="png", dpi=100)
        return page.getvalue()
