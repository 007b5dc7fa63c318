"""Pictures of sweeps: lines over one axis, maps over two, panels over more; what has no design is hatched."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.pictures import GREY
from dse.system.records import dataclass
from results import axes, designs, flat
from results.along_fronts.variable_names import FRONT
from results.dataset import objectives
from results.layouts.fresh_layout import QUANTILES
from results.pictures.canvas import (
    COLOURS,
    LINES,
    MOST_TITLE,
    SMALL_POINTS,
    Sheet,
    colour_bar,
    colour_scale,
    marks_of,
    sheet,
    title_of,
)
from results.pictures.forbidden import Hatches, hatch_cells, hatch_stretches
from results.pictures.rows import label_of_place, tell_rows
from results.variables import CROSSINGS_AT, WHOLE

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.axes import Scale

LOW, HIGH = (name for name, level in QUANTILES.items() if level != 0.5)
MOST_NAME, MOST_PANEL_TITLE = 40, 44
"""Letters of a name in a legend, and of what stands above a panel."""
LEAST_TITLE = 40
"""Letters that a title keeps, however much is told behind it."""
MOST_CROSSINGS_NAMED = 3
FAN = "90 % of fresh samples"


def sweep(dataset: xr.Dataset, variable: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw a variable over the swept axes of a dataset.

    ``variable``: default the objective, or the first metric where nothing was optimised.
    One axis, or a second one of at most six values: lines. Two axes: a map. More axes: a panel for each
    combination of the shortest ones. Over one axis a variable of a
    further dimension (time_by_processor) has one line per label, at most six. Where the question is infeasible
    the picture is hatched and says which limits forbid it. ``ax``: axes of one's own to draw on, where there is one
    panel. Returns the figure. Raises ValueError for an unknown variable, or for
    more dimensions or panels than a picture holds (choose with ``dataset.isel``), naming them.
    """
    variable = _drawn_variable(dataset, variable)
    drawn = _prepared(dataset)
    dims = [str(d) for d in drawn["status"].dims]
    further = [str(d) for d in drawn[variable].dims if d not in dims]
    if len(dims) == len(further) == 1:
        drawn = _existing(drawn, variable, *further)
    else:
        _along_all(drawn, variable, dims)
    outer = sorted(dims, key=lambda d: (drawn.sizes[d], not axes.is_text(drawn[d])))[:-2]
    return _panels(drawn, variable, outer, ax, *further)


