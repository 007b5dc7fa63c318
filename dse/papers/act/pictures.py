"""The picture: what ACT's method gives beside the vendors' assessments, and where a run's carbon comes from by grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.models.shared.grids import GRIDS
from dse.papers import drawing
from dse.papers.act.carbon_rows import JULIAN_YEAR, ours
from dse.papers.asking import metrics
from dse.papers.report import Picture
from dse.papers.sources import table
from dse.system.pictures import BLUE, GREEN, ORANGE

SHOWN = ("coal", "india", "world", "usa", "europe", "brazil", "nuclear", "iceland")


def draw(folder: Path) -> tuple[Picture, ...]:
    """Write all pictures into ``folder``."""
    return _assessed(folder), _grids(folder)


def _assessed(folder: Path) -> Picture:
    rows = table("act/published")
    figure, (axis,) = drawing.canvas("Carbon of making a server and a telephone", "", "kg CO2 equivalent")
    place = np.arange(len(rows))
    mine = [ours()[row["product"], row["group"]] for row in rows]
    theirs = [float(row["assessed_kg"]) for row in rows]
    for shift, values, colour, label in (
        (-0.2, mine, BLUE, "ACT's method"),
        (0.2, theirs, ORANGE, "assessed"),
    ):
        bars = axis.bar(place + shift, values, 0.38, color=colour, label=label)
        axis.bar_label(bars, [f"{v:.3g}" for v in values], fontsize=12)
    axis.set_yscale("log")
    axis.set_xticks(place, [f"{row['product']}\n{row['group']}" for row in rows], fontsize=11)
    axis.legend(fontsize=14)
    path = drawing.save(figure, folder / "assessed.png")
    return Picture(path, "ACT's method beside the vendors' own life-cycle assessments.")


def _grids(folder: Path) -> Picture:
    title = "1e18 flops on an H100, two flops per byte: where the carbon comes from"
    figure, (axis,) = drawing.canvas(title, "", "share (%)")
    work = {"flops": 1e18, "intensity": 2.0, "lifetime": 4 * JULIAN_YEAR, "utilisation": 0.5}
    found = [metrics("roofline", "h100-sxm", {**work, "grid": grid}) for grid in SHOWN]
    running = np.array([100 * m["carbon_operational"] / m["carbon"] for m in found])
    place = np.arange(len(SHOWN))
    axis.bar(place, running, 0.6, color=ORANGE, label="electricity")
    over = axis.bar(
        place, 100 - running, 0.6, bottom=running, color=GREEN, label="the hardware, 4 years half busy"
    )
    axis.bar_label(over, [f"{1e3 * m['carbon']:.3g} g" for m in found], fontsize=12)
    labels = [f"{grid}\n{GRIDS[grid] * 3.6e9:g} g/kWh" for grid in SHOWN]
    axis.set_xticks(place, labels, fontsize=11)
    axis.set_ylim(0, 110)
    axis.legend(fontsize=14, loc="lower left")
    path = drawing.save(figure, folder / "grids.png")
    return Picture(path, "Where the carbon of a run comes from, by grid; its sum stands above each bar.")
