"""Pictures of Pareto fronts: their designs, what lies between them, the ends, the knee, and the limits that bind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.pictures import BLUE, GREEN, GREY, PURPLE, VERMILLION
from results import axes
from results.along_fronts import along
from results.along_fronts.variable_names import FRONT
from results.dataset import BINDING, LIMIT, objectives
from results.pictures import several_fronts
from results.pictures.between import draw_between
from results.pictures.canvas import COLOURS, SMALL_POINTS, colour_bar, colour_scale, marks_of, sheet, title_of
from results.telling.limits import base_name
from results.variables import ENDS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PROVED, UNPROVED = "proved optimal", "feasible, not proved optimal"
IN_FRESH = "in fresh samples, 95 % interval"
MOST_STRIPS = 4
STRIP = 0.085
NARROW_RANGE = 0.03


def front(dataset: xr.Dataset, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw a Pareto front along the dimension ``front``, or the fronts along swept axes in one picture.

    ``x``, ``y``: the variables to draw (default: the first objective up, the second across); ``ax``: axes of one's own
    to draw on. Points proved optimal are filled, those without a proof hollow. Where the dataset encloses the front
    (``enclosure_at``, ``enclosure_lower``, ``enclosure_upper``) that is shaded, else the rectangle that two
    neighbouring proved points span, in which the front can only run; of an exact front the segments are drawn instead,
    and nothing where it has a gap. Strips at the bottom say along which points a limit binds. Of several fronts the
    designs that another front dominates are hollow and grey.

    Returns the figure. Raises ValueError where there is no front, where there are no two objectives or no points, and
    where there are more fronts than a picture tells apart (choose with ``dataset.isel``).
    """
    if FRONT not in getattr(dataset, "dims", ()):
        raise ValueError("this has no front: dse.front makes one; a sweep has a map, an answer a breakdown")
    names = [x, y] if x and y else list(objectives(dataset))[1::-1]
    if len(names) < 2:
        raise ValueError("a front needs two objectives: name them as x and y")
    unknown = [n for n in names if n not in dataset]
    if unknown:
        known = ", ".join(map(str, dataset.data_vars))
        raise ValueError(f"the dataset has no variable {unknown[0]!r}; it has {known}")
    single = [d for d in dataset["status"].dims if d != FRONT and dataset.sizes[d] == 1]
    dataset = dataset.squeeze(single)
    points = np.stack([np.asarray(dataset[n].values, float) for n in names])
    if not np.isfinite(points).all(axis=0).any():
        raise ValueError("the front has no points to draw")
    if dataset["status"].ndim > 1:
        return several_fronts.draw(dataset, names, ax)
    return _draw_single_front(dataset, names, points, ax)


def _draw_single_front(dataset: xr.Dataset, names: list[str], points: Any, ax: Axes | None) -> Figure:
    kept = np.flatnonzero(np.isfinite(points).all(axis=0))
    order = kept[np.argsort(points[0, kept], kind="stable")]
    proved = dataset["status"].values[order] == axes.OPTIMAL
    paper = sheet(title_of(dataset), ax=ax)
    (panel,) = paper.panels
    scales = [
        axes.dress(panel, which, points[i, order], dataset[n], axes.measured(dataset, n))
        for i, (which, n) in enumerate(zip("xy", names, strict=True))
    ]
    across, up = (scale.factor * points[i, order] for i, scale in enumerate(scales))
    others = [n for n in objectives(dataset) if n not in names]
    if others:
        third = dataset[others[0]].isel({FRONT: order})
        _coloured(paper.figure, panel, across, up, proved, third)
    else:
        draw_between(panel, dataset, names, order, scales, BLUE)
        for mask, fill, text in ((proved, BLUE, PROVED), (~proved, "white", UNPROVED)):
            if mask.any():
                style: dict[str, Any] = {"color": BLUE, "markerfacecolor": fill, "markersize": 8, "zorder": 4}
                panel.plot(across[mask], up[mask], "o", label=text, **style)
    _fresh(panel, dataset, names, order, [scale.factor for scale in scales])
    _mark_best_of_each(panel, dataset, names, across, up, order)
    if not others:
        _knee(panel, dataset, names, across, up, order)
        _strips(panel, dataset, across, order)
    # points of three objectives fill the panel, so that no corner of it is free
    paper.legend(marks_of(panel), inside=not others)
    return paper.figure


def _fresh(panel: Axes, dataset: xr.Dataset, names: list[str], order: Any, factors: list[float]) -> None:
    """Draw what designs that are decided before the worlds are known come to in fresh samples, with intervals."""
    parts = [(f"{n}_fresh", *(f"{n}_fresh_{end}" for end in ENDS)) for n in names]
    if not all(
        p in dataset and dataset[p].attrs.get("units") == dataset[n].attrs.get("units")
        for n, some in zip(names, parts, strict=True)
        for p in some
    ):
        return
    (x, *across), (y, *up) = (
        [dataset[p].values[order] * factor for p in some] for some, factor in zip(parts, factors, strict=True)
    )
    style: dict[str, Any] = {"color": GREY, "linestyle": "none", "marker": "x", "markersize": 6}
    reach = {"xerr": abs(np.stack(across) - x), "yerr": abs(np.stack(up) - y)}
    panel.errorbar(x, y, **reach, label=IN_FRESH, elinewidth=1.2, capsize=3, zorder=5, **style)


