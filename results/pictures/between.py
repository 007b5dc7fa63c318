"""What lies between the points of a front: a certified enclosure, exact segments, or the rectangle that holds it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from results import axes
from results.along_fronts import segments
from results.along_fronts.along import percent
from results.along_fronts.variable_names import AT, LOWER, UPPER, WIDTH
from results.dataset import objectives

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from results.axes import Scale

SEGMENT, INSIDE = "exact segment of the front", "the front lies inside"
EXACT = "exact: no design is better"
STRAIGHT_IN = "front_straight_in"
SHADE = 0.25


def draw_between(
    panel: Axes, dataset: xr.Dataset, names: list[str], order: Any, scales: list[Scale], colour: str
) -> None:
    """Draw what is known of a front between its points; ``order``: the points from left to right."""
    dataset = _of_one_place(dataset)
    known = segments.codes(dataset)
    # of an exact front all is known: its segments, and its gaps
    exact = len(order) > 1 and bool((known[np.sort(order)[:-1]] != segments.UNKNOWN_BETWEEN).all())
    if not exact and _shade_enclosure(panel, dataset, names, scales, colour):
        return
    labels = {text: text for text in (SEGMENT, INSIDE)}
    bounded = set(names) == set(objectives(dataset))
    for i, j in itertools.pairwise(order):
        code = known[min(i, j)] if abs(i - j) == 1 else segments.UNKNOWN_BETWEEN
        drawn = segments.curve(dataset, names, min(i, j)) if code == segments.STRAIGHT_BETWEEN else None
        if drawn is not None:
            across, up = (scale.factor * row for scale, row in zip(scales, drawn, strict=True))
            told = labels.pop(SEGMENT, "_nolegend_")
            panel.plot(across, up, color=colour, linewidth=2.5, zorder=2, label=told)
        elif code != segments.JUMP_BETWEEN:
            ends = [s.factor * dataset[n].values[[i, j]] for s, n in zip(scales, names, strict=True)]
            panel.plot(*ends, color=colour, linewidth=1.5, zorder=2)
            if bounded and (dataset["status"].values[[i, j]] == axes.OPTIMAL).all():
                _rectangle(panel, ends[0], ends[1], colour, labels.pop(INSIDE, "_nolegend_"))


def _of_one_place(dataset: xr.Dataset) -> xr.Dataset:
    """Return a front with what it says of itself in attributes, also where it is one of several."""
    told = {
        attribute: dataset[name].values.item()
        for name, attribute in ((WIDTH, WIDTH), (STRAIGHT_IN, "straight_in"))
        if name in dataset and not dataset[name].ndim
    }
    return dataset.assign_attrs({k: v for k, v in told.items() if v != ""})


def _rectangle(panel: Axes, across: Any, up: Any, colour: str, text: str) -> None:
    from matplotlib.patches import Rectangle

    corner = across[0], up.min()
    size = across[1] - across[0], abs(up[1] - up[0])
    panel.add_patch(Rectangle(corner, *size, facecolor=colour, alpha=0.18, linewidth=0, label=text))


def _shade_enclosure(
    panel: Axes, dataset: xr.Dataset, names: list[str], scales: list[Scale], colour: str
) -> bool:
    """Shade the certified enclosure; false where there is none in terms of what is drawn."""
    goals = list(objectives(dataset))[:2]
    if AT not in dataset or sorted(names) != sorted(goals):
        return False
    at, low, high = (np.asarray(dataset[n].values, float) for n in (AT, LOWER, UPPER))
    there = np.isfinite(at) & np.isfinite(low) & np.isfinite(high)
    if np.count_nonzero(there) < 2:
        return False
    # the enclosure is that of the second objective over the first, whichever way round they are drawn
    turned = names != goals
    first, second = scales[::-1] if turned else scales
    fill = panel.fill_betweenx if turned else panel.fill_between
    fill(
        at[there] * first.factor,
        low[there] * second.factor,
        high[there] * second.factor,
        facecolor=(colour, SHADE),
        edgecolor=(colour, 0.7),
        linewidth=1.0,
        zorder=2,
        label=_enclosure_label(dataset),
    )
    return True


def _enclosure_label(dataset: xr.Dataset) -> str:
    width = dataset.attrs.get(WIDTH)
    if width is None or not np.isfinite(width):
        return INSIDE
    return f"{INSIDE} (within {percent(float(width))})" if width > 0 else EXACT
