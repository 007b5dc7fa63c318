"""Whether times were checked near the points of a dataset, and where the numbers of its machines come from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from results.axes import ANSWERED
from results.provenance import CHECKED, SOURCES
from results.telling.sources import told

if TYPE_CHECKING:
    from collections.abc import Iterable

    import xarray as xr


def of_dataset(parts: Iterable[xr.Dataset]) -> list[tuple[str, str]]:
    """Say it of the points of a dataset, in parts; nothing where its model says nothing of the kind."""
    counts: dict[str, int] = {}
    sources: dict[str, str] = {}
    points = 0
    for part in parts:
        if CHECKED not in part.attrs:
            return []
        name, flags = json.loads(part.attrs[CHECKED])
        sources |= json.loads(part.attrs[SOURCES])
        if name not in part:
            continue
        answered = np.isin(part["status"].values, ANSWERED) if "status" in part else np.True_
        points += int(np.count_nonzero(np.broadcast_to(answered, part[name].shape)))
        for value, flag in enumerate(flags):
            many = int(np.count_nonzero((part[name].values == value) & answered))
            counts[flag] = counts.get(flag, 0) + many
    return told(counts, points, sources)
