"""Figures 3, 6 and 7, and one of the lower bounds, drawn from this run's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dse.papers.demmel2013 import case_study, costs, scaling
from dse.papers.demmel2013.plane_pictures import figure_4
from dse.papers.demmel2013.questions import settings
from dse.papers.drawing import canvas, save
from dse.papers.report import Picture
from dse.system.pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILLION

LOOKS = {
    "energy_per_flop": ("γe (flops)", BLUE, "o", "-"),
    "energy_per_word": ("βe (link)", ORANGE, "s", "--"),
    "memory_power_per_word": ("δe (memory)", GREEN, "^", "-."),
}
FIGURE_3_SHOWN = (
    520.0  # where the right panel ends; its axes are linear, as the bend of the lines shows best so
)


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw every figure into ``folder``."""
    return (figure_3(folder), lower_bounds(folder), *figure_4(folder), figure_6(folder), figure_7(folder))


def figure_3(folder: Path) -> Picture:
    """Words against p: per processor, and of all processors together (flat where scaling is perfect)."""
    title = "Figure 3: how far communication scales with p (memory per processor fixed)"
    figure, (left, right) = canvas(title, "processors p", "words per processor", 2)
    looks = (
        ("matmul", "classical", BLUE, "o", "p$^{1/3}$"),
        ("strassen", "Strassen", VERMILLION, "s", "p$^{1-2/ω}$"),
    )
    for model, name, colour, marker, growth in looks:
        data = scaling.figure_3(model)
        left.loglog(data.p, data.words, marker, color=colour, ms=6, label=f"{name}, solver's least words")
        left.loglog(data.p, data.memory_dependent, ":", color=colour, lw=2)
        left.loglog(data.p, data.memory_independent, "--", color=colour, lw=2)
        shown = data.p <= FIGURE_3_SHOWN
        p, total = data.p[shown], (data.p * data.words)[shown] / 1e6
        label = f"{name}: flat to p = {data.p_max:.0f}"
        right.plot(p, total, marker=marker, color=colour, ms=5, lw=2, label=label)
        right.axvline(data.p_max, color=colour, lw=1.2, ls="-.", zorder=1)
        place: dict[str, Any] = {"xytext": (-4, -26), "textcoords": "offset points", "ha": "right"}
        right.annotate(f"∝ {growth}", (p[-1], total[-1]), color=colour, fontsize=15, **place)
    lines = [
        Line2D([], [], color=BLACK, ls=":", lw=2, label="bound with memory, ∝ 1/p"),
        Line2D([], [], color=BLACK, ls="--", lw=2, label="memory-independent bound, ∝ 1/p$^{2/ω}$"),
    ]
    left.set_title("per processor", fontsize=15)
    left.legend(handles=[*left.get_legend_handles_labels()[0], *lines], fontsize=12, loc="lower left")
    right.set_title("all processors: flat = perfect scaling", fontsize=15)
    right.set_ylabel("words of all processors (millions)", fontsize=15)
    right.set_xlim(0, FIGURE_3_SHOWN)
    right.set_ylim(bottom=0)
    right.legend(fontsize=14, loc="lower right")
    path = save(figure, folder / "figure3.png")
    return Picture(path, "Figure 3: words against p, classical and Strassen, with both lower bounds.")


