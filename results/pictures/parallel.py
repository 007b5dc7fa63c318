"""Parallel coordinates: every design a line through its axes, what was optimised and what was decided."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.records import dataclass
from results import axes, designs, flat
from results.along_fronts.variable_names import FRONT
from results.dataset import goals
from results.pictures.canvas import (
    MEDIUM,
    SMALL_POINTS,
    colour_bar,
    colour_scale,
    line_colours,
    sheet,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PARALLEL = 10
MOST_DESIGN_LINES = 2000
MOST_TEXTS, MOST_TICK = 8, 24
TICKS = 5
WRAP = 14
# inches: of a coordinate, of a letter beside it, of the scale of colours
LEAST_ROOM, LETTER, BAR_ROOM = 1.5, 0.13, 1.8


@dataclass(frozen=True, slots=True)
class _Column:
    """One coordinate: where every design lies on it, from 0 to 1, and what stands at which height."""

    name: str
    at: Any
    ticks: tuple[tuple[float, str], ...]


def parallel(
    dataset: xr.Dataset,
    variables: Sequence[str] | None = None,
    colour: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the designs of a front or a sweep as lines through parallel coordinates.

    ``variables``: the coordinates from left to right (default: the swept axes, the objectives, and what was decided,
    at most 10); ``colour``: the variable that colours the lines (default: the first objective); ``ax``: axes of one's
    own. A coordinate whose numbers are positive and span much is logarithmic. Points without an answer are left out.
    Returns the figure. Raises ValueError for unknown variables, where fewer than two vary over the points, and for
    more than 2000 designs (choose with ``dataset.isel``).
    """
    here = flat.with_status(dataset)["status"].isin(axes.ANSWERED).values
    if not here.any():
        raise ValueError("there are no designs to draw")
    if here.sum() > MOST_DESIGN_LINES:
        raise ValueError(
            f"{int(here.sum())} designs are too many lines, {MOST_DESIGN_LINES} are not: choose with isel"
        )
    names = list(variables) if variables is not None else _telling(dataset)
    columns = [_coordinate_of(dataset, name, here) for name in names]
    if len(columns) < 2:
        raise ValueError(
            f"parallel coordinates need two variables, and this has {', '.join(names) or 'none'}"
        )
    return _draw(dataset, columns, _shade(dataset, colour, names), here, ax)


def _telling(dataset: xr.Dataset) -> list[str]:
    """Return what tells the designs apart in short: of what is one number (or name) at each point."""
    dims = set(flat.points(dataset))
    kept = [n for n in designs.in_short(dataset) if n not in {FRONT, "status"}]
    return [n for n in kept if set(dataset[n].dims) <= dims and _varies(dataset[n])][:MOST_PARALLEL]


def _varies(array: xr.DataArray) -> bool:
    values = array.values.ravel()
    if axes.is_text(array):
        return len(set(values.tolist())) > 1
    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() < finite.max())


def _values_at_designs(dataset: xr.Dataset, name: str, here: Any) -> Any:
    """Return a variable at every design; ValueError where it is not one number or name at each point."""
    dims = flat.points(dataset)
    if name not in dataset:
        raise ValueError(f"there is no variable {name!r}; there are {', '.join(map(str, dataset.variables))}")
    array = dataset[name]
    if not set(array.dims) <= set(dims):
        more = ", ".join(str(d) for d in array.dims if d not in dims)
        raise ValueError(f"{name} has several numbers at each design, along {more}: choose with isel")
    sizes = {d: dataset.sizes[d] for d in dims}
    return (
        array.expand_dims({d: n for d, n in sizes.items() if d not in array.dims})
        .transpose(*dims)
        .values[here]
    )


def _coordinate_of(dataset: xr.Dataset, name: str, here: Any) -> _Column:
    values, array = _values_at_designs(dataset, name, here), dataset[name]
    label = axes.words(axes.name_of(dataset, name))
    if axes.is_text(array):
        texts = list(dict.fromkeys(map(str, array.values.ravel().tolist())))
        shown = [axes.shown_name(array, t) for t in texts]
        return _name_coordinate(label, np.array([texts.index(str(v)) for v in values], float), shown)
    if "flag_values" in array.attrs:
        known = axes.shown_codes(array)
        seen = [c for c in known if c in set(values.tolist())]
        return _name_coordinate(
            label, np.array([seen.index(v) for v in values], float), [known[c] for c in seen]
        )
    return _number_coordinate(label, np.asarray(values, float), array)


