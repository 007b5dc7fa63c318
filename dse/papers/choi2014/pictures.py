"""Figures 1, 5, 6 and 7, and the half-power node of section V-D, drawn from this run's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dse.papers.choi2014.constant_power import by_peak_efficiency
from dse.papers.choi2014.platforms import curves, label
from dse.papers.drawing import DPI, SIZE, canvas, save
from dse.papers.report import Picture
from dse.system.pictures import BLACK, BLUE, SKY, VERMILLION

TITAN, ARNDALE = "gtx_titan", "arndale_gpu"
INTENSITY = "intensity (flop/byte)"
INTENSITIES = 2.0 ** np.linspace(-3.0, 8.0, 441)
TICKS = (-2, 0, 2, 4, 6)
# colour by what bounds the time (0 compute, 1 cap, 2 memory), style by the throttle
REGIMES = ((2, "memory-bound", BLUE), (1, "capped", VERMILLION), (0, "compute-bound", BLACK))
THROTTLES = ((1.0, "Δπ", "-"), (2.0, "Δπ/2", "--"), (4.0, "Δπ/4", "-."), (8.0, "Δπ/8", ":"))
PANEL_ROWS, COLUMNS = 3, 4


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw every figure into ``folder``."""
    return (
        figure_1(folder),
        half_power(folder),
        figure_5(folder),
        figure_6(folder),
        _kept(folder, "a", "performance"),
        _kept(folder, "b", "efficiency"),
    )


def _power_of_two(value: float, _: object = None) -> str:
    """Return 0.25 as 1/4."""
    return f"{value:g}" if value >= 1.0 else f"1/{1.0 / value:g}"


def _log2(axis: Axes, ticks: Sequence[int] = TICKS) -> None:
    """Make the x axis logarithmic to base 2, over the intensities drawn."""
    axis.set_xscale("log", base=2)
    axis.set_xlim(INTENSITIES[0], INTENSITIES[-1])
    axis.xaxis.set_major_locator(FixedLocator([2.0**t for t in ticks]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(_power_of_two))


def _log2_y(axis: Axes, ticks: Sequence[float]) -> None:
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_locator(FixedLocator(ticks))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(_power_of_two))


def _systems(
    which: Sequence[tuple[str, int, float, Mapping[str, Any]]], metric: str
) -> Iterator[tuple[Any, Any]]:
    """Values of a metric of systems of equal blocks, with their looks."""
    for name, blocks, throttle, look in which:
        one = curves(name, INTENSITIES, throttle=throttle)[metric]
        yield one if metric == "efficiency" else blocks * one, look


def figure_1(folder: Path) -> Picture:
    """Performance, energy efficiency and power of a GTX Titan, an Arndale GPU, and 47 of them."""
    which = (
        (TITAN, 1, 1.0, {"color": BLACK, "lw": 3, "label": "GTX Titan"}),
        (ARNDALE, 47, 1.0, {"color": VERMILLION, "lw": 3, "ls": "--", "label": "47 Arndale GPUs"}),
        (ARNDALE, 1, 1.0, {"color": BLUE, "lw": 3, "ls": "-.", "label": "1 Arndale GPU"}),
    )
    return _three(folder, "figure1", "Figure 1: a GTX Titan against Arndale GPUs", which, 2.0**-3)


def half_power(folder: Path) -> Picture:
    """Show the same for a GTX Titan held to half its power and the 23 Arndale GPUs that match it."""
    which = (
        (TITAN, 1, 1.0, {"color": SKY, "lw": 3, "label": "GTX Titan, 287 W"}),
        (TITAN, 1, 8.0, {"color": BLACK, "lw": 3, "label": "GTX Titan at Δπ/8, 143.5 W"}),
        (ARNDALE, 23, 1.0, {"color": VERMILLION, "lw": 3, "ls": "--", "label": "23 Arndale GPUs, 140.5 W"}),
    )
    title = "Section V-D: a node held to half its power"
    return _three(folder, "half-power", title, which, 2.0**3)


def _three(
    folder: Path,
    stem: str,
    title: str,
    which: Sequence[tuple[str, int, float, Mapping[str, Any]]],
    least: float,
) -> Picture:
    figure, axes = canvas(title, INTENSITY, "", 3)
    panels = (("performance", "Gflop/s", 1e9), ("efficiency", "Gflop/J", 1e9), ("power", "W", 1.0))
    for axis, (metric, unit, scale) in zip(axes, panels, strict=True):
        drawn = list(_systems(which, metric))
        for values, look in drawn:
            axis.plot(INTENSITIES, values / scale, **look)
        _log2(axis)
        if metric != "power":
            _equal(axis, drawn[0][0] / drawn[1][0])
        axis.set_title(f"{metric} ({unit})", fontsize=15)
    axes[0].set_ylim(least, 2.0**13)
    _log2_y(axes[0], [2.0**e for e in range(-3, 14, 2) if 2.0**e >= least])
    _log2_y(axes[1], [2.0**e for e in range(-6, 6)])
    axes[2].set_ylim(0, 330)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=15)
    path = save(figure, folder / f"{stem}.png")
    return Picture(path, f"{title}: performance, energy efficiency and power over intensity.")


