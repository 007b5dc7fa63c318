"""A dataset as a CSV table: one row per point, names instead of codes."""

from __future__ import annotations

import csv
import errno
import itertools
import json
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from results.axes import codes
from results.dataset import LIMIT
from results.store import explained

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import xarray as xr

ROWS = 100_000


def to_csv(dataset: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a dataset as CSV; an existing file is replaced only once the new one is complete.

    Columns: the axes, then every variable, with its unit in brackets ("energy [J]"); what is kept per limit
    has one column per limit ("elasticity time"), what has regions and processors one for each of them
    ("share[region=a,processor=cpu]"). Status and choices are words. Large stores are read piece
    by piece. Raises StoreError where the file cannot be written.
    """
    target = Path(path)
    writing = target.with_name(f".{target.name}.{uuid.uuid4().hex}.partial")
    with explained(target, "write"):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with writing.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(_header(dataset))
                for piece in _pieces(dataset):
                    writer.writerows(zip(*_columns(piece), strict=True))
            writing.replace(target)
        finally:
            writing.unlink(missing_ok=True)
    return target


def _points(dataset: xr.Dataset) -> tuple[str, ...]:
    return tuple(str(d) for d in dataset["status"].dims)


def _header(dataset: xr.Dataset) -> list[str]:
    names = [_heading(dataset, n) for n in _points(dataset) if n in dataset.coords]
    for name in map(str, dataset.data_vars):
        if LIMIT in dataset[name].dims:
            names += [f"{name} {limit}" for limit in dataset[LIMIT].values]
        else:
            names += [_heading(dataset, name, labels) for labels in _elements(dataset, name)]
    return names


def _heading(dataset: xr.Dataset, name: str, labels: Mapping[str, str] | None = None) -> str:
    unit = dataset[name].attrs.get("units", "1")
    told = ",".join(f"{dim}={label}" for dim, label in (labels or {}).items())
    return name + (f"[{told}]" if told else "") + ("" if unit == "1" else f" [{unit}]")


def _elements(dataset: xr.Dataset, name: str) -> list[dict[str, str]]:
    """Return the labels of each element that a family has; of a plain variable the one without labels."""
    dims = [str(d) for d in dataset[name].dims if d not in dataset["status"].dims]
    about = dataset[name].attrs
    there = json.loads(about["elements"]) if "elements" in about else None
    every = itertools.product(*(map(str, dataset[d].values) for d in dims))
    return [
        dict(zip(dims, labels, strict=True))
        for labels in every
        if there is None or ".".join((about["family"], *labels)) in there
    ]


def _pieces(dataset: xr.Dataset) -> Iterator[xr.Dataset]:
    """Cut a dataset along its first axis into pieces of about ``ROWS`` points."""
    dims = _points(dataset)
    if not dims:
        yield dataset
        return
    step = max(1, ROWS // max(1, dataset["status"].size // max(1, dataset.sizes[dims[0]])))
    for start in range(0, dataset.sizes[dims[0]], step):
        yield dataset.isel({dims[0]: slice(start, start + step)}).load()


def _columns(piece: xr.Dataset) -> list[list[Any]]:
    import xarray as xr

    dims = _points(piece)
    shape = piece["status"]
    columns = [xr.broadcast(piece[d], shape)[0].transpose(*dims) for d in dims if d in piece.coords]
    for name in map(str, piece.data_vars):
        array = piece[name]
        if LIMIT in array.dims:
            columns += [array.isel({LIMIT: i}).transpose(*dims) for i in range(piece.sizes[LIMIT])]
        else:
            chosen = (array.sel(labels) if labels else array for labels in _elements(piece, name))
            columns += [xr.broadcast(c, shape)[0].transpose(*dims) for c in chosen]
    return [_cells(c) for c in columns]


def _cells(array: xr.DataArray) -> list[Any]:
    """Give the cells of a column: flags as words, a number that does not exist as an empty cell."""
    values = np.asarray(array.values).ravel()
    if "flag_meanings" in array.attrs:
        meanings = codes(array)
        return [meanings.get(v, "") for v in values.tolist()]
    if values.dtype.kind == "f":
        return ["" if np.isnan(v) else v for v in values.tolist()]
    return values.tolist()
