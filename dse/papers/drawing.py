"""How pictures of a reproduction look: large type, and colours that colour-blind readers can tell apart."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

SIZE, DPI = (11.0, 6.2), 150


def canvas(title: str, x: str, y: str, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Make a figure of slide size with labelled axes; the y label stands on the first panel only."""
    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, panels, k + 1) for k in range(panels)]
    figure.suptitle(title, fontsize=17)
    for axis in axes:
        axis.set_xlabel(x, fontsize=15)
        axis.tick_params(labelsize=13)
        axis.grid(visible=True, which="major", alpha=0.25)
    axes[0].set_ylabel(y, fontsize=15)
    return figure, axes


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG and give the path back."""
    # savefig lays the picture out by drawing it once more before
    FigureCanvasAgg(figure).print_png(path)
    return path