def _coloured(figure: Figure, panel: Axes, across: Any, up: Any, proved: Any, third: xr.DataArray) -> None:
    """Draw designs of which a third objective is told by colour; a design without proof is a triangle."""
    factor, norm, unit = colour_scale(third)
    values = np.asarray(third.values, float) * factor
    drawn = None
    for mask, marker, text in ((proved, "o", PROVED), (~proved, "^", UNPROVED)):
        if mask.any():
            style: dict[str, Any] = {
                "norm": norm,
                "cmap": COLOURS,
                "edgecolors": "black",
                "linewidths": 0.6,
            }
            drawn = panel.scatter(
                across[mask], up[mask], 70, values[mask], marker=marker, label=text, zorder=4, **style
            )
    colour_bar(figure, [panel], drawn, third, axes.title(str(third.name), unit))


def _mark_best_of_each(
    panel: Axes, dataset: xr.Dataset, names: list[str], across: Any, up: Any, order: Any
) -> None:
    """Mark the best design for each objective alone, with its value; also for one that colours tell."""
    goals = objectives(dataset)
    marks = [(across, names[0], VERMILLION, "s", 13), (up, names[1], GREEN, "D", 13)]
    for name in [n for n in goals if n not in names][:1]:
        # large enough to be seen behind another mark
        marks.insert(0, (dataset[name].values[order], name, PURPLE, "h", 19))
    for values, name, colour, marker, size in marks:
        largest = goals.get(name, False)
        i = int(np.argmax(values) if largest else np.argmin(values))
        amount = _distinct_amount(dataset, name, order, i)
        text = f"{'greatest' if largest else 'least'} {axes.words(axes.measured(dataset, name))}: {amount}"
        style: dict[str, Any] = {"color": colour, "markersize": size, "markeredgecolor": "black", "zorder": 3}
        panel.plot([across[i]], [up[i]], marker, label=text, linestyle="none", **style)


def _distinct_amount(dataset: xr.Dataset, name: str, order: Any, place: int) -> str:
    """Write a number of a design with as many digits as tell it from those of the others."""
    values = dataset[name].values[order]
    narrow = np.ptp(values) < NARROW_RANGE * np.abs(values).max()
    return axes.amount(float(values[place]), dataset[name], 5 if narrow else 3)


def _knee(panel: Axes, dataset: xr.Dataset, names: list[str], across: Any, up: Any, order: Any) -> None:
    """Mark the design after which one objective gets dear, with both its values."""
    if set(names) != set(objectives(dataset)):
        return
    bend = along.knee_of(dataset.isel({FRONT: order}), names)
    if bend is None:
        return
    told = (_distinct_amount(dataset, n, order, bend) for n in names)
    style: dict[str, Any] = {
        "color": "white",
        "markersize": 17,
        "markeredgecolor": "black",
        "markeredgewidth": 1.4,
        # in front of the designs, which may be many
        "zorder": 6,
    }
    panel.plot([across[bend]], [up[bend]], "*", label=f"knee: {', '.join(told)}", linestyle="none", **style)


def _strips(panel: Axes, dataset: xr.Dataset, across: Any, order: Any) -> None:
    """Say at the bottom along which points which limits bind; those on the objectives bind by themselves."""
    if "binding" not in dataset or len(order) < 2:
        return
    goals = objectives(dataset)
    codes = dataset["binding"].transpose(FRONT, LIMIT).values[order] == BINDING
    found = [
        (str(name), codes[:, i])
        for i, name in enumerate(dataset[LIMIT].values)
        if codes[:, i].any() and base_name(str(name)) not in goals
    ]
    # the longest first; a few are read, many are not
    found = sorted(found, key=lambda item: -int(item[1].sum()))[:MOST_STRIPS]
    if not found:
        return
    _room_below(panel, STRIP * len(found) + 0.03)
    at = panel.get_xaxis_transform()
    for place, (name, here) in enumerate(found):
        height = STRIP * (len(found) - place - 0.65)
        line = np.where(here, across, np.nan)
        style: dict[str, Any] = {"color": GREY, "marker": "|", "markersize": 9, "markeredgewidth": 2}
        panel.plot(line, np.full(len(line), height), transform=at, linewidth=4, zorder=1, **style)
        # from the first point it binds at, or up to the last one, whichever leaves room for the words
        first, last = (float(across[i]) for i in np.flatnonzero(here)[[0, -1]])
        left = _fraction_across(panel, first) < 0.6
        panel.annotate(
            f"binds: {axes.words(name)}",
            (first if left else last, height),
            (0, 6),
            xycoords=at,
            textcoords="offset points",
            fontsize=SMALL_POINTS,
            color=GREY,
            ha="left" if left else "right",
            parse_math=False,
            zorder=5,
        )


def _fraction_across(panel: Axes, place: float) -> float:
    """Return how far across the panel a place is, from 0 to 1."""
    inside = panel.transAxes.inverted().transform(panel.transData.transform((place, panel.get_ylim()[0])))
    return float(inside[0])


def _room_below(panel: Axes, share: float) -> None:
    """Lower the bottom of a panel, on its own scale, until what is drawn leaves that share of it free.

    The scale has no numbers there: nothing is drawn at them.
    """
    from matplotlib.ticker import FixedLocator

    scale = panel.yaxis.get_transform()
    low, high = scale.transform(np.array(panel.get_ylim(), float))
    bottom = scale.inverted().transform(np.array([low - (high - low) * share / (1 - share)]))[0]
    top, above = panel.get_ylim()[1], panel.get_ylim()[0]
    panel.set_ylim(bottom=bottom)
    for locator, settle in (
        (panel.yaxis.get_major_locator(), panel.yaxis.set_major_locator),
        (panel.yaxis.get_minor_locator(), panel.yaxis.set_minor_locator),
    ):
        ticks = np.asarray(locator(), float)
        settle(FixedLocator([float(v) for v in ticks if above <= v <= top]))
