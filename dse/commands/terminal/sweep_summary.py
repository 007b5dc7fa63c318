"""A sweep in short: the best point, the range of every variable, and a small plot where the terminal can show one."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.commands.terminal import sketch
from dse.commands.terminal.printing import say, show, table
from formulations.tolerances import TIE
from results.along_fronts.variable_names import FRONT
from results.stores.chunks import chunk_shape, chunk_slices

if TYPE_CHECKING:
    import xarray as xr


def parts(dataset: xr.Dataset) -> Iterator[xr.Dataset]:
    """Go through a dataset in parts that any memory holds, each point of the sweep in one of them."""
    # what has one value at each point has the dimensions of the sweep alone
    dims = min((list(array.dims) for array in dataset.data_vars.values()), key=len)
    shape = tuple(dataset.sizes[d] for d in dims)
    width = max((math.prod(a.shape) for a in dataset.data_vars.values()), default=1) // max(
        math.prod(shape), 1
    )
    for _, region in chunk_slices(shape, chunk_shape(shape, "array", width)):
        yield dataset.isel(dict(zip(dims, region, strict=True)))


def refuse_other_results(dataset: xr.Dataset, store: str, *, draws: bool) -> None:
    """Refuse to describe what has no status at each point, or to draw a front as a sweep; raises UsageError."""
    if "status" in dataset and not (draws and FRONT in dataset.dims):
        return
    what = "nothing was solved in it" if "status" not in dataset else "it is a front"
    quoted, stem = shlex.quote(store), Path(store.rstrip("/")).stem
    raise click.UsageError(
        f"{store} is no store of dse sweep, {what}: describe it with dse report {quoted} -o "
        f"{shlex.quote(f'{stem}.html')}, or draw it with dse export {quoted} -o {shlex.quote(f'{stem}.png')}"
    )


def best(dataset: xr.Dataset) -> dict[str, Any] | None:
    """Return the best point: where it is on the axes, and its objective; None where nothing was optimised or found.

    Of points that are equally good it is the first.
    """
    import numpy as np

    from results import axes, flat
    from results.dataset import objectives

    goals = objectives(dataset)
    if not goals:
        return None
    name, largest = next(iter(goals.items()))
    sign = -1.0 if largest else 1.0
    found: tuple[float, dict[str, Any]] | None = None
    for part in parts(dataset):
        values = sign * part["objective"].where(part["status"].isin(axes.ANSWERED)).values
        if not np.isfinite(values).any():
            continue
        # of points that are equally good the first: their last digits depend on the processor
        least = float(np.nanmin(values))
        place = np.unravel_index(int(np.argmax(values <= least + TIE * abs(least))), values.shape)
        if found is None or least < found[0] - TIE * abs(found[0]):
            at = {
                name: part[name].values.tolist()[i]
                for d, i in zip(map(str, part["status"].dims), place, strict=True)
                for name in (d, *flat.of_rows(part, d))
            }
            found = float(values[place]), at
    if found is None:
        return None
    unit = axes.unit_of(dataset["objective"])
    return {"objective": name, "value": sign * found[0], "unit": unit, "at": found[1]}


def show_best(dataset: xr.Dataset, told: dict[str, Any] | None) -> None:
    """Say which point is the best, and draw the objective where the terminal can show it."""
    from results import axes
    from results.dataset import objectives

    if told is not None:
        largest = objectives(dataset)[told["objective"]]
        value = axes.amount(told["value"], dataset["objective"], 6)
        where = ", ".join(f"{axes.words(d)} {_axis_value_text(dataset[d], v)}" for d, v in told["at"].items())
        say(f"Best: {'greatest' if largest else 'least'} {axes.words(told['objective'])} {value} at {where}")
    sketch.show(sketch.sweep, dataset)


def _axis_value_text(axis: xr.DataArray, value: Any) -> str:
    from results import axes

    return axes.shown_name(axis, value) if axes.is_text(axis) else axes.amount(float(value), axis, 6)


def show_ranges(dataset: xr.Dataset) -> None:
    """Print the least and the greatest of every variable."""
    show(table(("variable", "least", "greatest", "meaning"), _variable_rows(dataset)))
    if "status" in dataset:
        return
    for name, points in not_finite(dataset).items():
        say(f"{name} is infinite, or has no value, at {points} of the points, which its range leaves out")


def not_finite(dataset: xr.Dataset) -> dict[str, int]:
    """Count the points at which metrics are infinite or have no value, of those metrics that are so somewhere."""
    import numpy as np

    found: dict[str, int] = {}
    for part in parts(dataset):
        for name, array in part.data_vars.items():
            if array.dtype.kind == "f":
                found[str(name)] = found.get(str(name), 0) + int(np.count_nonzero(~np.isfinite(array.values)))
    return {name: points for name, points in found.items() if points}


def _variable_rows(dataset: xr.Dataset) -> list[tuple[str, str, str, str]]:
    """Return name, least and greatest value and meaning of every variable; of codes all that occur, by name."""
    from results import axes
    from results.variables import LIMIT_UNITS, NUMBER_UNITS

    found, ends = seen(dataset)
    rows = []
    for name, array in dataset.data_vars.items():
        if {LIMIT_UNITS, NUMBER_UNITS} & array.attrs.keys():
            continue  # values of many units have no range
        about = str(array.attrs.get("long_name", ""))
        if name in found:
            met = [
                meant for code, meant in axes.shown_codes(array).items() if code in found[name] and code >= 0
            ]
            rows.append((str(name), ", ".join(met), "", about))
        elif name in ends:
            least, greatest = (axes.amount(end, array, 6) for end in ends[name])
            rows.append((str(name), least, greatest, about))
    return [row for row in rows if row[1]]


def seen(dataset: xr.Dataset) -> tuple[dict[Any, set[float]], dict[Any, tuple[float, float]]]:
    """Find the codes that occur in each variable of codes, and the least and the greatest of each other."""
    import numpy as np

    found: dict[Any, set[float]] = {}
    ends: dict[Any, tuple[float, float]] = {}
    for part in parts(dataset):
        for name, array in part.data_vars.items():
            if "flag_values" in array.attrs:
                found.setdefault(name, set()).update(np.unique(array.values).tolist())
            elif array.dtype.kind == "f":
                values = array.values
                finite = values[np.isfinite(values)]
                if finite.size:
                    low, high = ends.get(name, (np.inf, -np.inf))
                    ends[name] = (min(low, float(finite.min())), max(high, float(finite.max())))
    return found, ends
