"""A dataset as NetCDF by the CF conventions, and back.

CF knows the units of UDUNITS only, codes of the type of their variable, names of letters, digits and underscores,
coordinate variables that are numbers in order, and no missing ones among these. What a dataset has beyond that is
kept beside in attributes that begin with ``dse_``, from which ``decoded`` brings it back.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system import files
from results import flat
from results.export.spilling import spilling
from results.stores.expected import ORDER
from results.stores.files.storage import replacing
from results.stores.files.trouble import StoreError, copied

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import xarray as xr

ENGINE, KIND = "h5netcdf", "NetCDF file"
UNITS, NAME, AXIS = "dse_units", "dse_name", "dse_axis"
MEANINGS, STRUCTURED = "dse_flag_meanings", "dse_json"
OURS = ("scenario_hash", "versions")
# what the dataset counts, which UDUNITS does not know; a cycle is 2 pi there, and here a count
COUNTED = frozenset(
    {"flop", "word", "message", "core", "access", "op", "operation", "instruction", "cycle", "USD", "failure"}
)
_UNIT = re.compile(r"([*/]?)\s*([A-Za-zµμΩ%]+|1)(?:(?:\^|\*\*)(-?[0-9]+))?")
_MEANING = re.compile(r"[^A-Za-z0-9_\-.+@]")
STORE_ONLY = ("identity", "format")


def to_netcdf(dataset: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a dataset as NetCDF-4, compressed, block by block where it does not fit into memory.

    Raises StoreError where the file cannot be written, ImportError without h5netcdf.
    """
    import h5netcdf  # noqa: F401  (says in time that it is missing)

    made = encoded(dataset)
    encoding = {str(n): _encoding(made[n]) for n in made.variables}
    with replacing(path) as writing, spilling(writing) as file:
        made.to_netcdf(file, engine=ENGINE, encoding=encoding)
    return Path(path)


