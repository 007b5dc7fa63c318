"""Opening a dataset that dse wrote, in whatever form: a sweep's store, a front, an exported file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from results.export import answer_files, netcdf
from results.solution import Solution
from results.stores import expected, store
from results.stores.files.object_storage import ROOT
from results.stores.files.storage import LocalFolder, named, remote
from results.stores.files.trouble import StoreError, copied, of_dse_alone

if TYPE_CHECKING:
    import os

    import xarray as xr

    from scenarios import Scenario

NETCDF = frozenset({".nc", ".nc4"})
_STORED = frozenset({".zarr", *NETCDF})
ZARR = "Zarr folder"
NEEDED = "pip install 'codesign-dse[export]'"


def open(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open a dataset, read lazily: the Zarr store of a sweep, finished or not, a Zarr folder or a NetCDF file.

    Raises StoreError where there is none, or none of ours.
    """
    if remote(path):
        return store.open(path)
    target = Path(named(path))
    if target.suffix in NETCDF:
        return _netcdf(target)
    if target.is_dir() and _is_dataset(target):
        return _zarr(target)
    return store.open(target)


def _zarr(target: Path) -> xr.Dataset:
    from results.stores.checked import Standing
    from results.stores.guarded import guarded, lazily

    with copied(target, ZARR), of_dse_alone():
        lazy = lazily(Standing(target, read_only=True))
    found = guarded(lazy, str(target), ZARR, lambda: sum(LocalFolder(target).sizes().values()))
    expected.refuse(target / ROOT, found.attrs, expected.DATASET)
    expected.refuse_variables(target, found)
    return netcdf.in_order(found.drop_encoding())


def opened(source: Any) -> xr.Dataset | Solution | Scenario:
    """Return the dataset, the answer or the scenario that is meant: itself, or what a path or a name stands for.

    Raises ScenarioError, and StoreError where a file or store cannot be read.
    """
    import xarray as xr

    if isinstance(source, xr.Dataset | Solution):
        return source
    if isinstance(source, str | Path) and is_stored(source):
        return open(source)
    if isinstance(source, str | Path) and Path(source).suffix == answer_files.SUFFIX:
        return answer_files.read(source)
    return scenarios.load(source)


def read_for(source: Any, found: xr.Dataset | Solution | Scenario) -> tuple[str | Path, ...]:
    """Return the paths of the files that what was ``opened`` was read from."""
    if isinstance(found, scenarios.Scenario):
        return found.reads
    return (source,) if isinstance(source, str | Path) else ()


def is_stored(source: str | Path) -> bool:
    """Tell whether a path is that of a dataset, and not of a scenario."""
    return remote(source) or Path(source).suffix in _STORED or Path(named(source)).is_dir()


def _netcdf(target: Path) -> xr.Dataset:
    if not target.exists():
        raise StoreError(f"{target} does not exist")
    try:
        found = netcdf.read(target)
    except ImportError:
        raise StoreError(f"reading {target} needs h5netcdf: {NEEDED}") from None
    expected.refuse(target, found.attrs, expected.DATASET)
    expected.refuse_variables(target, found)
    return found


def _is_dataset(target: Path) -> bool:
    """Tell whether a folder is a Zarr dataset that dse wrote whole, not the store that a sweep fills."""
    try:
        about = json.loads(LocalFolder(target).read(ROOT))["attributes"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return isinstance(about, dict) and "format" not in about and netcdf.is_ours(about)
