"""Pictures of sweeps: lines over one axis, maps over two, panels over more; what has no design is hatched."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from results import axes
from results.canvas import BLUE, GREEN, GREY, SMALL, VERMILLION, colour_bar, colour_scale, panels_of
from results.dataset import CONFLICTING, LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.axes import Scale

LINES = (
    (BLUE, "o", "-"),
    (VERMILLION, "s", "--"),
    (GREEN, "D", "-."),
    ("#E69F00", "^", ":"),
    ("#CC79A7", "v", (0, (5, 1))),
    ("#56B4E9", "P", (0, (1, 1))),
)
HATCHES = ("//", "\\\\", "xx", "..", "++", "oo")


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
    # values may stand in any order in a file; a line goes from the least to the greatest
    drawn = drawn.sortby(
        [d for d in dims if not axes.is_text(drawn[d]) and (np.diff(drawn[d].values) < 0).any()]
    )
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
    figure, panels = panels_of(dataset, len(places))
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
        factor, norm, unit = colour_scale(sheet.whole)
        norm.autoscale(sheet.whole.values[np.isfinite(sheet.whole.values)] * factor)
        numbers = _shown(dataset, variable).values * factor
        mesh = panel.pcolormesh(*borders, numbers, norm=norm, cmap="viridis", rasterized=True)
        if panel is sheet.panels[0]:
            name = axes.title(axes.name_of(dataset, variable), unit)
            colour_bar(sheet.figure, sheet.panels, mesh, sheet.whole, name)
    panel.grid(visible=False)
    return _hatch_cells(sheet, panel, borders, _forbidden(dataset))


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
