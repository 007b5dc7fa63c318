"""A dataset as the columns of one table: what a page plots, filters and lists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import show
from dse.system.records import dataclass
from results import axes, flat
from results.along_fronts.variable_names import FRONT, of_whole_front
from results.dataset import BINDING, CONFLICTING, LIMIT, STATUS_CODES
from results.dataset import goals as goals_of
from results.layouts import explained_layout
from results.layouts.fresh_layout import KEPT, MEAN, PROMISED, QUANTILES
from results.page import fronts
from results.page.fronts import Place, Progress
from results.page.insides import Insides, rounded
from results.page.insides import of_dataset as insides_of
from results.telling import sizes
from results.telling.limits import sides_as_one
from results.variables import CROSSINGS_AT, ENDS, LIMIT_UNITS, WHOLE
from scenarios.uncertainty.chances import AXIS

if TYPE_CHECKING:
    import xarray as xr

COLUMN_DIGITS = 6
MOST_PAGE_POINTS = 20_000
STRUCTURE = frozenset(
    {"status", "seconds", "message", "elasticity", "binding", "would_do", "joined", "gap", "exchange_rate"}
    | {PROMISED, *(f"{name}_{end}" for name in (KEPT, MEAN) for end in ENDS)}
)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One quantity at every point, in the unit that it is shown in.

    ``role``: "axis", "objective", "decided", "metric", "bound", or "explained": told of one point only, where a sweep
    kept what stands beside each answer. ``values``: numbers, None where there is none; of codes and names their place
    in ``labels``. ``about``: its meaning and source. ``share``: nothing is below 0 or above 1. ``whole``: nothing lies
    between two values that follow each other.
    """

    name: str
    label: str
    unit: str
    role: str
    values: tuple[float | None, ...]
    labels: tuple[str, ...] = ()
    log: bool = False
    about: str = ""
    share: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """All points of a dataset.

    ``dims``: the swept axes with their lengths, in the order of the points; ``kind``: "front" or "sweep". ``status``:
    words of every point; ``limits``: of every point the limits that bind, or that conflict where nothing is feasible.
    ``places``: of fronts where each lies among the points; ``trials``: how a sampler's front grew. ``left_out``: how
    many points of the dataset are not here; ``insides``: what the designs consist of; ``rows``: of each axis of rows
    the columns that say what stands in them. ``crossings``: of an axis the places where curves along it change their
    order, in the unit of its column.
    """

    kind: str
    dims: Mapping[str, int]
    columns: tuple[Column, ...]
    status: tuple[str, ...]
    limits: tuple[tuple[str, ...], ...]
    places: tuple[Place, ...] = ()
    trials: tuple[Progress, ...] = ()
    left_out: int = 0
    senses: Mapping[str, bool] = field(default_factory=dict)
    insides: Insides = field(default_factory=Insides)
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    crossings: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def of_dataset(dataset: xr.Dataset, decided: Collection[str] = (), most: int = MOST_PAGE_POINTS) -> Table:
    """Make the table of a front, of fronts over swept axes, or of a sweep.

    ``decided``: names of decided quantities, the others are metrics. ``most``: of longer sweeps every second, third, …
    value of the longest axes is taken, the first and the last among them. Fronts have no points where they are
    filled up to the length of the longest.
    """
    whole = flat.along_all(flat.with_status(dataset))
    dims = tuple(map(str, whole["status"].dims))
    thin = _thinned(axes.in_order(whole, (d for d in dims if d != FRONT)), most)
    front = FRONT in dims
    status = thin["status"].values.ravel()
    kept = np.flatnonzero(status) if front else np.arange(status.size)
    goals = goals_of(dataset)
    scales = _scales_of_goals(thin, dims, kept, goals)
    words = {code: status.value for status, code in STATUS_CODES.items()} | {0: "not computed"}
    return Table(
        kind=FRONT if front else "sweep",
        dims={d: thin.sizes[d] for d in dims if d != FRONT},
        columns=tuple(_page_columns(thin, whole, dims, kept, goals, frozenset(decided), scales)),
        status=tuple(words[int(c)] for c in status[kept]),
        limits=_telling_limits(thin, dims, kept),
        places=fronts.of_dataset(thin, {n: scales[n][0] for n in goals if n in scales}) if front else (),
        trials=fronts.progress(thin) if front else (),
        left_out=_number_of_points(whole) - _number_of_points(thin),
        senses=goals,
        insides=insides_of(thin, kept),
        rows={d: tuple(found) for d in dims if (found := flat.of_rows(thin, d))},
        crossings=_crossings(thin, dims),
    )


