"""Several fronts in one picture: one for each place on the swept axes."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.records import dataclass
from results import axes
from results.along_fronts.variable_names import CONFLICT, FRONT, PLACE_STATUS
from results.dataset import objectives
from results.pictures.between import EXACT, INSIDE, SEGMENT, draw_between
from results.pictures.canvas import (
    LINES,
    Sheet,
    colour_bar,
    colour_scale,
    line_colours,
    marks_of,
    sheet,
    title_of,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.axes import Scale

BY_ANOTHER, UNPROVED = "dominated by another front", "not proved optimal"
MOST_COLOURED = 40
PALE = "#9A9A9A"


@dataclass(frozen=True, slots=True)
class _Curve:
    """One front and how it is drawn; ``text``: where it lies on the axes, empty where a scale of colours says it."""

    part: xr.Dataset
    text: str
    colour: str
    marker: str


def draw(dataset: xr.Dataset, names: list[str], ax: Axes | None) -> Figure:
    """Draw the fronts of a dataset whose points have further dimensions than ``front``."""
    from matplotlib.lines import Line2D

    outer = [str(d) for d in dataset["status"].dims if d != FRONT]
    sizes = {d: dataset.sizes[d] for d in outer}
    refusal = undrawable(sizes, [d for d in outer if not axes.is_text(dataset[d])])
    if refusal:
        raise ValueError(f"{refusal}: choose with isel")
    scaled = math.prod(sizes.values()) > len(LINES)
    paper = sheet(title_of(dataset), ax=ax)
    (panel,) = paper.panels
    scales = [
        axes.dress(
            panel, which, np.asarray(dataset[n].values, float).ravel(), dataset[n], axes.measured(dataset, n)
        )
        for which, n in zip("xy", names, strict=True)
    ]
    marks: dict[str, Any] = {}
    for curve in _curves(dataset, outer, scaled):
        marks |= _draw_front(panel, curve, names, scales)
    if scaled:
        marks |= _missing(dataset, names, outer[0])
        _scale(paper, dataset[outer[0]])
    unseen = [axes.words(n) for n in objectives(dataset) if n not in names]
    marks |= {f"not shown: {', '.join(unseen)}": Line2D([], [], alpha=0)} if unseen else {}
    paper.legend(marks | _meanings(panel, dataset))
    return paper.figure


def undrawable(sizes: Mapping[str, int], numbers: Collection[str]) -> str:
    """Say why no picture shows fronts over axes of these lengths. ``numbers``: the axes of numbers."""
    long = {name: n for name, n in sizes.items() if n > 1}
    many = math.prod(long.values())
    if many <= len(LINES) or (len(long) == 1 and set(long) <= set(numbers) and many <= MOST_COLOURED):
        return ""
    told = " × ".join(f"{n} {name}" for name, n in sizes.items())
    several = f"{told} are {many} fronts"
    return f"{several}; a picture shows at most {len(LINES)}, or {MOST_COLOURED} along one axis of numbers"


def _curves(dataset: xr.Dataset, outer: list[str], scaled: bool) -> Iterator[_Curve]:
    from matplotlib.colors import to_hex

    places = list(itertools.product(*(range(dataset.sizes[d]) for d in outer)))
    for number, place in enumerate(places):
        at = dict(zip(outer, place, strict=True))
        part = dataset.isel(at)
        if scaled:
            factor, norm, _ = colour_scale(dataset[outer[0]])
            shade = norm(float(part[outer[0]]) * factor)
            yield _Curve(part, "", to_hex(line_colours()(shade)), "o")
        else:
            colour, marker, _ = LINES[number]
            text = ", ".join(axes.value_label(dataset[d], i) for d, i in at.items())
            yield _Curve(part, text, colour, marker)


def _draw_front(panel: Axes, curve: _Curve, names: list[str], scales: list[Scale]) -> dict[str, Any]:
    """Draw one front; returns its mark by its name."""
    from matplotlib.lines import Line2D

    part = curve.part
    points = np.stack([np.asarray(part[n].values, float) for n in names])
    kept = np.flatnonzero(np.isfinite(points).all(axis=0))
    style: dict[str, Any] = {"color": curve.colour, "marker": curve.marker, "linestyle": "-"}
    if not kept.size:
        nothing = Line2D([], [], **style, markerfacecolor="white", alpha=0.5)
        return {f"{curve.text} ({_refusal(part)})": nothing} if curve.text else {}
    order = kept[np.argsort(points[0, kept], kind="stable")]
    before = len(panel.get_children())
    if len(objectives(part)) == 2:
        # of three objectives nothing lies between the points in this plane
        draw_between(panel, part, names, order, scales, curve.colour)
    joined = len(panel.get_children()) > before
    across, up = (scale.factor * points[i, order] for i, scale in enumerate(scales))
    proved = part["status"].values[order] == axes.OPTIMAL
    beaten = part["dominated"].values[order] == 1 if "dominated" in part else np.zeros(order.size, bool)
    looks: tuple[tuple[Any, dict[str, Any]], ...] = (
        (~beaten & proved, {"color": curve.colour, "markerfacecolor": curve.colour, "zorder": 4}),
        (~beaten & ~proved, {"color": curve.colour, "markerfacecolor": "white", "zorder": 4}),
        (beaten, {"color": PALE, "markerfacecolor": "white", "zorder": 3}),
    )
    for mask, look in looks:
        if mask.any():
            panel.plot(across[mask], up[mask], curve.marker, markersize=8, linestyle="none", **look)
    if not curve.text:
        return {}
    # the mark in the legend is one that is drawn: the first of these looks that a design has
    look = next(look for mask, look in looks if mask.any())
    style |= {"markerfacecolor": look["markerfacecolor"], "markeredgecolor": look["color"]}
    text = f"{curve.text} (dominated)" if beaten.all() else curve.text
    return {text: Line2D([], [], **style | ({} if joined else {"linestyle": "none"}), markersize=8)}


def _missing(dataset: xr.Dataset, names: list[str], axis: str) -> dict[str, Any]:
    """Say how many places of a long axis have no front, and why."""
    from matplotlib.lines import Line2D

    there = np.all([np.isfinite(dataset[n].transpose(axis, FRONT).values) for n in names], axis=0).any(axis=1)
    empty = np.flatnonzero(~there).tolist()
    why = Counter(_refusal(dataset.isel({axis: i})) for i in empty)
    return {f"{many} of {dataset.sizes[axis]} {text}": Line2D([], [], alpha=0) for text, many in why.items()}


def _refusal(part: xr.Dataset) -> str:
    """Say why a place has no front, as its limits do."""
    text = "no front"
    if PLACE_STATUS in part:
        text = axes.codes(part[PLACE_STATUS]).get(int(part[PLACE_STATUS]), text).replace("_", " ")
    told = str(part[CONFLICT].values) if CONFLICT in part else ""
    limits = " and ".join(axes.words(n) for n in json.loads(told or "{}"))
    return f"{text}: {limits}" if limits else text


def _scale(paper: Sheet, axis: xr.DataArray) -> None:
    from matplotlib.cm import ScalarMappable

    _, norm, unit = colour_scale(axis)
    mapped = ScalarMappable(norm, line_colours())
    colour_bar(paper.figure, paper.panels, mapped, axis, axes.title(str(axis.name), unit))


def _meanings(panel: Axes, dataset: xr.Dataset) -> dict[str, Any]:
    """Return the marks that mean the same for all fronts, in grey."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found: dict[str, Any] = {}
    drawn = marks_of(panel)
    if any(text.startswith(INSIDE) for text in drawn):
        found[INSIDE] = Patch(facecolor=PALE, alpha=0.4)
    found |= {n: Line2D([], [], color=PALE, linewidth=2.5) for n in (EXACT, SEGMENT) if n in drawn}
    if "dominated" in dataset and bool((dataset["dominated"] == 1).any()):
        found[BY_ANOTHER] = Line2D([], [], color=PALE, marker="o", markerfacecolor="white", linestyle="none")
    if bool(dataset["status"].isin([c for c in axes.ANSWERED if c != axes.OPTIMAL]).any()):
        found[UNPROVED] = Line2D([], [], color="black", marker="o", markerfacecolor="white", linestyle="none")
    return found
