"""All metrics of a scenario over its grid at once, as arrays: no loop over the points.

In memory a metric keeps the shape that the equations give it: what depends on few axes costs few numbers. Into a
store it goes chunk by chunk, whatever the size of the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import results.dataset
import scenarios
from dse.sweeping import sweeps
from dse.system.progress import Report
from formulations import evaluation, failures
from formulations.grids import over_grid
from formulations.grids.over_grid import Array, Spread
from results.dataset import Layout, Variable
from results.stores.files.storage import fillable
from scenarios import Grid, Scenario

if TYPE_CHECKING:
    import xarray as xr


Metrics = Mapping[str, Any]


def evaluate(
    asked: Scenario,
    store: str | Path | None = None,
    metrics: Sequence[str] | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    patience: float | None = None,
    *,
    extend: bool = False,
) -> xr.Dataset:
    """Compute metrics of a scenario in which nothing is decided, over its grid if it has one.

    Limits play no part. ``metrics``: names of those wanted (None: all). ``store``: a Zarr store that is filled chunk
    by chunk, and continued where it exists; ``client`` to ``patience`` and ``extend`` are then as in
    ``dse.sweeping.sweeps.sweep``. Without a store the arrays are read-only, since those of metrics that do not
    depend on every axis repeat fewer numbers than they show (and some share theirs): ``copy(deep=True)`` makes
    arrays to write to.

    Raises ScenarioError where something is decided, or where there is a store and nothing is swept; UnknownName for
    a metric that the model does not have.
    """
    if store is not None:
        fillable(store)
    grid = scenarios.grid(asked)
    decided = grid.decided()
    if decided:
        is_to, it = ("is", "it a value") if len(decided) == 1 else ("are", "them values")
        raise scenarios.ScenarioError.of(
            asked.file,
            "decide",
            f"{', '.join(decided)} {is_to} to be decided, and nothing is when a scenario is evaluated",
            f"give {it} under [given], or use solve or sweep (in Python dse.solve, dse.sweep)",
        )
    _possible(asked, grid)
    whole = results.dataset.layout(grid, {"method": "evaluated as arrays"})
    names = sweeps.metrics_named(metrics, grid, whole)
    if store is not None:
        return sweeps.run(asked, grid, store, client, workers, progress, names, patience, extend=extend)
    plan = results.dataset.only(whole, names)
    keys = [n for v in plan.variables for n in (v.elements.values() if v.elements else (v.key,))]
    spread = over_grid.spread(grid)
    # names and whole machines differ in more than one number: one call for each of them
    apart = any(spread.apart) or any(k is not None for k in spread.kinds)
    found = (
        _metrics_of_whole_grid(spread, keys) if apart else _metrics_of_region(spread, over_grid.whole(grid))
    )
    # a view: nothing is copied, whatever the shape
    arrays = {
        v.name: np.broadcast_to(_compact_numbers(v, found, plan), plan.shape_of(v)) for v in plan.variables
    }
    return results.dataset.to_dataset(plan, arrays)


def _possible(asked: Scenario, grid: Grid) -> None:
    """Refuse a single point that cannot be computed; of many points the others can, and it has infinite numbers."""
    if grid.axes:
        return
    question = grid.question(())
    try:
        evaluation.metrics(question, {})
    except ArithmeticError as problem:
        raise failures.refused(asked.file, question, problem) from problem


def _compact_numbers(variable: Variable, found: Metrics, plan: Layout) -> Any:
    """Return the numbers of a variable in as small a shape as they have; a family is put together."""
    if not variable.elements:
        return found[variable.key]
    numbers = {place: np.asarray(found[name]) for place, name in variable.elements.items()}
    points = np.broadcast_shapes((1,) * len(plan.shape), *(v.shape for v in numbers.values()))
    whole: Array = np.full((*points, *plan.beyond(variable)), np.nan)
    for place, values in numbers.items():
        at: tuple[Any, ...] = (..., *place)
        whole[at] = values
    return whole


def _metrics_of_whole_grid(spread: Spread, keys: Sequence[str]) -> dict[str, Array]:
    """Evaluate once for each combination of the axes that stand apart, into arrays of the whole grid."""
    arrays = {key: np.empty(spread.grid.shape) for key in keys}
    part, places = spread.in_order(over_grid.whole(spread.grid))
    for region in part.pieces(over_grid.whole(part.grid)):
        found = _metrics_of_region(part, region)
        at = np.ix_(*(p[s] for p, s in zip(places, region, strict=True)))
        for key in keys:
            arrays[key][at] = found.get(key, np.nan)
    return arrays


def _metrics_of_region(spread: Spread, region: over_grid.Region) -> Metrics:
    """Evaluate the question at a piece of the grid.

    Beside the metrics stands what was given: families may have elements of both kinds. A number that overflows is
    infinite.
    """
    question = spread.question(region)
    with np.errstate(all="ignore"):
        return {**question.given, **evaluation.metrics(evaluation.unraised(question), {})}
