"""The layout of a labelled dataset: which variables there are, how solutions fill them.

A ``Layout`` is the one description that both the Zarr store and a dataset in memory are made from.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.names import unknown
from dse.system.records import dataclass
from results import provenance, variables
from results.layouts import explained_layout, fresh_layout
from results.solution import THROUGH, Solution, Status
from results.telling import families
from results.telling.limits import base_name, limit_names
from results.variables import (
    BINDING,
    CONFLICTING,
    LIMIT,
    NOT_APPLICABLE,
    NOT_BINDING,
    OBJECTIVE_MEASURE,
    PROMISE,
    RESERVED,
    STATUS_CODES,
    GridLike,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    import xarray as xr

__all__ = [
    "BINDING",
    "CONFLICTING",
    "LIMIT",
    "NOT_APPLICABLE",
    "NOT_BINDING",
    "STATUS_CODES",
    "Arrays",
    "Layout",
    "Variable",
    "blank",
    "kept",
    "layout",
    "metrics_named",
    "objectives",
    "only",
    "to_arrays",
    "to_dataset",
]
WITH_ERRORS = frozenset({"status", "seconds", "message"})

Arrays = dict[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True, slots=True)
class Layout:
    """All coordinates and variables of a dataset, and its own attributes.

    ``sizes``: points along each swept axis; ``further``: lengths of the other dimensions (limits, regions, ...).
    """

    sizes: Mapping[str, int]
    coordinates: tuple[Variable, ...]
    variables: tuple[Variable, ...]
    limits: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    further: Mapping[str, int] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each swept axis (limits, regions, ... are none)."""
        return tuple(self.sizes.values())

    @property
    def width(self) -> int:
        """Most numbers that a variable holds at one point."""
        return max((math.prod(self.beyond(v)) for v in self.variables), default=1)

    def beyond(self, variable: Variable) -> tuple[int, ...]:
        """Shape of a variable at one point."""
        return tuple(self.further[d] for d in variable.dims if d in self.further)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """What stands along each dimension that is not a swept axis."""
        return {c.name: tuple(map(str, c.values or ())) for c in self.coordinates if c.name in self.further}

    @property
    def full(self) -> bool:
        """Whether there is room for what stands beside each answer."""
        return any(v.role == explained_layout.ROLE for v in self.variables)

    def shape_of(self, variable: Variable, points: Sequence[int] | None = None) -> tuple[int, ...]:
        """Shape of a variable for a block of ``points`` (default: for the whole grid)."""
        return (*(self.shape if points is None else points), *self.beyond(variable))


def layout(
    grid: GridLike,
    attributes: Mapping[str, Any] | None = None,
    *,
    full: bool = False,
    needed: Iterable[str] = (),
) -> Layout:
    """Lay out the dataset of a grid; ``attributes`` (say ``method``, how points were solved) join its own.

    ``full``: with what stands beside each answer (see ``results.layouts.explained_layout``). ``needed``: names that
    variables have which join the dataset later.

    Raises ValueError for an axis whose name the dataset needs for itself.
    """
    axes = tuple(grid.axes)
    own_names = {*RESERVED, *explained_layout.NAMES} if full else RESERVED
    taken = sorted({a.name for a in axes} & own_names)
    if taken:
        raise ValueError(f"an axis cannot be named {taken[0]!r}: the dataset has a variable of that name")
    question = grid.question((0,) * len(axes))
    asked = [q for _, q in provenance.questions(grid)]
    dims = tuple(a.name for a in axes)
    limits = tuple(dict.fromkeys(n for q in (*provenance.fullest(grid), *asked) for n in limit_names(q)))
    indexed = families.collect(asked)
    coordinates = [c for a in axes for c in variables.coordinates(a, question)]
    columns = [c.name for c in coordinates if c.name not in dims]
    own = families.dimensions(indexed.values(), {*dims, *columns, *own_names})
    coordinates += [variables.limited(limits)] if limits else []
    promises = tuple(dict.fromkeys(n for q in asked for n in fresh_layout.promised(q)))
    coordinates += [fresh_layout.coordinate(promises)] if promises else []
    coordinates += [variables.labelled(dim) for dim in own.values()]
    beside = explained_layout.labels(asked) if full else {}
    coordinates += explained_layout.coordinates(beside)
    answers = (
        *variables.of_answer(question, dims),
        *variables.per_limit(dims, limits, asked),
        *fresh_layout.laid_out(question, dims, promises),
        *(explained_layout.laid_out(asked, dims, limits, beside) if full else ()),
    )
    own_of_dataset = {*columns, *own_names, *needed, *(v.name for v in answers)}
    found = (*answers, *variables.named(variables.names(asked, indexed, own), question, dims, own_of_dataset))
    about = provenance.attributes(grid, question) | dict(attributes or {})
    further = {d: len(n) for d, n in ((LIMIT, limits), (PROMISE, promises)) if n}
    further |= {d.name: len(d.labels) for d in own.values()} | {d: len(n) for d, n in beside.items()}
    shown = [tuple(variables.sized(v, question) for v in some) for some in (coordinates, found)]
    return Layout({a.name: len(a.values) for a in axes}, shown[0], shown[1], limits, about, further)


