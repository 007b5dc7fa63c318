"""Pictures of a fitted behaviour: the model against what was measured, residuals by column, the worst runs named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.fitting.behaviour import Behaviour
from dse.fitting.picture import BLUE, GREY, LARGE, MEDIUM, SMALL, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 5
MOST_PANELS = 5
MOST_POINTS = 8000


def draw(fit: Behaviour) -> Figure:
    """Draw the model against what was measured, and what is missed along each column (the first five)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = list(fit.numbers)[:MOST_PANELS]
    figure = Figure(figsize=(5.2 * (1 + len(columns)), 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    held = fit.held
    what = f"{fit.fitted.name}: a {fit.fitted.form} of {len(fit.fitted.terms)} terms"
    title = f"{what}, {held.mean:.1%} off runs held out"
    figure.suptitle(f"{title} ({held.split})", fontsize=LARGE, parse_math=False)
    axes = [figure.add_subplot(1, 1 + len(columns), i + 1) for i in range(1 + len(columns))]
    _against(axes[0], fit)
    for axis, name in zip(axes[1:], columns, strict=True):
        _residuals(axis, fit, name)
    return figure


def _shown(fit: Behaviour) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The runs that are drawn: all, or evenly chosen ones and the worst."""
    every = np.linspace(0, len(fit.measured) - 1, min(len(fit.measured), MOST_POINTS)).astype(np.intp)
    return np.union1d(every, np.array(fit.worst(), np.intp))


def _against(axis: Axes, fit: Behaviour) -> None:
    from matplotlib.ticker import EngFormatter

    shown = _shown(fit)
    measured, modelled = fit.measured[shown], fit.modelled[shown]
    ends = np.array([min(measured.min(), modelled.min()) / 1.2, max(measured.max(), modelled.max()) * 1.2])
    low, high = ends * fit.held.low, ends * fit.held.high
    share = f"{fit.held.confidence:.0%} of runs held out"
    axis.fill_betweenx(ends, low, high, color=GREY, alpha=0.25, linewidth=0, label=share)
    axis.loglog(ends, ends, color=GREY, linestyle="--", linewidth=1.5, label="model = measured")
    axis.loglog(measured, modelled, "o", color=BLUE, markersize=3, alpha=0.5, label="runs")
    worst = fit.worst()[:NAMED]
    axis.loglog(
        fit.measured[worst], fit.modelled[worst], "o", color=VERMILLION, markersize=7, label="worst runs"
    )
    for i in worst:
        at = (float(fit.measured[i]), float(fit.modelled[i]))
        axis.annotate(fit.where(i), at, xytext=(6, -4), textcoords="offset points", fontsize=SMALL)
    axis.set_xlabel(f"measured {fit.fitted.target}", fontsize=MEDIUM, parse_math=False)
    axis.set_ylabel(f"{fit.fitted.target} by the model", fontsize=MEDIUM, parse_math=False)
    if fit.fitted.unit:
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(EngFormatter(fit.fitted.unit))
    axis.legend(fontsize=SMALL)
    _plain(axis)


def _residuals(axis: Axes, fit: Behaviour, name: str) -> None:
    shown = _shown(fit)
    missed = 100 * (fit.modelled / fit.measured - 1)
    axis.semilogx(fit.numbers[name][shown], missed[shown], "o", color=BLUE, markersize=3, alpha=0.5)
    worst = fit.worst()[:NAMED]
    axis.semilogx(fit.numbers[name][worst], missed[worst], "o", color=VERMILLION, markersize=7)
    axis.axhline(0.0, color=GREY, linestyle="--", linewidth=1.5)
    unit = next(c.unit for c in fit.fitted.columns if c.name == name)
    axis.set_xlabel(f"{name} [{unit}]" if unit else name, fontsize=MEDIUM, parse_math=False)
    axis.set_ylabel("model over measured [%]", fontsize=MEDIUM)
    _plain(axis)


def _plain(axis: Axes) -> None:
    axis.tick_params(labelsize=SMALL)
    axis.grid(visible=True, which="major", alpha=0.3)
