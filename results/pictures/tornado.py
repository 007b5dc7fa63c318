"""What an answer hangs on: percent of the objective per percent of each parameter and limit, the largest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.pictures import BLUE, VERMILLION
from dse.system.records import dataclass
from results import axes, flat
from results.dataset import LIMIT
from results.pictures.canvas import MEDIUM, SMALL_POINTS, label_bars, sheet, title_of
from results.telling.facts import Facts
from results.telling.limits import base_name
from results.telling.words import NOTICEABLE

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_TORNADO_BARS = 12
TORNADO_BAR, AROUND_TORNADO = 0.42, 1.9
ONE_SIDED = "only in the direction that improves the objective"
# what is less than this share of the longest bar cannot be seen
VISIBLE = 0.005
LABEL_ROOM = 0.22


@dataclass(frozen=True, slots=True)
class _Bar:
    """One bar: a name, from the least to the greatest elasticity, and whether it holds for one direction only."""

    name: str
    low: float
    high: float
    one_sided: bool = False

    @property
    def reach(self) -> float:
        return max(abs(self.low), abs(self.high))


def tornado(source: xr.Dataset | Facts, ax: Axes | None = None, most: int = MOST_TORNADO_BARS) -> Figure:
    """Draw how many percent of the objective one percent more of each thing given is worth, the design adapted to it.

    ``source``: an answer (its machine and input parameters, and its limits), or a sweep or front (its limits: from
    the least to the greatest elasticity among its designs); ``most``: how many bars, the longest; ``ax``: axes of
    one's own. Returns the figure. Raises ValueError where nothing has an elasticity: a design of whole numbers jumps.
    """
    alone = isinstance(source, Facts)
    bars = _of_solution(source) if alone else _of_dataset(source)
    bars = sorted((b for b in bars if b.reach >= NOTICEABLE), key=lambda b: -b.reach)
    shown = [b for b in bars if b.reach >= VISIBLE * bars[0].reach][:most]
    if not bars:
        raise ValueError(
            "nothing here has an elasticity: it takes an optimum that moves smoothly with what is given (where whole "
            "numbers are decided, the answer says at which value of a limit it next changes)"
        )
    goal = (source.objective_name if alone else axes.name_of(source, "objective")) or "objective"
    about = source.title if alone else title_of(source)
    return _draw(shown, len(bars) - len(shown), goal, about, ax, ranges=not alone)


def _of_solution(solution: Facts) -> list[_Bar]:
    found = [_Bar(axes.words(n), v, v, n in solution.one_sided) for n, v in solution.parameters.items()]
    found += [
        _Bar(_limit_label(n), s.elasticity, s.elasticity, s.one_sided)
        for n, s in solution.limits.items()
        if s.elasticity is not None and np.isfinite(s.elasticity)
    ]
    return found


def _limit_label(name: str) -> str:
    side = "least" if name.endswith(".min") else "limit on"
    return f"{side} {axes.words(base_name(name))}"


def _of_dataset(dataset: xr.Dataset) -> list[_Bar]:
    if "elasticity" not in dataset or LIMIT not in dataset:
        return []
    dims = flat.points(dataset)
    values = dataset["elasticity"].transpose(*dims, LIMIT).values.reshape(-1, dataset.sizes[LIMIT])
    found = []
    for name, column in zip(dataset[LIMIT].values, values.T, strict=True):
        there = column[np.isfinite(column)]
        if there.size:
            found.append(_Bar(_limit_label(str(name)), float(there.min()), float(there.max())))
    return found


def _draw(bars: list[_Bar], left_out: int, goal: str, about: str, ax: Axes | None, *, ranges: bool) -> Figure:
    from matplotlib.patches import Patch

    paper = sheet(about, ax=ax, size=(9.0, AROUND_TORNADO + max(2, len(bars)) * TORNADO_BAR))
    (panel,) = paper.panels
    reach = bars[0].reach
    told: dict[str, Any] = {}
    for place, bar in enumerate(bars):
        up = bar.low + bar.high > 0
        look: dict[str, Any] = {
            "facecolor": BLUE if up else VERMILLION,
            "edgecolor": "black",
            "linewidth": 0.6,
        }
        if not up:
            look["hatch"] = "//"
        if bar.one_sided:
            look["linestyle"], look["linewidth"] = "--", 1.6
            told[ONE_SIDED] = Patch(facecolor="white", edgecolor="black", linestyle="--", linewidth=1.6)
        else:
            told[f"more of it, {'more' if up else 'less'} {axes.words(goal)}"] = Patch(**look)
        start, width = (bar.low, bar.high - bar.low) if ranges and bar.high > bar.low else (0.0, bar.high)
        panel.barh(place, width, left=start, height=0.65, zorder=3, **look)
        _say(panel, bar, place, reach)
    label_bars(panel, [b.name for b in bars], 44)
    panel.axvline(0, color="black", linewidth=1.0, zorder=4)
    low, high = min(0.0, *(b.low for b in bars)), max(0.0, *(b.high for b in bars))
    room = (2 * LABEL_ROOM if ranges else LABEL_ROOM) * (high - low)
    panel.set_xlim(low - room if low < 0 else 0.0, high + room if high > 0 else 0.0)
    panel.set_xlabel(f"change of {axes.words(goal)} for 1 % more (%)", fontsize=MEDIUM)
    if left_out > 0:
        panel.annotate(
            f"{left_out} smaller ones left out",
            (1, 0),
            (-6, 6),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            fontsize=SMALL_POINTS,
        )
    paper.legend(told)
    return paper.figure


def _say(panel: Axes, bar: _Bar, place: int, reach: float) -> None:
    """Write the number, or both ends, beside the bar."""
    ends = dict.fromkeys((bar.low, bar.high))
    text = " … ".join(f"{end:+.2g}" if end else "0" for end in ends).replace("-", "−")
    at, side = (bar.high, "left") if bar.low + bar.high > 0 else (bar.low, "right")
    shift = 0.015 * reach * (1 if side == "left" else -1)
    panel.text(at + shift, place, text, ha=side, va="center", fontsize=SMALL_POINTS, zorder=5)