def _number_coordinate(label: str, numbers: Any, array: xr.DataArray) -> _Column:
    """Return a coordinate of numbers; a unit that all its ticks share stands in its name instead."""
    log = axes.by_ratio(numbers, array)
    scaled = np.log(numbers) if log else numbers
    low, high = float(np.nanmin(scaled)), float(np.nanmax(scaled))
    flat_one = low == high
    heights = np.array([0.5]) if flat_one else np.linspace(0.0, 1.0, TICKS)
    at = low + heights * (high - low)
    unit = axes.shared_unit(numbers, array)
    texts = [_tick_label(float(v), array) for v in (np.exp(at) if log else at)]
    if unit and all(t.endswith(f" {unit}") for t in texts):
        label, texts = axes.title(label, unit), [t.removesuffix(f" {unit}") for t in texts]
    where = np.full(scaled.shape, 0.5) if flat_one else (scaled - low) / (high - low)
    return _Column(label, where, tuple(zip(heights.tolist(), texts, strict=True)))


def _tick_label(number: float, array: xr.DataArray) -> str:
    """Write a number to three digits; plain ones of a few thousand as people do."""
    rounded = float(f"{number:.3g}")
    if not axes.unit_of(array) and 1e3 <= abs(rounded) < 1e6:
        return f"{rounded:.0f}"
    return axes.amount(number, array)


def _name_coordinate(label: str, places: Any, texts: list[str]) -> _Column:
    """Return a coordinate of names, evenly spaced; where there are many, some of them are written."""
    room = max(1, len(texts) - 1)
    step = -(-len(texts) // MOST_TEXTS)
    ticks = tuple((i / room, t) for i, t in enumerate(axes.apart(texts, MOST_TICK)) if i % step == 0)
    return _Column(label, places / room, ticks)


def _shade(dataset: xr.Dataset, colour: str | None, names: list[str]) -> str | None:
    """Return the variable that colours the lines: numbers only."""
    if colour is not None:
        if colour not in dataset:
            raise ValueError(f"there is no variable {colour!r} to colour the lines by")
        return colour
    shaded = [n for n in (*goals(dataset), *names) if n in dataset]
    return next((n for n in shaded if not axes.is_text(dataset[n])), None)


def _draw(
    dataset: xr.Dataset, columns: list[_Column], shade: str | None, here: Any, ax: Axes | None
) -> Figure:
    from matplotlib.collections import LineCollection

    # a coordinate has room for what is written at its right
    room = [max(LEAST_ROOM, LETTER * max(len(text) for _, text in c.ticks)) for c in columns]
    places = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    paper = sheet(title_of(dataset), ax=ax, size=(max(9.0, sum(room) + BAR_ROOM), 5.6))
    (panel,) = paper.panels
    heights = np.stack([c.at for c in columns], axis=1)
    lines = [np.column_stack([places, row]) for row in heights]
    drawn = LineCollection(lines, linewidths=1.6, alpha=0.85, cmap=line_colours(), zorder=2)
    if shade is not None:
        factor, norm, unit = colour_scale(dataset[shade])
        values = np.asarray(_values_at_designs(dataset, shade, here), float) * factor
        norm.autoscale(values[np.isfinite(values)])
        drawn.set_norm(norm)
        drawn.set_array(values)
    panel.add_collection(drawn)
    for place, column in zip(places, columns, strict=True):
        _draw_axis(panel, place, column)
    panel.set_xlim(-0.6, sum(room))
    panel.set_ylim(-0.04, 1.04)
    panel.set_xticks(
        places, [textwrap.fill(c.name, WRAP) for c in columns], fontsize=MEDIUM, parse_math=False
    )
    panel.tick_params(axis="x", length=0, pad=8)
    panel.set_yticks([])
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set_visible(False)
    if shade is not None:
        name = axes.title(axes.name_of(dataset, shade), unit)
        colour_bar(paper.figure, [panel], drawn, dataset[shade], name)
    return paper.figure


def _draw_axis(panel: Axes, place: float, column: _Column) -> None:
    panel.axvline(place, color="black", linewidth=1.0, zorder=3)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8}
    for height, text in column.ticks:
        panel.plot([place], [height], "_", color="black", markersize=8, zorder=4)
        panel.annotate(
            text,
            (place, height),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_POINTS,
            bbox=box,
            zorder=5,
            parse_math=False,
        )