def lower_bounds(folder: Path) -> Picture:
    """(3) and (5) against memory at fixed p, with I + O, beside the 2.5D words."""
    s, p = settings("matmul")[0], 512.0
    title = f"Lower bounds (3) and (5): n = {s.n:.0f}, p = {p:.0f}, I+O = 3n²/p"
    figure, (axis,) = canvas(title, "memory per processor M (words)", "words per processor")
    M = np.geomspace(s.n**2 / p, s.n**2 / 4.0, 300)
    F, inout, corner = s.n**3 / p, scaling.MATRICES * s.n**2 / p, s.n**2 / p ** (2 / 3)
    runs = M[corner >= M][::12]
    words = [scaling.counts(s, p, float(q))["words"] for q in runs]
    axis.loglog(runs, words, "o", color=BLUE, ms=9, zorder=5, label="2.5D algorithm (model)")
    axis.loglog(M, F / np.sqrt(M), ":", color=BLUE, lw=2, label="F/√M")
    axis.axhline(inout, color=GREEN, ls="--", lw=2, label="I+O")
    sequential = [costs.sequential_words(F, q, inout) for q in M]
    axis.loglog(M, sequential, color=ORANGE, lw=6, alpha=0.45, label="bound (3)")
    parallel = np.array([costs.parallel_words(F, q, inout) for q in M])
    parallel[parallel == 0.0] = np.nan
    axis.loglog(M, parallel, color=VERMILLION, lw=3, label="bound (5), zero from M = n²/9 on")
    axis.axvline(corner, color=BLACK, lw=1.2, ls="-.")
    axis.annotate(" 3D limit", (corner, 0.04), xycoords=("data", "axes fraction"), fontsize=14)
    axis.set_ylim(inout / 30.0)
    axis.legend(fontsize=14, loc="lower left")
    path = save(figure, folder / "lower-bounds.png")
    return Picture(path, "Lower bounds (3) and (5) with I+O, beside what the 2.5D algorithm moves.")


def figure_6(folder: Path) -> Picture:
    """Energy parameters halved one at a time."""
    title = "Figure 6: energy parameters halved one at a time (2.5D, n = 35000, p = 2)"
    figure, (axis,) = canvas(title, "generations (halvings)", "efficiency (GFLOPS/W)")
    for name, (label, colour, marker, line) in LOOKS.items():
        values = np.array(case_study.curves()[name]) / 1e9
        look: dict[str, Any] = {"marker": marker, "ls": line, "color": colour, "lw": 2.5, "ms": 9}
        axis.plot(case_study.GENERATIONS, values, label=label, **look)
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=15, loc="upper left", title=f"read as {case_study.CHOSEN.name}", title_fontsize=14)
    path = save(figure, folder / "figure6.png")
    return Picture(path, "Figure 6: efficiency when γe, βe or δe alone is halved, read as M = 3n²/p.")


def figure_7(folder: Path) -> Picture:
    """All energy parameters halved together; beside it every reading of M after five generations."""
    title = "Figure 7: γe, βe, δe halved together (2.5D, n = 35000, p = 2)"
    figure, (left, right) = canvas(title, "generations (halvings)", "efficiency (GFLOPS/W)", 2)
    for reading, colour, marker in ((case_study.CHOSEN, PURPLE, "D"), (case_study.TABLE_I, BLUE, "s")):
        values = np.array(case_study.curves(reading)["together"]) / 1e9
        left.semilogy(
            case_study.GENERATIONS, values, marker=marker, color=colour, lw=2.5, ms=9, label=reading.name
        )
    left.axhline(75.0, color=VERMILLION, ls="--", lw=2, label="75 GFLOPS/W")
    left.set_xlim(-0.3, 8.3)
    left.set_ylim(1, 1000)
    left.set_yticks([1, 3, 10, 30, 75, 300, 1000], ["1", "3", "10", "30", "75", "300", "1000"])
    left.minorticks_off()
    left.legend(fontsize=14, loc="upper left")
    _readings(right)
    path = save(figure, folder / "figure7.png")
    return Picture(
        path, "Figure 7: efficiency when all three are halved together; 75 GFLOPS/W at generation 5."
    )


def _readings(axis: Axes) -> None:
    """Efficiency after five joint generations for every reading of M, as points."""
    readings = case_study.READINGS[::-1]
    for row, reading in enumerate(readings):
        value = case_study.curves(reading)["together"][5] / 1e9
        chosen = reading == case_study.CHOSEN
        axis.plot(value, row, marker="D" if chosen else "o", color=PURPLE if chosen else BLACK, ms=11)
        plain = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axis.text(value, row + 0.17, f"{value:.1f}", fontsize=14, ha="center", va="bottom", bbox=plain)
    axis.axvline(75.0, color=VERMILLION, ls="--", lw=2)
    axis.set_yticks(range(len(readings)), [reading.name.replace(", ", ",\n") for reading in readings])
    axis.set_xlim(38, 92)
    axis.set_ylim(-0.5, len(readings) - 0.4)
    axis.set_title("after 5 generations, by reading of M", fontsize=15)
    axis.set_xlabel("efficiency (GFLOPS/W)", fontsize=15)
