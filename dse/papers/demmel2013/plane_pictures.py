"""Figure 4 drawn: the (p, M) plane of the n-body problem with its budgets as regions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from dse.papers.demmel2013 import nbody, regions
from dse.papers.drawing import canvas, save
from dse.papers.report import Picture
from dse.system.pictures import BLACK, BLUE, GREEN, PURPLE, SKY, VERMILLION


def figure_4(folder: Path) -> tuple[Picture, ...]:
    """Draw the three panels of Figure 4, one picture each."""
    return (_energy_and_time(folder), _energy_and_processor(folder), _time_and_total(folder))


def _frame(title: str) -> tuple[Figure, Axes, Polygon]:
    """Draw the plane with its red limits; gives also the triangle to which regions are clipped."""
    s = regions.setting()
    figure, (axis,) = canvas(title, "processors p", "memory per processor M (words)")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(0.7, 1.4 * s.n**2)
    axis.set_ylim(1.0, 1.4 * s.n)
    # both limits are straight in logarithmic axes
    axis.plot([1.0, s.n], [s.n, 1.0], color=VERMILLION, lw=4, zorder=4)
    axis.plot([1.0, s.n**2], [s.n, 1.0], color=VERMILLION, lw=4, zorder=4)
    axis.text(0.8, 14.0, "1D limit\nM = n/p", color=VERMILLION, fontsize=15, va="top", weight="bold")
    axis.text(420.0, 3.6, "2D limit\nM = n/√p", color=VERMILLION, fontsize=15, weight="bold")
    inside = Polygon([(1.0, s.n), (s.n, 1.0), (s.n**2, 1.0)], transform=axis.transData, visible=False)
    axis.add_patch(inside)
    return figure, axis, inside


def _region(axis: Axes, inside: Polygon, metric: str, most: float, **look: Any) -> ContourSet:
    """Fill where the algorithm runs and the metric is at most ``most``."""
    grid = regions.plane()
    filled = axis.contourf(grid.p, grid.M, grid.metrics[metric] / most, levels=[-1.0, 1.0], **look)
    filled.set_clip_path(inside)
    return filled


def _draw_solved_point(axis: Axes, name: str, marker: str) -> Line2D:
    """Draw the solver's answer as a point; gives its legend entry (no point where there is no answer)."""
    mark = regions.marks()[name]
    look: dict[str, Any] = {"color": BLACK, "marker": marker, "mfc": "white", "mew": 2.5, "ls": ""}
    axis.plot([mark.p], [mark.M], ms=15, zorder=7, clip_on=False, **look)
    return Line2D([], [], ms=13, label=mark.text, **look)


def _green(axis: Axes, label: str) -> Line2D:
    """Draw the runs of least energy; gives their legend entry."""
    M0, first, last = regions.green_line(regions.setting())
    axis.plot([first, last], [M0, M0], color=GREEN, lw=5, zorder=5)
    return Line2D([], [], color=GREEN, lw=5, label=label)


def _energy_and_time(folder: Path) -> Picture:
    s, grid = regions.setting(), regions.plane()
    figure, axis, inside = _frame(f"Figure 4(a): energy and time of n-body, n = {s.n:.0f}, contrived machine")
    energy = grid.metrics["energy"] / nbody.least_energy(s)
    levels = [1.0, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 4.0, 6.0]
    shades = [colormaps["cividis_r"](0.6 * k / len(levels)) for k in range(len(levels) - 1)]
    filled = axis.contourf(grid.p, grid.M, energy, levels=levels, colors=shades)
    filled.set_clip_path(inside)
    bar = figure.colorbar(filled, ax=axis, spacing="uniform")
    bar.set_ticks(levels, labels=[f"{level:g}" for level in levels])
    bar.set_label("energy / least energy E*", fontsize=15)
    bar.ax.tick_params(labelsize=13)
    time = np.ma.masked_where(~grid.allowed, grid.metrics["time"])
    steps = np.geomspace(8.0, 2048.0, 9)
    places = [
        (nbody.time(s, 1.0, M) / t, M) for t, M in zip(steps, (1.6,) * 5 + (6.0, 9.0, 20.0), strict=False)
    ]
    lines = axis.contour(grid.p, grid.M, time, levels=steps, colors="black", linewidths=1.4)
    axis.clabel(lines, fmt=lambda value: f"{value:.0f} s", fontsize=13, manual=places)
    M0, first, last = regions.green_line(s)
    handles = [
        _green(axis, f"E* at M0 = {M0:.3g} words, {first:.0f} ≤ p ≤ {last:.0f}"),
        Line2D([], [], color=BLACK, lw=1.4, label="equal time"),
    ]
    axis.legend(handles=handles, fontsize=14, loc="upper right")
    path = save(figure, folder / "figure4a.png")
    return Picture(
        path, "Figure 4(a): energy depends on M alone, least at M0; time falls to the right and up."
    )


def _energy_and_processor(folder: Path) -> Picture:
    s, b = regions.setting(), regions.budgets()
    figure, axis, inside = _frame(f"Figure 4(b): runs within an energy or a processor's power, n = {s.n:.0f}")
    _region(axis, inside, "energy", b.E_max, colors=[BLUE], alpha=0.75)
    _region(axis, inside, "power_per_processor", b.P_proc, colors=[SKY], alpha=0.6, hatches=["//"])
    handles = [
        Patch(color=BLUE, alpha=0.75, label=f"energy ≤ E_max = {b.E_max:.0f} J"),
        Patch(
            facecolor=SKY,
            edgecolor=BLACK,
            hatch="//",
            alpha=0.6,
            label=f"power per processor ≤ P_proc = {b.P_proc:.2f} W",
        ),
        _draw_solved_point(axis, "energy", "o"),
        _draw_solved_point(axis, "processor", "s"),
    ]
    axis.legend(handles=handles, fontsize=14, loc="upper right")
    path = save(figure, folder / "figure4b.png")
    return Picture(
        path, "Figure 4(b): runs within an energy, within a power per processor, and the fastest in each."
    )


def _time_and_total(folder: Path) -> Picture:
    s, b = regions.setting(), regions.budgets()
    figure, axis, inside = _frame(f"Figure 4(c): runs within a deadline or a total power, n = {s.n:.0f}")
    _region(axis, inside, "power", b.P_tot, colors=[PURPLE], alpha=0.6)
    late = _region(axis, inside, "time", b.T_max, colors="none", hatches=["xx"])
    late.set_edgecolor(BLACK)
    handles = [
        _green(axis, "least energy E*"),
        Patch(facecolor="white", edgecolor=BLACK, hatch="xx", label=f"time ≤ T_max = {b.T_max:.0f} s"),
        Patch(color=PURPLE, alpha=0.6, label=f"total power ≤ P_tot = {b.P_tot:.0f} W"),
        _draw_solved_point(axis, "time", "o"),
        _draw_solved_point(axis, "total", "s"),
    ]
    axis.legend(handles=handles, fontsize=14, loc="upper right")
    path = save(figure, folder / "figure4c.png")
    return Picture(path, "Figure 4(c): runs within a deadline, within a total power, and the best in each.")
