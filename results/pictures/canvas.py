"""What pictures are drawn on: sizes, colours, panels with a title, legends, a scale of colours.

Drawn with Matplotlib's objects alone, so that no window and no global state is needed. Colours are those of
Okabe and Ito, which colour-blind readers can tell apart; nothing is told by colour alone.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dse.system.pictures import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from dse.system.records import dataclass
from dse.system.streams import visible
from results import axes
from results.stores.files.storage import local, replacing
from results.stores.files.trouble import StoreError

if TYPE_CHECKING:
    import os

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    Given: TypeAlias = Axes | Iterable[Axes]

LINES = (
    (BLUE, "o", "-"),
    (VERMILLION, "s", "--"),
    (GREEN, "D", "-."),
    (ORANGE, "^", ":"),
    (PURPLE, "v", (0, (5, 1))),
    (SKY, "P", (0, (1, 1))),
)
COLOURS = "cividis"
"""The scale of colours of all areas; pages have the same, which Plotly calls Cividis."""
SHADES = ("#00204c", "#6b6d74", "#b07c00")
"""That of lines, which lie on white: the pale yellow end of the other is hardly seen there; page.js has the same."""
HATCHES = ("//", "\\\\", "xx", "..", "++", "oo")
SIZE = (9.0, 5.6)
PANEL = (5.5, 4.2)
NARROW = (5.0, 3.8)
LARGE_POINTS, MEDIUM, SMALL_POINTS = 16, 14, 12
TITLE_WIDTH, MOST_TITLE = 68, 130
# letters of small text, per inch of the picture, that one of two columns of a legend has room for
IN_A_COLUMN = 4.6
# the same of a legend of one column, where long names are many of them in capitals
IN_A_LINE = 7.0
LEAST_LINE, LONGEST_MARK, MOST_LEGEND_LINES = 20, 110, 6


@dataclass(frozen=True, slots=True)
class Sheet:
    """The panels of a picture; ``given``: they are the caller's, who also has the rest of the figure."""

    figure: Figure
    panels: list[Axes]
    given: bool = False

    def legend(self, marks: Mapping[str, Any], *, inside: bool = False) -> None:
        """Say what the marks mean: below the panels, or ``inside`` of the (caller's) panel."""
        if not marks:
            return
        wide = self.figure.get_figwidth()
        if inside or self.given:
            names = _folded(list(marks), wide * self.panels[0].get_position().width)
            found = self.panels[0].legend(list(marks.values()), names, fontsize=SMALL_POINTS)
        else:
            columns = 1 if max(map(len, marks)) > IN_A_COLUMN * wide else 2
            names = _folded(list(marks), wide)
            found = self.figure.legend(
                list(marks.values()), names, fontsize=SMALL_POINTS, loc="outside lower center", ncols=columns
            )
        for text in found.get_texts():
            # names from a file are text, not mathematics
            text.set_parse_math(False)


def _folded(names: Sequence[str], inches: float) -> list[str]:
    """Fold the names of a legend of so many inches into at most two lines each, one where they are many."""
    line = max(LEAST_LINE, int(IN_A_LINE * inches))
    # a line that ends between two words is not full
    for most in (min(LONGEST_MARK, int(1.6 * line)), line):
        found = [textwrap.fill(name, line, break_on_hyphens=False) for name in axes.apart(names, most)]
        if sum(1 + name.count("\n") for name in found) <= MOST_LEGEND_LINES:
            break
    return found


def sheet(
    about: str,
    count: int = 1,
    ax: Given | None = None,
    shape: tuple[int, int] | None = None,
    size: tuple[float, float] | None = None,
    *,
    sharex: bool = True,
    sharey: bool = True,
    narrow: bool = False,
) -> Sheet:
    """Make a picture of ``count`` panels under a title, or take the panels that there are.

    ``about``: the title (of a picture of ours only); ``ax``: the caller's axes, as many as panels; ``shape``: rows and
    columns of panels (default: about a square, on common axes); ``narrow``: for a telephone, panels below each other
    and no title, which the page has. Raises ValueError where ``ax`` are too few or too many.
    """
    if ax is not None:
        return _sheet_on_given_axes(ax, count)
    from results.pictures.figure import Picture

    if narrow:
        about, shape, size = "", (count, 1), (NARROW[0], NARROW[1] * count)
    across = math.ceil(math.sqrt(count))
    down, across = shape or (math.ceil(count / across), across)
    whole = max(SIZE[0], PANEL[0] * across), max(SIZE[1], PANEL[1] * down)
    figure = Picture(figsize=size or (SIZE if count == 1 else whole), layout="constrained")
    grid = figure.subplots(down, across, sharex=sharex, sharey=sharey, squeeze=False)
    title = textwrap.fill(axes.shorten(visible(about), MOST_TITLE), TITLE_WIDTH)
    # a title from a file is text, not mathematics
    if count == 1:
        grid[0, 0].set_title(title, fontsize=LARGE_POINTS, loc="left", parse_math=False, wrap=True)
    else:
        figure.suptitle(title, fontsize=LARGE_POINTS, parse_math=False)
    for panel in grid.flat:
        _style_panel(panel)
    for panel in grid.flat[count:]:
        panel.set_visible(False)
    return Sheet(figure, list(grid.flat[:count]))


