"""The numbers behind the figures: every platform over intensity, at Δπ/k."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.papers.choi2014.pictures import INTENSITIES, THROTTLES
from dse.papers.choi2014.platforms import cells, curves, machine
from dse.papers.report import write_csv

METRICS = ("performance", "efficiency", "power", "peak_power", "regime")
EVERY_TENTH = 10


def write(folder: Path) -> tuple[Path, ...]:
    """Write one CSV (SI units; regime 0 compute, 1 cap, 2 memory) and give its path back."""
    columns = ("machine", "throttle", "intensity", *METRICS)
    shown = INTENSITIES[::EVERY_TENTH]
    records = []
    for name in cells():
        for k, _, _ in THROTTLES:
            at = curves(name, shown, throttle=k)
            values = [np.broadcast_to(at[m], shown.shape).tolist() for m in METRICS]
            records += [
                dict(zip(columns, (machine(name), k, *row), strict=True))
                for row in zip(shown.tolist(), *values, strict=True)
            ]
    return (write_csv(folder / "figures1-5-6-7.csv", columns, records),)
