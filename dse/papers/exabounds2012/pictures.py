"""Figures 1 and 6, the CPI stack, voltage and clock, power against bit rate, and what each level adds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dse.models.exabounds.levels import ABOVE_CORE, LEVELS, TITLES
from dse.papers.asking import metrics
from dse.papers.drawing import canvas, save
from dse.papers.exabounds2012 import power_rows, table_one
from dse.papers.exabounds2012.correlator import WORKLOAD, blue_gene
from dse.papers.exabounds2012.performance_rows import PARTS
from dse.papers.exabounds2012.systems import (
    BLUE_GENE_P,
    MISSES,
    PEAK,
    SUPPLIED,
    catalogue,
    of,
    plain,
    power7,
)
from dse.papers.report import Picture
from dse.system.pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

STACK = dict(zip(PARTS, (BLUE, SKY, ORANGE, GREEN, PURPLE, VERMILLION), strict=True))
WORDS = {
    "base": "issue, 1/n",
    "icache": "instruction misses",
    "branch": "mispredicted branches",
    "l1data": "L1 data misses",
    "l2data": "L2 data misses",
    "bandwidth": "queueing for bandwidth",
}
SCENES: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] = {
    "stated\nmiss rates": ({}, {}),
    "half of L2's\nmisses in L3": ({"miss_rate.L3": 0.5}, {}),
    "half the\nL2 misses": ({"miss_rate.L2": 0.005}, {}),
    "parallelism\nof 2": ({"parallelism.core": 2.0}, {}),
    "1.5 times the\nbandwidth asked": ({"demand.socket": 1.5 * 3.125}, {}),
}
EXPONENTS = {1.0: BLUE, 1.3: ORANGE, 1.6: GREEN, 2.0: PURPLE}


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw all figures into ``folder``."""
    return (
        _processors(folder),
        _work(folder),
        _stack(folder),
        _clock(folder),
        _pins(folder),
        _draw_levels(folder),
    )


def _processors(folder: Path) -> Picture:
    """Draw Figure 1 with both readings of the yearly cost of energy."""
    title = "Figure 1: price and yearly energy of a system of 1e18 operations per second"
    figure, axes = canvas(title, "purchase price (USD)", "energy over one year (USD)", panels=2)
    for axis, (kind, what) in zip(axes, table_one.KINDS.items(), strict=True):
        for peak, colour, mark, words in (
            (PEAK, BLUE, "o", "80 % at peak, 20 % idle (caption)"),
            (0.0, VERMILLION, "s", "20 % idle only (as printed)"),
        ):
            found = table_one.points(kind, peak)
            front = [found[name] for name in table_one.frontier(found)]
            axis.step(*zip(*front, strict=True), where="post", color=colour, lw=1.8, alpha=0.7)
            axis.plot(*zip(*found.values(), strict=True), mark, ms=8, color=colour, ls="", label=words)
            for name, (x, y) in found.items():
                weight = "bold" if name in table_one.frontier(found) else "normal"
                # SM7 stands right beside OMP and ATM
                place, side = ((-8, -4), "right") if name == "SM7" else ((7, 5), "left")
                look: dict[str, Any] = {"fontsize": 12, "weight": weight, "ha": side, "color": BLACK}
                axis.annotate(name, (x, y), place, textcoords="offset points", **look)
        axis.set(xscale="log", yscale="log")
        # room for the names at the right end
        axis.margins(x=0.2 if kind == "intop" else 0.14, y=0.1)
        axis.set_title(f"1e18 {what}/s", fontsize=15)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize=13)
    caption = (
        "Figure 1: lines are the Pareto fronts, names in bold are on them. "
        "PXA, BGL and PEN have no price in Table 1."
    )
    return Picture(save(figure, folder / "figure1.png"), caption)