def _sheet_on_given_axes(ax: Given, count: int) -> Sheet:
    panels: list[Any] = list(ax) if isinstance(ax, Iterable) else [ax]
    if len(panels) != count:
        raise ValueError(f"this picture has {count} panel{'s' * (count > 1)}, and ax is {len(panels)}")
    for panel in panels:
        _style_panel(panel)
    return Sheet(panels[0].figure, panels, given=True)


def _style_panel(panel: Axes) -> None:
    panel.tick_params(labelsize=SMALL_POINTS)
    panel.grid(visible=True, which="major", alpha=0.3)


def label_bars(panel: Axes, names: Sequence[str], most: int) -> None:
    """Name horizontal bars, the first on top, each with at most so many letters; names are no mathematics."""
    panel.set_yticks(range(len(names)), axes.apart(names, most), parse_math=False)
    panel.set_ylim(max(2, len(names)) - 0.4, -0.6)
    panel.grid(visible=False, axis="y")


def title_of(dataset: xr.Dataset) -> str:
    """Return the title of a dataset."""
    return str(dataset.attrs.get("title", ""))


def marks_of(panel: Axes) -> dict[str, Any]:
    """Return what is labelled in a panel: a handle by what it means."""
    handles, labels = panel.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def save(figure: Figure, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> Path:
    """Write a picture; the ending of ``path`` says how (png, svg, pdf).

    ``about``: the attributes of the dataset it shows; its title, scenario and versions go into the file.
    Raises StoreError where it cannot be written.
    """
    target = local(path)
    try:
        with replacing(target, "write the picture") as writing:
            kind, told = target.suffix.removeprefix("."), _metadata(target, about or {})
            figure.savefig(writing, dpi=150, format=kind or None, metadata=told)
    except ValueError as problem:
        raise StoreError(f"cannot write the picture {target}: {problem}") from problem
    return target


def svg(figure: Figure) -> str:
    """Return a picture as SVG, for a page; the same numbers give the same text."""
    import matplotlib as mpl

    made = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "dse"}):
        figure.savefig(made, format="svg", metadata={"Date": None})
    return made.getvalue()


def _metadata(target: Path, about: Mapping[str, Any]) -> dict[str, str] | None:
    """Return what a picture's file says of it, under the names that its format has for that."""
    if not about:
        return None
    kept = {
        k: str(v) for k, v in about.items() if k in {"scenario", "versions", "method", "scenario_hash"} and v
    }
    told = "\n".join(f"{k}: {v}" for k, v in kept.items())
    names = {".pdf": ("Title", "Subject"), ".svg": ("Title", "Description"), ".png": ("Title", "Description")}
    found = names.get(target.suffix.lower())
    return None if found is None else {found[0]: str(about.get("title", "")), found[1]: told}


def colour_scale(array: xr.DataArray) -> tuple[float, Any, str]:
    """Return by what numbers are multiplied, how they become colours, and the unit for their title."""
    from matplotlib.colors import LogNorm, Normalize

    log = axes.wide(array.values)
    factor, unit = (1.0, axes.shared_unit(array.values, array)) if log else axes.prefix(array.values, array)
    norm = LogNorm() if log else Normalize()
    norm.autoscale_None(array.values[np.isfinite(array.values)] * factor)
    return factor, norm, unit


def line_colours() -> Colormap:
    """Return the scale of colours of lines."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("lines", SHADES)


def colour_bar(figure: Figure, panels: Sequence[Axes], drawn: Any, array: xr.DataArray, label: str) -> None:
    """Add the scale of colours of what was ``drawn`` on the panels; ticks are those of a logarithm where it is one."""
    bar = figure.colorbar(drawn, ax=list(panels))
    bar.set_label(label, fontsize=MEDIUM)
    bar.ax.tick_params(labelsize=SMALL_POINTS)
    if axes.wide(array.values):
        axes.log_ticks(bar.ax.yaxis, array.values, array)
