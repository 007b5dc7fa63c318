"""Pictures of fronts and sweeps.

Drawn with Matplotlib's objects alone, so that no window and no global state is needed. Colours are those of
Okabe and Ito, which colour-blind readers can tell apart; nothing is told by colour alone.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from results import axes, segments
from results.dataset import CONFLICTING, LIMIT, objectives
from results.store import StoreError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.axes import Scale

BLUE, VERMILLION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"
LINES = (
    (BLUE, "o", "-"),
    (VERMILLION, "s", "--"),
    (GREEN, "D", "-."),
    ("#E69F00", "^", ":"),
    ("#CC79A7", "v", (0, (5, 1))),
    ("#56B4E9", "P", (0, (1, 1))),
)
HATCHES = ("//", "\\\\", "xx", "..", "++", "oo")
SIZE = (9.0, 5.6)
PANEL = (5.5, 4.2)
PROVED, UNPROVED = "proved optimal", "feasible, not proved optimal"
SEGMENT, INSIDE = "exact segment of the front", "the front lies inside"
LARGE, MEDIUM, SMALL = 16, 14, 12


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a picture; the ending of ``path`` says how (png, svg, pdf).

    Raises StoreError where it cannot be written.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, dpi=150)
    except (OSError, ValueError) as problem:
        raise StoreError(f"cannot write the picture {target}: {problem}") from problem
    return target


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
    figure, (panel,) = _figure(dataset)
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
    factor, norm, unit = _colour_scale(third)
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
    _colour_bar(figure, [panel], drawn, third, axes.title(str(third.name), unit))


def _figure(dataset: xr.Dataset, count: int = 1) -> tuple[Figure, list[Axes]]:
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


def sweep(dataset: xr.Dataset, variable: str = "objective") -> Figure:
    """Draw a variable over the swept axes of a dataset.

    One axis, or a second one of at most six values: lines. Two axes: a map. More axes: a panel for each
    combination of the shortest ones. Over one axis a variable of a
    further dimension (time_by_processor) has one line per label, at most six. Where the question is infeasible
    the picture is hatched and says which limits forbid it. Raises ValueError for an unknown variable, or for
    more dimensions or panels than a picture holds (choose with ``dataset.isel``), naming them.
    """
    if variable not in dataset.data_vars:
        known = ", ".join(map(str, dataset.data_vars))
        raise ValueError(f"the dataset has no variable {variable!r}; it has {known}")
    single = [d for d in dataset["status"].dims if dataset.sizes[d] == 1]
    drawn = dataset.squeeze(single[: dataset["status"].ndim - 1])
    dims = [str(d) for d in drawn["status"].dims]
    further = [str(d) for d in drawn[variable].dims if d not in dims]
    refusal = axes.undrawable({d: drawn.sizes[d] for d in dims})
    if refusal:
        raise ValueError(f"{refusal}; choose with isel")
    if len(dims) == len(further) == 1:
        drawn = _existing(drawn, variable, *further)
    elif not dims or list(drawn[variable].dims) != dims:
        found = ", ".join(map(str, drawn[variable].dims)) or "none"
        raise ValueError(
            f"{variable} has the axes {found}; a picture has those of the sweep, choose with isel"
        )
    outer = sorted(dims, key=lambda d: (drawn.sizes[d], not axes.is_text(drawn[d])))[:-2]
    return _panels(drawn, variable, outer, *further)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A picture of a sweep: its panels, the variable in all of them, and the hatches by what they mean."""

    figure: Figure
    panels: list[Axes]
    whole: xr.DataArray
    hatches: dict[str, str] = field(default_factory=dict)

    def hatch(self, text: str) -> str:
        """Return the hatch of a region without answers, the same in every panel."""
        return self.hatches.setdefault(text, HATCHES[len(self.hatches) % len(HATCHES)])


