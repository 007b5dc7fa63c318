"""A dataset as rows and columns: one row per point, one column per number of it, read piece by piece.

What a table file shares with every other: CSV, JSON lines, Parquet, Markdown and LaTeX are written from this.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.records import dataclass
from results.along_fronts.variable_names import FRONT, PLACE_STATUS, of_whole_front
from results.axes import codes
from results.dataset import LIMIT, STATUS_CODES
from results.layouts.explained_layout import ALTERNATIVE, PARAMETER
from results.solution import Status
from results.stores.chunks import block, chunk_slices
from results.telling import sizes
from results.variables import COLUMNS, LIMIT_UNITS, NUMBER, NUMBER_UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import xarray as xr

UNITS_ALONG = {LIMIT: LIMIT_UNITS, NUMBER: NUMBER_UNITS}
"""Attributes with a unit for each name, by the dimension of these names."""
NAMED_ALONG = (LIMIT, NUMBER, PARAMETER, ALTERNATIVE)
"""Dimensions whose labels say in plain words what a column is about."""
BLOCK_ROWS = 100_000
MOST_BLOCK = 1_000_000


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a variable or an axis, or one element of it.

    ``labels``: which element, as label by dimension (``limit``, ``region``, ...); empty for a plain variable.
    ``attributes``: those of the variable (units, long_name, source, ...). ``words``: what its codes mean, by
    code; None for numbers and text. ``text``: whether it holds names.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[float, str] | None = None
    text: bool = False
    axis: bool = False

    @property
    def unit(self) -> str:
        """Its unit, "1" for a plain number and "" where it is none."""
        plain = "" if self.text or self.words else "1"
        return str(of_element(self.attributes, self.labels).get("units", plain))

    @property
    def shown_unit(self) -> str:
        """The unit with which its numbers are shown, "" for plain ones."""
        return sizes.unit_of_array(of_element(self.attributes, self.labels))

    @property
    def label(self) -> str:
        """Its name with its labels: "elasticity time", "share[region=a,processor=cpu]"."""
        for dim in NAMED_ALONG:
            if dim in self.labels:
                return f"{self.name} {self.labels[dim]}"
        told = ",".join(f"{dim}={label}" for dim, label in self.labels.items())
        return self.name + (f"[{told}]" if told else "")

    @property
    def heading(self) -> str:
        """Its label with the unit: "energy [J]"."""
        return self.label + ("" if self.unit in {"", "1"} else f" [{self.unit}]")


def of_element(attributes: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the attributes of one element of a variable, with the unit and the size of words that it has itself."""
    for dim, units in UNITS_ALONG.items():
        if units in attributes and dim in labels:
            left = {n: v for n, v in attributes.items() if n not in {units, sizes.BYTES_PER_WORD}}
            own = json.loads(attributes.get(sizes.BYTES_PER_WORD, "{}")).get(labels[dim])
            unit = json.loads(attributes[units]).get(labels[dim], "1")
            return left | {"units": unit} | ({sizes.BYTES_PER_WORD: own} if own else {})
    return dict(attributes)


def points(dataset: xr.Dataset) -> tuple[str, ...]:
    """Return the dimensions along which the points lie: swept axes or ``front``, not limits or regions."""
    if "status" in dataset:
        return tuple(str(d) for d in dataset["status"].dims)
    return tuple(str(d) for d in dataset.dims if d in dataset.coords and is_axis(dataset[d]))


