"""Figures 3, 4, 6 and 7, and one of the lower bounds, drawn from this run's numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dse.reproduction.demmel2013 import case_study, costs, regions, scaling
from dse.reproduction.demmel2013.questions import settings
from dse.reproduction.drawing import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, canvas, save
from dse.reproduction.report import Picture

LABELS = {
    "energy_per_flop": "γe (flops)",
    "energy_per_word": "βe (link)",
    "memory_power_per_word": "δe (memory)",
    "together": "all three",
}
STYLES = {
    "energy_per_flop": (BLUE, "o", "-"),
    "energy_per_word": (ORANGE, "s", "--"),
    "memory_power_per_word": (GREEN, "^", "-."),
    "together": (PURPLE, "D", "-"),
}


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw every figure into ``folder``."""
    return (figure_3(folder), lower_bounds(folder), *figure_4(folder), figure_6(folder), figure_7(folder))


def figure_3(folder: Path) -> Picture:
    """Words against p: per processor, and of all processors together (flat where scaling is perfect)."""
    figure, (left, right) = canvas(
        "Figure 3: how far communication scales with p (memory per processor fixed)", "processors p", "words", 2
    )
    looks = (("matmul", "classical", BLUE, "o", 2.0 / 3.0), ("strassen", "Strassen", RED, "s", 2.0 / scaling.STRASSEN))
    for model, name, colour, marker, slope in looks:
        data = scaling.figure_3(model)
        left.loglog(data.p, data.words, marker, color=colour, ms=6, label=f"{name}, solver's least words")
        left.loglog(data.p, data.memory_dependent, ":", color=colour, lw=2)
        left.loglog(data.p, data.memory_independent, "--", color=colour, lw=2)
        right.semilogx(data.p, data.p * data.words, "-", marker=marker, color=colour, ms=5, lw=2, label=name)
        right.axvline(data.p_max, color=colour, lw=1.2, ls="-.")
        right.annotate(
            f"p = {data.p_max:.0f}", (data.p_max, 0.02), xycoords=("data", "axes fraction"), color=colour,
            fontsize=13, rotation=90, ha="right", va="bottom",
        )  # fmt: skip
        right.annotate(
            f"p·p$^{{-{slope:.2f}}}$", (data.p[-1], data.p[-1] * data.words[-1]), color=colour, fontsize=14,
            xytext=(-10, -6), textcoords="offset points", ha="right",
        )  # fmt: skip
    lines = [
        Line2D([], [], color=BLACK, ls=":", lw=2, label="bound with memory, ∝ 1/p"),
        Line2D([], [], color=BLACK, ls="--", lw=2, label="memory-independent bound, ∝ 1/p$^{2/ω}$"),
    ]
    left.set_title("per processor", fontsize=15)
    left.legend(handles=[*left.get_legend_handles_labels()[0], *lines], fontsize=12, loc="lower left")
    right.set_title("all processors: flat = perfect scaling", fontsize=15)
    right.set_ylim(bottom=0)
    right.legend(fontsize=13, loc="upper left")
    path = save(figure, folder / "figure3.png")
    return Picture(path, "Figure 3: words per processor against p, classical and Strassen, with both lower bounds.")


def lower_bounds(folder: Path) -> Picture:
    """(3) and (5) against memory at fixed p, with I + O, beside the 2.5D words."""
    s, p = settings("matmul")[0], 512.0
    figure, (axis,) = canvas(
        f"Lower bounds (3) and (5): n = {s.n:.0f}, p = {p:.0f}, I+O = 3n²/p", "memory per processor M (words)",
        "words per processor",
    )  # fmt: skip
    M = np.geomspace(s.n**2 / p, s.n**2 / 4.0, 300)
    F, inout = s.n**3 / p, scaling.MATRICES * s.n**2 / p
    corner = s.n**2 / p ** (2 / 3)
    inside = corner >= M
    runs = [scaling.words("matmul", s, p, float(q)) for q in M[inside][::12]]
    axis.loglog(M[inside][::12], runs, "o", color=BLUE, ms=8, label="2.5D algorithm (model)")
    axis.loglog(M, F / np.sqrt(M), ":", color=BLUE, lw=2, label="F/√M")
    axis.axhline(inout, color=GREEN, ls="--", lw=2, label="I+O")
    axis.loglog(M, [costs.sequential_words(F, q, inout) for q in M], color=ORANGE, lw=6, alpha=0.45, label="bound (3)")
    parallel = np.array([costs.parallel_words(F, q, inout) for q in M])
    axis.loglog(M, np.where(parallel > 0, parallel, np.nan), color=RED, lw=3, label="bound (5), zero at M = n²/9")
    axis.axvline(corner, color=BLACK, lw=1.2, ls="-.")
    axis.annotate(" 3D limit", (corner, 0.04), xycoords=("data", "axes fraction"), fontsize=14)
    axis.set_ylim(inout / 30.0)
    axis.legend(fontsize=14, loc="lower left")
    path = save(figure, folder / "lower-bounds.png")
    return Picture(path, "Lower bounds (3) and (5) with I+O, beside what the 2.5D algorithm moves.")


