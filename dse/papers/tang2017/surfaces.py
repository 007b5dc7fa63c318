"""Estimates over all intensities of the two sides (Figures 5 to 10), from the model on arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dse.papers.report import write_csv
from dse.papers.tang2017.formulas import PLATFORMS
from dse.papers.tang2017.platforms import (
    CASES,
    PARTITIONS,
    estimate,
    intensities,
    metrics,
    pair,
    parted,
)

# powers of 2 that an axis reaches below and above the workload's own intensity
BELOW, ABOVE, SURFACE_STEPS = 7.0, 5.0, 193


def axis(case: str) -> Any:
    """Return the intensities of an axis; the workload's own lies between two of them."""
    I = intensities(case)[0]
    return I * 2.0 ** np.linspace(-BELOW, ABOVE, SURFACE_STEPS + 1)


def surface(case: str, platform: str, metric: str) -> Any:
    """Return a metric over (I_G, I_C), NaN where no partition is: both sides above or below the whole."""
    I = intensities(case)[0]
    I_C, I_G = np.meshgrid(axis(case), axis(case))
    possible = (I_C - I) * (I_G - I) < 0
    regions = parted(I, np.where(possible, I_C, I), np.where(possible, I_G, 0.0))
    found = metrics(pair(platform), regions, "CP", r0=1.0, r1=0.0)[metric]
    return np.where(possible, found, np.nan)


def write(folder: Path) -> tuple[Path, ...]:
    """Write the points of the four partitions (CSV)."""
    columns = ("case", "platform", "partition", "I_C", "I_G", "performance", "efficiency", "time", "energy")
    records = []
    for case in CASES:
        for platform in PLATFORMS:
            for wp in PARTITIONS:
                _, I_C, I_G = intensities(case, wp)
                m = estimate(case, platform, wp)
                numbers = (float(m[c]) for c in columns[5:])
                records.append(dict(zip(columns, (case, platform, wp, I_C, I_G, *numbers), strict=True)))
    return (write_csv(folder / "estimates.csv", columns, records),)