def _equal(axis: Axes, ratio: Any) -> None:
    """Mark the intensity at which two systems are equal, if they ever are."""
    crossed = np.flatnonzero(np.diff(np.sign(ratio - 1.0)))
    for i in crossed:
        before, after = np.log(ratio[i : i + 2])
        at = float(INTENSITIES[i] * (INTENSITIES[i + 1] / INTENSITIES[i]) ** (before / (before - after)))
        axis.axvline(at, color="dimgray", ls=":", lw=2, zorder=1)
        axis.annotate(f" equal at {at:.2g}", (at, 0.03), xycoords=("data", "axes fraction"), fontsize=14)


def _twelve(title: str, y: str) -> tuple[Figure, Iterator[tuple[str, Axes]]]:
    """Return a figure with a panel per platform, in falling order of peak energy efficiency."""
    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=17)
    figure.supylabel(y, fontsize=15)
    panels = figure.subplots(PANEL_ROWS, COLUMNS, sharex=True, sharey=True)
    for axis in panels.flat:
        axis.grid(visible=True, alpha=0.25)
        axis.tick_params(labelsize=12)
        _log2(axis)
    for axis in panels[-1]:
        axis.set_xlabel(INTENSITY, fontsize=13)
    return figure, zip(by_peak_efficiency(), panels.flat, strict=True)


def _by_regime(axis: Axes, values: Any, regime: Any, **look: Any) -> None:
    """Draw a curve in the colour of what bounds the time; pieces share their end points."""
    for code, _, colour in REGIMES:
        inside = np.broadcast_to(regime, INTENSITIES.shape) == code
        touching = inside | np.concatenate(([False], inside[:-1]))
        axis.plot(INTENSITIES, np.where(touching, values, np.nan), color=colour, **look)


def _legend(figure: Figure, *, throttles: bool) -> None:
    handles: list[Line2D | Patch] = [Line2D([], [], color=c, lw=4, label=name) for _, name, c in REGIMES]
    if throttles:
        handles += [Line2D([], [], color="dimgray", lw=2.5, ls=ls, label=name) for _, name, ls in THROTTLES]
    else:
        handles += [Patch(color="0.9", label="constant power π1")]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=13)


def figure_5(folder: Path) -> Picture:
    """Power over the most power, in up to three segments."""
    figure, panels = _twelve("Figure 5: power over intensity, twelve platforms", "power / (π1 + Δπ)")
    for name, axis in panels:
        at = curves(name, INTENSITIES)
        share = float(np.max(at["energy_constant"] / at["time"] / at["peak_power"]))
        axis.axhspan(0.0, share, color="0.9", zorder=0)
        _by_regime(axis, at["power"] / at["peak_power"], at["regime"], lw=3)
        axis.set_title(f"{label(name)}, {_peak_efficiency_text(name)}", fontsize=12.5)
        axis.set_ylim(0.0, 1.12)
        axis.set_yticks([0.0, 0.5, 1.0])
    _legend(figure, throttles=False)
    path = save(figure, folder / "figure5.png")
    return Picture(
        path,
        "Figure 5: power over its most, by falling peak energy efficiency (in the titles); "
        "grey: the share of the constant power π1.",
    )


def _peak_efficiency_text(name: str) -> str:
    """Peak energy efficiency as text."""
    value = float(np.max(curves(name, np.array([2.0**40]))["efficiency"]))
    return f"{value / 1e9:.3g} Gflop/J"


def figure_6(folder: Path) -> Picture:
    """Power where the usable power is divided by k."""
    figure, panels = _twelve(
        "Figure 6: power at Δπ/k (beside the name: most power left at Δπ/8)", "power / (π1 + Δπ)"
    )
    for name, axis in panels:
        full = curves(name, INTENSITIES)["peak_power"]
        _throttled(axis, name, "power", full)
        left = float(np.max(curves(name, INTENSITIES, throttle=8.0)["peak_power"] / full))
        axis.set_title(f"{label(name)}: {left:.0%}", fontsize=14)
        _log2_y(axis, [0.25, 0.5, 1.0])
        axis.set_ylim(0.24, 1.12)
    _legend(figure, throttles=True)
    path = save(figure, folder / "figure6.png")
    return Picture(path, "Figure 6: power at Δπ/k over the most power at Δπ.")


def _throttled(axis: Axes, name: str, metric: str, over: Any) -> None:
    for k, _, style in THROTTLES:
        at = curves(name, INTENSITIES, throttle=k)
        _by_regime(axis, at[metric] / over, at["regime"], ls=style, lw=2.5)
    axis.set_title(label(name), fontsize=14)


def _kept(folder: Path, part: str, metric: str) -> Picture:
    """Figure 7: performance or energy efficiency where the usable power is divided by k."""
    words = {"performance": "performance", "efficiency": "energy efficiency"}[metric]
    figure, panels = _twelve(f"Figure 7{part}: {words} at Δπ/k", f"{words} / its peak at Δπ")
    for name, axis in panels:
        peak = np.max(curves(name, np.array([2.0**40]))[metric])
        _throttled(axis, name, metric, peak)
        _log2_y(axis, [2.0**e for e in range(-9, 1, 3)])
        axis.set_ylim(2.0**-9.7, 2.0)
    _legend(figure, throttles=True)
    path = save(figure, folder / f"figure7{part}.png")
    return Picture(path, f"Figure 7{part}: {words} at Δπ/k over its peak at Δπ.")
