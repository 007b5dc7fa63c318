"""Stacked pictures of what a total is made of: bars for a few designs, areas along an axis of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, YELLOW
from results import axes, flat
from results.along_fronts.variable_names import FRONT
from results.breakdowns import REST, Breakdown
from results.breakdowns import breakdown as taken_apart
from results.dataset import objectives
from results.pictures import forbidden
from results.pictures.canvas import MEDIUM, SMALL_POINTS, marks_of, sheet, title_of
from results.telling.facts import Facts

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SUMS = 16
MOST_SUMMANDS = 8
COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW, "#000000")
PATTERNS = ("", "//", "..", "\\\\", "", "xx", "", "++")
OTHERS = "#BBBBBB"
# a part narrower than this has no room for its percentage
NARROW_PART = 0.07
SUM_HEIGHT, AROUND_SUMS = 0.55, 2.0


def breakdown(
    source: xr.Dataset | Facts,
    metric: str | None = None,
    by: str | None = None,
    ax: Axes | None = None,
    *,
    share: bool = False,
) -> Figure:
    """Draw what a total is made of, stacked: time, energy, cost, power or cycles, by the parts that the model declares.

    ``source``: an answer, or a sweep or front of at most 16 designs (a bar each) or along one axis of numbers (areas);
    ``metric``: the total (default: the objective, if it has parts, else the first that has); ``by``: what tells the
    parts apart, where there are several ways; ``share``: in percent of each total; ``ax``: axes of one's own.
    Returns the figure. Raises ValueError where the model declares no such sum (it says which there are), and for more
    designs than a picture holds (choose with ``dataset.isel``).
    """
    if not isinstance(source, Facts):
        single = [d for d in flat.points(source) if source.sizes[d] == 1]
        source = flat.with_status(source.squeeze(single))
        rows = _places_with_bar(source)
    found = taken_apart(source, metric, by)
    factor, unit = axes.prefix_of(found.total, found.unit)
    parts = _largest_first(found)
    if share:
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = {n: 100 * v / found.total for n, v in parts.items()}
        name = f"share of {axes.words(found.metric)} (%)"
    else:
        parts = {n: factor * v for n, v in parts.items()}
        name = axes.title(found.metric, unit)
    name += ", at the nominal values" if found.nominal else ""
    if isinstance(source, Facts):
        whole = sum(float(v) for v in parts.values())
        told = {f"{n} ({_percent(float(v) / whole)})": np.atleast_1d(v) for n, v in parts.items()}
        return _draw_stacked_bars(source.title, told, [""], name, ax)
    if source["status"].ndim == 1 and source["status"].size > MOST_SUMS:
        return _areas(source, parts, found.metric, name, ax)
    gaps = {
        int(place): text
        for text, where in forbidden.regions(source)
        for place in np.flatnonzero(where.values.ravel())
    }
    return _draw_stacked_bars(
        title_of(source),
        {n: np.ravel(v)[rows] for n, v in parts.items()},
        _labels(source, rows),
        name,
        ax,
        {i: gaps[row] for i, row in enumerate(rows.tolist()) if row in gaps},
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1g} %"


def _places_with_bar(dataset: xr.Dataset) -> Any:
    """Return the places that have a bar: all of a sweep, of fronts those where there is a design.

    ValueError where these are too many, and no areas either.
    """
    status = dataset["status"]
    rows = np.arange(status.size)
    if FRONT in status.dims:
        rows = np.flatnonzero(status.isin(axes.ANSWERED).values)
    one_line = status.ndim == 1 and not axes.is_text(dataset[status.dims[0]])
    if not one_line and rows.size > MOST_SUMS:
        told = " × ".join(f"{n} {d}" for d, n in status.sizes.items())
        raise ValueError(
            f"the {rows.size} designs of {told} are more bars than a picture holds ({MOST_SUMS}): choose with isel"
        )
    return rows


def _largest_first(found: Breakdown) -> dict[str, Any]:
    """Return the parts by size, small ones beyond the colours there are taken together, the rest last."""
    size = {n: float(np.nansum(np.abs(v))) for n, v in found.parts.items() if n != REST}
    names = sorted(size, key=lambda n: -size[n])
    if len(names) > MOST_SUMMANDS:
        few, many = names[: MOST_SUMMANDS - 1], names[MOST_SUMMANDS - 1 :]
        together = np.sum([found.parts[n] for n in many], axis=0)
        parts = {n: found.parts[n] for n in few} | {f"{len(many)} smaller parts": together}
    else:
        parts = {n: found.parts[n] for n in names}
    return parts | ({REST: found.parts[REST]} if REST in found.parts else {})


def _looks(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return how each part is filled: its colour, and a pattern that is seen in grey too."""
    looks = dict(zip(names, zip(COLOURS, PATTERNS, strict=True), strict=False))
    looks |= {n: (OTHERS, "") for n in names if n.startswith(REST) or "smaller parts" in n}
    return {
        n: {"facecolor": colour, "hatch": pattern, "edgecolor": "white", "linewidth": 0.8, "label": n}
        for n, (colour, pattern) in looks.items()
    }