def read(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open what ``to_netcdf`` wrote, read lazily. Raises StoreError of other files, ImportError without h5netcdf."""
    import xarray as xr

    from results.stores.guarded import guarded

    with copied(path, KIND):
        files.regular(os.fspath(path))
        lazy = xr.open_dataset(path, engine=ENGINE, create_default_indexes=False)
    if not is_ours(lazy.attrs):
        lazy.close()
        raise StoreError(f"{path} is not a dataset that dse wrote")
    found = guarded(lazy, str(path), KIND, lambda: Path(path).stat().st_size)
    with copied(path, KIND):
        return decoded(found.drop_encoding())


def is_ours(attributes: Mapping[str, Any]) -> bool:
    """Whether these are the attributes of a dataset that dse wrote, or of a part of one that xarray wrote."""
    return ORDER in attributes or all(n in attributes for n in OURS)


def blocks(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset that is written block by block: one that is read from a disk, cut for Dask."""
    dims = flat.points(dataset)
    shape = tuple(dataset.sizes[d] for d in dims)
    chunks = flat.stored_chunks(dataset, shape)
    return dataset if chunks is None else dataset.chunk(dict(zip(dims, chunks, strict=True)))


def encoded(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset as CF has it; numbers stay as they are."""
    found = blocks(dataset)
    labels = {
        n: f"{n}_label" for n in map(str, found.dims) if n in found.coords and not _is_monotonic(found[n])
    }
    found = found.reset_index([n for n in labels if n in found.indexes]).rename_vars(labels)
    names = _cf_names(map(str, (*found.variables, *found.dims)))
    found = found.rename({n: cf for n, cf in names.items() if n != cf})
    axes = {names[label]: n for n, label in labels.items()}
    for original, name in names.items():
        if name not in found.variables:
            continue
        attributes = _attributes(found[name].attrs, found[name].dtype)
        attributes |= {AXIS: axes[name]} if name in axes else {NAME: original} if name != original else {}
        found[name].attrs = _plain_attributes(attributes, original)
    found.attrs = _plain_attributes(about(dataset), "dataset")
    return found


def about(dataset: xr.Dataset) -> dict[str, Any]:
    """Return a dataset's attributes as an exported one has them: no store's, and the order of its variables."""
    kept = {k: v for k, v in dataset.attrs.items() if k not in STORE_ONLY}
    return kept | {ORDER: json.dumps(list(map(str, dataset.data_vars)), ensure_ascii=False)}


def in_order(dataset: xr.Dataset) -> xr.Dataset:
    """Bring the variables of an exported dataset into the order they had."""
    order = json.loads(dataset.attrs.get(ORDER, "[]"))
    known = [n for n in order if n in dataset.data_vars]
    found = dataset[[*known, *(n for n in dataset.data_vars if n not in known)]]
    found.attrs = {k: v for k, v in dataset.attrs.items() if k != ORDER}
    return found


def _is_monotonic(axis: xr.DataArray) -> bool:
    """Tell whether an axis is a coordinate variable: numbers that only rise or only fall."""
    if axis.dtype.kind not in "fiu":
        return False
    steps = np.diff(np.asarray(axis.values, float))
    return bool((steps > 0).all() or (steps < 0).all())


def _cf_names(names: Iterable[str]) -> dict[str, str]:
    """Return a CF name for each name; no two are alike."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        free = _safe(name)
        while free in found.values():
            free += "_"
        found[name] = free
    return found


def _safe(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if plain[:1].isalpha() else f"v_{plain}"


def _attributes(attributes: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    found = dict(attributes)
    if "units" in found:
        cf = cf_unit(str(found["units"]))
        if cf != found["units"]:
            found |= {"units": cf, UNITS: found["units"]}
    if "flag_values" in found:
        found["flag_values"] = np.asarray(found["flag_values"], dtype=dtype)
        meanings = str(found["flag_meanings"])
        cf = " ".join(_MEANING.sub("_", w) for w in meanings.split())
        if cf != meanings:
            found |= {"flag_meanings": cf, MEANINGS: meanings}
    return found


def _plain_attributes(attributes: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return attributes of which those that are no text, number or list of such are JSON; their names go along.

    ``owner``: whose they are.
    """
    odd = [name for name, value in attributes.items() if not _is_plain(value)]
    try:
        told = {name: json.dumps(attributes[name], ensure_ascii=False) for name in odd}
    except (TypeError, ValueError):
        named = ", ".join(odd)
        raise StoreError(
            f"attributes of {owner} that no file holds: {named}; make them texts, numbers or lists of these"
        ) from None
    return {**attributes, **told} | ({STRUCTURED: json.dumps(odd, ensure_ascii=False)} if odd else {})


def _is_plain(value: Any) -> bool:
    """Tell whether NetCDF has attributes of this kind."""
    try:
        made = np.asarray(value)
    except ValueError:
        return False
    return made.dtype.kind in "fiuU" and made.ndim < 2


def cf_unit(unit: str) -> str:
    """Return a unit as UDUNITS reads it: counts have none ("flop/s" is "s-1"), powers stand behind the name."""
    powers: dict[str, int] = {}
    for operator, name, power in _UNIT.findall(unit):
        if name != "1" and name not in COUNTED:
            sign = -1 if operator == "/" else 1
            powers[name] = powers.get(name, 0) + sign * int(power or 1)
    kept = [n if p == 1 else f"{n}{p}" for n, p in powers.items() if p]
    return " ".join(kept) or "1"


def _encoding(array: xr.DataArray) -> dict[str, Any]:
    if array.dtype.kind not in "fiu":
        return {"dtype": str}
    found: dict[str, Any] = {"zlib": True, "complevel": 4, "shuffle": True} if array.ndim else {}
    # a coordinate has no missing values, and codes have one of their own
    is_data = array.dtype.kind == "f" and array.name not in array.coords
    return found | {"_FillValue": np.nan if is_data else None}


def decoded(dataset: xr.Dataset) -> xr.Dataset:
    """Bring back units, names and axes that ``encoded`` set aside."""
    found = dataset
    back = {str(n): str(v.attrs[NAME]) for n, v in found.variables.items() if NAME in v.attrs}
    found = found.rename(back)
    axes = {str(n): str(v.attrs[AXIS]) for n, v in found.variables.items() if AXIS in v.attrs}
    for label, name in axes.items():
        (dim,) = found[label].dims
        found = found.rename({dim: name} if dim != name else {}).rename_vars({label: name}).set_xindex(name)
    for variable in found.variables.values():
        kept = {k: v for k, v in variable.attrs.items() if k not in {NAME, AXIS, UNITS, MEANINGS}}
        for ours, name in ((UNITS, "units"), (MEANINGS, "flag_meanings")):
            if ours in variable.attrs:
                kept[name] = variable.attrs[ours]
        if "flag_values" in kept:
            kept["flag_values"] = np.atleast_1d(kept["flag_values"]).tolist()
        variable.attrs = _original_attributes(kept)
    found.attrs = _original_attributes(found.attrs)
    return in_order(found)


def _original_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with Python's numbers (HDF5 gives back NumPy's), and what was written as JSON."""
    kept = {k: v.item() if isinstance(v, np.generic) else v for k, v in attributes.items() if k != STRUCTURED}
    return kept | {n: json.loads(kept[n]) for n in json.loads(attributes.get(STRUCTURED, "[]"))}
