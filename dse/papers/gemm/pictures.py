"""Pictures of the comparison: errors by form, and the model over what was measured for shapes held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.papers import drawing
from dse.papers.gemm import comparison
from dse.papers.gemm.comparison import NAMES
from dse.papers.report import Picture
from dse.system.pictures import BLUE, GREEN, ORANGE

LABELS = {
    "e_sheet": "data sheet",
    "e_roofline": "fitted roofline",
    "e_launch": "+ launch time",
    "e_soft": "+ launch, soft",
    "e_three": "three terms",
    "e_sum": "sum of 10 found",
    "e_softmax": "softmax of 8",
}


def draw(folder: Path) -> tuple[Picture, ...]:
    """Write all pictures into ``folder``."""
    return _errors(folder), _against(folder)


def _errors(folder: Path) -> Picture:
    figure, (axis,) = drawing.canvas(
        f"Measured matrix products: half of the families (n, k) held out, mean of {comparison.HALVES} halves",
        "",
        "mean error (%)",
    )
    place = np.arange(len(LABELS))
    for shift, (machine, name), colour in zip((-0.2, 0.2), NAMES.items(), (BLUE, ORANGE), strict=True):
        off = [float(comparison.errors_of(machine, which).mean()) for which in LABELS]
        bars = axis.bar(place + shift, off, 0.38, color=colour, label=name)
        axis.bar_label(bars, [f"{v:.1f}" for v in off], fontsize=12)
    axis.set_xticks(place, list(LABELS.values()))
    axis.legend(fontsize=14)
    path = drawing.save(figure, folder / "errors.png")
    return Picture(path, "Mean error of each form on shapes it has not seen, recomputed from the sample.")


def _against(folder: Path) -> Picture:
    figure, axes = drawing.canvas(
        "Modelled over measured time, shapes held out", "measured time (ms)", "ratio", 2
    )
    for axis, (machine, name) in zip(axes, NAMES.items(), strict=True):
        found = comparison.sample(machine)
        out = comparison.halves(found)
        made, off, inside = comparison.fitted(machine, "n, k")
        modelled = np.asarray(made.fitted.value({c: v[out] for c, v in found.columns.items()}))
        measured = found.latency[out]
        sheet = comparison.sheet(found, comparison.rates_of(machine))[out]
        axis.loglog(1e3 * measured, sheet / measured, ".", color=ORANGE, alpha=0.4, label="data sheet")
        axis.loglog(1e3 * measured, modelled / measured, ".", color=BLUE, alpha=0.5, label="softmax of 8")
        axis.axhspan(1 / made.held.high, 1 / made.held.low, color=GREEN, alpha=0.2, label="90 % interval")
        axis.set_title(f"{name}: {off:.1f} % off, {inside:.0f} % inside", fontsize=14)
        axis.legend(fontsize=12)
    path = drawing.save(figure, folder / "ratios.png")
    return Picture(
        path, "Modelled over measured time by the data sheet and by a softmax; the band holds 90 % of runs."
    )