def _work(folder: Path) -> Picture:
    """Draw the instructions of one unit of each level, of Table 2's and of the correlator's work."""
    title = "Figure 6: work of one unit of each level"
    below = "under each level: its part of the work of the level above, on either system"
    figure, (axis,) = canvas(title, below, "instructions of one unit")
    runs = {
        "Table 2's 120e12 instructions on Table 3's system": (
            of("table3", SUPPLIED, {"instructions": WORKLOAD}),
            catalogue("table3"),
            BLUE,
        ),
        "a sample group of the correlator on a Blue Gene/P rack": (blue_gene(), BLUE_GENE_P, ORANGE),
    }
    places, shares = np.arange(len(LEVELS) - 1), list[list[str]]()
    for k, (words, (found, counts, colour)) in enumerate(runs.items()):
        heights = [found[f"work.{level}"] for level in LEVELS[:-1]]
        bars = axis.bar(places + (k - 0.5) * 0.4, heights, 0.38, color=colour, label=words)
        axis.bar_label(
            bars, [f"{h:.1e}".replace("e+0", "e").replace("e+", "e") for h in heights], fontsize=11
        )
        shares.append([f"{counts.get(f'count.{level}', 1.0):g}" for level in ABOVE_CORE])
    names = [f"one {TITLES[level]}\n1/{a}, 1/{b}" for level, a, b in zip(LEVELS, *shares, strict=False)]
    axis.set_xticks(places, names, fontsize=13)
    axis.set(yscale="log")
    axis.set_ylim(1e7, 1e15)
    axis.legend(fontsize=13, loc="upper left")
    caption = "Figure 6: under each level its part of the work of the level above, in either system."
    return Picture(save(figure, folder / "figure6.png"), caption)


def _stack(folder: Path) -> Picture:
    title = "Figures 9 and 10: cycles per instruction of a POWER7 core"
    figure, (axis,) = canvas(title, "", "cycles per instruction")
    found = [power7({**MISSES, **more}, **changed) for more, changed in SCENES.values()]
    bottom = np.zeros(len(found))
    for part, colour in STACK.items():
        heights = np.array([m[f"cpi.{part}"] for m in found])
        axis.bar(range(len(found)), heights, 0.62, bottom=bottom, color=colour, label=WORDS[part])
        bottom += heights
    for k, m in enumerate(found):
        axis.text(k, m["cpi"] + 0.05, f"{m['cpi']:.2f}", ha="center", fontsize=14)
    axis.set_xticks(range(len(found)), list(SCENES), fontsize=13)
    axis.set_ylim(top=1.08 * max(m["cpi"] for m in found))
    axis.grid(visible=False, axis="x")
    axis.set_axisbelow(True)
    handles, names = axis.get_legend_handles_labels()
    figure.legend(handles[::-1], names[::-1], loc="outside right center", fontsize=13)
    rates = ", ".join(
        f"{name.removeprefix('miss_rate.').replace('_', ' ')} {x:g}" for name, x in MISSES.items()
    )
    caption = (
        f"Figure 9: the stack (7), corrected, at stated rates ({rates}); the paper's are in pictures only."
    )
    return Picture(save(figure, folder / "cpi_stack.png"), caption)


