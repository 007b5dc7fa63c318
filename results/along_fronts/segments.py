"""What a front says of what lies between its points: ``joined``, one code per point."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from results.along_fronts.variable_names import FRONT

if TYPE_CHECKING:
    import xarray as xr

JOINED = "joined"
UNKNOWN_BETWEEN, JUMP_BETWEEN, STRAIGHT_BETWEEN = -1, 0, 1
JOINED_ABOUT = {
    "long_name": "what lies between this point and the next: an exact straight segment of the front, or nothing",
    "flag_values": [UNKNOWN_BETWEEN, JUMP_BETWEEN, STRAIGHT_BETWEEN],
    "flag_meanings": "unknown nothing straight_segment",
}
SEGMENT_SAMPLES = 40


def codes(dataset: xr.Dataset) -> np.ndarray[Any, Any]:
    """What lies between each point and the next, one entry fewer than there are points.

    Of some points that were chosen it is known where they are neighbours in the whole front, either way round.
    """
    between = max(dataset.sizes[FRONT] - 1, 0)
    if JOINED not in dataset:
        return np.full(between, UNKNOWN_BETWEEN)
    told, steps = dataset[JOINED].values, np.diff(dataset[FRONT].values)
    return np.select([steps == 1, steps == -1], [told[:between], told[1:]], UNKNOWN_BETWEEN)


def curve(dataset: xr.Dataset, names: list[str], place: int) -> np.ndarray[Any, Any] | None:
    """Points along the segment from one point to the next, one row per name.

    None where these are not the quantities in terms of which it is known. A segment that is straight in a
    reciprocal is a curve.
    """
    known = json.loads(dataset.attrs.get("straight_in", "{}"))
    if any(n not in known for n in names):
        return None
    ends = np.array([dataset[n].values[place : place + 2] for n in names], dtype=float)
    over = np.array([known[n] != n for n in names])[:, None]
    with np.errstate(all="ignore"):
        ends = np.where(over, 1.0 / ends, ends)
        share = np.linspace(0.0, 1.0, SEGMENT_SAMPLES if over.any() else 2)
        found = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * share
        return np.asarray(np.where(over, 1.0 / found, found))
