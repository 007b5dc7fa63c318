"""The question of a dataset, with the tables whose rows it sweeps: these stand in the coordinates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from results.provenance import DRAWN_FROM
from results.variables import COLUMNS, TABLE
from scenarios import Grid, Scenario
from scenarios.language.tables import Cells, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr

    from results.solution import Solution


def question(dataset: xr.Dataset, name: str = "scenario") -> Scenario:
    """Read the question of a dataset; ``name``: what messages call it.

    Raises KeyError where a dataset has none, and ScenarioError where it can no longer be read.
    """
    return scenarios.from_text(str(dataset.attrs["scenario"]), name, tables(dataset.coords, dataset.attrs))


def question_of(solution: Solution, name: str = "scenario") -> Scenario:
    """Read the question of an answer; ``name``: what messages call it. Raises ScenarioError where it cannot be read."""
    return scenarios.from_text(solution.scenario, name, tables_of(solution.tables))


def grid(text: str, rows: Sequence[Table] = ()) -> Grid | None:
    """Return the grid of a question, with the tables that its axes go through; None where it can no longer be read."""
    try:
        return scenarios.grid(scenarios.from_text(text, "scenario", rows))
    except (KeyError, ValueError, scenarios.ScenarioError):
        return None


def grid_of(dataset: xr.Dataset) -> Grid | None:
    """Return the grid that a dataset answers; None where its question can no longer be read."""
    return grid(str(dataset.attrs.get("scenario", "")), tables(dataset.coords, dataset.attrs))


def tables(coordinates: Mapping[Any, Any], attributes: Mapping[Any, Any]) -> list[Table]:
    """Return the tables of a question from the coordinates and attributes of its dataset or store.

    In coordinates stand the rows that axes go through, in an attribute those that worlds are drawn from.
    """
    return [
        *tables_of(json.loads(attributes.get(DRAWN_FROM, "{}"))),
        *(
            _table_of_dataset(array, coordinates)
            for _, array in coordinates.items()
            if TABLE in array.attrs and array.ndim == 1
        ),
    ]


def tables_of(stored: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Table]:
    """Return the tables that worlds are drawn from, as ``provenance.drawn_from`` says what stands in them."""
    return [
        Table(name, {path: Cells(np.asarray(values, float)) for path, values in columns.items()})
        for name, columns in stored.items()
    ]


def _table_of_dataset(numbers: Any, coordinates: Mapping[Any, Any]) -> Table:
    found = {}
    for name in json.loads(numbers.attrs[COLUMNS]):
        values = np.asarray(coordinates[name][...])
        numeric = values.dtype.kind == "f"
        found[str(coordinates[name].attrs["path"])] = Cells(
            values if numeric else tuple(map(str, values.tolist()))
        )
    return Table(str(numbers.attrs[TABLE]), found, np.asarray(numbers[...]).tolist())