def figure_4(folder: Path) -> tuple[Picture, ...]:
    """The three panels of Figure 4, one picture each."""
    return (_energy_and_time(folder), _budgets_b(folder), _budgets_c(folder))


def _frame(title: str) -> tuple[Figure, Axes]:
    s = regions.setting()
    figure, (axis,) = canvas(title, "processors p", "memory per processor M (words)")
    p, one, two = regions.limits(s)
    axis.loglog(p, one, color=RED, lw=4, zorder=4)
    axis.loglog(p, two, color=RED, lw=4, zorder=4)
    axis.text(2.2, 21.0, "1D limit\nM = n/p", color=RED, fontsize=14, ha="right", va="top", weight="bold")
    axis.text(420.0, 3.6, "2D limit\nM = n/√p", color=RED, fontsize=14, weight="bold")
    axis.set_xlim(1.0, s.n**2)
    axis.set_ylim(1.0, s.n)
    return figure, axis


def _inside(condition: np.ndarray) -> np.ndarray:
    """1 where the algorithm runs and the condition holds, masked elsewhere."""
    allowed = regions.plane().allowed
    return np.ma.masked_where(~(allowed & condition), np.ones_like(allowed, dtype=float))


def _energy_and_time(folder: Path) -> Picture:
    s, grid = regions.setting(), regions.plane()
    figure, axis = _frame(f"Figure 4(a): energy and time of n-body, n = {s.n:.0f}, contrived machine")
    energy = np.ma.masked_where(~grid.allowed, np.broadcast_to(grid.metrics["energy"], grid.p.shape))
    time = np.ma.masked_where(~grid.allowed, grid.metrics["time"])
    low = float(energy.min())
    filled = axis.contourf(grid.p, grid.M, energy / low, levels=[1, 1.02, 1.05, 1.1, 1.2, 1.4, 1.8, 2.5, 4, 6, 9], cmap="cividis_r")
    bar = figure.colorbar(filled, ax=axis)
    bar.set_label("energy / E*", fontsize=15)
    bar.ax.tick_params(labelsize=13)
    lines = axis.contour(grid.p, grid.M, time, levels=np.geomspace(8.0, 4096.0, 10), colors="black", linewidths=1.2)
    axis.clabel(lines, fmt=lambda value: f"{value:.0f} s", fontsize=12)
    M0, first, last = regions.green_line(s)
    axis.plot([first, last], [M0, M0], color=GREEN, lw=5, zorder=5)
    axis.legend(
        handles=[
            Line2D([], [], color=GREEN, lw=5, label=f"E* at M0 = {M0:.3g} words, {first:.0f} ≤ p ≤ {last:.0f}"),
            Line2D([], [], color=BLACK, lw=1.2, label="equal time"),
        ],
        fontsize=14, loc="upper right",
    )  # fmt: skip
    path = save(figure, folder / "figure4a.png")
    return Picture(path, "Figure 4(a): energy depends on M alone and is least at M0; time falls to the right and up.")


def _mark(axis: Axes, name: str, marker: str) -> Line2D | None:
    """The solver's answer as a point; gives its legend entry."""
    mark = regions.marks().get(name)
    if mark is None:
        return None
    axis.plot([mark.p], [mark.M], marker, color=BLACK, mfc="white", mew=2.5, ms=15, zorder=7, clip_on=False)
    return Line2D([], [], color=BLACK, marker=marker, mfc="white", mew=2.5, ms=13, ls="", label=mark.text)


