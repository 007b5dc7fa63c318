"""What Python programs call: load, solve, sweep, front, evaluate, fit, open, register."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.models import Model, register
from scenarios import Scenario

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from dse.progress import Report
    from results.dataset import Arrays
    from results.solution import Solution
    from scenarios.question import Question

Source = Scenario | str | Path | Mapping[str, Any]

__all__ = ["Model", "Scenario", "evaluate", "front", "load", "open", "register", "solve", "sweep"]


def load(source: Source) -> Scenario:
    """Read and check a scenario: a path, the name of a library scenario, or a mapping shaped like a file.

    Raises ScenarioError, which lists every mistake with its place and its repair.
    """
    return source if isinstance(source, Scenario) else scenarios.load(source)


def solve(scenario: Source) -> Solution:
    """Answer a scenario: the best design with its certificate, or why there is none.

    Raises ScenarioError where the scenario is wrong, sweeps axes (see ``sweep``) or has several objectives
    (see ``front``).
    """
    from scenarios.questions import question
    from solvers.answer import answer

    asked = load(scenario)
    _one_answer(asked)
    return answer(question(asked))


def _one_answer(asked: Scenario) -> None:
    goal = asked.objective
    several = goal is not None and len((goal.minimize or ()) + (goal.maximize or ())) > 1
    if asked.sweep:
        _refuse(asked, "sweep", f"this scenario sweeps {', '.join(asked.sweep)}", "sweep FILE -o STORE")
    if several:
        _refuse(asked, "objective", "this scenario has several objectives", "front FILE")


def _refuse(asked: Scenario, key: str, wrong: str, command: str) -> None:
    right = f"use `dse {command}`, in Python dse.{command.split(maxsplit=1)[0]}(scenario)"
    raise scenarios.ScenarioError([scenarios.Problem(asked.file, key, wrong, right)])


def sweep(
    scenario: Source,
    store: str | Path | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
) -> xr.Dataset:
    """Answer a scenario at every point of its grid: a labelled dataset.

    ``store``: path of a Zarr store, filled chunk by chunk and continued where it exists; None: in memory.
    ``client``: a Dask client; else ``workers`` processes of this machine. ``progress``: True, False, a
    function (done, total), or None for a bar where there is a terminal.

    Raises ScenarioError, StoreError and WorkersLost, see ``dse.sweeps.sweep``.
    """
    from dse import sweeps

    return sweeps.sweep(load(scenario), store, client, workers, progress)


def front(
    scenario: Source,
    points: int | None = None,
    tolerance: float | None = None,
    progress: bool | Report | None = None,
) -> xr.Dataset:
    """Find the Pareto front of a scenario with several objectives: a dataset along ``front``.

    ``points``, ``tolerance``: how finely, instead of what the scenario says. Raises ScenarioError.
    """
    from dse import fronts

    return fronts.front(load(scenario), points, tolerance, progress)


def evaluate(scenario: Source) -> xr.Dataset:
    """Compute all metrics of a scenario in which nothing is decided, over its grid if it has one.

    All points at once, as arrays. Limits play no part. Raises ScenarioError where something is decided.
    """
    import numpy as np

    import results.dataset

    asked = load(scenario)
    grid = scenarios.grid(asked)
    if asked.decide:
        wrong = f"{', '.join(asked.decide)} is to be decided, and nothing is when a scenario is evaluated"
        right = "give it a value under [given], or use dse.solve or dse.sweep"
        raise scenarios.ScenarioError([scenarios.Problem(asked.file, "decide", wrong, right)])
    plan = results.dataset.layout(grid, {"method": "evaluated as arrays"})
    plan = replace(plan, variables=tuple(v for v in plan.variables if v.role == "metric"))
    plan = replace(plan, sizes={a.name: len(a.values) for a in grid.axes}, limits=())
    plan = replace(plan, coordinates=tuple(c for c in plan.coordinates if c.name in plan.sizes))
    arrays = results.dataset.blank(plan)
    # names and whole machines differ in more than one number: one call for each of them
    apart = [not a.numeric or t.structural for a, t in zip(grid.axes, grid.targets, strict=True)]
    for place in itertools.product(
        *(range(n) if alone else (None,) for n, alone in zip(grid.shape, apart, strict=True))
    ):
        region = tuple(slice(None) if i is None else i for i in place)
        _fill(arrays, plan.variables, region, _spread(grid, tuple(i or 0 for i in place), apart))
    return results.dataset.to_dataset(plan, {n: np.asarray(a) for n, a in arrays.items()})


def _spread(grid: scenarios.Grid, start: tuple[int, ...], apart: list[bool]) -> Question:
    """Return the question at ``start`` with every swept input as an array along its own dimension."""
    import numpy as np

    base = grid.question(start)
    given: dict[str, Any] = dict(base.given)
    open_axes = [i for i, alone in enumerate(apart) if not alone]
    for place, i in enumerate(open_axes):
        shape = [1] * len(open_axes)
        shape[place] = -1
        aim = grid.targets[i]
        if aim.kind == "given":
            given[aim.name] = np.asarray(grid.axes[i].values, float).reshape(shape)
    return replace(base, given=given)


def _fill(
    arrays: Arrays, variables: tuple[Any, ...], region: tuple[slice | int, ...], question: Question
) -> None:
    from formulations import evaluation

    found: Mapping[str, np.ndarray[Any, Any]] = evaluation.metrics(question, {})
    for variable in variables:
        arrays[variable.name][region] = found[variable.key]


def open(store: str | Path) -> xr.Dataset:
    """Open the dataset of a sweep's store, finished or not (status 0: not computed yet).

    Raises StoreError where there is none.
    """
    import results.store

    return results.store.open(store)
