"""The one home of file formats: which ending is written how."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import shutil
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.names import did_you_mean
from dse.system.csv_files import inert
from dse.system.pictures import PICTURES
from results import axes, designs, flat, plot
from results.along_fronts.variable_names import FRONT
from results.export import documents, netcdf, parquet, table
from results.export.reading import NEEDED, NETCDF
from results.stores.files.storage import local, writable, write_text
from results.stores.files.trouble import StoreError, explained
from results.uncertainty import worlds
from scenarios.uncertainty.chances import AXIS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import xarray as xr

    from results.flat import Column

LINES = frozenset({".csv", ".jsonl"})
DOCUMENTS = frozenset({".md", ".tex"})
TABLES = LINES | DOCUMENTS | {".parquet"}
STORES = frozenset({".zarr"})
WRITTEN = PICTURES | TABLES | NETCDF | STORES
PACKAGES = {".parquet": "pyarrow"}
ASIDE = "-metadata.json"


class ExportError(StoreError):
    """A dataset cannot be written as asked; the message says why, and what can be written."""


def write(dataset: xr.Dataset, path: str | os.PathLike[str], columns: Iterable[str] | None = None) -> Path:
    """Write a dataset as its file name says: a table, NetCDF, a Zarr folder or a picture.

    ``columns``: names of the axes and variables that a table has, in this order (default: all; in a document the
    axes, the objectives and what is decided); of a picture the variable it shows (default: the objective), of a
    front the two. Units and provenance go along as far as the format allows; of CSV and
    JSON lines they stand in a file beside it (``NAME.csv-metadata.json``, W3C's tabular metadata). An existing file
    is replaced once the new one is complete, an existing Zarr folder never.

    Raises ExportError for another ending, for columns that are not there, where no such picture can be drawn, and
    where a package is missing; StoreError where the file cannot be written.
    """
    target, ending = Path(path), Path(path).suffix.lower()
    check(target, columns)
    try:
        if ending in TABLES:
            _write_table(dataset, target, ending, _columns_for_format(dataset, columns, ending))
        elif ending in NETCDF:
            netcdf.to_netcdf(dataset, target)
        elif ending in STORES:
            _zarr(dataset, target)
        else:
            _picture(dataset, target, None if columns is None else list(columns))
    except ImportError as missing:
        raise ExportError(f"writing {target} needs {missing.name}: {NEEDED}") from None
    return target


_PAGES = "; `dse report` writes pages"


def check(
    path: str | os.PathLike[str], columns: Iterable[str] | None = None, also: Iterable[str] = ()
) -> None:
    """Refuse, before anything is computed, a file that nobody could write; raises as ``write`` does.

    ``also``: endings that whoever asks writes by itself.
    """
    target = local(path)
    ending = target.suffix.lower()
    if ending not in WRITTEN:
        kinds, more = ", ".join(sorted({*WRITTEN, *also})), _PAGES if ending == ".html" else ""
        raise ExportError(f"{target}: what kind of file is meant? The name may end in {kinds}{more}")
    if columns is not None and ending not in TABLES | PICTURES:
        kinds = ", ".join(sorted(TABLES | PICTURES))
        raise ExportError(f"{target}: columns are chosen for tables and pictures: {kinds}")
    if ending in STORES and target.exists():
        raise ExportError(f"{target} exists; choose another path, it is left untouched")
    package = "h5netcdf" if ending in NETCDF else PACKAGES.get(ending)
    if package is not None and importlib.util.find_spec(package) is None:
        raise ExportError(f"writing {target} needs {package}: {NEEDED}")
    writable(target)


def _columns_for_format(dataset: xr.Dataset, names: Iterable[str] | None, ending: str) -> tuple[Column, ...]:
    if names is None and ending in DOCUMENTS:
        return flat.columns(dataset, designs.in_short(dataset))
    try:
        return flat.columns(dataset, names)
    except KeyError as unknown:
        known = [str(n) for n in (*flat.points(dataset), *dataset.data_vars)]
        name = str(unknown.args[0])
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise ExportError(f"there is no column {name!r}{hint}") from None


def _write_table(dataset: xr.Dataset, target: Path, ending: str, columns: Sequence[Column]) -> None:
    writers: dict[str, Any] = {
        ".csv": table.to_csv,
        ".jsonl": table.to_json_lines,
        ".parquet": parquet.to_parquet,
        ".md": documents.to_markdown,
        ".tex": documents.to_latex,
    }
    writers[ending](dataset, target, columns)
    if ending in LINES:
        about = json.dumps(aside(dataset, target.name, columns), indent=2, ensure_ascii=False)
        write_text(target.with_name(target.name + ASIDE), about + "\n")


def aside(dataset: xr.Dataset, name: str, columns: Sequence[Column]) -> dict[str, Any]:
    """Return what stands beside a table of text: W3C's metadata of tabular data, with units and provenance."""
    described = []
    for column in columns:
        number = column.words is None and not column.text
        told = {
            "titles": inert(column.heading) if Path(name).suffix == ".csv" else column.heading,
            "datatype": "number" if number else "string",
            "dc:description": str(column.attributes.get("long_name", "")),
            "schema:unitText": column.unit if column.unit != "1" else "",
            "dc:source": str(column.attributes.get("source") or ""),
        }
        described.append({name: text for name, text in told.items() if text})
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": name,
        "dc:title": str(dataset.attrs.get("title", "")),
        "tableSchema": {"columns": described},
        **{f"dse:{k}": v if isinstance(v, str | int | float) else str(v) for k, v in dataset.attrs.items()},
    }


