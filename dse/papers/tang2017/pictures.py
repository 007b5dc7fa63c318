"""Figures 5 to 10: performance and energy efficiency over the intensities of the two sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullFormatter

from dse.papers.drawing import DPI, save
from dse.papers.report import Picture
from dse.papers.tang2017.formulas import PLATFORMS
from dse.papers.tang2017.platforms import CASES, PARTITIONS, estimate, intensities
from dse.papers.tang2017.surfaces import axis, surface
from dse.system.pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE

FULL = {"SA": "synthetic application", "LA": "linear algebra", "DA": "data assembly of miniFE"}
METRICS = {
    "performance": ("performance", "Gflop/s", 5),
    "efficiency": ("energy efficiency", "Gflop/J", 8),
}
# marker, its size, where its name stands (points from it): GO and CP may lie on top of each other
MARKS: dict[str, tuple[str, int, tuple[float, float]]] = {
    "CO": ("v", 11, (10.0, -4.0)),
    "GO": ("^", 15, (-8.0, -24.0)),
    "DP": ("o", 11, (9.0, 7.0)),
    "CP": ("s", 8, (-8.0, 12.0)),
}
NEAR: dict[str, Any] = {
    "textcoords": "offset points",
    "path_effects": [withStroke(linewidth=3, foreground="white")],
}
TICKS = {"1/64": 1 / 64, "1/8": 1 / 8, "1": 1.0, "8": 8.0}
SHADES = (BLUE, ORANGE, GREEN, PURPLE)


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw the six figures into ``folder``."""
    return tuple(
        _surfaces_picture(folder, case, metric, first + k)
        for metric, (_, _, first) in METRICS.items()
        for k, case in enumerate(CASES)
    )


def _surfaces_picture(folder: Path, case: str, metric: str, number: int) -> Picture:
    """Draw the four platforms' surfaces with the four partitions on them, and the partitions side by side."""
    what, unit, _ = METRICS[metric]
    figure = Figure(figsize=(14.0, 8.4), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    whole = f"I = {intensities(case)[0]:g} flop/byte"
    figure.suptitle(f"Figure {number}: estimated {what}, {FULL[case]} ({case}), {whole}", fontsize=18)
    grid = figure.add_gridspec(2, 3, width_ratios=(1.0, 1.0, 0.95))
    panels = [figure.add_subplot(grid[k // 2, k % 2]) for k in range(4)]
    values = {name: surface(case, name, metric) / 1e9 for name in PLATFORMS}
    ends = min(np.nanmin(v) for v in values.values()), max(np.nanmax(v) for v in values.values())
    own = axis(case) / intensities(case)[0]
    look: dict[str, Any] = {"norm": LogNorm(*ends), "cmap": "viridis", "rasterized": True}
    for k, (panel, (name, found)) in enumerate(zip(panels, values.items(), strict=True)):
        mesh = panel.pcolormesh(own, own, found, **look)
        _mark_partitions(panel, case, own)
        panel.set_title(name, fontsize=15)
        panel.set_xlabel("I_C / I (CPU's side)" if k > 1 else "", fontsize=14)
        panel.set_ylabel("I_G / I (GPU's side)" if k % 2 == 0 else "", fontsize=14)
    bar = figure.colorbar(mesh, ax=panels, shrink=0.9, pad=0.02)
    bar.set_label(f"{what} ({unit})", fontsize=14)
    steps = [m * 10.0**e for e in range(-3, 5) for m in (1, 2, 5)]
    steps = [x for x in steps if ends[0] <= x <= ends[1]]
    bar.set_ticks(steps, labels=[f"{x:g}" for x in steps])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=13)
    _side_by_side(figure.add_subplot(grid[:, 2]), case, metric)
    path = save(figure, folder / f"figure{number}.png")
    caption = (
        f"Figure {number}: estimated {what} of {case} over the intensities of both sides; grey: no partition."
    )
    return Picture(path, caption)


def _mark_partitions(panel: Axes, case: str, own: Any) -> None:
    """Mark the four partitions; the intensity of a side without flops is put on the axis, at 0."""
    zero, end = own[0] / 2.0**1.4, own[0] / 2.0**2.4
    panel.set_facecolor("0.88")
    panel.set(xscale="log", yscale="log", xlim=(end, own[-1]), ylim=(end, own[-1]))
    for wp, (mark, size, place) in MARKS.items():
        I, I_C, I_G = intensities(case, wp)
        at = (I_C / I or zero, I_G / I or zero)
        panel.plot(*at, mark, ms=size, mfc="white", mec=BLACK, mew=1.8, zorder=5)
        panel.annotate(wp, at, xytext=place, fontsize=13, color=BLACK, weight="bold", zorder=6, **NEAR)
    for way in (panel.xaxis, panel.yaxis):
        way.set_ticks([zero, *TICKS.values()], ["0", *TICKS])
        way.set_minor_formatter(NullFormatter())
        way.set_ticks([], minor=True)
        way.set_tick_params(labelsize=12)


def _side_by_side(panel: Axes, case: str, metric: str) -> None:
    """Draw the four partitions of every platform as bars."""
    what, unit, _ = METRICS[metric]
    heights = {wp: [float(estimate(case, name, wp)[metric]) / 1e9 for name in PLATFORMS] for wp in PARTITIONS}
    places = np.arange(len(PLATFORMS))
    for k, (wp, values) in enumerate(heights.items()):
        panel.bar(places + (k - 1.5) * 0.2, values, 0.19, color=SHADES[k], label=wp)
    panel.set_xticks(places, list(PLATFORMS), fontsize=12)
    panel.tick_params(axis="y", labelsize=12)
    panel.set_title(f"{what} ({unit})", fontsize=15)
    panel.grid(visible=True, axis="y", alpha=0.25)
    panel.set_axisbelow(True)
    panel.legend(fontsize=13, loc="upper right", ncols=2)
    panel.set_ylim(top=1.18 * max(max(v) for v in heights.values()))