def map(
    dataset: xr.Dataset,
    x: str | None = None,
    y: str | None = None,
    variable: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a map of a variable over two swept axes, in panels for all combinations of the others.

    ``x``, ``y``: the axes across and up (default: the longest); ``variable``: as ``sweep`` has it. Hatched where there
    is no design, named by the limits that forbid it. ``ax``: axes of one's own, where there is one panel. Returns the
    figure. Raises ValueError for an unknown axis or variable, and for more panels than a picture holds (choose with
    ``dataset.isel``).
    """
    variable = _drawn_variable(dataset, variable)
    asked = [n for n in (x, y) if n is not None]
    drawn = _prepared(dataset, asked)
    dims = [str(d) for d in drawn["status"].dims]
    if len(dims) < 2:
        have = ", ".join(dims) or "none"
        raise ValueError(
            f"a map needs two swept axes, and this dataset has {have}: results.plot.sweep draws lines"
        )
    if len(set(asked)) < len(asked) or not set(asked) <= set(dims):
        raise ValueError(f"x and y are two of the swept axes, which are {', '.join(dims)}")
    _along_all(drawn, variable, dims)
    free = [
        d for d in sorted(dims, key=lambda d: (axes.is_text(drawn[d]), -drawn.sizes[d])) if d not in asked
    ]
    across = x or free.pop(0)
    up = y or free.pop(0)
    outer = [d for d in dims if d not in {across, up}]
    return _panels(drawn.transpose(*outer, up, across, ...), variable, outer, ax, mapped=True)


def _drawn_variable(dataset: xr.Dataset, name: str | None) -> str:
    """Return what is drawn; ValueError where the dataset has no such variable."""
    if FRONT in dataset.dims:
        raise ValueError(
            "this dataset is a front, and maps and lines show a sweep: results.plot.front draws it"
        )
    if name is None:
        if "objective" in dataset and objectives(dataset):
            return "objective"
        left_out = {*designs.LEFT_OUT, "objective", "status"}
        metrics = [str(n) for n in dataset.data_vars if n not in left_out]
        at_points = set(flat.with_status(dataset)["status"].dims)
        # at full depth a store begins with what an answer tells beside its metrics, along axes of its own
        alone = (n for n in metrics if set(dataset[n].dims) == at_points and dataset[n].dtype.kind == "f")
        name = next(alone, next(iter(metrics), "objective"))
    if name not in dataset.data_vars:
        known = ", ".join(str(n) for n in dataset.data_vars)
        raise ValueError(f"the dataset has no variable {name!r}; it has {known}")
    return name


def _prepared(dataset: xr.Dataset, kept: Sequence[str] = ()) -> xr.Dataset:
    """Return a dataset without axes of one value, but for those ``kept``, and with the others in rising order."""
    drawn = flat.with_status(dataset)
    single = [d for d in drawn["status"].dims if drawn.sizes[d] == 1 and d not in kept]
    drawn = drawn.squeeze(single[: drawn["status"].ndim - 1])
    dims = [str(d) for d in drawn["status"].dims]
    drawn = axes.in_order(drawn, dims)
    refusal = axes.undrawable({d: drawn.sizes[d] for d in dims})
    if refusal:
        raise ValueError(f"{refusal}; choose with isel")
    return drawn


def _along_all(dataset: xr.Dataset, variable: str, dims: Sequence[str]) -> None:
    """Refuse a variable that has not one number at each point."""
    if not dims or set(dataset[variable].dims) != set(dims):
        found = ", ".join(str(d) for d in dataset[variable].dims) or "none"
        raise ValueError(
            f"{variable} has the axes {found}; a picture has those of the sweep, choose with isel"
        )


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A picture of a sweep: its panels, the variable in all of them, and the hatches by what they mean.

    ``fan``: how the objective is spread over fresh samples, in all panels; empty where there is no such thing.
    """

    paper: Sheet
    whole: xr.DataArray
    fan: tuple[xr.DataArray, ...] = ()
    hatches: Hatches = field(default_factory=Hatches)


def _panels(
    dataset: xr.Dataset,
    variable: str,
    outer: Sequence[str],
    ax: Axes | None,
    *further: str,
    mapped: bool = False,
) -> Figure:
    """Draw a panel for each combination of the ``outer`` axes, all on the same scales."""
    places = list(itertools.product(*(range(dataset.sizes[d]) for d in outer)))
    paper = sheet(_title_with_constants(dataset), len(places), ax)
    has_fan = variable == "objective" and {LOW, HIGH} <= set(dataset.data_vars)
    fan = tuple(_answered_only(dataset, n) for n in (LOW, HIGH) if has_fan)
    drawing = _Sheet(paper, _answered_only(dataset, variable), fan)
    marks: dict[str, Any] = {}
    every = [dict(zip(outer, place, strict=True)) for place in places]
    texts = [", ".join(label_of_place(dataset[d], i) for d, i in at.items()) for at in every]
    titles = axes.apart(texts, MOST_PANEL_TITLE)
    for at, panel, text in zip(every, paper.panels, titles, strict=True):
        part = dataset.isel(at)
        draw = _map if mapped else _drawn
        marks |= draw(drawing, panel, part, variable, *further)
        if outer:
            panel.set_title(text, fontsize=SMALL_POINTS, parse_math=False)
            _outer_labels(panel, paper.panels)
    for panel in paper.panels:
        axes.turn_crowded(panel)
    paper.legend(marks)
    return paper.figure


def _title_with_constants(dataset: xr.Dataset) -> str:
    """Return the title, with the values of what has one value at all points: they stand on no axis."""
    title = title_of(dataset)
    constant = [n for n, c in dataset.coords.items() if not c.dims and flat.is_axis(c)]
    if not constant:
        return title
    told = f" ({', '.join(axes.value_label(dataset[n], 0) for n in constant)})"
    return axes.shorten(title, max(LEAST_TITLE, MOST_TITLE - len(told))) + told


def _outer_labels(panel: Axes, panels: Sequence[Axes]) -> None:
    """Label the axes on the outside only, that is also below a panel over an empty place of the last row."""
    across, spec = panel.get_xlabel(), panel.get_subplotspec()
    panel.label_outer()
    columns = spec.get_gridspec().ncols if spec is not None else 1
    if panels.index(panel) + columns >= len(panels):
        panel.tick_params(axis="x", labelbottom=True)
        panel.set_xlabel(across)


def _drawn(drawing: _Sheet, panel: Axes, part: xr.Dataset, variable: str, *further: str) -> dict[str, Any]:
    """Draw one panel, as lines or as a map; returns its marks by what they mean."""
    dims = [str(d) for d in part["status"].dims]
    if len(dims) == 1:
        return _draw_lines(drawing, panel, part, variable, *dims, *further)
    along, other = sorted(dims, key=lambda d: (axes.is_text(part[d]), -part.sizes[d]))
    if part.sizes[other] <= len(LINES):
        return _draw_lines(drawing, panel, part, variable, along, other)
    return _map(drawing, panel, part, variable)


def _existing(dataset: xr.Dataset, variable: str, further: str) -> xr.Dataset:
    """Keep the labels at which a variable has numbers; ValueError where these are more than there are lines."""
    along = [d for d in dataset[variable].dims if d != further]
    kept = np.flatnonzero(dataset[variable].notnull().any(along).values)
    if len(kept) > len(LINES):
        most = f"a picture has at most {len(LINES)} lines, choose with isel"
        raise ValueError(f"{variable} has {len(kept)} values along {further}; {most}")
    return dataset.isel({further: kept})


def _draw_lines(
    drawing: _Sheet, panel: Axes, dataset: xr.Dataset, variable: str, along: str, other: str | None = None
) -> dict[str, Any]:
    places, shown = axes.places(dataset[along]), _answered_only(dataset, variable)
    horizontal = axes.dress(panel, "x", places, dataset[along], along)
    tell_rows(panel, "x", dataset[along])
    name = axes.name_of(dataset, variable)
    # panels share their scale: what is drawn in any of them chooses it
    seen = np.concatenate([a.values.ravel() for a in (drawing.whole, *drawing.fan)])
    vertical = axes.dress(panel, "y", seen, dataset[variable], name)
    if not np.isfinite(seen).any():
        # no number is drawn that a tick could be read for
        panel.set_yticks([])
    places = places * horizontal.factor
    curves = [("", shown)]
    if other is not None:
        curves = [
            (_line_name(drawing, dataset[other], i), shown.isel({other: i}))
            for i in range(dataset.sizes[other])
        ]
    # nothing lies between two rows of a table, two names, or two values of what is whole
    apart = axes.counts_rows(dataset[along]) or axes.is_text(dataset[along]) or WHOLE in dataset[along].attrs
    for (text, curve), (colour, marker, dash) in zip(curves, LINES, strict=False):
        style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none" if apart else dash}
        style |= {"markersize": 5, "zorder": 3}
        panel.plot(places, curve.values * vertical.factor, label=text or "_nolegend_", **style)
        if drawing.fan:
            at = {} if other is None else {other: dataset[other].values.tolist().index(curve[other].item())}
            ends = [_answered_only(dataset, n).isel(at).values * vertical.factor for n in (LOW, HIGH)]
            if apart:
                panel.vlines(places, *ends, color=colour, alpha=0.3, linewidth=4, label=FAN, zorder=1)
            else:
                panel.fill_between(places, *ends, color=colour, alpha=0.15, linewidth=0, label=FAN, zorder=1)
    swept = other if other in dataset["status"].dims else None
    hatch_stretches(drawing.hatches, panel, dataset, swept, axes.edges(places, horizontal.log))
    panel.set_xlim(*_span(places, horizontal))
    axes.keep_inside(panel)
    _mark_crossings(panel, dataset, along, horizontal.factor)
    return marks_of(panel)


def _mark_crossings(panel: Axes, dataset: xr.Dataset, along: str, factor: float) -> None:
    """Draw a line at each place where the order of curves changes, or one of them ends."""
    found = np.atleast_1d(np.asarray(dataset.attrs.get(CROSSINGS_AT, ()), float))
    if not found.size or axes.is_text(dataset[along]):
        return
    whole = WHOLE in dataset[along].attrs
    told = [
        f"between {math.floor(at)} and {math.ceil(at)}" if whole else axes.amount(at, dataset[along], 6)
        for at in found.tolist()
    ]
    more = ", …" if len(told) > MOST_CROSSINGS_NAMED else ""
    text = f"the order changes{'' if whole else ' at'} {', '.join(told[:MOST_CROSSINGS_NAMED])}{more}"
    for at in found:
        panel.axvline(at * factor, color=GREY, linewidth=1.0, linestyle="--", label=text)


def _line_name(drawing: _Sheet, other: xr.DataArray, place: int) -> str:
    """Return what a legend calls a line; one that is nowhere is said to be so."""
    there = np.isfinite(drawing.whole.isel({str(other.name): place}).values).any()
    return label_of_place(other, place) + ("" if there else " (no design)")


def _span(places: Any, scale: Scale) -> tuple[float, float]:
    borders = axes.edges(places, scale.log)
    return float(borders.min()), float(borders.max())


def _answered_only(dataset: xr.Dataset, variable: str) -> xr.DataArray:
    """Return the variable where there is an answer, NaN elsewhere."""
    return dataset[variable].astype(float).where(dataset["status"].isin(axes.ANSWERED))


def _map(drawing: _Sheet, panel: Axes, dataset: xr.Dataset, variable: str) -> dict[str, Any]:
    down, along = (str(d) for d in dataset["status"].dims)
    borders = []
    for which, name in (("x", along), ("y", down)):
        places = axes.places(dataset[name])
        scale = axes.dress(panel, which, places, dataset[name], name)
        tell_rows(panel, which, dataset[name])
        borders.append(axes.edges(places * scale.factor, scale.log))
    whole, named = drawing.whole, {}
    numbers = _answered_only(dataset, variable).transpose(down, along).values
    if "flag_values" in whole.attrs:
        named = _named_cells(panel, borders, numbers, whole)
    elif np.isfinite(whole.values).any():
        factor, norm, unit = colour_scale(whole)
        mesh = panel.pcolormesh(*borders, numbers * factor, norm=norm, cmap=COLOURS, rasterized=True)
        if panel is drawing.paper.panels[0]:
            name = axes.title(axes.name_of(dataset, variable), unit)
            colour_bar(drawing.paper.figure, drawing.paper.panels, mesh, whole, name)
    panel.grid(visible=False)
    return named | hatch_cells(drawing.hatches, panel, (borders[0], borders[1]), dataset)


def _named_cells(panel: Axes, borders: Sequence[Any], numbers: Any, whole: xr.DataArray) -> dict[str, Any]:
    """Fill cells with a colour for each name that is somewhere; returns their marks by what they mean."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.patches import Patch

    seen = np.unique(whole.values[np.isfinite(whole.values)])
    if not seen.size:
        return {}
    colours = [line[0] for line in LINES]
    if len(seen) > len(colours):
        colours = list(colormaps[COLOURS](np.linspace(0.0, 1.0, len(seen))))
    places = np.where(np.isfinite(numbers), np.searchsorted(seen, numbers), np.nan)
    scale = Normalize(-0.5, len(seen) - 0.5)
    panel.pcolormesh(*borders, places, cmap=ListedColormap(colours[: len(seen)]), norm=scale, rasterized=True)
    names = axes.shown_codes(whole)
    shown = axes.apart((names[float(v)] for v in seen), MOST_NAME)
    return {name: Patch(color=c) for name, c in zip(shown, colours, strict=False)}