def _clock(folder: Path) -> Picture:
    """Draw (18) for several exponents, and power against performance along it (Figures 13 and 18)."""
    title = "Figures 13 and 18: fastest clock of each voltage, and the power it takes"
    figure, (left, right) = canvas(title, "supply voltage (V)", "fastest clock (GHz)", panels=2)
    volts = np.linspace(0.42, 1.4, 50)
    for exponent, colour in EXPONENTS.items():
        found = [power_rows.at_voltage(float(v), exponent) for v in volts]
        clocks = np.array([m["max_frequency"] for m in found]) / 1e9
        watts = np.array([m["power"] for m in found])
        left.plot(volts, clocks, color=colour, lw=2.4, label=rf"$K_\alpha$ = {exponent:g}")
        right.plot(clocks, watts, color=colour, lw=2.4, label=rf"$K_\alpha$ = {exponent:g}")
    left.axvline(power_rows.THRESHOLD, color=BLACK, ls="--", lw=1.2)
    left.annotate("threshold\n0.4 V", (0.4, 2.6), (4, 0), textcoords="offset points", fontsize=12)
    left.legend(fontsize=13, loc="lower right")
    right.set_xlabel("clock (GHz)", fontsize=15)
    right.set_ylabel("dynamic power of a core of 1 nF (W)", fontsize=15)
    for axis in (left, right):
        axis.set_xlim(left=0.36 if axis is left else 0.0)
        axis.set_ylim(bottom=0.0)
    caption = (
        "Figures 13 and 18: (18) with K_V = 5 GHz and a threshold of 0.4 V (Table 3), and (17) along it; "
        "one volt above the threshold the exponent does not matter."
    )
    return Picture(save(figure, folder / "voltage_clock.png"), caption)


def _pins(folder: Path) -> Picture:
    title = "(21): power of a signal pin against its bit rate"
    figure, (left, right) = canvas(title, "bit rate (Gb/s)", "power of one pin (mW)", panels=2)
    rates = np.linspace(0.5, 20.0, 60)
    milli = np.array([1e3 * plain({"bit_rate.socket": r * 1e9 / 8})["pin_power.socket"] for r in rates])
    left.plot(rates, milli, color=BLUE, lw=2.4, label="(21), by the model")
    known = power_rows.REFERENCE_6
    left.plot(*zip(*known.items(), strict=True), "D", ms=9, color=VERMILLION, label="its source [6]")
    left.legend(fontsize=13)
    right.plot(rates, milli / rates, color=BLUE, lw=2.4)
    right.plot(list(known), [p / r for r, p in known.items()], "D", ms=9, color=VERMILLION)
    right.set_ylabel("power per rate (mW per Gb/s, pJ/bit)", fontsize=15)
    for axis in (left, right):
        axis.set_xlim(0.0, 20.6)
        axis.set_ylim(bottom=0.0)
    caption = (
        "(21): 13.5, 35.9 and 136.6 mW at 5, 10 and 20 Gb/s; many slow pins take less than few fast ones."
    )
    return Picture(save(figure, folder / "pin_power.png"), caption)


def _draw_levels(folder: Path) -> Picture:
    """Draw what every level adds to power and price, on the catalogue's system on which all of them do."""
    title = "Power and price that each level adds, of a contrived system of 640 cores"
    figure, (left, right) = canvas(title, "", "", panels=2)
    found = metrics("exabounds", "contrived-exabounds", {"instructions": WORKLOAD, "demand.socket": 0.5})
    power = {TITLES[level]: found[f"power_added.{level}"] / 1e3 for level in LEVELS}
    price = {TITLES[level]: found[f"cost_added.{level}"] / 1e3 for level in LEVELS}
    _draw_level_bars(left, power, "power (kW)", BLUE)
    _draw_level_bars(right, price, "price of hardware (thousand USD)", ORANGE)
    right.tick_params(labelleft=False)
    caption = (
        "What all units of a level add, without the units inside them (19), (25): the contrived system of the "
        f"catalogue, {found['power'] / 1e3:.3g} kW and {found['cost_hardware'] / 1e3:.3g} thousand USD of hardware."
    )
    return Picture(save(figure, folder / "levels.png"), caption)


def _draw_level_bars(axis: Axes, values: Mapping[str, float], label: str, colour: str) -> None:
    whole = sum(values.values())
    bars = axis.barh(list(values), list(values.values()), color=colour)
    shown = [f"{v:.3g} ({v / whole:.1%})" if v else "0" for v in values.values()]
    axis.bar_label(bars, shown, fontsize=12, padding=4)
    axis.set_xlabel(label, fontsize=15)
    axis.set_xlim(0.0, 1.32 * max(values.values()))
    axis.grid(visible=False, axis="y")
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", labelsize=14)