def _budgets_b(folder: Path) -> Picture:
    s, grid, b = regions.setting(), regions.plane(), regions.budgets()
    figure, axis = _frame(f"Figure 4(b): runs within an energy or a processor's power, n = {s.n:.0f}")
    energy = np.broadcast_to(grid.metrics["energy"], grid.p.shape)
    axis.contourf(grid.p, grid.M, _inside(grid.metrics["power_per_processor"] <= b.P_proc), levels=[0.5, 1.5], colors=[SKY], alpha=0.55)
    axis.contourf(grid.p, grid.M, _inside(energy <= b.E_max), levels=[0.5, 1.5], colors=[BLUE], alpha=0.75)
    handles = [
        Patch(color=BLUE, alpha=0.75, label=f"E ≤ {b.E_max:.0f} J"),
        Patch(color=SKY, alpha=0.55, label=f"power per processor ≤ {b.P_proc:.1f} W"),
        _mark(axis, "energy", "o"),
        _mark(axis, "processor", "s"),
    ]
    axis.legend(handles=[h for h in handles if h], fontsize=14, loc="upper right")
    path = save(figure, folder / "figure4b.png")
    return Picture(path, "Figure 4(b): runs within an energy budget and within a power per processor, and the best in each.")


def _budgets_c(folder: Path) -> Picture:
    s, grid, b = regions.setting(), regions.plane(), regions.budgets()
    figure, axis = _frame(f"Figure 4(c): runs within a deadline or a total power, n = {s.n:.0f}")
    axis.contourf(grid.p, grid.M, _inside(grid.metrics["power"] <= b.P_tot), levels=[0.5, 1.5], colors=[PURPLE], alpha=0.6)
    late = axis.contourf(grid.p, grid.M, _inside(grid.metrics["time"] <= b.T_max), levels=[0.5, 1.5], colors="none", hatches=["xx"])
    late.set_edgecolor(BLACK)
    M0, first, last = regions.green_line(s)
    axis.plot([first, last], [M0, M0], color=GREEN, lw=5, zorder=5)
    handles = [
        Line2D([], [], color=GREEN, lw=5, label="least energy E*"),
        Patch(facecolor="white", edgecolor=BLACK, hatch="xx", label=f"T ≤ {b.T_max:.0f} s"),
        Patch(color=PURPLE, alpha=0.6, label=f"total power ≤ {b.P_tot:.0f} W"),
        _mark(axis, "time", "o"),
        _mark(axis, "total", "s"),
    ]
    axis.legend(handles=[h for h in handles if h], fontsize=14, loc="upper right")
    path = save(figure, folder / "figure4c.png")
    return Picture(path, "Figure 4(c): runs within a deadline and within a total power, and the best in each.")


def figure_6(folder: Path) -> Picture:
    """Energy parameters halved one at a time."""
    figure, (axis,) = canvas(
        "Figure 6: energy parameters halved one at a time (2.5D, n = 35000, p = 2)", "generations (halvings)",
        "efficiency (GFLOPS/W)",
    )  # fmt: skip
    for name, values in case_study.curves().items():
        if name != "together":
            colour, marker, line = STYLES[name]
            axis.plot(
                case_study.GENERATIONS, np.array(values) / 1e9, marker=marker, ls=line, color=colour, lw=2.5, ms=9,
                label=LABELS[name],
            )  # fmt: skip
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=15, loc="upper left", title=f"read as {case_study.CHOSEN.name}", title_fontsize=14)
    path = save(figure, folder / "figure6.png")
    return Picture(path, "Figure 6: efficiency when γe, βe or δe alone is halved per generation, read as M = 3n²/p.")


def figure_7(folder: Path) -> Picture:
    """All energy parameters halved together, with the other readings of M in grey."""
    figure, (axis,) = canvas(
        "Figure 7: γe, βe, δe halved together (2.5D, n = 35000, p = 2)", "generations (halvings)", "efficiency (GFLOPS/W)"
    )
    for reading in case_study.READINGS:
        values = np.array(case_study.curves(reading)["together"]) / 1e9
        if reading == case_study.CHOSEN:
            axis.semilogy(case_study.GENERATIONS, values, marker="D", color=PURPLE, lw=3, ms=9, label=reading.name, zorder=5)
        else:
            axis.semilogy(case_study.GENERATIONS, values, color="#888888", lw=1.2)
    axis.plot([], [], color="#888888", lw=1.2, label="other readings of M")
    axis.axhline(75.0, color=RED, ls="--", lw=2, label="75 GFLOPS/W")
    axis.set_xlim(0, 8)
    axis.set_ylim(1, 1000)
    axis.set_yticks([1, 3, 10, 30, 75, 100, 300, 1000], ["1", "3", "10", "30", "75", "", "300", "1000"])
    axis.minorticks_off()
    axis.legend(fontsize=15, loc="upper left")
    path = save(figure, folder / "figure7.png")
    return Picture(path, "Figure 7: efficiency when all three are halved per generation; 75 GFLOPS/W is passed at generation 5.")
