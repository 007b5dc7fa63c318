"""What matters as a picture: indices of the objective with their intervals, and what not knowing costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.quantities import show
from dse.system.pictures import BLUE, GREEN, GREY, VERMILLION
from results import axes
from results.pictures.canvas import MEDIUM, SMALL_POINTS, label_bars, sheet
from results.uncertainty.indices import Indices, ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.uncertainty.matters import Losses, Matters

MOST_INDEX_BARS = 10
# of words beside bars: inches of a letter of small text, of the room around them, and of the narrowest panel, and the
# largest share of it that they may have
SMALL_LETTER, BESIDE_BAR, LEAST_PANEL, MOST_BESIDE = 0.105, 0.2, 3.0, 0.6
FIRST, TOTAL, CHANCE = "first order", "total", "by chance"


def matters(found: Matters, *, narrow: bool = False) -> Figure:
    """Draw the indices of the objective (first order, total, 95 % intervals), and what not knowing each number costs.

    ``narrow``: for a telephone. Returns the figure. Raises ValueError where no number varies.
    """
    if not found.indices:
        raise ValueError("no number varies")
    costs = found.losses if found.losses is not None and found.losses.objective else None
    paper = sheet(
        f"{found.title}: {found.of}", 1 + (costs is not None), sharex=False, sharey=False, narrow=narrow
    )
    marks = _draw_index_bars(paper.panels[0], found.indices[0])
    if costs is not None:
        marks |= _draw_losses(paper.panels[1], costs)
    paper.legend(marks)
    return paper.figure


def _draw_index_bars(panel: Axes, one: Indices) -> dict[str, object]:
    rows = ranked(one)[:MOST_INDEX_BARS]
    marks: dict[str, object] = {}
    for shift, color, some, label in (
        (-0.2, BLUE, [first for _, first, _ in rows], FIRST),
        (0.2, GREEN, [total for _, _, total in rows], TOTAL),
    ):
        values = np.array([e.value for e in some]) * 100
        ends = np.array([e.interval for e in some]).T * 100
        places = np.arange(len(rows)) + shift
        shown = np.maximum(values, 0.0)
        marks[label] = panel.barh(
            places, shown, height=0.36, color=color, edgecolor="black", linewidth=0.6, zorder=3
        )
        reach = np.maximum([values - ends[0], ends[1] - values], 0.0)
        panel.errorbar(
            shown, places, xerr=reach, fmt="none", color="black", capsize=3, linewidth=1.1, zorder=4
        )
    _label_rows(panel, [r[0] for r in rows])
    panel.set_xlim(left=min(0.0, panel.get_xlim()[0]))
    panel.set_xlabel(f"share of the variance of {axes.words(one.name)} (%)", fontsize=MEDIUM)
    return marks


def _draw_losses(panel: Axes, found: Losses) -> dict[str, object]:
    from matplotlib.ticker import MaxNLocator

    rows = [x for x in found.lost if x.value is not None][:MOST_INDEX_BARS]
    base = abs(found.objective or 1.0)
    for place, x in enumerate(rows):
        value = 100 * (x.value or 0.0) / base
        panel.barh(place, value, height=0.62, color=BLUE, edgecolor="black", linewidth=0.6, zorder=3)
        panel.annotate(
            show(x.value or 0.0, found.unit, 3),
            (value, place),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_POINTS,
            color=GREY,
            zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    _label_rows(panel, [x.name for x in rows])
    most = max([100 * (x.value or 0.0) / base for x in rows], default=1.0)
    # the words beside the longest bar stay in the frame
    beside = (
        max((len(show(x.value or 0.0, found.unit, 3)) for x in rows), default=0) * SMALL_LETTER + BESIDE_BAR
    )
    panel.set_xlim(0, max(most, 1e-9) / (1.0 - min(beside / LEAST_PANEL, MOST_BESIDE)))
    panel.xaxis.set_major_locator(MaxNLocator(4))
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")  # a common factor would stand on the label
    panel.set_xlabel("loss (% of the mean)", fontsize=MEDIUM)
    if found.by_chance.value is None:
        return {}
    floor = 100 * found.by_chance.value / base
    return {CHANCE: panel.axvline(floor, color=VERMILLION, linestyle="--", linewidth=1.6, zorder=5)}


def _label_rows(panel: Axes, names: list[str]) -> None:
    label_bars(panel, [axes.words(n) for n in names], 28)
    panel.tick_params(labelbottom=True)
