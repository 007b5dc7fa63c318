"""What pictures of fronts and sweeps are drawn on: sizes, colours, panels with a title, a scale of colours.

Drawn with Matplotlib's objects alone, so that no window and no global state is needed. Colours are those of
Okabe and Ito, which colour-blind readers can tell apart; nothing is told by colour alone.
"""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import axes
from results.store import StoreError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILLION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"
SIZE = (9.0, 5.6)
PANEL = (5.5, 4.2)
LARGE, MEDIUM, SMALL = 16, 14, 12


def save(figure: Figure, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> Path:
    """Write a picture; the ending of ``path`` says how (png, svg, pdf).

    ``about``: the attributes of the dataset it shows; its title, scenario and versions go into the file.
    Raises StoreError where it cannot be written.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, dpi=150, metadata=_metadata(target, about or {}))
    except (OSError, ValueError) as problem:
        raise StoreError(f"cannot write the picture {target}: {problem}") from problem
    return target


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


def panels_of(dataset: xr.Dataset, count: int = 1) -> tuple[Figure, list[Axes]]:
    """Make a picture of ``count`` panels that share their axes, with the title of the dataset."""
    from matplotlib.figure import Figure

    across = math.ceil(math.sqrt(count))
    down = math.ceil(count / across)
    size = SIZE if count == 1 else (max(SIZE[0], PANEL[0] * across), max(SIZE[1], PANEL[1] * down))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    title = textwrap.fill(axes.shorten(str(dataset.attrs.get("title", "")), 130), 68)
    # a title from a file is text, not mathematics
    if count == 1:
        grid[0, 0].set_title(title, fontsize=LARGE, loc="left", parse_math=False)
    else:
        figure.suptitle(title, fontsize=LARGE, parse_math=False)
    for panel in grid.flat:
        panel.tick_params(labelsize=SMALL)
        panel.grid(visible=True, which="major", alpha=0.3)
    for panel in grid.flat[count:]:
        panel.set_visible(False)
    return figure, list(grid.flat[:count])


def colour_scale(array: xr.DataArray) -> tuple[float, Any, str]:
    """Return by what numbers are multiplied, how they become colours, and the unit they then have."""
    from matplotlib.colors import LogNorm, Normalize

    log = axes.wide(array.values)
    factor, unit = (1.0, "") if log else axes.prefix(array.values, array)
    return factor, LogNorm() if log else Normalize(), unit


def colour_bar(figure: Figure, panels: Sequence[Axes], drawn: Any, array: xr.DataArray, label: str) -> None:
    """Add the scale of colours of what was ``drawn`` on the panels; ticks are those of a logarithm where it is one."""
    bar = figure.colorbar(drawn, ax=list(panels))
    bar.set_label(label, fontsize=MEDIUM)
    bar.ax.tick_params(labelsize=SMALL)
    if axes.wide(array.values):
        axes.log_ticks(bar.ax.yaxis, array.values, array)
