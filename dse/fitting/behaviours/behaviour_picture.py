"""Pictures of a fitted behaviour: the model against what was measured, residuals by column, the worst runs named."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dse.fitting.machine_fits.picture import LABEL_POINTS, MEDIUM, TITLE_POINTS
from dse.system.pictures import BLUE, GREY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from dse.fitting.behaviours.behaviour import Behaviour

NAMED = 5
MOST_BEHAVIOUR_PANELS = 5
MOST_RUNS_DRAWN = 8000
# shares of the axes that a name takes
NAME_SHARE, HIGH = 0.2, 0.045


def draw(fit: Behaviour) -> Figure:
    """Draw the model against what was measured, and what is missed along each column (the first five)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = list(fit.numbers)[:MOST_BEHAVIOUR_PANELS]
    figure = Figure(figsize=(5.2 * (1 + len(columns)), 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    held = fit.held
    what = f"{fit.fitted.name}: a {fit.fitted.form} of {len(fit.fitted.terms)} terms"
    title = f"{what}, {held.mean:.1%} off runs held out"
    figure.suptitle(f"{title} ({held.split})", fontsize=TITLE_POINTS, parse_math=False)
    axes = [figure.add_subplot(1, 1 + len(columns), i + 1) for i in range(1 + len(columns))]
    _against(axes[0], fit)
    for axis, name in zip(axes[1:], columns, strict=True):
        _residuals(axis, fit, name)
    return figure


def _drawn_runs(fit: Behaviour) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The runs that are drawn: all, or evenly chosen ones and the worst."""
    every = np.linspace(0, len(fit.measured) - 1, min(len(fit.measured), MOST_RUNS_DRAWN)).astype(np.intp)
    return np.union1d(every, np.array(fit.worst(), np.intp))


def _against(axis: Axes, fit: Behaviour) -> None:
    shown = _drawn_runs(fit)
    measured, modelled = fit.measured[shown], fit.modelled[shown]
    ends = np.array([min(measured.min(), modelled.min()) / 1.2, max(measured.max(), modelled.max()) * 1.2])
    low, high = ends * fit.held.low, ends * fit.held.high
    share = f"{100 * fit.held.confidence:g}% of runs held out"
    axis.fill_betweenx(ends, low, high, color=GREY, alpha=0.25, linewidth=0, label=share)
    axis.loglog(ends, ends, color=GREY, linestyle="--", linewidth=1.5, label="model = measured")
    axis.loglog(measured, modelled, "o", color=BLUE, markersize=3, alpha=0.5, label="runs")
    worst = fit.worst()[:NAMED]
    axis.loglog(
        fit.measured[worst], fit.modelled[worst], "o", color=VERMILLION, markersize=7, label="worst runs"
    )
    for label, at in _labels(fit, worst, ends):
        right = math.log(at[0] / ends[0]) < (1 - NAME_SHARE) * math.log(ends[1] / ends[0])
        axis.annotate(
            label,
            at,
            xytext=(6 if right else -6, -4),
            textcoords="offset points",
            ha="left" if right else "right",
            fontsize=LABEL_POINTS,
            bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 1.0},
        )
    axis.set_xlabel(f"measured {fit.fitted.target}", fontsize=MEDIUM, parse_math=False)
    axis.set_ylabel(f"{fit.fitted.target} by the model", fontsize=MEDIUM, parse_math=False)
    for side in (axis.xaxis, axis.yaxis):
        _ticks(side, float(ends[1] / ends[0]), fit.fitted.unit)
    axis.legend(fontsize=LABEL_POINTS)
    _style(axis)


def _labels(
    fit: Behaviour, worst: list[int], ends: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Name runs where they lie; those whose names would lie on each other have one name together."""
    far = math.log(ends[1] / ends[0])
    groups: list[list[int]] = []
    for i in sorted(worst):
        near = (g for g in groups if any(_names_collide(fit, i, j, far) for j in g))
        group = next(near, None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    for group in groups:
        first, *others = (fit.where(i) for i in group)
        label = ", ".join([first.replace(" ", "s ", 1) if others else first, *(o.split()[1] for o in others)])
        rightmost = max(group, key=lambda i: fit.measured[i])
        yield label, (float(fit.measured[rightmost]), float(fit.modelled[group].mean()))


def _names_collide(fit: Behaviour, i: int, j: int, far: float) -> bool:
    across, up = (abs(math.log(y[i] / y[j])) / far for y in (fit.measured, fit.modelled))
    return across < NAME_SHARE and up < HIGH


def _ticks(side: Axis, ratio: float, unit: str) -> None:
    """Mark a logarithmic axis: at 1, 2 and 5 where its ends are less than two decades apart."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    if ratio < 100:
        side.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    if unit or ratio < 100:
        side.set_major_formatter(EngFormatter(unit))
    side.set_minor_formatter(NullFormatter())


def _residuals(axis: Axes, fit: Behaviour, name: str) -> None:
    shown = _drawn_runs(fit)
    missed = 100 * (fit.modelled / fit.measured - 1)
    axis.semilogx(fit.numbers[name][shown], missed[shown], "o", color=BLUE, markersize=3, alpha=0.5)
    worst = fit.worst()[:NAMED]
    axis.semilogx(fit.numbers[name][worst], missed[worst], "o", color=VERMILLION, markersize=7)
    axis.axhline(0.0, color=GREY, linestyle="--", linewidth=1.5)
    unit = next(c.unit for c in fit.fitted.columns if c.name == name)
    axis.set_xlabel(name, fontsize=MEDIUM, parse_math=False)
    _ticks(axis.xaxis, float(fit.numbers[name].max() / fit.numbers[name].min()), unit)
    axis.set_ylabel("model over measured [%]", fontsize=MEDIUM)
    _style(axis)


def _style(axis: Axes) -> None:
    axis.tick_params(labelsize=LABEL_POINTS)
    axis.grid(visible=True, which="major", alpha=0.3)
