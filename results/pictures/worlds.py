"""A study of worlds as a picture: distributions of objective and design, winners and binding limits by share."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import plural
from dse.system.pictures import BLUE, GREEN, GREY, VERMILLION
from results import axes, flat
from results.axes import ANSWERED
from results.pictures.canvas import MEDIUM, SMALL_POINTS, label_bars, sheet
from results.uncertainty import worlds_text

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.uncertainty.worlds import Number, Share, Worlds

MOST_DECIDED_DRAWN, MOST_CHOICES_DRAWN, MOST_WORLD_BARS = 4, 2, 8
MOST_BINS = 60
ROOM_FOR_SHARE = 22.0
"""Percent of an axis that ends at 100 % in which a share is written."""
BAR_SHARE, MOST_CHOICE_TICKS = 0.6, 6
# values that differ by less than this share are one value to the eye
ONE_VALUE = 1e-9
MEDIAN, NINETY, FIXED = "median", "90 % of samples", "fixed design"


def worlds(found: Worlds, *, narrow: bool = False) -> Figure:
    """Draw a study: histograms of the objective and of what is decided, then shares of choices and binding limits.

    A line marks the median, a band 90 % of the worlds; of the objective also what a fixed design comes to (dashed).
    ``narrow``: for a telephone. Returns the figure. Without either, the metrics that
    vary. Raises ValueError where nothing does.
    """
    won = dict([(n, s) for n, s in found.winners.items() if len(s) > 1][:MOST_CHOICES_DRAWN])
    # how often each value wins is told once
    decided = [n for n in _varying(found, "decided") if n.name not in won]
    numbers = [*_varying(found, "objective"), *decided[:MOST_DECIDED_DRAWN]]
    shares = [
        (
            f"which {axes.words(n)} wins",
            tuple(replace(x, name=worlds_text.shown_value(found, n, x.name)) for x in s),
        )
        for n, s in won.items()
    ]
    binding = tuple(sorted((s for s in found.binding if s.count), key=lambda s: -s.count))
    binding = tuple(replace(x, name=worlds_text.shown(found, x.name)) for x in binding)
    shares += [("which limit binds", binding)] if binding else []
    if not (numbers or shares):
        numbers = _varying(found, "metric")[:MOST_DECIDED_DRAWN]
    if not (numbers or shares):
        raise ValueError("no sample has a design or a metric that differs from the others")
    paper = sheet(_title(found), len(numbers) + len(shares), sharex=False, sharey=False, narrow=narrow)
    marks: dict[str, Any] = {}
    for n, panel in zip(numbers, paper.panels, strict=False):
        marks |= _histogram(panel, found, n)
    for (title, some), panel in zip(shares, paper.panels[len(numbers) :], strict=True):
        _draw_share_bars(panel, title, some)
    paper.legend(marks)
    return paper.figure


def _varying(found: Worlds, role: str) -> list[Number]:
    return [n for n in found.numbers if n.role == role and _differs(_values_in_worlds(found, n)[0])]


def _differs(values: Any) -> bool:
    """Whether values differ to the eye, of those that have a place on an axis."""
    there = values[np.isfinite(values)]
    return bool(there.size) and bool(np.ptp(there) > ONE_VALUE * abs(there.max()))


def _title(found: Worlds) -> str:
    none = found.none.estimate.value
    rest = f", {100 * none:.3g} % without a design" if found.none.count else ""
    return f"{found.title or 'A question in every sample'}: {plural(found.count, 'sample')}{rest}"


def _values_in_worlds(found: Worlds, n: Number) -> tuple[Any, xr.DataArray]:
    """Return the values of a number in the worlds that have a design, and the array they are from."""
    there = found.samples
    answered = np.isin(there["status"].values, ANSWERED)
    if n.role == "objective":
        return there["objective"].values[answered], there["objective"]
    column = next(c for c in flat.columns(there) if c.label == n.name)
    return np.asarray(flat.values(there, column), float)[answered], there[column.name]


def _histogram(panel: Axes, found: Worlds, n: Number) -> dict[str, Any]:
    from matplotlib.ticker import MaxNLocator

    there, array = _values_in_worlds(found, n)
    there = there[~np.isnan(there)]
    values = there[np.isfinite(there)]
    scale = axes.dress(panel, "x", values, array, n.name)
    if not scale.log:
        panel.xaxis.set_major_locator(MaxNLocator(5))
    fixed = None if found.fixed is None else _fixed_values(found, n)
    fixed = None if fixed is None else fixed[np.isfinite(fixed)]
    every = (
        values if fixed is None or fixed.size < 2 else np.append(values, np.quantile(fixed, [0.005, 0.995]))
    )
    edges = _edges(every * scale.factor, log=scale.log)
    look: dict[str, Any] = {"color": BLUE, "edgecolor": "white", "linewidth": 0.3, "zorder": 3}
    if n.name in found.winners:
        # between the values of a list there is nothing
        at, counts = np.unique(values, return_counts=True)
        low, width = _bars_at(at * scale.factor, log=scale.log)
        if at.size <= MOST_CHOICE_TICKS and not scale.log:
            panel.set_xticks(at * scale.factor)
        panel.bar(low, counts * 100.0 / there.size, width, align="edge", **look)
    else:
        weights = np.full(values.size, 100.0 / there.size)
        panel.hist(values * scale.factor, edges, weights=weights, **look)
    if values.size < there.size:
        _say_infinite(panel, n, there)
    marks = _mark_middle(panel, n, scale.factor)
    if fixed is not None and fixed.size > 1:
        heights, _ = np.histogram(fixed * scale.factor, edges)
        tops = heights * 100.0 / there.size
        (marks[FIXED],) = panel.step(
            edges,
            np.append(tops, tops[-1]),
            where="post",
            color=VERMILLION,
            linestyle="--",
            linewidth=1.6,
            zorder=5,
        )
    elif fixed is not None and fixed.size:
        marks[FIXED] = panel.axvline(
            float(fixed[0]) * scale.factor, color=VERMILLION, linestyle="--", linewidth=1.6, zorder=5
        )
    panel.set_ylabel("share of samples (%)", fontsize=MEDIUM)
    panel.tick_params(labelbottom=True)
    return marks


def _mark_middle(panel: Axes, n: Number, factor: float) -> dict[str, Any]:
    """Mark the median and 90 % of the samples; to the edge of the panel where these go on without end."""
    marks: dict[str, Any] = {}
    ends = np.array(n.ninety) * factor
    edges = panel.get_xlim()
    if ends[0] < ends[1] or np.isfinite(ends).all():
        low, high = np.clip(ends, *edges)
        marks[NINETY] = panel.axvspan(low, high, color=BLUE, alpha=0.12, zorder=1)
    if not np.isfinite(ends).all():
        panel.set_xlim(edges)
    if math.isfinite(n.median.value):
        marks[MEDIAN] = panel.axvline(n.median.value * factor, color="black", linewidth=1.6, zorder=4)
    return marks


def _say_infinite(panel: Axes, n: Number, there: Any) -> None:
    """Say below a panel in how many samples its number is infinite, and whether the median is."""
    told = f"infinite in {int(np.isinf(there).sum())} of {plural(there.size, 'sample')}"
    middle = "" if math.isfinite(n.median.value) else ",\nand so is the median"
    panel.set_xlabel(f"{panel.get_xlabel()}\n{told}{middle}", fontsize=MEDIUM)


def _fixed_values(found: Worlds, n: Number) -> Any:
    """Return the objective of the fixed design where it holds; what is decided has its one value."""
    assert found.fixed is not None
    if n.role == "objective":
        there = found.fixed.dataset
        holds = np.isin(there["status"].values, ANSWERED)
        return there["objective"].values[holds] if "objective" in there else np.zeros(0)
    value = found.fixed.design.get(n.name)
    return np.array([value], float) if isinstance(value, int | float) else np.zeros(0)


def _edges(values: Any, *, log: bool) -> Any:
    """Return the borders of bins; a whole number has bins of its own where it has few values."""
    low, high = float(values.min()), float(values.max())
    count = int(np.clip(math.ceil(2 * values.size ** (1 / 3)), 8, MOST_BINS))
    if log:
        return np.geomspace(low, high, count + 1)
    whole = bool((values == np.floor(values)).all()) and high - low < MOST_BINS
    return np.arange(low - 0.5, high + 1) if whole else np.linspace(low, high, count + 1)


def _bars_at(values: Any, *, log: bool) -> tuple[Any, Any]:
    """Return where bars at rising values begin, and how wide they are: some room is left to the nearest neighbour."""
    at = np.log(values) if log else values
    reach = BAR_SHARE / 2 * np.diff(at).min(initial=np.inf if len(at) > 1 else 1.0)
    low, high = (np.exp(at + by) if log else at + by for by in (-reach, reach))
    return low, high - low


def _place_of_share(low: float, high: float) -> tuple[float, str]:
    """Return where a share is written, and on which side of that place: beyond its interval, else inside the bar."""
    if high <= 100 - ROOM_FOR_SHARE:
        return high, "left"
    return (low, "right") if low >= ROOM_FOR_SHARE else (0.0, "left")


def _draw_share_bars(panel: Axes, title: str, shares: tuple[Share, ...]) -> None:
    shown = shares[:MOST_WORLD_BARS]
    for place, s in enumerate(shown):
        e = s.estimate
        panel.barh(place, 100 * e.value, height=0.62, color=GREEN, edgecolor="black", linewidth=0.6, zorder=3)
        reach = [[100 * (e.value - e.low)], [100 * (e.high - e.value)]]
        panel.errorbar(100 * e.value, place, xerr=reach, color="black", capsize=4, linewidth=1.2, zorder=4)
        at, ha = _place_of_share(100 * e.low, 100 * e.high)
        panel.annotate(
            f"{100 * e.value:.3g} %",
            (at, place),
            (-6 if ha == "right" else 6, 0),
            textcoords="offset points",
            va="center",
            ha=ha,
            fontsize=SMALL_POINTS,
            zorder=5,
        )
    label_bars(panel, [s.name for s in shown], 28)
    panel.set_xlim(0, 100)
    panel.set_xticks([0, 25, 50, 75, 100])
    panel.set_xlabel(f"{title} (% of samples)", fontsize=MEDIUM)
    panel.tick_params(labelbottom=True)
    if len(shares) > len(shown):
        panel.annotate(
            f"{len(shares) - len(shown)} more",
            (1, 0),
            (-6, 6),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            fontsize=SMALL_POINTS,
            color=GREY,
        )