def _crossings(dataset: xr.Dataset, dims: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Return where curves along the one axis of numbers change their order, by the name of that axis."""
    places = np.atleast_1d(np.asarray(dataset.attrs.get(CROSSINGS_AT, ()), float))
    numbers = [d for d in dims if d in dataset.coords and not axes.is_text(dataset[d])]
    if not places.size or len(numbers) != 1:
        return {}
    factor, _ = _short_prefix(dataset[numbers[0]].values.astype(float), dataset[numbers[0]])
    return {numbers[0]: tuple((places * factor).tolist())}


def _number_of_points(dataset: xr.Dataset) -> int:
    status = dataset["status"]
    return int(np.count_nonzero(status.values)) if FRONT in status.dims else int(status.size)


def _thinned(dataset: xr.Dataset, most: int) -> xr.Dataset:
    """Take fewer values of the longest axes; the points of one front stay together."""
    while dataset["status"].size > most:
        sizes = {str(d): dataset.sizes[d] for d in dataset["status"].dims if d != FRONT}
        longest = max(sizes, key=sizes.__getitem__, default="")
        if sizes.get(longest, 0) < 3:
            return dataset
        keep = np.unique(
            np.linspace(0, sizes[longest] - 1, max(2, (sizes[longest] + 1) // 2)).round().astype(int)
        )
        dataset = dataset.isel({longest: keep})
    return dataset


def _page_columns(
    dataset: xr.Dataset,
    whole: xr.Dataset,
    dims: Sequence[str],
    kept: Array,
    goals: Mapping[str, bool],
    decided: frozenset[str],
    scales: Mapping[str, tuple[float, str]],
) -> Iterator[Column]:
    shape = tuple(dataset.sizes[d] for d in dims)
    for place, dim in enumerate(dims):
        if dim != FRONT:
            along = [1] * len(shape)
            along[place] = shape[place]
            for name in (dim, *flat.of_rows(dataset, dim)):
                axis = dataset[name]
                spread = np.broadcast_to(np.asarray(axis.values).reshape(along), shape)
                # how an axis goes is that of all its values, of which few may be here
                yield _page_column(whole[name], name, "axis", spread.ravel()[kept])
    explained = explained_layout.names(dataset)
    # which limits are in conflict stands beside each point
    left_out = STRUCTURE | (explained & {"conflicts"})
    named = [
        str(n)
        for n, v in dataset.data_vars.items()
        if n not in left_out and set(dims) <= set(v.dims) and not of_whole_front(dataset, str(n))
    ]
    # the objective stands under its own name, too; where nothing was optimised there is none
    named = [n for n in named if n != "objective" or n in goals]
    rank = {"objective": 0, "decided": 1, "metric": 2, "bound": 3, explained_layout.ROLE: 4}
    roles = {n: explained_layout.ROLE if n in explained else _role(n, goals, decided) for n in named}
    order = {name: place for place, name in enumerate(goals)}
    for name in sorted(named, key=lambda n: (rank[roles[n]], order.get(n, 0))):
        array = dataset[name].transpose(*dims, ...)
        for label, element in _elements_at_point(array, dims):
            values = np.asarray(element.values).ravel()[kept]
            column = _page_column(element, label, roles[name], values, scales.get(name))
            yield replace(column, label=axes.words(axes.name_of(dataset, name))) if name in goals else column


def _scales_of_goals(
    dataset: xr.Dataset, dims: Sequence[str], kept: Array, goals: Mapping[str, bool]
) -> dict[str, tuple[float, str]]:
    """Return the factor and the unit of each objective, which are those of all that is drawn or read beside it."""
    found: dict[str, tuple[float, str]] = {}
    for goal in goals:
        if goal not in dataset or set(dataset[goal].dims) != set(dims):
            continue
        array = dataset[goal]
        scale = _short_prefix(array.transpose(*dims).values.ravel()[kept].astype(float), array)
        beside = [f"{goal}_fresh{end}" for end in ("", *(f"_{e}" for e in ENDS))]
        if len(goals) == 1:
            beside += ["bound", MEAN, *QUANTILES]
        alike = (
            n for n in beside if n in dataset and dataset[n].attrs.get("units") == array.attrs.get("units")
        )
        found |= dict.fromkeys((goal, *alike), scale)
    return found


def _role(name: str, goals: Mapping[str, bool], decided: frozenset[str]) -> str:
    if name in goals:
        return "objective"
    if name == "bound":
        return "bound"
    return "decided" if name in decided or any(d.startswith(f"{name}.") for d in decided) else "metric"


def _elements_at_point(array: xr.DataArray, dims: Sequence[str]) -> Iterator[tuple[str, xr.DataArray]]:
    """Go through what a variable holds at a point: itself, or each element of a family, with its own unit."""
    beyond = [str(d) for d in array.dims if d not in dims]
    name = str(array.name)
    if not beyond:
        yield name, array
        return
    for at in itertools.product(*(range(array.sizes[d]) for d in beyond)):
        which = [
            str(array[d].values[i]) if d in array.coords else str(i + 1)
            for d, i in zip(beyond, at, strict=True)
        ]
        element = array.isel(dict(zip(beyond, at, strict=True)))
        element.attrs = flat.of_element(array.attrs, dict(zip(beyond, which, strict=True)))
        yield f"{name} {', '.join(which)}", element


def _page_column(
    array: xr.DataArray, name: str, role: str, values: Array, scale: tuple[float, str] | None = None
) -> Column:
    """Make a column; ``scale``: its factor and unit, where they are not its own choice."""
    about = "; ".join(str(array.attrs[k]) for k in ("long_name", "source") if array.attrs.get(k))
    label = axes.words(name)
    if values.dtype.kind not in "fiub":
        texts = {text: float(i) for i, text in enumerate(dict.fromkeys(map(str, values.tolist())))}
        shown = tuple(axes.shown_name(array, text) for text in texts)
        return Column(name, label, "", role, tuple(texts[str(v)] for v in values), shown, about=about)
    numbers = values.astype(float)
    if "flag_values" in array.attrs or "choices" in array.attrs:
        found = _coded(array, numbers)
        return Column(name, label, "", role, found[0], found[1], about=about)
    factor, unit = scale or _short_prefix(numbers, array)
    # the number of a world or of a row stands for nothing that has ratios
    log = axes.by_ratio(numbers, array) and name != AXIS
    scaled = tuple(rounded(numbers * factor, COLUMN_DIGITS))
    share, whole = array.name == KEPT, WHOLE in array.attrs
    return Column(name, label, unit, role, scaled, (), log, about, share=share, whole=whole)


def _short_prefix(numbers: Array, array: xr.DataArray) -> tuple[float, str]:
    """Return a factor and a unit with a prefix: the one with which most of the numbers are short to read."""
    sizes = np.sort(np.abs(numbers[np.isfinite(numbers) & (numbers != 0)]))
    if not sizes.size:
        return axes.prefix(numbers, array)
    tried = [axes.prefix(sizes[[i]], array) for i in (sizes.size // 2, -1, 0)]
    return min(tried, key=lambda found: _length(sizes * found[0]))


def _length(sizes: Array) -> float:
    """Return how many digits stand before the third one, or zeros before the first one, in all numbers together."""
    tens = np.floor(np.log10(sizes))
    return float(np.where(tens < 0, -tens - 0.6, np.maximum(tens - 2, 0)).sum())


def _coded(array: xr.DataArray, numbers: Any) -> tuple[tuple[float | None, ...], tuple[str, ...]]:
    texts = axes.shown_codes(array)
    places = {code: float(i) for i, code in enumerate(texts)}
    return tuple(places.get(float(v)) for v in numbers), tuple(texts.values())


def _telling_limits(dataset: xr.Dataset, dims: Sequence[str], kept: Array) -> tuple[tuple[str, ...], ...]:
    """Of every point the limits that say why it is as it is."""
    if "binding" not in dataset or LIMIT not in dataset:
        return ((),) * kept.size
    names = [str(n) for n in dataset[LIMIT].values]
    codes = dataset["binding"].transpose(*dims, LIMIT).values.reshape(-1, len(names))[kept]
    telling: list[list[bool]] = np.isin(codes, (BINDING, CONFLICTING)).tolist()
    told: list[tuple[str, ...]] = [sides_as_one(itertools.compress(names, row)) for row in telling]
    if "would_do" in dataset:
        units = sizes.units_of_limits(dataset["would_do"].attrs, LIMIT_UNITS)
        needed = dataset["would_do"].transpose(*dims, LIMIT).values.reshape(-1, len(names))[kept]
        for point in np.flatnonzero(np.isfinite(needed).any(-1)).tolist():
            values = dict(zip(names, needed[point].tolist(), strict=True))
            told[point] = tuple(_with_needed(n, values[n], units.get(n, "")) for n in told[point])
    return tuple(told)


def _with_needed(name: str, value: float, unit: str) -> str:
    """Write a limit in conflict with the value at which the problem is feasible, where there is one."""
    if not math.isfinite(value):
        return name
    return f"{name} (feasible at {show(value, unit, 4)})"