def _panels(dataset: xr.Dataset, variable: str, outer: Sequence[str], *further: str) -> Figure:
    """Draw a panel for each combination of the ``outer`` axes, all on the same scales."""
    places = list(itertools.product(*(range(dataset.sizes[d]) for d in outer)))
    figure, panels = _figure(dataset, len(places))
    sheet = _Sheet(figure, panels, _shown(dataset, variable))
    marks: dict[str, Any] = {}
    for place, panel in zip(places, panels, strict=True):
        at = dict(zip(outer, place, strict=True))
        marks |= _drawn(sheet, panel, dataset.isel(at), variable, *further)
        if outer:
            text = ", ".join(axes.value_label(dataset[d], i) for d, i in at.items())
            panel.set_title(axes.shorten(text, 60), fontsize=SMALL, parse_math=False)
            panel.label_outer()
    if marks:
        figure.legend(list(marks.values()), list(marks), fontsize=SMALL, loc="outside lower center", ncols=2)
    return figure


def _drawn(sheet: _Sheet, panel: Axes, part: xr.Dataset, variable: str, *further: str) -> dict[str, Any]:
    """Draw one panel, as lines or as a map; returns its marks by what they mean."""
    dims = [str(d) for d in part["status"].dims]
    if len(dims) == 1:
        return _lines(sheet, panel, part, variable, *dims, *further)
    along, other = sorted(dims, key=lambda d: (axes.is_text(part[d]), -part.sizes[d]))
    if part.sizes[other] <= len(LINES):
        return _lines(sheet, panel, part, variable, along, other)
    return _map(sheet, panel, part, variable)


def _existing(dataset: xr.Dataset, variable: str, further: str) -> xr.Dataset:
    """Keep the labels at which a variable has numbers; ValueError where these are more than there are lines."""
    along = [d for d in dataset[variable].dims if d != further]
    kept = np.flatnonzero(dataset[variable].notnull().any(along).values)
    if len(kept) > len(LINES):
        most = f"a picture has at most {len(LINES)} lines, choose with isel"
        raise ValueError(f"{variable} has {len(kept)} values along {further}; {most}")
    return dataset.isel({further: kept})


def _lines(
    sheet: _Sheet, panel: Axes, dataset: xr.Dataset, variable: str, along: str, other: str | None = None
) -> dict[str, Any]:
    places, shown = axes.places(dataset[along]), _shown(dataset, variable)
    horizontal = axes.dress(panel, "x", places, dataset[along], along)
    vertical = axes.dress(panel, "y", sheet.whole.values, dataset[variable], axes.name_of(dataset, variable))
    places = places * horizontal.factor
    curves = [("", shown)]
    if other is not None:
        curves = [
            (axes.value_label(dataset[other], i), shown.isel({other: i})) for i in range(dataset.sizes[other])
        ]
    for (text, curve), (colour, marker, dash) in zip(curves, LINES, strict=False):
        style: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "linestyle": dash,
            "markersize": 5,
            "zorder": 3,
        }
        panel.plot(places, curve.values * vertical.factor, label=text or "_nolegend_", **style)
    swept = other if other in dataset["status"].dims else None
    _hatch_stretches(sheet, panel, dataset, swept, axes.edges(places, horizontal.log))
    panel.set_xlim(*_span(places, horizontal))
    handles, labels = panel.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def _span(places: Any, scale: Scale) -> tuple[float, float]:
    borders = axes.edges(places, scale.log)
    return float(borders.min()), float(borders.max())


def _shown(dataset: xr.Dataset, variable: str) -> xr.DataArray:
    """Return the variable where there is an answer, NaN elsewhere."""
    return dataset[variable].astype(float).where(dataset["status"].isin(axes.ANSWERED))


def _hatch_stretches(
    sheet: _Sheet, panel: Axes, dataset: xr.Dataset, other: str | None, borders: Any
) -> None:
    """Hatch where none of the lines has a design, each stretch by the limits that forbid it."""
    for text, mask in _forbidden(dataset, other):
        hatch, label = sheet.hatch(text), text
        for start, stop in _runs(mask.values):
            style: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "hatch": hatch, "linewidth": 0.5}
            panel.axvspan(borders[start], borders[stop], label=label, **style)
            label = "_nolegend_"


def _runs(inside: Any) -> list[tuple[int, int]]:
    """Find the stretches of True, as (first, one past the last)."""
    steps = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


