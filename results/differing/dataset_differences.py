"""What differs between two datasets: grid, statuses, values and provenance, read piece by piece."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from dse.models import PluginError
from dse.quantities import plural, show
from dse.system.records import dataclass
from results import asked, flat
from results.along_fronts.variable_names import FRONT, POINTS
from results.axes import unit_of
from results.differing import drawn_worlds, question_differences
from results.differing.differences import Row, apart, compared, each
from results.telling.words import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import xarray as xr

MOST_PAIRS_OF_TEXTS = 5
"""Of a variable that is text, so many pairs of different texts are told one by one."""
GRID, STATUSES, VALUES, PROVENANCE, QUESTION = "grid", "statuses", "values", "provenance", "question"
# ratios, of which a difference as such counts
RATIOS = frozenset({"gap", "elasticity"})
TIMED = frozenset({"seconds"})
# told elsewhere, or no matter: the question is compared by what it means, titles by nobody
ELSEWHERE = frozenset({"title", "scenario", "scenario_hash", "identity", "format", "history"})


@dataclass(slots=True)
class _Tally:
    """What differs in one variable: at how many points, and where most."""

    points: int = 0
    worst: float = -1.0
    sides: tuple[Any, Any] = (None, None)
    where: str = ""


_Changes = dict[tuple[str, str], list[Any]]
"""Which codes became which, with how many points, and the first of them."""


def differences(first: xr.Dataset, second: xr.Dataset, tolerance: float) -> Iterator[Row]:
    """Compare two datasets at the points that both have.

    Numbers within ``tolerance`` (relative) are the same, NaN is NaN; of gaps and elasticities, which are ratios,
    within ``tolerance`` as such. Time taken and titles make no difference. Fronts of unlike numbers of points are not
    compared point by point.
    """
    yield from _questions(first, second, tolerance)
    yield from drawn_worlds.differences(first, second, QUESTION)
    grid = list(_axis_differences(first, second, tolerance))
    yield from grid
    common = _common(first, second)
    if common is not None:
        yield from _variable_differences(*common, tolerance)
    yield from _provenance(first, second, tolerance)


def _questions(first: xr.Dataset, second: xr.Dataset, tolerance: float) -> Iterator[Row]:
    """Compare the scenarios by what they mean; by their text where one can no longer be read."""
    texts = [str(d.attrs.get("scenario", "")) for d in (first, second)]
    if texts[0] == texts[1]:
        return
    try:
        read = [asked.question(d) for d in (first, second)]
        yield from question_differences.differences(read[0], read[1], tolerance)
    except (scenarios.ScenarioError, PluginError):
        note = "a question can no longer be read, so that their texts are compared"
        yield Row(QUESTION, "scenario", "text A", "text B", note, (texts[0], texts[1]))


def _axis_differences(first: xr.Dataset, second: xr.Dataset, tolerance: float) -> Iterator[Row]:
    dims = [{d: x.sizes[d] for d in flat.points(x)} for x in (first, second)]
    yield from compared(GRID, "axes", list(dims[0]), list(dims[1]), tolerance)
    for name in dims[0].keys() & dims[1].keys():
        if dims[0][name] != dims[1][name]:
            sides = [plural(d[name], "value") for d in dims]
            yield Row(GRID, name, sides[0], sides[1], "", (dims[0][name], dims[1][name]))
        elif name in first.coords and name in second.coords:
            for beside in (name, *flat.of_rows(first, name)):
                if beside in second.coords:
                    yield from _values_of(first[beside], second[beside], beside)
        elif name in first.coords or name in second.coords:
            sides = ["there" if name in x.coords else NOTHING for x in (first, second)]
            yield Row(GRID, f"values of {name}", sides[0], sides[1])
    names = [list(map(str, x.data_vars)) for x in (first, second)]
    for side, (mine, theirs) in enumerate((names, names[::-1])):
        for name in (n for n in mine if n not in theirs):
            told = ("there", NOTHING) if side == 0 else (NOTHING, "there")
            yield Row(GRID, f"variable {name}", *told)


def _values_of(one: xr.DataArray, other: xr.DataArray, name: str) -> Iterator[Row]:
    a, b = one.values.tolist(), other.values.tolist()
    unlike = [i for i in range(len(a)) if a[i] != b[i]]
    if unlike:
        place = unlike[0]
        note = f"{len(unlike)} of {plural(len(a), 'value')}; this is number {place}"
        unit = _unit_of_array(one)
        texts = (
            apart(a[place], b[place], unit) if one.dtype.kind in "fiu" and other.dtype.kind in "fiu" else None
        )
        sides = texts or (str(a[place]), str(b[place]))
        yield Row(GRID, name, *sides, note, (a[place], b[place]), unit)


def _common(first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset] | None:
    """Return both datasets at the points that both have; None where there are none to compare."""
    dims = flat.points(first)
    if set(dims) != set(flat.points(second)):
        return None
    if FRONT in dims and first.sizes[FRONT] != second.sizes[FRONT]:
        if dims == (FRONT,):
            return None
        # fronts of many places: those with as many points on both sides are compared
        most = min(first.sizes[FRONT], second.sizes[FRONT])
        first, second = (x.isel({FRONT: slice(most)}) for x in (first, second))
    chosen: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for d in dims:
        if d not in first.coords or d not in second.coords:
            # without values of its axis a point is found by its number
            if first.sizes[d] != second.sizes[d]:
                return None
            first, second = (_numbered(x, d) for x in (first, second))
            continue
        a, b = _place_keys(first, d), _place_keys(second, d)
        if a == b:
            continue
        places = {v: i for i, v in enumerate(b)}
        both = [(i, places[v]) for i, v in enumerate(a) if v in places]
        if not both:
            return None
        chosen[0][d], chosen[1][d] = [i for i, _ in both], [i for _, i in both]
    return first.isel(chosen[0]), second.isel(chosen[1])


def _numbered(dataset: xr.Dataset, dim: str) -> xr.Dataset:
    """Return a dataset with the numbers of the places along an axis in place of its values."""
    return dataset.drop_vars(dim, errors="ignore").assign_coords({dim: np.arange(dataset.sizes[dim])})


def _place_keys(dataset: xr.Dataset, dim: str) -> list[Any]:
    """Return what tells the places along an axis: its values, or what stands in its rows."""
    rows = [dataset[n].values.tolist() for n in flat.of_rows(dataset, dim)]
    return list(zip(*rows, strict=True)) if rows else list(dataset[dim].values.tolist())


def _variable_differences(first: xr.Dataset, second: xr.Dataset, tolerance: float) -> Iterator[Row]:
    columns = {c.label: c for c in flat.columns(first) if not c.axis and c.name not in TIMED}
    theirs = {c.label: c for c in flat.columns(second) if not c.axis}
    both = [n for n in columns if n in theirs]
    tallies = {n: _Tally() for n in both}
    changes: dict[str, _Changes] = {n: {} for n in both}
    dims = flat.points(first)
    for piece in flat.pieces(first):
        other = second.isel(_indexers_in_other(second, piece, dims)).load() if dims else second.load()
        skipped = _rows_without_points(piece, other, dims)
        for name in both:
            a = flat.values(piece, columns[name])
            b = flat.values(other.transpose(*dims, ...) if dims else other, theirs[name])
            if skipped is not None:
                at = skipped[FRONT in piece[columns[name].name].dims]
                b = b.copy()
                b[at] = a[at]
            if columns[name].words is not None or a.dtype.kind not in "fiu" or b.dtype.kind not in "fiu":
                _count_changes(changes[name], a, b, columns[name], theirs[name], piece, dims)
            else:
                floor = tolerance if columns[name].name in RATIOS else 0.0
                _tally_pair(tallies[name], a, b, tolerance, floor, piece, dims)
    for name in both:
        section = STATUSES if columns[name].name in {"status", "binding", "message"} else VALUES
        told = list(changes[name].items())
        # codes are few, free text may differ at every point
        most = MOST_PAIRS_OF_TEXTS if columns[name].words is None else len(told)
        for (one, two), (points, where) in told[:most]:
            yield Row(
                section,
                name,
                one,
                two,
                f"{plural(points, 'point')}{where and ', first ' + where}",
                (one, two),
            )
        rest = told[most:]
        if rest:
            more = f"{plural(sum(points for _, (points, _) in rest), 'point')}, {plural(len(rest), 'other text')}"
            yield Row(section, name, "…", "…", more)
        tally = tallies[name]
        if tally.points:
            unit = "" if columns[name].unit == "1" else columns[name].unit
            note = f"{plural(tally.points, 'point')}{tally.where and ', most ' + tally.where}"
            yield Row(section, name, *apart(*tally.sides, unit), note, tally.sides, unit)


def _rows_without_points(
    piece: xr.Dataset, other: xr.Dataset, dims: tuple[str, ...]
) -> tuple[Any, Any] | None:
    """Return which rows of fronts of many places count for nothing: in what a place says of itself, and in its points.

    The former stands once for a place; the latter are compared where there are as many on both sides.
    """
    if FRONT not in dims or POINTS not in piece or POINTS not in other:
        return None
    along = piece["status"]
    once = along[FRONT] != 0
    unlike = piece[POINTS] != other[POINTS]
    blank = along.drop_vars(list(along.coords)).astype(bool) & False
    either = (blank | x.drop_vars(list(x.coords)) for x in (once, unlike))
    repeated, unequal = (x.transpose(*dims).values.ravel() for x in either)
    return repeated, unequal


def _indexers_in_other(second: xr.Dataset, piece: xr.Dataset, dims: tuple[str, ...]) -> dict[str, Any]:
    """Return where the points of a piece stand in the other dataset."""
    places = {d: {v: i for i, v in enumerate(second[d].values.tolist())} for d in dims}
    return {d: [places[d][v] for v in piece[d].values.tolist()] for d in dims}


def _tally_pair(
    tally: _Tally, a: Any, b: Any, tolerance: float, floor: float, piece: xr.Dataset, dims: tuple[str, ...]
) -> None:
    with np.errstate(invalid="ignore"):
        size = np.fmax(np.abs(a), np.abs(b))
        apart_by = np.abs(a - b)
        close = np.isfinite(size) & (apart_by <= np.maximum(tolerance * size, floor))
        near = close | (a == b) | (np.isnan(a) & np.isnan(b))
        measure = np.where(near, -1.0, np.where(np.isfinite(apart_by), apart_by / size, np.inf))
    unlike = int(np.count_nonzero(~near))
    if not unlike:
        return
    tally.points += unlike
    place = int(np.argmax(measure))
    if measure[place] > tally.worst:
        tally.worst = float(measure[place])
        tally.sides = float(a[place]), float(b[place])
        tally.where = _point_text(piece, dims, place)


def _count_changes(
    changes: _Changes,
    a: Any,
    b: Any,
    mine: flat.Column,
    theirs: flat.Column,
    piece: xr.Dataset,
    dims: tuple[str, ...],
) -> None:
    one, two = flat.in_words(a, mine, NOTHING), flat.in_words(b, theirs, NOTHING)
    if one == two:
        return
    for place, (x, y) in enumerate(zip(one, two, strict=True)):
        if x != y:
            told = changes.setdefault((str(x) or NOTHING, str(y) or NOTHING), [0, ""])
            told[1] = told[1] or _point_text(piece, dims, place)
            told[0] += 1


def _point_text(piece: xr.Dataset, dims: tuple[str, ...], place: int) -> str:
    """Say at which point: "at deadline = 10 s, bodies = 1e5"."""
    index = np.unravel_index(place, tuple(piece.sizes[d] for d in dims)) if dims else ()
    told = []
    for d, i in zip(dims, index, strict=True):
        value = piece[d].values[i]
        number = piece[d].dtype.kind in "fiu"
        told.append(f"{d} = {show(float(value), _unit_of_array(piece[d])) if number else value}")
    return f"at {', '.join(told)}" if told else ""


def _unit_of_array(array: xr.DataArray) -> str:
    return "" if "flag_values" in array.attrs else unit_of(array)


def _provenance(first: xr.Dataset, second: xr.Dataset, tolerance: float) -> Iterator[Row]:
    """Compare versions, machine parameters, methods and all else that is said of a dataset."""
    sides = [_parsed_attributes(x.attrs) for x in (first, second)]
    yield from each(PROVENANCE, sides[0], sides[1], tolerance)


def _parsed_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: _parsed(value) for name, value in attributes.items() if name not in ELSEWHERE}
    return {n: (v if v != "" else None) for n, v in _flat_attributes("", told).items()}


def _flat_attributes(prefix: str, told: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in told.items():
        inner = prefix + name
        found |= _flat_attributes(f"{inner}.", value) if isinstance(value, dict) else {inner: value}
    return found


def _parsed(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
