"""Which part of the points that a question asks for a dataset has, where some were chosen (``isel``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from results import axes, flat
from results.along_fronts.variable_names import FRONT, PLACE_STATUS, POINTS, of_whole_front

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xarray as xr

    from scenarios import Grid


def words(dataset: xr.Dataset, grid: Grid | None = None) -> str:
    """Say at which value of each axis that is gone a dataset stands, and of which axes it has few values.

    ``grid``: all that was asked for, where that can still be read. Empty where all of it is there.
    """
    at = list(_chosen(dataset))
    told = [f"at {', '.join(at)}"] if at else []
    for axis in grid.axes if grid is not None else ():
        many, name = len(axis.values), axes.words(axis.name)
        if axis.name not in dataset.coords:
            told.append(f"at one {name} of {many}, it does not tell which")
        elif dataset[axis.name].ndim and dataset[axis.name].size < many:
            told.append(f"{dataset[axis.name].size} of {many} values of {name}")
    of_front = _designs_chosen(dataset)
    return "; ".join([*told, of_front] if of_front else told)


def _designs_chosen(dataset: xr.Dataset) -> str:
    """Say how many designs of a front are there, where that is not all of them."""
    several = PLACE_STATUS in dataset and of_whole_front(dataset, PLACE_STATUS)
    many = int(dataset[POINTS].sum()) if several else dataset.attrs.get("points")
    fronts = "fronts" if several and dataset[POINTS].size > 1 else "front"
    if FRONT not in dataset.dims:
        told = many is None or FRONT in dataset.coords
        return "" if told else f"one design of the {fronts}, it does not tell which"
    here = int(np.count_nonzero(dataset["status"].values))
    return "" if many is None or here >= many else f"{here} of {many} designs of the {fronts}"


def _chosen(dataset: xr.Dataset) -> Iterator[str]:
    whole = flat.along_all(dataset)
    for d in map(str, whole.dims):
        if d in dataset.dims:
            continue
        if d == FRONT:
            yield f"design {int(whole[d].values[0])} of the front"
        else:
            yield from (axes.value_label(whole[n], 0) for n in (d, *flat.of_rows(whole, d)))