def _zarr(dataset: xr.Dataset, target: Path) -> None:
    """Write a Zarr folder beside its place, and move it there."""
    plain = netcdf.blocks(dataset)
    plain = plain.drop_attrs(deep=False).assign_attrs(netcdf.about(dataset))
    # Zarr has a type for texts of any length, and none yet for those of one length
    plain = plain.assign(
        {str(n): v.astype(object) for n, v in plain.variables.items() if v.dtype.kind == "U"}
    )
    building = target.with_name(f".{target.name}.{uuid.uuid4().hex}.building")
    with explained(target, "write"):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Consolidated metadata")
                plain.to_zarr(building, mode="w-", consolidated=True)
            if target.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
            building.rename(target)
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _picture(dataset: xr.Dataset, target: Path, names: list[str] | None) -> None:
    dims = flat.points(dataset)
    if not dims or dataset.sizes[dims[0]] == 0:
        raise ExportError(f"{target}: a picture shows a front or a sweep, and this has no points to draw")
    is_front = FRONT in dims
    if names is not None and len(names) != (2 if is_front else 1):
        many = "two columns, across and up" if is_front else "one column"
        raise ExportError(f"{target}: a picture of {'a front' if is_front else 'a sweep'} has {many}")
    if names is None and dims == (AXIS,):
        _of_worlds(dataset, target)
        return
    refusal = "" if is_front else axes.undrawable({d: dataset.sizes[d] for d in dims})
    if refusal:
        raise ExportError(f"{target}: {refusal}")
    _columns_for_format(dataset, names, target.suffix)
    draw = plot.front if is_front else plot.sweep
    try:
        figure = draw(dataset, *(names or ()))
    except ValueError as problem:
        raise ExportError(f"{target}: {problem}") from None
    plot.save(figure, target, dataset.attrs)


def _of_worlds(dataset: xr.Dataset, target: Path) -> None:
    """Draw distributions and shares: the order of worlds means nothing."""
    try:
        figure = plot.worlds(worlds.summarised(dataset))
    except ValueError as problem:
        raise ExportError(f"{target}: {problem}") from None
    plot.save(figure, target, dataset.attrs)
