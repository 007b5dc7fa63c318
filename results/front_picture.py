"""Pictures of Pareto fronts: their designs, what lies between them, and the ends."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from results import axes, segments
from results.canvas import BLUE, GREEN, SMALL, VERMILLION, colour_bar, colour_scale, panels_of
from results.dataset import objectives

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.axes import Scale

PROVED, UNPROVED = "proved optimal", "feasible, not proved optimal"
SEGMENT, INSIDE = "exact segment of the front", "the front lies inside"


def front(dataset: xr.Dataset, x: str | None = None, y: str | None = None) -> Figure:
    """Draw a Pareto front along the dimension ``front``.

    ``x``, ``y``: the variables to draw (default: the first two objectives of the dataset). Points proved
    optimal are filled, those without a proof hollow. Between two neighbouring proved points the front can
    only run inside the rectangle they span, which is shaded; of an exact front the segments are drawn instead,
    and nothing where it has a gap. Raises ValueError where there are no two
    objectives or no points.
    """
    names = [x, y] if x and y else list(objectives(dataset))[:2]
    if len(names) < 2:
        raise ValueError("a front needs two objectives: name them as x and y")
    points = np.stack([np.asarray(dataset[n].values, float) for n in names])
    kept = np.flatnonzero(np.isfinite(points).all(axis=0))
    if not kept.size:
        raise ValueError("the front has no points to draw")
    order = kept[np.argsort(points[0, kept], kind="stable")]
    proved = dataset["status"].values[order] == axes.OPTIMAL
    figure, (panel,) = panels_of(dataset)
    scales = [
        axes.dress(panel, which, points[i, order], dataset[n], str(n))
        for i, (which, n) in enumerate(zip("xy", names, strict=True))
    ]
    across, up = (scale.factor * points[i, order] for i, scale in enumerate(scales))
    others = [n for n in objectives(dataset) if n not in names]
    if others:
        third = dataset[others[0]].isel({dataset[others[0]].dims[0]: order})
        _coloured(figure, panel, across, up, proved, third)
    else:
        _between(panel, dataset, names, order, scales)
        for mask, fill, text in ((proved, BLUE, PROVED), (~proved, "white", UNPROVED)):
            if mask.any():
                style: dict[str, Any] = {"color": BLUE, "markerfacecolor": fill, "markersize": 8, "zorder": 4}
                panel.plot(across[mask], up[mask], "o", label=text, **style)
    _ends(panel, dataset, [str(n) for n in names], across, up, order)
    if others:
        # points fill the panel, so that no corner of it is free
        figure.legend(fontsize=SMALL, loc="outside lower center", ncols=2)
    else:
        panel.legend(fontsize=SMALL)
    return figure


def _coloured(figure: Figure, panel: Axes, across: Any, up: Any, proved: Any, third: xr.DataArray) -> None:
    """Draw designs of which a third objective is told by colour; a design without proof is a triangle."""
    factor, norm, unit = colour_scale(third)
    values = np.asarray(third.values, float) * factor
    norm.autoscale_None(values[np.isfinite(values)])
    drawn = None
    for mask, marker, text in ((proved, "o", PROVED), (~proved, "^", UNPROVED)):
        if mask.any():
            style: dict[str, Any] = {
                "norm": norm,
                "cmap": "viridis",
                "edgecolors": "black",
                "linewidths": 0.6,
            }
            drawn = panel.scatter(
                across[mask], up[mask], 70, values[mask], marker=marker, label=text, zorder=4, **style
            )
    colour_bar(figure, [panel], drawn, third, axes.title(str(third.name), unit))


def _between(panel: Axes, dataset: xr.Dataset, names: list[str], order: Any, scales: list[Scale]) -> None:
    """Draw what lies between neighbours: exact segments, nothing, or the rectangle that holds it."""
    known = segments.codes(dataset)
    names = [str(n) for n in names]
    labels = {text: text for text in (SEGMENT, INSIDE)}
    for i, j in itertools.pairwise(order):
        code = known[min(i, j)] if abs(i - j) == 1 else segments.UNKNOWN
        drawn = segments.curve(dataset, names, min(i, j)) if code == segments.STRAIGHT else None
        if drawn is not None:
            across, up = (scale.factor * row for scale, row in zip(scales, drawn, strict=True))
            panel.plot(
                across, up, color=BLUE, linewidth=2.5, zorder=2, label=labels.pop(SEGMENT, "_nolegend_")
            )
        elif code != segments.APART:
            ends = [s.factor * dataset[n].values[[i, j]] for s, n in zip(scales, names, strict=True)]
            panel.plot(*ends, color=BLUE, linewidth=1.5, zorder=2)
            if (dataset["status"].values[[i, j]] == axes.OPTIMAL).all():
                _enclose(panel, ends[0], ends[1], labels.pop(INSIDE, "_nolegend_"))


def _enclose(panel: Axes, across: Any, up: Any, text: str) -> None:
    from matplotlib.patches import Rectangle

    corner = across[0], up.min()
    size = across[1] - across[0], abs(up[1] - up[0])
    panel.add_patch(Rectangle(corner, *size, facecolor=BLUE, alpha=0.18, linewidth=0, label=text))


def _ends(panel: Axes, dataset: xr.Dataset, names: list[str], across: Any, up: Any, order: Any) -> None:
    """Mark the best design for each objective alone, with its value."""
    goals = objectives(dataset)
    for values, name, colour, marker in ((across, names[0], VERMILLION, "s"), (up, names[1], GREEN, "D")):
        largest = goals.get(name, False)
        i = int(np.argmax(values) if largest else np.argmin(values))
        amount = axes.amount(float(dataset[name].values[order[i]]), dataset[name])
        text = f"{'greatest' if largest else 'least'} {axes.words(name)}: {amount}"
        style: dict[str, Any] = {"color": colour, "markersize": 13, "markeredgecolor": "black", "zorder": 3}
        panel.plot([across[i]], [up[i]], marker, label=text, linestyle="none", **style)