def _forbidden(dataset: xr.Dataset, other: str | None = None) -> list[tuple[str, xr.DataArray]]:
    """Find the regions without an answer: what to call each, and where it is.

    Infeasible regions are told apart by the limits in conflict. With ``other``: where it holds all along it.
    """
    status = dataset["status"]
    found = []
    for code, text in axes.UNANSWERED.items():
        here = status == code
        if code == axes.INFEASIBLE and "binding" in dataset:
            found += _by_conflict(dataset, here if other is None else here.all(other), other)
        else:
            found.append((text, here if other is None else here.all(other)))
    return [(text, where) for text, where in found if bool(where.any())]


def _by_conflict(
    dataset: xr.Dataset, here: xr.DataArray, other: str | None
) -> list[tuple[str, xr.DataArray]]:
    clash = dataset["binding"] == CONFLICTING
    clash = (clash if other is None else clash.any(other)).transpose(*here.dims, LIMIT)
    kinds = np.unique(clash.values[here.values], axis=0)[::-1]
    found = []
    for kind in kinds:
        names = " and ".join(axes.words(str(n)) for n in dataset[LIMIT].values[kind])
        where = here.copy(data=here.values & (clash.values == kind).all(axis=-1))
        found.append((f"infeasible: {names}" if names else axes.UNANSWERED[axes.INFEASIBLE], where))
    return found


def _map(sheet: _Sheet, panel: Axes, dataset: xr.Dataset, variable: str) -> dict[str, Any]:
    down, along = map(str, dataset["status"].dims)
    borders = []
    for which, name in (("x", along), ("y", down)):
        places = axes.places(dataset[name])
        scale = axes.dress(panel, which, places, dataset[name], name)
        borders.append(axes.edges(places * scale.factor, scale.log))
    if np.isfinite(sheet.whole.values).any():
        factor, norm, unit = _colour_scale(sheet.whole)
        norm.autoscale(sheet.whole.values[np.isfinite(sheet.whole.values)] * factor)
        numbers = _shown(dataset, variable).values * factor
        mesh = panel.pcolormesh(*borders, numbers, norm=norm, cmap="viridis", rasterized=True)
        if panel is sheet.panels[0]:
            name = axes.title(axes.name_of(dataset, variable), unit)
            _colour_bar(sheet.figure, sheet.panels, mesh, sheet.whole, name)
    panel.grid(visible=False)
    return _hatch_cells(sheet, panel, borders, _forbidden(dataset))


def _colour_scale(array: xr.DataArray) -> tuple[float, Any, str]:
    """Return by what numbers are multiplied, how they become colours, and the unit they then have."""
    from matplotlib.colors import LogNorm, Normalize

    log = axes.wide(array.values)
    factor, unit = (1.0, "") if log else axes.prefix(array.values, array)
    return factor, LogNorm() if log else Normalize(), unit


def _colour_bar(figure: Figure, panels: Sequence[Axes], drawn: Any, array: xr.DataArray, label: str) -> None:
    bar = figure.colorbar(drawn, ax=list(panels))
    bar.set_label(label, fontsize=MEDIUM)
    bar.ax.tick_params(labelsize=SMALL)
    if axes.wide(array.values):
        axes.log_ticks(bar.ax.yaxis, array.values, array)


def _hatch_cells(
    sheet: _Sheet, panel: Axes, borders: list[Any], regions: list[tuple[str, xr.DataArray]]
) -> dict[str, Any]:
    from matplotlib.patches import Patch, Rectangle

    marks: dict[str, Any] = {}
    for text, mask in regions:
        hatch = sheet.hatch(text)
        style: dict[str, Any] = {"facecolor": "#EEEEEE", "edgecolor": GREY, "hatch": hatch, "linewidth": 0.0}
        for row, cells in enumerate(mask.values):
            low, high = borders[1][row], borders[1][row + 1]
            for start, stop in _runs(cells):
                left, right = borders[0][start], borders[0][stop]
                panel.add_patch(Rectangle((left, low), right - left, high - low, **style))
        marks[text] = Patch(**style, label=text)
    panel.set_xlim(borders[0].min(), borders[0].max())
    panel.set_ylim(borders[1].min(), borders[1].max())
    return marks
