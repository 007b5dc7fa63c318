"""A dataset as a text file of rows: CSV or JSON lines, names instead of codes."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.csv_files import inert
from results import flat
from results.stores.files.storage import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    from results.flat import Column


def to_csv(
    dataset: xr.Dataset, path: str | os.PathLike[str], columns: Sequence[Column] | None = None
) -> Path:
    """Write a dataset as CSV; an existing file is replaced only once the new one is complete.

    Columns: the axes, then every variable, with its unit in brackets ("energy [J]"); what is kept per limit
    has one column per limit ("elasticity time"), what has regions and processors one for each of them
    ("share[region=a,processor=cpu]"). Status and choices are words; a single quote stands before a text that a
    spreadsheet would run as a formula (it begins with =, +, - or @). Large stores are read piece by piece. Raises
    StoreError where the file cannot be written.
    """
    chosen = flat.columns(dataset) if columns is None else columns
    with replacing(path) as writing, writing.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([inert(c.heading) for c in chosen])
        for piece in flat.rows(dataset):
            cells = [_inert_cells(piece, c) for c in chosen]
            writer.writerows(zip(*cells, strict=True))
    return Path(path)


def _inert_cells(piece: xr.Dataset, column: Column) -> list[Any]:
    """Return the cells of a column, with texts that no spreadsheet runs."""
    if column.words is not None:
        words = {code: inert(word) for code, word in column.words.items()}
        return flat.in_words(flat.values(piece, column), replace(column, words=words), "")
    cells = flat.in_words(flat.values(piece, column), column, "")
    return [inert(c) if isinstance(c, str) else c for c in cells] if column.text else cells


def to_json_lines(
    dataset: xr.Dataset, path: str | os.PathLike[str], columns: Sequence[Column] | None = None
) -> Path:
    """Write a dataset as JSON lines: one object per point, read piece by piece.

    Numbers are in SI units; what is kept per limit, region, ... is an object of its own
    (``{"elasticity": {"time": -1.5}}``); status and choices are words; a number that does not exist, or is
    infinite, is null. Raises StoreError where the file cannot be written.
    """
    chosen = flat.columns(dataset) if columns is None else columns
    with replacing(path) as writing, writing.open("w", encoding="utf-8") as file:
        for piece in flat.rows(dataset):
            cells = [flat.in_words(_null_for_infinite(flat.values(piece, c)), c, None) for c in chosen]
            for row in zip(*cells, strict=True):
                file.write(json.dumps(_nested(chosen, row), ensure_ascii=False, allow_nan=False) + "\n")
    return Path(path)


def _null_for_infinite(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Put NaN, which is written null, where a number is infinite: JSON has no word for it."""
    return np.where(np.isinf(values), np.nan, values) if values.dtype.kind == "f" else values


def _nested(columns: Sequence[Column], row: Sequence[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column, value in zip(columns, row, strict=True):
        *outer, last = (column.name, *column.labels.values())
        inside = found
        for label in outer:
            inside = inside.setdefault(label, {})
        inside[last] = value
    return found