def kept(
    grid: GridLike, attributes: Mapping[str, Any], names: Container[str] | None, *, full: bool = False
) -> Layout:
    """Lay out the dataset of a grid with these variables only (None: all); ``full`` as in ``layout``."""
    plan = layout(grid, attributes, full=full)
    return plan if names is None else only(plan, names)


def only(plan: Layout, names: Container[str]) -> Layout:
    """Return the layout with these variables only, and no dimension that none of them has."""
    kept = tuple(v for v in plan.variables if v.name in names)
    used = {d for v in kept for d in v.dims} | set(plan.sizes)
    return replace(
        plan,
        coordinates=tuple(c for c in plan.coordinates if used.issuperset(c.dims)),
        variables=kept,
        limits=plan.limits if LIMIT in used else (),
        further={name: n for name, n in plan.further.items() if name in used},
    )


def metrics_named(plan: Layout, metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the variables that hold these metrics (None: all metrics there are).

    Raises UnknownName for a name that is not a metric.
    """
    held = [v for v in plan.variables if v.role in {"metric", "family"}]
    if metrics is None:
        return tuple(v.name for v in held)
    # a family bears the name of what it consists of, which may be a metric too: that is then meant
    inside = {name: v.name for v in held for name in (v.key, *v.elements.values())}
    known = inside | {v.key: v.name for v in held if v.role == "metric"} | {v.name: v.name for v in held}
    for name in metrics:
        if name not in known:
            raise unknown("metric", name, known)
    return tuple(dict.fromkeys(known[name] for name in metrics))


def objectives(dataset: xr.Dataset) -> dict[str, bool]:
    """Return the objectives a dataset was made for: name, and whether it is maximised."""
    found = json.loads(dataset.attrs.get("objectives", "{}"))
    return {name: sense == "max" for name, sense in found.items()}


def goals(dataset: xr.Dataset) -> dict[str, bool]:
    """Return the variables that hold what a dataset was optimised for, and whether that is maximised.

    They bear the names of the objectives. What is a measure over samples stands under "objective": under the name of
    the metric there is the mean, or the nominal value.
    """
    every = objectives(dataset)
    held = "objective" in dataset
    measured = held and OBJECTIVE_MEASURE in dataset.attrs
    return {("objective" if measured or (held and n not in dataset) else n): x for n, x in every.items()}


def blank(plan: Layout, points: Sequence[int] | None = None) -> Arrays:
    """Arrays for a block of ``points`` (default: the whole grid) in which nothing is computed yet."""

    def made(v: Variable) -> Any:
        shape = plan.shape_of(v, points)
        # zeros take no time until they are written to
        return np.zeros(shape, v.numpy_dtype) if v.fill in {"", 0} else np.full(shape, v.fill, v.numpy_dtype)

    return {v.name: made(v) for v in plan.variables}


def to_arrays(plan: Layout, solutions: Sequence[Solution], points: Sequence[int]) -> Arrays:
    """Turn a block's solutions, in C order, into arrays; ValueError where their number differs."""
    if len(solutions) != math.prod(points):
        raise ValueError(f"{len(solutions)} solutions for a block of {math.prod(points)} points")
    arrays = blank(plan, points)
    places = list(itertools.product(*(range(n) for n in points)))
    for variable in plan.variables:
        array, read = arrays[variable.name], _reader(plan, variable)
        for place, solution in zip(places, solutions, strict=True):
            # the numbers of an answer that failed its own check are not results
            failed = solution.status is Status.ERROR and variable.role not in WITH_ERRORS
            value = None if failed else read(solution)
            if value is not None:
                array[place] = value
    return arrays


def _message(solution: Solution) -> str | None:
    """Say what went wrong, or what a solver that the user asked for claimed, and our own bound of it."""
    if solution.status is Status.ERROR:
        return solution.message
    return solution.certificate if solution.solver.endswith(THROUGH) else None


def _reader(plan: Layout, variable: Variable) -> Any:
    """Make a function from a solution to the variable's value (None: the fill value stays)."""
    role, key = variable.role, variable.key
    if role == explained_layout.ROLE:
        return explained_layout.reader(key, plan.limits, plan.labels)
    labels, shape = plan.labels.get(PROMISE, ()), plan.beyond(variable)
    known: dict[str, Callable[[Solution], Any]] = {
        "status": lambda s: STATUS_CODES[s.status],
        "message": _message,
        "metric": lambda s: s.metrics.get(key),
        "elasticity": lambda s: [_elasticity(s, name) for name in plan.limits],
        "binding": lambda s: [_binding(s, name) for name in plan.limits],
        "would_do": lambda s: [_feasible_value(s, name) for name in plan.limits],
        "family": lambda s: _family_values(s, variable.elements, shape),
        fresh_layout.ROLE: lambda s: fresh_layout.value(s.fresh, key, labels),
        **dict.fromkeys(("objective", "bound", "gap", "seconds"), lambda s: getattr(s, role)),
    }
    if role in known:
        return known[role]
    if variable.dtype == "float64":
        return lambda s: s.variables.get(key)
    codes = {c: i for i, c in enumerate(json.loads(variable.attributes["choices"]))}
    return lambda s: codes[s.variables[key]] if key in s.variables else None


def _family_values(
    solution: Solution, names: Mapping[tuple[int, ...], str], shape: tuple[int, ...]
) -> np.ndarray[Any, Any] | None:
    """Return the numbers of a family at one point; what was given stands among them only where there is an answer."""
    if not solution.metrics:
        return None
    numbers = {**solution.given, **solution.variables, **solution.metrics}
    found = np.full(shape, math.nan)
    for place, name in names.items():
        found[place] = numbers.get(name, math.nan)
    return found


def _elasticity(solution: Solution, name: str) -> float:
    state = solution.limits.get(name)
    return math.nan if state is None or state.elasticity is None else state.elasticity


def _conflicts(solution: Solution, name: str) -> bool:
    """Whether a limit is in the first of the smallest conflicts, of which all are told where they are known."""
    first = solution.conflicts[0] if solution.conflicts else tuple(solution.conflict)
    return base_name(name) in first or name in first


def _feasible_value(solution: Solution, name: str) -> float:
    if not _conflicts(solution, name):
        return math.nan
    value = solution.conflict.get(base_name(name), solution.conflict.get(name))
    return math.nan if value is None else value


def _binding(solution: Solution, name: str) -> int:
    if _conflicts(solution, name):
        return CONFLICTING
    state = solution.limits.get(name)
    if state is None or math.isnan(state.value):
        return NOT_APPLICABLE
    return BINDING if state.binding else NOT_BINDING


def to_dataset(plan: Layout, arrays: Mapping[str, np.ndarray[Any, Any]]) -> xr.Dataset:
    """Make a labelled dataset in memory from arrays of the whole grid."""
    import xarray as xr

    coordinates = {
        c.name: (c.dims, np.asarray(c.values, dtype=c.numpy_dtype), dict(c.attributes))
        for c in plan.coordinates
    }
    data = {v.name: (v.dims, arrays[v.name], dict(v.attributes)) for v in plan.variables}
    return xr.Dataset(data, coordinates, dict(plan.attributes))