def _labels(dataset: xr.Dataset, rows: Any) -> list[str]:
    """Return what each design is called: its values on the axes, of a front those of the objectives."""
    dims = [str(d) for d in dataset["status"].dims]
    alone = len([d for d in dims if d != FRONT]) == 1 and FRONT not in dims
    goals = [n for n in objectives(dataset) if n in dataset]
    found = []
    for at in zip(*np.unravel_index(rows, dataset["status"].shape), strict=True):
        told = [_axis_label(dataset[d], i, alone) for d, i in zip(dims, at, strict=True) if d != FRONT]
        if FRONT in dims:
            point = dataset.isel(dict(zip(dims, at, strict=True)))
            told += [axes.amount(float(point[n]), dataset[n]) for n in goals]
        found.append(", ".join(told))
    return found


def _axis_label(axis: xr.DataArray, place: int, alone: bool) -> str:
    """Write a value of an axis; a number that has no unit by the name of the axis, unless that stands alone."""
    text = axes.value_label(axis, place)
    bare = not alone and not axes.is_text(axis) and not axes.unit_of(axis)
    return text if bare else text.split(": ", 1)[1]


def _draw_stacked_bars(
    about: str,
    parts: dict[str, Any],
    labels: list[str],
    name: str,
    ax: Axes | None,
    gaps: dict[int, str] | None = None,
) -> Figure:
    paper = sheet(about, ax=ax, size=(9.0, AROUND_SUMS + max(2, len(labels)) * SUM_HEIGHT))
    (panel,) = paper.panels
    places = np.arange(len(labels))
    left = np.zeros(len(labels))
    extent = float(np.nanmax(np.sum([np.nan_to_num(v) for v in parts.values()], axis=0)))
    whole = np.sum([np.nan_to_num(v) for v in parts.values()], axis=0)
    for part, look in _looks(list(parts)).items():
        width = np.nan_to_num(parts[part])
        there = width != 0
        panel.barh(places[there], width[there], left=left[there], height=0.7, zorder=3, **look)
        for i in np.flatnonzero(width > NARROW_PART * extent).tolist():
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
            text = _percent(width[i] / whole[i])
            panel.text(
                left[i] + width[i] / 2,
                i,
                text,
                ha="center",
                va="center",
                fontsize=SMALL_POINTS,
                bbox=box,
                zorder=4,
            )
        left = left + width
    for place, text in (gaps or {}).items():
        panel.text(
            0.01 * extent,
            place,
            text,
            va="center",
            fontsize=SMALL_POINTS,
            color=GREY,
            style="italic",
            parse_math=False,
        )

    panel.set_yticks(places if any(labels) else [], axes.apart(filter(None, labels), 48), parse_math=False)
    # the first on top
    panel.set_ylim(len(labels) - 0.4, -0.6)
    panel.grid(visible=False, axis="y")
    panel.set_xlim(left=0)
    panel.set_xlabel(name, fontsize=MEDIUM)
    paper.legend(marks_of(panel))
    return paper.figure


def _areas(dataset: xr.Dataset, parts: dict[str, Any], metric: str, name: str, ax: Axes | None) -> Figure:
    paper = sheet(title_of(dataset), ax=ax)
    (panel,) = paper.panels
    (along,) = (str(d) for d in dataset["status"].dims)
    axis, order = _across(dataset, along, metric)
    places = axes.places(axis)[order]
    scale = axes.dress(panel, "x", places, axis, str(axis.name))
    places = places * scale.factor
    base = np.zeros(len(order))
    for part, look in _looks(list(parts)).items():
        top = base + parts[part][order]
        panel.fill_between(places, base, top, zorder=2, **look)
        base = top
    if along != FRONT:
        swept = dataset.isel({along: order})
        forbidden.hatch_stretches(forbidden.Hatches(), panel, swept, None, axes.edges(places, scale.log))
    panel.set_xlim(places.min(), places.max())
    panel.set_ylim(bottom=0)
    panel.set_ylabel(name, fontsize=MEDIUM)
    paper.legend(marks_of(panel))
    return paper.figure


def _across(dataset: xr.Dataset, along: str, metric: str) -> tuple[xr.DataArray, Any]:
    """Return what runs along the bottom: the axis, of a front another objective; and the designs in its order."""
    goals = sorted((n for n in objectives(dataset) if n in dataset), key=lambda n: n == metric)
    axis = dataset[goals[0]] if along == FRONT and goals else dataset[along]
    values = axes.places(axis)
    there = np.flatnonzero(np.isfinite(values))
    return axis, there[np.argsort(values[there], kind="stable")]
