"""Pictures of the reproduction: Table I by the equations, the six example phases, what race-to-halt loses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from dse.papers import drawing
from dse.papers.choi2016 import autotuning, jetson
from dse.papers.choi2016.jetson import CONSTANT, ENERGIES, cells, column, name_of
from dse.papers.report import Picture
from dse.system.pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

KINDS = ("single flop", "double flop", "integer", "shared memory", "L2", "memory")
COLOURS = (BLUE, VERMILLION, ORANGE, GREEN, SKY, PURPLE)


def draw(folder: Path) -> tuple[Picture, ...]:
    """Write all pictures into ``folder``."""
    return _table_one(folder), _phases(folder), _race(folder)


def _table_one(folder: Path) -> Picture:
    figure, (energy, power) = drawing.canvas("Table I by (6) to (8)", "voltage (V)", "energy (pJ)", 2)
    volts = np.linspace(0.75, 1.05, 100)
    for (printed, operation), label, colour in zip(ENERGIES.items(), KINDS, COLOURS, strict=True):
        at = column("mem_mV" if operation.memory else "core_mV") / 1e3
        line = jetson.circuit().constants[operation.capacitance] / jetson.PICO * volts**2
        energy.plot(volts, line, color=colour)
        energy.plot(at, column(printed), "o", color=colour)
        energy.annotate(
            label, (volts[-1], line[-1]), (4, 0), textcoords="offset points", fontsize=12, va="center"
        )
    energy.set_yscale("log")
    _plain_ticks(energy.yaxis, (15, 20, 30, 50, 100, 200, 400))
    energy.set_xlim(0.74, 1.22)
    energy.set_xlabel("voltage of the core, or of the memory (V)", fontsize=15)
    ours = jetson.costs()[CONSTANT]
    power.plot([5.0, 7.0], [5.0, 7.0], color=BLACK, linewidth=1)
    power.errorbar(ours, column(CONSTANT), yerr=0.05, fmt="o", color=BLUE, capsize=3)
    power.set_xlabel("constant power by (8) (W)", fontsize=15)
    power.set_ylabel("constant power printed (W)", fontsize=15)
    path = drawing.save(figure, folder / "table1.png")
    caption = (
        "Left: energies of Table I (dots) and ĉ0 V² with the fitted constants. "
        "Right: constant power printed, with its rounding, over that by (8)."
    )
    return Picture(path, caption)


def _phases(folder: Path) -> Picture:
    figure, _ = drawing.canvas("Six example phases at the sixteen settings", "", "", 1)
    figure.clear()
    figure.suptitle("Six example phases at the sixteen settings", fontsize=17)
    for place, phase in enumerate(jetson.example_phases()):
        axis = figure.add_subplot(2, 3, place + 1)
        found = jetson.settings_of([phase])
        time, energy = found["time"] / found["time"].min(), found["energy"] / found["energy"].min()
        axis.plot(time, energy, "o", color=BLUE, alpha=0.6)
        fast, least = int(np.min(found[f"race_setting.{phase['name']}"])) - 1, int(energy.argmin())
        _draw_marked_point(
            axis, (time[least], energy[least]), "o", GREEN, f"least energy: {name_of(cells()[least])}"
        )
        _draw_marked_point(
            axis, (time[fast], energy[fast]), "x", VERMILLION, f"fastest: {name_of(cells()[fast])}"
        )
        axis.set_title(
            f"{phase['name']}: {found['time'].min():.2f} s, {found['energy'].min():.1f} J", fontsize=14
        )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(0.85, 20.0)
        axis.set_ylim(0.85, 12.0)
        _plain_ticks(axis.xaxis, (1, 2, 5, 10))
        _plain_ticks(axis.yaxis, (1, 2, 5, 10))
        axis.grid(visible=True, alpha=0.25)
        axis.legend(fontsize=11, loc="upper left")
        if place >= 3:
            axis.set_xlabel("time / least time", fontsize=14)
        if place % 3 == 0:
            axis.set_ylabel("energy / least energy", fontsize=14)
    path = drawing.save(figure, folder / "phases.png")
    caption = (
        "Time and energy of six phases at every setting of Table I. "
        "Titles: the least time and the least energy. The phases are our own, of the kinds that the text names: "
        "U bound by the core, V by memory; the paper prints no counts."
    )
    return Picture(path, caption)


def _plain_ticks(axis: Axis, values: tuple[int, ...]) -> None:
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(ScalarFormatter())
    axis.set_minor_locator(NullLocator())
    axis.set_tick_params(labelsize=13)


def _draw_marked_point(axis: Axes, at: tuple[float, float], marker: str, colour: str, label: str) -> None:
    face = "none" if marker == "o" else colour
    axis.plot(
        *at, marker, color=colour, markersize=13, markerfacecolor=face, markeredgewidth=2.5, label=label
    )


def _race(folder: Path) -> Picture:
    figure, axes = drawing.canvas(
        "Energy that running as fast as possible loses",
        "operations per byte",
        "energy lost (%)",
        len(autotuning.KINDS),
    )
    for axis, (label, operations) in zip(axes, autotuning.KINDS.items(), strict=True):
        lost = autotuning.race(operations)
        axis.plot(autotuning.INTENSITIES, 100 * lost.highest, "--", color=VERMILLION, label="highest clocks")
        axis.plot(autotuning.INTENSITIES, 100 * lost.kind, color=BLUE, label="fastest, best of equals")
        axis.set_xscale("log", base=2)
        axis.set_title(label, fontsize=15)
        axis.set_ylim(-0.5, 24)
    axes[1].legend(fontsize=12, loc="upper right")
    path = drawing.save(figure, folder / "race-to-halt.png")
    caption = (
        "What race-to-halt costs above the setting of least energy, by the model with the rates of the machine file. "
        "Section II-E measured it at intensities that are not printed (Table II)."
    )
    return Picture(path, caption)
