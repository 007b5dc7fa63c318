"""Fronts of many places in one dataset: padded to the longest, with dominance across the places."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from results import provenance, variables
from results.along_fronts.variable_names import ABOUT_PLACES, DOMINATED, FRONT, PLACE_STATUS, POINTS
from results.dataset import STATUS_CODES
from results.solution import Status

if TYPE_CHECKING:
    import xarray as xr

    from results.variables import GridLike

ANSWERED = "answered"
PLACE_CODES = {ANSWERED: 1} | {
    s.value: STATUS_CODES[s] for s in (Status.INFEASIBLE, Status.UNBOUNDED, Status.ERROR)
}
# a variable cannot have the name of a dimension
RENAMED = {"front": "front_kind", "enclosure": "enclosure_proof"}
KEPT = ("enclosure_", "hypervolume_")
EQUAL_PLACES = 1e-9
"""What rounding leaves between equal objectives, relative."""
BETTER_BY = 1e-6
"""What one point must better another by, relative: the gap of an optimum."""
COMPARED_AT_ONCE = 4_000_000
"""Comparisons of points made at a time."""

Place = tuple[int, ...]
Array = np.ndarray[Any, Any]


def joined(grid: GridLike, parts: Mapping[Place, xr.Dataset], goals: Mapping[str, bool]) -> xr.Dataset:
    """Join the fronts of the places of a grid, each a dataset along ``front``, into one along its axes.

    ``parts``: by their place, those not computed missing; ``goals``: objectives by name, and whether each is maximised.
    Dimensions with labels (limits, regions, ...) have the labels of all places, others the greatest length.
    """
    import xarray as xr

    question = grid.question((0,) * len(grid.axes))
    axes = [c for a in grid.axes for c in variables.coordinates(a, question)]
    shape = tuple(len(a.values) for a in grid.axes)
    about = provenance.attributes(grid, question)
    names = tuple(a.name for a in grid.axes)
    made = _Joined(
        names, shape, {place: _giving_way(part, {a.name for a in axes}) for place, part in parts.items()}
    )
    coordinates = {
        a.name: (a.dims, np.asarray(a.values, dtype=a.numpy_dtype), dict(a.attributes)) for a in axes
    }
    data = {n: made.variable(n) for n in made.names()}
    found = xr.Dataset(data, coordinates | made.coordinates(), about)
    found = found.assign(made.of_places(set(about)))
    return _with_dominance(found, names, goals)


def _giving_way(part: xr.Dataset, axes: set[str]) -> xr.Dataset:
    """Rename families that are called like an axis, "share_by_region", as a sweep does."""
    taken = [n for n in map(str, part.data_vars) if n in axes]
    return (
        part.rename({n: f"{n}_by_{'_'.join(map(str, part[n].dims[1:]))}" for n in taken}) if taken else part
    )


class _Joined:
    """Variables of many datasets laid side by side along axes."""

    def __init__(
        self, axes: tuple[str, ...], shape: tuple[int, ...], parts: Mapping[Place, xr.Dataset]
    ) -> None:
        self.axes, self.shape, self.parts = axes, shape, parts
        self.labels: dict[str, dict[str, int]] = {}
        self.sizes: dict[str, int] = {FRONT: 0}
        for part in parts.values():
            for dim in map(str, part.dims):
                if dim in part.coords and part[dim].dtype.kind not in "fiub":
                    known = self.labels.setdefault(dim, {})
                    for label in map(str, part[dim].values):
                        known.setdefault(label, len(known))
                    self.sizes[dim] = len(known)
                else:
                    self.sizes[dim] = max(self.sizes.get(dim, 0), part.sizes[dim])

    def names(self) -> list[str]:
        """Return the names of all variables, in the order in which they first occur."""
        return list(dict.fromkeys(str(n) for part in self.parts.values() for n in part.data_vars))

    def coordinates(self) -> dict[str, Any]:
        """Return the coordinates of all dimensions but the axes."""
        found: dict[str, Any] = {}
        for part in self.parts.values():
            for name, coordinate in part.coords.items():
                dim = str(name)
                if dim in self.labels:
                    values: Any = np.array(list(self.labels[dim]), dtype=np.dtypes.StringDType())
                elif len(coordinate) < self.sizes[dim]:
                    continue
                else:
                    values = coordinate.values
                found.setdefault(dim, (dim, values, dict(coordinate.attrs)))
        return found

    def variable(self, name: str) -> tuple[tuple[str, ...], Array, dict[str, Any]]:
        """Return one variable over all places."""
        held = {place: part[name] for place, part in self.parts.items() if name in part}
        like = next(iter(held.values()))
        dims = tuple(map(str, like.dims))
        values = np.full((*self.shape, *(self.sizes[d] for d in dims)), _fill(like), dtype=like.dtype)
        for place, array in held.items():
            values[np.ix_(*([i] for i in place), *(self._places(array, d) for d in dims))] = array.values
        return (*self.axes, *dims), values, dict(like.attrs)

    def _places(self, array: xr.DataArray, dim: str) -> list[int]:
        """Return where the elements of an array stand along a dimension."""
        if dim not in self.labels:
            return list(range(array.sizes[dim]))
        return [self.labels[dim][str(label)] for label in array[dim].values]

    def of_places(self, shared: set[str]) -> dict[str, Any]:
        """Return what single fronts say of themselves in attributes, as variables along the axes."""
        told = {
            place: {k: v for k, v in part.attrs.items() if k not in shared}
            for place, part in self.parts.items()
        }
        points = np.zeros(self.shape, np.int32)
        status = np.zeros(self.shape, np.int8)
        for place in self.parts:
            points[place] = told[place].pop("points")
            status[place] = PLACE_CODES[told[place].pop("status")]
        flags = {
            "long_name": ABOUT_PLACES[PLACE_STATUS],
            "flag_values": [0, *PLACE_CODES.values()],
            "flag_meanings": " ".join(["not_computed", *PLACE_CODES]),
        }
        count = {"units": "1", "long_name": ABOUT_PLACES[POINTS]}
        found: dict[str, Any] = {POINTS: (self.axes, points, count), PLACE_STATUS: (self.axes, status, flags)}
        for key in dict.fromkeys(k for record in told.values() for k in record):
            name = RENAMED.get(key, key if key.startswith(KEPT) else f"front_{key}")
            values = {place: record[key] for place, record in told.items() if key in record}
            found[name] = (self.axes, *self._column(name, values))
        return found

    def _column(self, name: str, values: Mapping[Place, Any]) -> tuple[Array, dict[str, Any]]:
        about = {"long_name": ABOUT_PLACES.get(name, name.replace("_", " "))}
        kinds = {type(v) for v in values.values()}
        made: Array
        if kinds <= {int, bool, np.int64}:
            made, about = np.full(self.shape, -1, np.int32), about | {"units": "1"}
        elif kinds <= {int, float, np.float64}:
            made, about = np.full(self.shape, np.nan), about | {"units": "1"}
        else:
            made = np.full(self.shape, "", np.dtypes.StringDType())
        for place, value in values.items():
            made[place] = value
        return made, about


def _fill(array: xr.DataArray) -> Any:
    """What stands where a front has no point."""
    if array.dtype.kind == "f":
        return np.nan
    if array.dtype.kind in "iu":
        return -1 if -1 in np.atleast_1d(array.attrs.get("flag_values", [-1])) else 0
    return ""


def _with_dominance(dataset: xr.Dataset, axes: tuple[str, ...], goals: Mapping[str, bool]) -> xr.Dataset:
    """Mark the points that a design of another place betters: a point there, or one that its enclosure proves."""
    signed = [dataset[n].values * (-1.0 if most else 1.0) for n, most in goals.items()]
    shape = signed[0].shape
    values = np.stack([a.reshape(math.prod(shape[:-1]), shape[-1]) for a in signed], axis=-1)
    place, point = np.nonzero(np.isfinite(values).all(axis=-1))
    found = np.zeros(values.shape[:-1], np.int8)
    found[place, point] = dominated(values[place, point], place)
    for own, bound in _bounds(dataset, list(goals.values())):
        first, second = values[place, point].T
        beyond = bound(first) < second - BETTER_BY * np.abs(second)
        found[place, point] |= beyond & (place != own)
    where = ", ".join(axes)
    about = {
        "long_name": f"whether a design elsewhere on {where} is as good in all objectives and better in one",
        "flag_values": [0, 1],
        "flag_meanings": "not_dominated dominated",
    }
    return dataset.assign({DOMINATED: ((*axes, FRONT), found.reshape(shape), about)})


def _bounds(dataset: xr.Dataset, most: list[bool]) -> Iterator[tuple[int, Callable[[Array], Array]]]:
    """Go through the enclosed fronts: number of the place, and what a design there has of the second objective.

    Of a function of the first objective; both are to be small, those to be maximised with the sign turned.
    """
    if "enclosure_at" not in dataset:
        return
    sides = ("enclosure_at", "enclosure_lower" if most[1] else "enclosure_upper")
    at, proved = (dataset[n].values.reshape(-1, dataset.sizes["enclosure"]) for n in sides)
    for place in range(len(at)):
        kept = np.isfinite(at[place]) & np.isfinite(proved[place])
        if kept.any():
            yield place, partial(_proved_between_places, at[place, kept], proved[place, kept], most)


def _proved_between_places(at: Array, proved: Array, most: list[bool], small: Array) -> Array:
    """Return what is proved at a value of the first objective, between places straight or straight in logarithms.

    Whichever is worse is true of both.
    """
    first = -small if most[0] else small
    found = np.interp(first, at, proved)
    if (at > 0).all() and (proved > 0).all():
        with np.errstate(all="ignore"):
            curved = np.exp(np.interp(np.log(np.maximum(first, at[0] / 2)), np.log(at), np.log(proved)))
        found = np.minimum(found, curved) if most[1] else np.maximum(found, curved)
    beyond = first > at[-1] if most[0] else first < at[0]
    return np.where(beyond, np.inf, -found if most[1] else found)


def dominated(values: Array, group: Array) -> Array:
    """Return which points a point of another group betters: as good in all (to EQUAL_PLACES), BETTER_BY in one.

    ``values``: what is to be small, (points, objectives); ``group``: an integer for each point.
    """
    found = np.zeros(len(values), bool)
    block = max(1, COMPARED_AT_ONCE // max(len(values), 1))
    for start in range(0, len(values), block):
        part = slice(start, start + block)
        pairs = group != group[part, None]
        better = np.zeros_like(pairs)
        for goal in values.T:
            mine, size = goal[part, None], np.abs(goal[part, None])
            pairs &= goal <= mine + EQUAL_PLACES * size
            better |= goal < mine - BETTER_BY * size
        found[part] = (pairs & better).any(axis=1)
    return found
