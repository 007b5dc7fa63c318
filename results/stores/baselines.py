"""Ratios to a baseline: its numbers stand in a sweep's attributes, and every opened sweep has the ratios.

They are computed as they are read, so that a store of any size is opened at once, and what was swept stays as it was
written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from results.stores.files.trouble import StoreError

if TYPE_CHECKING:
    import xarray as xr

ATTRIBUTE = "baseline"
RATIO = "ratio."
MOST_BASELINE = 200_000
"""Numbers of a baseline that attributes still hold."""
_AXIS = {"path", "columns"}
"""Attributes of the coordinate of an axis: of one path, of rows."""


def record(dataset: xr.Dataset, baseline: xr.Dataset, label: str, text: str) -> str:
    """Return what a sweep keeps of its baseline, as JSON: its numbers that the sweep has too, in the same units.

    ``baseline``: a dataset without axes, or along some of those of the sweep, at the same values. Raises StoreError
    where the axes differ, nothing is shared, or there are too many numbers.
    """
    same_axes(dataset, baseline)
    found = {}
    for name in _numbers_in_both(dataset, baseline):
        of = baseline[name]
        found[name] = {"dims": [str(d) for d in of.dims], "values": _json_numbers(of.values)}
    if not found:
        raise StoreError(f"the sweep and its baseline {label} share no number in the same unit")
    count = sum(baseline[name].size for name in found)
    if count > MOST_BASELINE:
        raise StoreError(
            f"the baseline has {count} numbers, and at most {MOST_BASELINE} are kept: give it fewer axes, or none"
        )
    return json.dumps({"label": label, "scenario": text, "numbers": found}, ensure_ascii=False)


def same_axes(dataset: xr.Dataset, baseline: xr.Dataset) -> None:
    """Raise StoreError where the baseline has an axis that the sweep has not, or has other values of."""
    for name in (str(d) for d in baseline.dims if _AXIS & baseline[d].attrs.keys()):
        if not _same_axis(dataset, baseline, name):
            raise StoreError(
                f"the baseline's axis {name} is none of the sweep's: it may have none, or some of those, with the same "
                "values"
            )


def _same_axis(dataset: xr.Dataset, baseline: xr.Dataset, name: str) -> bool:
    """Tell whether both have an axis that changes the same to the same values; of rows those of each path count."""
    if name not in dataset.dims:
        return False
    one, two = dataset[name].attrs, baseline[name].attrs
    if any(one.get(key) != two.get(key) for key in _AXIS):
        return False
    return all(
        column in dataset.coords and np.array_equal(dataset[column].values, baseline[column].values)
        for column in (name, *json.loads(two.get("columns", "[]")))
    )


def carried(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a sweep over more values keeps of a baseline: all of one answer, nothing of one along axes."""
    told = attributes.get(ATTRIBUTE)
    if told is None or any(kept["dims"] for kept in json.loads(told)["numbers"].values()):
        return {}
    return {ATTRIBUTE: told}


def _numbers_in_both(dataset: xr.Dataset, baseline: xr.Dataset) -> Iterator[str]:
    """Go through the numbers that both have in the same unit: objective, metrics, what was decided."""
    swept = {str(d) for d in dataset["status"].dims}
    for name in map(str, dataset.data_vars):
        if name not in baseline or name in {"status", "seconds", "gap", "message", "bound"}:
            continue
        a, b = dataset[name], baseline[name]
        if a.dtype.kind != "f" or b.dtype.kind != "f" or set(a.dims) - swept or set(b.dims) - set(a.dims):
            continue
        coded = "flag_values" in a.attrs or "menu" in a.attrs
        if a.attrs.get("units") == b.attrs.get("units") and not coded and np.isfinite(b.values).any():
            yield name


def _json_numbers(values: Any) -> Any:
    """Return numbers as JSON has them; what is not a number is null."""
    numbers = np.where(np.isfinite(values), values, np.nan)
    return json.loads(json.dumps(numbers.tolist()).replace("NaN", "null"))


def attached(dataset: xr.Dataset) -> xr.Dataset:
    """Return a sweep with its ratios to the baseline that its attributes tell of; as it is where there is none."""
    import xarray as xr
    from xarray.core import indexing

    from results.stores.ratio_array import Ratio

    told = dataset.attrs.get(ATTRIBUTE)
    if not isinstance(told, str) or not told.startswith("{"):
        return dataset
    about = json.loads(told)
    made = {}
    for name, kept in about["numbers"].items():
        if name not in dataset:
            continue
        of = dataset[name]
        # a view: nothing is repeated in memory
        by = xr.Variable(kept["dims"], np.array(kept["values"], float)).set_dims(dict(of.sizes))
        attributes = {
            "units": "1",
            "long_name": f"{of.attrs.get('long_name', name)}, as a multiple of that of {about['label']}",
        }
        lazy = indexing.LazilyIndexedArray(Ratio(of.variable, by))
        made[RATIO + name] = xr.Variable(of.dims, lazy, attributes)
    found = dataset.assign(made)
    # the numbers stand in the ratios now; who the baseline is stays
    found.attrs = {**dataset.attrs, ATTRIBUTE: about["label"], "baseline_scenario": about["scenario"]}
    return found
