"""Fronts on a page: where each lies among the points, what is proved between its points, and why one is empty."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.records import dataclass
from results import axes
from results.along_fronts import along, segments
from results.along_fronts.variable_names import AT, FRONT, HYPERVOLUME, LOWER, REFERENCE, TRIAL, UPPER, WIDTH
from results.page.insides import rounded

if TYPE_CHECKING:
    import xarray as xr

# curves are drawn by straight lines: so many to a stretch that is not a line on the page
PIECES = 8
MOST_TRIALS = 400
LINE_DIGITS = 6

Array = np.ndarray[Any, Any]
Curve = tuple[list[float | None], list[float | None]]


@dataclass(frozen=True, slots=True)
class Place:
    """One front: all there is, or that at one place of the swept axes.

    ``at``: the value on each axis, in words; ``first``, ``count``: its points in the table; ``knee``: the number of the
    point there; ``exchange``: of each point the changes in percent that ``along.exchanges`` tells.
    ``band``: polygons that hold the front, with ``width`` (relative) and ``proof`` in words; ``lines``: exact segments
    of the front. Both in the units of the table's columns. ``refusal``: why there is no front.
    """

    at: tuple[str, ...] = ()
    first: int = 0
    count: int = 0
    knee: int | None = None
    exchange: tuple[tuple[float, float] | None, ...] = ()
    band: tuple[Curve, ...] = ()
    width: float | None = None
    proof: str = ""
    lines: tuple[Curve, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """The dominated hypervolume after each trial of a sampler at one place, thinned to so many as a picture shows."""

    at: tuple[str, ...]
    trials: tuple[float, ...]
    values: tuple[float, ...]
    about: str = ""


def axis_names(dataset: xr.Dataset) -> tuple[str, ...]:
    """Return the swept axes over which a dataset has fronts, none for a single front."""
    return tuple(str(d) for d in dataset["status"].dims if d != FRONT)


def of_dataset(dataset: xr.Dataset, scales: Mapping[str, float]) -> tuple[Place, ...]:
    """Return the fronts of a dataset, in the order of its points; those that are empty among them.

    ``scales``: of each objective the factor to the unit of its column in the table.
    """
    found, first = [], 0
    for at, single in _singles(dataset):
        made = _front_at_place(at, single, first, scales)
        found.append(made)
        first += made.count
    return tuple(found)


def progress(dataset: xr.Dataset) -> tuple[Progress, ...]:
    """Return how the hypervolume grew with the trials of a sampler, empty where there was none."""
    if HYPERVOLUME not in dataset or TRIAL not in dataset[HYPERVOLUME].dims:
        return ()
    return tuple(_progress(at, single) for at, single in _singles(dataset))


def _progress(at: tuple[str, ...], single: xr.Dataset) -> Progress:
    values = np.asarray(single[HYPERVOLUME].values, float)
    trials = single[TRIAL].values if TRIAL in single.coords else np.arange(1, values.size + 1)
    known = np.flatnonzero(np.isfinite(values))
    if known.size > MOST_TRIALS:
        known = known[np.unique(np.geomspace(1, known.size, MOST_TRIALS).astype(int)) - 1]
    reference: Mapping[str, float] = json.loads(str(single.attrs.get(REFERENCE) or "{}"))
    at_reference = (f"{n} {axes.amount(v, single[n], 4)}" for n, v in reference.items() if n in single)
    about = ": ".join(
        filter(None, (str(single[HYPERVOLUME].attrs.get("long_name", "")), ", ".join(at_reference)))
    )
    told = tuple(float(f"{v:.{LINE_DIGITS}g}") for v in values[known])
    return Progress(at, tuple(map(float, trials[known])), told, about)


def _singles(dataset: xr.Dataset) -> Iterator[tuple[tuple[str, ...], xr.Dataset]]:
    """Go through the fronts as datasets of their own, what they say of themselves in their attributes."""
    dims = axis_names(dataset)
    if not dims:
        yield (), dataset
        return
    for index in itertools.product(*(range(dataset.sizes[d]) for d in dims)):
        at = tuple(
            axes.value_label(dataset[d], i).partition(": ")[2] for d, i in zip(dims, index, strict=True)
        )
        own = dataset.isel(dict(zip(dims, index, strict=True)))
        told = {n.removeprefix("front_"): own[n].item() for n in map(str, own.data_vars) if own[n].ndim == 0}
        yield at, own.assign_attrs(told | {"enclosure": told.get("enclosure_proof", "")})


def _front_at_place(
    at: tuple[str, ...], single: xr.Dataset, first: int, scales: Mapping[str, float]
) -> Place:
    rows = np.flatnonzero(single["status"].values)
    count = rows.size
    if not count:
        return Place(at, first, refusal=_refusal(single.attrs))
    goals = list(scales)
    if len(goals) != 2:
        return Place(at, first, count)
    kept = single.isel({FRONT: rows})
    a, b = (np.asarray(kept[n].values, float) for n in goals)
    bend = along.knee_of(kept, goals)
    width = single.attrs.get(WIDTH)
    return Place(
        at,
        first,
        count,
        None if bend is None else first + bend,
        tuple(_exchange(*pair) for pair in along.exchanges(a, b).tolist()),
        tuple(_band(kept, scales)),
        float(width) if width is not None and math.isfinite(width) else None,
        str(single.attrs.get("enclosure", "")),
        tuple(_exact_curves(kept, scales)),
    )


def _exchange(first: float, second: float) -> tuple[float, float] | None:
    return None if math.isnan(second) else (float(f"{first:.2g}"), float(f"{second:.3g}"))


def _refusal(about: Mapping[str, Any]) -> str:
    """Say why there is no front, in the words of its making; datasets made before these were kept have names alone."""
    if about.get("reason"):
        return f"no design: {about['reason']}"
    conflict = json.loads(str(about.get("conflict") or "{}"))
    if conflict:
        return (
            f"no design: {' and '.join(conflict)} cannot {'hold together' if len(conflict) > 1 else 'be met'}"
        )
    if int(about.get("points", 0)):
        # some designs of each front were chosen, and this one is shorter
        return "none of these designs"
    return str(about.get("message") or about.get("certificate") or "not computed")


def _exact_curves(kept: xr.Dataset, scales: Mapping[str, float]) -> Iterator[Curve]:
    """Go through the exact segments."""
    names = list(scales)
    for place, code in enumerate(segments.codes(kept)):
        drawn = segments.curve(kept, names, place) if code == segments.STRAIGHT_BETWEEN else None
        if drawn is not None:
            x, y = (row * scales[n] for row, n in zip(drawn, names, strict=True))
            yield _rounded_curve(*_finer(x, y, (False, False))) if x.size == 2 else _rounded_curve(x, y)


def _band(kept: xr.Dataset, scales: Mapping[str, float]) -> Iterator[Curve]:
    """Go through the polygons that hold the front."""
    if AT not in kept:
        return
    (first, second), told = list(scales), str(kept[LOWER].attrs.get("long_name", ""))
    logarithmic = tuple("logarithms" in told or f"logarithm of {n}" in told for n in scales)
    at = np.asarray(kept[AT].values, float) * scales[first]
    low, high = (np.asarray(kept[n].values, float) * scales[second] for n in (LOWER, UPPER))
    known = np.isfinite(at) & np.isfinite(low) & np.isfinite(high)
    for piece in (slice(a, b) for a, b in axes.runs(known) if b - a > 1):
        below = _finer(at[piece], low[piece], logarithmic)
        above = _finer(at[piece], high[piece], logarithmic)
        yield _rounded_curve(*(np.concatenate([b, a[::-1]]) for b, a in zip(below, above, strict=True)))


def _finer(x: Array, y: Array, logarithmic: Sequence[bool]) -> tuple[Array, Array]:
    """Put points on the stretches of a line (straight, or in logarithms of x or y), so that they bend where they do."""
    logs = list(zip((x, y), logarithmic, strict=True))
    if x.size > 50 * PIECES or any(log and v.min() <= 0 for v, log in logs):
        return x, y
    share = np.arange(PIECES) / PIECES
    found = []
    for values, log in logs:
        v = np.log(values) if log else values
        inside = (v[:-1, None] + np.diff(v)[:, None] * share).ravel()
        whole = np.append(inside, v[-1])
        found.append(np.exp(whole) if log else whole)
    return found[0], found[1]


def _rounded_curve(x: Sequence[float] | Array, y: Sequence[float] | Array) -> Curve:
    return rounded(x, LINE_DIGITS), rounded(y, LINE_DIGITS)