def with_status(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset with a status at each point: of one that was only evaluated every point is."""
    if "status" in dataset:
        return dataset
    dims = points(dataset)
    code = np.full([dataset.sizes[d] for d in dims], STATUS_CODES[Status.EVALUATED], np.int8)
    return dataset.assign(status=(dims, code))


def along_all(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset of which one value of an axis was chosen with that axis again, one value long.

    What was chosen must still be told by the coordinates (not with ``drop=True``).
    """
    alone = [name for name, c in dataset.coords.items() if c.ndim == 0 and (is_axis(c) or name == FRONT)]
    rows = {str(n): d for d in alone for n in of_rows(dataset, str(d))}
    gone = [d for d in alone if d not in rows]
    if not gone:
        return dataset
    found = dataset.expand_dims([d for d in gone if d != FRONT])
    if FRONT in gone:
        # along a front lies what is told of each of its points; it goes last, as where all of it is there
        of_points = [n for n in map(str, found.data_vars) if not of_whole_front(found, n)]
        whole = found.drop_vars([FRONT, *of_points])
        found = found.drop_vars(whole.data_vars).expand_dims(FRONT, axis=-1).assign(whole.data_vars)
    return found.assign_coords({n: dataset[n].expand_dims(d) for n, d in rows.items() if d in gone})


def is_axis(coordinate: xr.DataArray) -> bool:
    """Tell whether a coordinate is that of a swept axis."""
    return "path" in coordinate.attrs or COLUMNS in coordinate.attrs


def of_rows(dataset: xr.Dataset, dim: str) -> list[str]:
    """Return the coordinates that say what stands in the rows of an axis; nothing of another axis."""
    told = json.loads(dataset[dim].attrs.get(COLUMNS, "[]")) if dim in dataset.coords else []
    return [str(n) for n in told if n in dataset.coords]


def columns(dataset: xr.Dataset, names: Iterable[str] | None = None) -> tuple[Column, ...]:
    """Return the columns of a dataset: its axes, then its variables (``names``: only these, in this order).

    What lies along neither points nor labels (enclosures of a front, trials of a sampler) has no place in a row.
    Raises KeyError for a name that the dataset does not have, or not in its rows.
    """
    along = points(dataset)
    axes = [n for d in along if d in dataset.coords for n in (d, *of_rows(dataset, d))]
    there = {n for n in map(str, dataset.variables) if _in_rows(dataset, n, along)}
    chosen = (
        [*axes, *(n for n in map(str, dataset.data_vars) if n in there)] if names is None else list(names)
    )
    found: list[Column] = []
    for name in chosen:
        if name not in there:
            raise KeyError(name)
        found += _flat_columns(dataset, name, name in axes)
    return tuple(found)


def _in_rows(dataset: xr.Dataset, name: str, along: tuple[str, ...]) -> bool:
    """Tell whether a variable has its numbers at the points, each with a label where there are several."""
    others = [str(d) for d in dataset[name].dims if d not in along]
    return all(d in dataset.coords and dataset[d].dtype.kind not in "fiub" for d in others)


def _flat_columns(dataset: xr.Dataset, name: str, axis: bool) -> Iterator[Column]:
    array = dataset[name]
    words = codes(array) if "flag_meanings" in array.attrs else None
    text = words is None and array.dtype.kind not in "fiub"
    for labels in _labels_of_elements(dataset, name):
        yield Column(name, labels, dict(array.attrs), words, text, axis)


def _labels_of_elements(dataset: xr.Dataset, name: str) -> list[dict[str, str]]:
    """Return the labels of each element that a family has; of a plain variable the one without labels."""
    along = points(dataset)
    dims = [str(d) for d in dataset[name].dims if d not in along]
    about = dataset[name].attrs
    there = json.loads(about["elements"]) if "elements" in about else None
    every = itertools.product(*(map(str, dataset[d].values) for d in dims))
    return [
        dict(zip(dims, labels, strict=True))
        for labels in every
        if there is None or ".".join((about["family"], *labels)) in there
    ]


def pieces(dataset: xr.Dataset) -> Iterator[xr.Dataset]:
    """Go through a dataset in blocks of at most ``BLOCK_ROWS`` points, loaded, so that it need not fit into memory.

    A stored sweep is read in blocks of whole chunks, each once: in C order of the grid where a slab of ``MOST_BLOCK``
    points holds whole chunks, else chunk by chunk, and in C order inside of a chunk.
    """
    dims = points(dataset)
    shape = tuple(dataset.sizes[d] for d in dims)
    if not dims or 0 in shape:
        yield dataset.load()
        return
    for _, slices in chunk_slices(shape, _blocks(dataset, shape)):
        held = dataset.isel(dict(zip(dims, slices, strict=True))).load()
        yield from _pieces_along_dims(held, dims)


def rows(dataset: xr.Dataset) -> Iterator[xr.Dataset]:
    """Go through a dataset as ``pieces`` does, without what fills up short fronts of many places.

    A place that has no front keeps one row, whose status says why there is none.
    """
    for piece in pieces(dataset):
        yield _unpadded(piece)


def _unpadded(piece: xr.Dataset) -> xr.Dataset:
    dims = points(piece)
    if dims[-1:] != (FRONT,) or 0 in piece["status"].shape:
        return piece
    status = piece["status"].values
    kept = status != 0
    empty = ~kept.any(axis=-1)
    if PLACE_STATUS in piece and piece[FRONT].values[0] == 0:
        told = np.broadcast_to(piece[PLACE_STATUS].values, empty.shape)
        status = status.copy()
        status[..., 0] = np.where(empty, told, status[..., 0])
        kept[..., 0] |= empty
    if kept.all():
        return piece
    told = piece.drop_dims([d for d in piece.dims if d not in dims and d not in piece.coords])
    told["status"] = told["status"].copy(data=status)
    stacked = told.stack(row=dims, create_index=False)
    return stacked.isel(row=np.flatnonzero(kept.ravel())).transpose("row", ...)


def _blocks(dataset: xr.Dataset, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the blocks to read: slabs of whole chunks in C order, or chunks."""
    chunks = stored_chunks(dataset, shape)
    slab = math.prod(shape[1:])
    height = chunks[0] if chunks else 1
    if height * slab <= MOST_BLOCK:
        # as many whole chunks as one block of rows has room for
        return (min(shape[0], height * max(1, BLOCK_ROWS // (height * slab))), *shape[1:])
    return chunks or _c_order(shape)


def stored_chunks(dataset: xr.Dataset, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the chunks of a stored sweep of this shape; None where it is in memory."""
    try:
        found = tuple(json.loads(dataset.attrs["identity"])["chunks"])
    except (KeyError, ValueError, TypeError):
        return None
    return found if len(found) == len(shape) else None


def _c_order(shape: Sequence[int]) -> tuple[int, ...]:
    """Return blocks of at most ``BLOCK_ROWS`` points that, one after another, go through a grid in C order."""
    made = [1] * len(shape)
    for place in reversed(range(len(shape))):
        inner = math.prod(shape[place + 1 :])
        made[place] = max(1, min(shape[place], BLOCK_ROWS // inner))
        if made[place] < shape[place]:
            break
    return tuple(made)


def _pieces_along_dims(held: xr.Dataset, dims: tuple[str, ...]) -> Iterator[xr.Dataset]:
    shape = tuple(held.sizes[d] for d in dims)
    parts = _c_order(shape)
    if parts == shape:
        yield held
        return
    for index, _ in chunk_slices(shape, parts):
        yield held.isel(dict(zip(dims, block(shape, parts, index), strict=True)))


def values(piece: xr.Dataset, column: Column) -> np.ndarray[Any, Any]:
    """Return a column of a piece: its numbers, codes or names in C order of the points."""
    import xarray as xr

    dims = points(piece)
    array = piece[column.name]
    if column.labels:
        array = array.isel(
            {d: [str(v) for v in piece[d].values].index(label) for d, label in column.labels.items()}
        )
    shape = xr.DataArray(np.empty(tuple(piece.sizes[d] for d in dims)), dims=dims)
    spread = xr.broadcast(array.drop_vars(list(array.coords)), shape)[0].transpose(*dims)
    return np.asarray(spread.values).ravel()


def in_words(array: np.ndarray[Any, Any], column: Column, nothing: Any) -> list[Any]:
    """Return a column as plain values: codes as words; ``nothing`` stands for a number that does not exist."""
    listed: list[Any] = array.tolist()
    if column.words is not None:
        return [column.words.get(v, nothing) for v in listed]
    if array.dtype.kind == "f" and np.isnan(array).any():
        return [nothing if math.isnan(v) else v for v in listed]
    return listed
