"""The picture: times of a layer's operators, measured and modelled."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.papers import drawing
from dse.papers.llmcompass.comparison import NAMES, by_kind, of, times
from dse.papers.report import Picture
from dse.system.pictures import BLUE, GREEN, ORANGE


def draw(folder: Path) -> tuple[Picture, ...]:
    """Write the picture into ``folder``."""
    figure, axes = drawing.canvas(
        "A layer on four A100, batch 8: modelled over measured time", "", "ratio", 2
    )
    for axis, (phase, name) in zip(axes, NAMES.items(), strict=True):
        real = times(phase)
        place = np.arange(len(real))
        for shift, found, colour, label in (
            (-0.2, of("l_sheet", phase), ORANGE, "data sheet"),
            (0.2, by_kind(phase), BLUE, "constants of operators alone"),
        ):
            axis.bar(place + shift, [found[n] / real[n] for n in real], 0.38, color=colour, label=label)
        axis.axhline(1.0, color=GREEN)
        axis.set_xticks(place, [n.replace("_", " ") for n in real], rotation=75, fontsize=10)
        axis.set_title(name, fontsize=14)
    axes[0].legend(fontsize=12)
    path = drawing.save(figure, folder / "operators.png")
    return (Picture(path, "Each operator of a layer, with no constant fitted to any of them."),)
