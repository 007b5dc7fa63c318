"""A dataset as a Parquet file that pandas, DuckDB and others open with sensible types."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results import flat
from results.stores.files.storage import replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import xarray as xr

    from results.flat import Column

PREFIX = "dse."
COLUMNS = PREFIX + "columns"


def to_parquet(
    dataset: xr.Dataset, path: str | os.PathLike[str], columns: Sequence[Column] | None = None
) -> Path:
    """Write a dataset as Parquet: one row per point, row group by row group, so that it need not fit into memory.

    Numbers are doubles, null where they do not exist; status, other codes and names of an axis are categories
    (dictionaries of text), messages text. Column names are words for SQL: "elasticity_time", "share_a_cpu".
    The file's metadata has the dataset's attributes under "dse.NAME" (title, scenario, versions, ...) and under
    "dse.columns" what each column is: unit, meaning, source, labels; every field has that in its own metadata too.
    Raises StoreError where the file cannot be written, ImportError without pyarrow.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    chosen = flat.columns(dataset) if columns is None else columns
    names = column_names(chosen)
    makers = [_maker(c, dataset) for c in chosen]
    told = dict(zip(names, map(_column_metadata, chosen), strict=True))
    schema = pa.schema(
        [
            pa.field(name, kind, metadata={k: _json_text(v) for k, v in told[name].items()})
            for name, (kind, _) in zip(names, makers, strict=True)
        ],
        metadata={PREFIX + str(k): _json_text(v) for k, v in dataset.attrs.items()}
        | {COLUMNS: json.dumps(told)},
    )
    with replacing(path) as writing, pq.ParquetWriter(writing, schema, compression="zstd") as writer:
        for piece in flat.rows(dataset):
            arrays = [make(flat.values(piece, c)) for c, (_, make) in zip(chosen, makers, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return Path(path)


def column_names(columns: Sequence[Column]) -> list[str]:
    """Return a name for each column that SQL takes as it is; no two are alike, also not but for their case."""
    found: dict[str, None] = {}
    taken: set[str] = set()
    for column in columns:
        plain = re.sub(r"\W+", "_", "_".join((column.name, *column.labels.values()))).strip("_") or "column"
        plain = plain if not plain[0].isdigit() else f"_{plain}"
        name, number = plain, 1
        while name.lower() in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name.lower())
        found[name] = None
    return list(found)


def _column_metadata(column: Column) -> dict[str, Any]:
    """Return what is said of a column."""
    kept = {k: v for k, v in column.attributes.items() if k in {"long_name", "source", "path"} and v != ""}
    labels = {"labels": dict(column.labels)} if column.labels else {}
    unit = {"unit": column.unit} if column.unit else {}
    return {"variable": column.name, **unit, **kept, **labels}


def _json_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _maker(column: Column, dataset: xr.Dataset) -> tuple[Any, Any]:
    """Return the Arrow type of a column, and a function that makes an Arrow array of its values."""
    import pyarrow as pa

    if column.words is not None:
        places = {code: i for i, code in enumerate(column.words)}
        words = pa.array(list(column.words.values()), pa.string())
        return _categories(pa.int16(), words, places.get)
    if column.text and column.name in dataset.coords:
        names = list(dict.fromkeys(str(v) for v in dataset[column.name].values))
        numbers = {name: i for i, name in enumerate(names)}
        return _categories(pa.int32(), pa.array(names, pa.string()), lambda v: numbers[str(v)])
    if column.text:
        return pa.string(), lambda values: pa.array([str(v) or None for v in values.tolist()], pa.string())
    return pa.float64(), lambda values: pa.array(values.astype(float), pa.float64(), from_pandas=True)


def _categories(index: Any, words: Any, place: Any) -> tuple[Any, Any]:
    import pyarrow as pa

    def make(values: Any) -> Any:
        codes = pa.array([place(v) for v in values.tolist()], index)
        return pa.DictionaryArray.from_arrays(codes, words)

    return pa.dictionary(index, pa.string()), make
