"""Which promises of a probability fresh samples contradict at the points of a sweep or a front, and where."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import plural
from dse.system.records import dataclass
from results import axes, flat
from results.layouts.fresh_layout import JOIN, KEPT, PROMISED
from results.telling.fresh import Estimate, Kept, percent
from results.variables import ENDS, PROMISE

if TYPE_CHECKING:
    import xarray as xr

SAMPLES, SEED = "fresh_samples", "fresh_seed"
"""Attributes of a dataset: how many fresh samples its designs were judged in, and the seed they were drawn with."""
FEW_KEPT = 40
"""Points up to which each has a row of its own in a table."""


@dataclass(frozen=True, slots=True)
class At:
    """A limit at a point of a sweep or a front; ``place``: along all dimensions of its points."""

    place: tuple[int, ...]
    where: str
    kept: Kept


def judged(dataset: xr.Dataset) -> list[At]:
    """Return what fresh samples say of each limit at each point that has a design, point by point."""
    if KEPT not in dataset or PROMISE not in dataset.coords:
        return []
    dims = flat.points(dataset)
    labels = [str(n) for n in dataset[PROMISE].values]
    held, low, high, asked = (
        dataset[n].transpose(*dims, PROMISE).values
        for n in (KEPT, *(f"{KEPT}_{end}" for end in ENDS), PROMISED)
    )
    found = []
    for place in itertools.product(*(range(dataset.sizes[d]) for d in dims)):
        where = ", ".join(_place_text(dataset, d, i) for d, i in zip(dims, place, strict=True))
        for k, label in enumerate(labels):
            at = (*place, k)
            if np.isfinite(held[at]):
                share = Estimate(float(held[at]), float(low[at]), float(high[at]))
                wanted = float(asked[at])
                kept = Kept(tuple(label.split(JOIN)), None if math.isnan(wanted) else wanted, share)
                found.append(At(place, where, kept))
    return found


def _place_text(dataset: xr.Dataset, dim: str, i: int) -> str:
    if dim == "front":
        return f"point {i}"
    told = []
    for name in flat.of_rows(dataset, dim) or [dim]:
        v = dataset[name].values[i]
        axis = dataset[name]
        amount = axes.shown_name(axis, v) if axes.is_text(axis) else axes.amount(float(v), axis, 4)
        told.append(f"{axes.words(name)} {amount}")
    return ", ".join(told)


def broken(found: Sequence[At]) -> list[At]:
    """Return where the upper end of the interval lies below the probability that was asked, the worst first."""
    return sorted((a for a in found if a.kept.broken), key=lambda a: a.kept.held.high - (a.kept.asked or 0.0))


def sentences(dataset: xr.Dataset, found: Sequence[At]) -> list[str]:
    """Say of how many points fresh samples contradict a promise, and which is the worst; nothing without promises."""
    asked = [a for a in found if a.kept.asked is not None]
    if not asked:
        return []
    many = dataset.attrs.get(SAMPLES)
    fresh = f"{many} fresh samples" if many else "fresh samples"
    points = len({a.place for a in asked})
    wrong = broken(asked)
    if not wrong:
        low = min(asked, key=lambda a: a.kept.held.high - (a.kept.asked or 0.0)).kept
        told = f"In {fresh} no probability that was asked is contradicted at any of {plural(points, 'point')}"
        return [f"{told}; the least kept: {low.words}"]
    count = len({a.place for a in wrong})
    worst = wrong[0]
    told = f"At {count} of {plural(points, 'point')} a limit holds less often in {fresh} than was asked"
    return [f"{told}; the worst: at {worst.where} {worst.kept.words}"]


Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def tables(dataset: xr.Dataset, found: Sequence[At]) -> list[Table]:
    """Return what is estimated in fresh samples at each point, as a table; of many points those that are contradicted.

    Limits of which no probability is asked have rows only where they fail in some sample.
    """
    rows = [a for a in found if a.kept.asked is not None or a.kept.held.value < 1.0]
    many, seed = dataset.attrs.get(SAMPLES), dataset.attrs.get(SEED)
    heading = (
        f"Estimated in {many} fresh samples (random, seed {seed})" if many else "Estimated in fresh samples"
    )
    if len(rows) > FEW_KEPT:
        rows, heading = broken(rows)[:FEW_KEPT], f"{heading}: the {FEW_KEPT} points at most that miss most"
    if not rows:
        return []
    head = ("at", "limit", "asked", "holds in", "95 % interval", "")
    told: list[tuple[str, ...]] = [
        (
            a.where,
            JOIN.join(a.kept.names),
            "" if a.kept.asked is None else percent(a.kept.asked),
            percent(a.kept.held.value),
            f"{percent(a.kept.held.low)} … {percent(a.kept.held.high)}",
            "fewer than asked" if a.kept.broken else "",
        )
        for a in rows
    ]
    return [(heading, head, told)]


def record(found: Sequence[At]) -> list[dict[str, Any]]:
    """Return the promises that fresh samples contradict as plain data, the worst first."""
    return [
        {"at": a.where, "limits": list(a.kept.names), "asked": a.kept.asked, "held": a.kept.held._asdict()}
        for a in broken(found)
    ]
