"""The layout of a labelled dataset: which variables there are, what they mean, how solutions fill them.

A ``Layout`` is the one description that both the Zarr store and a dataset in memory are made from.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dse.models.model import MACHINE_PREFIX
from formulations.evaluation import quantity
from results.limits import base_name, limit_names
from results.solution import Solution, Status
from scenarios.question import HALVINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import xarray as xr

    from dse.quantities import Quantity
    from scenarios.question import Question

CONVENTIONS = "CF-1.12"
STATUS_CODES = {
    Status.OPTIMAL: 1,
    Status.FEASIBLE: 2,
    Status.INFEASIBLE: 3,
    Status.UNBOUNDED: 4,
    Status.ERROR: 5,
    Status.EVALUATED: 6,
}
NOT_APPLICABLE, SLACK, BINDING, CONFLICTING = -1, 0, 1, 2
LIMIT = "limit"
RESERVED = frozenset(
    {
        LIMIT,
        "objective",
        "bound",
        "gap",
        "status",
        "elasticity",
        "binding",
        "seconds",
        "message",
        "chunks_done",
    }
)
WITH_ERRORS = frozenset({"status", "seconds", "message"})
LIBRARIES = ("dse", "numpy", "scipy", "pyomo", "highspy", "pyscipopt", "xarray", "zarr")

Arrays = dict[str, "np.ndarray[Any, Any]"]


class AxisLike(Protocol):
    """A swept axis: its name, what it changes, and the values it takes."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def long_name(self) -> str: ...  # noqa: D102
    @property
    def values(self) -> Sequence[float | str]: ...  # noqa: D102


class GridLike(Protocol):
    """The product of the swept axes, which gives the question at each of its points."""

    @property
    def axes(self) -> Sequence[AxisLike]: ...  # noqa: D102

    def question(self, index: tuple[int, ...]) -> Question: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Variable:
    """One array of a dataset.

    ``dtype``: "float64", "int8", "int32" or "text"; ``role``: what of a solution it holds ("objective",
    "decided", "metric", ...) and ``key``: under which name; ``values``: for coordinates only.
    """

    name: str
    dtype: str
    dims: tuple[str, ...]
    attributes: Mapping[str, Any]
    role: str
    key: str = ""
    values: tuple[float | str, ...] | None = None

    @property
    def fill(self) -> float | int | str:
        """What stands where nothing was computed: NaN, status 0, code -1 or empty text."""
        if self.dtype == "float64":
            return math.nan
        if self.dtype == "text":
            return ""
        return 0 if self.role == "status" else -1

    @property
    def numpy_dtype(self) -> Any:
        """The NumPy dtype of the array."""
        return np.dtypes.StringDType() if self.dtype == "text" else np.dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class Layout:
    """All coordinates and variables of a dataset, and its own attributes."""

    sizes: Mapping[str, int]
    coordinates: tuple[Variable, ...]
    variables: tuple[Variable, ...]
    limits: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each swept axis (the limit dimension is not one of them)."""
        return tuple(n for d, n in self.sizes.items() if d != LIMIT)

    def shape_of(self, variable: Variable, points: Sequence[int] | None = None) -> tuple[int, ...]:
        """Shape of a variable for a block of ``points`` (default: for the whole grid)."""
        block = self.shape if points is None else tuple(points)
        return (*block, len(self.limits)) if LIMIT in variable.dims else block


def layout(grid: GridLike, attributes: Mapping[str, Any] | None = None) -> Layout:
    """Lay out the dataset of a grid; ``attributes`` (say ``method``, how points were solved) join its own.

    Raises ValueError for an axis whose name the dataset needs for itself.
    """
    axes = tuple(grid.axes)
    taken = sorted({a.name for a in axes} & RESERVED)
    if taken:
        raise ValueError(f"an axis cannot be named {taken[0]!r}: the dataset has a variable of that name")
    question = grid.question((0,) * len(axes))
    dims = tuple(a.name for a in axes)
    limits = tuple(dict.fromkeys(n for _, q in _questions(grid) for n in limit_names(q)))
    sizes = {a.name: len(a.values) for a in axes} | ({LIMIT: len(limits)} if limits else {})
    coordinates = tuple(_coordinate(a) for a in axes)
    if limits:
        about = {"long_name": "limits of the question: on metrics, on decided variables, and the model's own"}
        coordinates += (Variable(LIMIT, "text", (LIMIT,), about, "coordinate", values=limits),)
    variables = (*_answer(question, dims), *_per_limit(dims, limits), *_named(question, dims))
    own = _attributes(grid, question) | dict(attributes or {})
    return Layout(sizes, coordinates, variables, limits, own)


def _coordinate(axis: AxisLike) -> Variable:
    text = any(isinstance(v, str) for v in axis.values)
    about = {"long_name": axis.long_name, "path": axis.path} | ({} if text else {"units": axis.unit or "1"})
    return Variable(
        axis.name, "text" if text else "float64", (axis.name,), about, "coordinate", values=tuple(axis.values)
    )


def _answer(question: Question, dims: tuple[str, ...]) -> Iterator[Variable]:
    """Objective, bound, gap, status, seconds and message: what every point has."""
    asked = question.objectives[0] if question.objectives else None
    unit, what = "1", "objective (none asked: any feasible point)"
    if asked is not None:
        q = quantity(question.model, asked.name)
        unit, what = q.unit or "1", f"{'greatest' if asked.maximize else 'least'} {asked.name}: {q.meaning}"
    yield Variable("objective", "float64", dims, {"units": unit, "long_name": what}, "objective")
    proven = {"units": unit, "long_name": "proven bound of the objective"}
    yield Variable("bound", "float64", dims, proven, "bound")
    gap = {"units": "1", "long_name": "|objective - bound| / max(|objective|, 1e-12)"}
    yield Variable("gap", "float64", dims, gap, "gap")
    flags = {
        "long_name": "status of the answer",
        "flag_values": [0, *STATUS_CODES.values()],
        "flag_meanings": " ".join(["not_computed", *(s.value for s in STATUS_CODES)]),
    }
    yield Variable("status", "int8", dims, flags, "status")
    yield Variable(
        "seconds", "float64", dims, {"units": "s", "long_name": "time to solve the point"}, "seconds"
    )
    yield Variable(
        "message", "text", dims, {"long_name": "what went wrong, where status is error"}, "message"
    )


def _per_limit(dims: tuple[str, ...], limits: tuple[str, ...]) -> Iterator[Variable]:
    if not limits:
        return
    percent = {"units": "1", "long_name": "percent of the objective per percent of the limit"}
    yield Variable("elasticity", "float64", (*dims, LIMIT), percent, "elasticity")
    flags = {
        "long_name": "whether the limit binds, or stands in the conflict of an infeasible point",
        "flag_values": [NOT_APPLICABLE, SLACK, BINDING, CONFLICTING],
        "flag_meanings": "not_applicable slack binding conflicting",
    }
    yield Variable("binding", "int8", (*dims, LIMIT), flags, "binding")


def _named(question: Question, dims: tuple[str, ...]) -> Iterator[Variable]:
    """Metrics and decided variables; a name already taken is prefixed by its role ("decided.memory")."""
    taken = RESERVED | set(dims)
    metrics = list(question.model.metrics)
    if any(d.base is not None for d in question.decide):
        metrics.append(HALVINGS)
    for q in metrics:
        name = q.name if q.name not in taken else f"metric.{q.name}"
        yield Variable(name, "float64", dims, _about(q), "metric", q.name)
        taken |= {name}
    for d in question.decide:
        name = d.name if d.name not in taken else f"decided.{d.name}"
        taken |= {name}
        if d.choices is None:
            yield Variable(name, "float64", dims, _about(quantity(question.model, d.name)), "decided", d.name)
        else:
            flags = {
                "long_name": f"chosen {d.name}",
                "flag_values": list(range(-1, len(d.choices))),
                "flag_meanings": " ".join(["not_decided", *("_".join(c.split()) for c in d.choices)]),
                "choices": json.dumps(d.choices),
            }
            yield Variable(name, "int32", dims, flags, "decided", d.name)


def _about(q: Quantity) -> dict[str, Any]:
    about: dict[str, Any] = {"units": q.unit or "1", "long_name": q.meaning}
    if q.flags:
        about |= {
            "flag_values": list(range(len(q.flags))),
            "flag_meanings": " ".join("_".join(f.split()) for f in q.flags),
        }
    return about | ({"source": q.source} if q.source else {})


def _attributes(grid: GridLike, question: Question) -> dict[str, Any]:
    """Title, scenario, machine parameters and versions: enough to know later what was asked and of what."""
    return {
        "Conventions": CONVENTIONS,
        "title": question.title or f"{question.model.name} design space",
        "source": question.model.source,
        "model": question.model.name,
        "objectives": json.dumps({o.name: "max" if o.maximize else "min" for o in question.objectives}),
        "scenario": question.scenario_text,
        "scenario_hash": question.scenario_hash,
        "machine_parameters": json.dumps(_machines(grid, question), sort_keys=True),
        "waived_limits": " ".join(sorted(question.waive)),
        "versions": json.dumps(versions(), sort_keys=True),
    }


def _questions(grid: GridLike) -> Iterator[tuple[str, Question]]:
    """Go through the questions that differ in kind: one per named value of every axis of names."""
    start = [0] * len(grid.axes)
    yield "", grid.question(tuple(start))
    for place, axis in enumerate(grid.axes):
        for i, value in enumerate(axis.values):
            if isinstance(value, str):
                at = [*start[:place], i, *start[place + 1 :]]
                yield value, grid.question(tuple(at))


def _machines(grid: GridLike, question: Question) -> dict[str, Any]:
    """Machine parameters used; one record per machine where whole machines are swept or chosen."""
    swept = {a.path for a in grid.axes}
    if "machine" in swept:
        whole = {str(v) for a in grid.axes if a.path == "machine" for v in a.values}
        return {name: _parameters(q.given, swept) for name, q in _questions(grid) if name in whole}
    if question.machines:
        return {name: dict(sorted(p.items())) for name, p in question.machines.items()}
    return _parameters(question.given, swept)


def _parameters(given: Mapping[str, float | str], swept: set[str]) -> dict[str, float | str]:
    cut = len(MACHINE_PREFIX)
    return {n[cut:]: v for n, v in sorted(given.items()) if n.startswith(MACHINE_PREFIX) and n not in swept}


def objectives(dataset: xr.Dataset) -> dict[str, bool]:
    """Return the objectives a dataset was made for: name, and whether it is maximised."""
    found = json.loads(dataset.attrs.get("objectives", "{}"))
    return {name: sense == "max" for name, sense in found.items()}


def versions() -> dict[str, str]:
    """Versions of dse and of the libraries an answer rests on (absent ones are left out)."""
    return {name: found for name in LIBRARIES if (found := _version(name))}


@cache  # it reads a file of the installed library
def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def blank(plan: Layout, points: Sequence[int] | None = None) -> Arrays:
    """Arrays for a block of ``points`` (default: the whole grid) in which nothing is computed yet."""
    return {v.name: np.full(plan.shape_of(v, points), v.fill, v.numpy_dtype) for v in plan.variables}


def to_arrays(plan: Layout, solutions: Sequence[Solution], points: Sequence[int]) -> Arrays:
    """Turn a block's solutions, in C order, into arrays; ValueError where their number differs."""
    if len(solutions) != math.prod(points):
        raise ValueError(f"{len(solutions)} solutions for a block of {math.prod(points)} points")
    arrays = blank(plan, points)
    places = list(itertools.product(*(range(n) for n in points)))
    for variable in plan.variables:
        array, read = arrays[variable.name], _reader(plan, variable)
        for place, solution in zip(places, solutions, strict=True):
            # the numbers of an answer that failed its own check are no result
            failed = solution.status is Status.ERROR and variable.role not in WITH_ERRORS
            value = None if failed else read(solution)
            if value is not None:
                array[place] = value
    return arrays


def _reader(plan: Layout, variable: Variable) -> Any:
    """Make a function from a solution to the variable's value (None: the fill value stays)."""
    role, key = variable.role, variable.key
    if role in {"objective", "bound", "gap", "seconds"}:
        return lambda s: getattr(s, role)
    if role == "status":
        return lambda s: STATUS_CODES[s.status]
    if role == "message":
        return lambda s: s.message if s.status is Status.ERROR else None
    if role == "metric":
        return lambda s: s.metrics.get(key)
    if role == "elasticity":
        return lambda s: [_elasticity(s, name) for name in plan.limits]
    if role == "binding":
        return lambda s: [_binding(s, name) for name in plan.limits]
    if variable.dtype == "float64":
        return lambda s: s.variables.get(key)
    codes = {c: i for i, c in enumerate(json.loads(variable.attributes["choices"]))}
    return lambda s: codes[s.variables[key]] if key in s.variables else None


def _elasticity(solution: Solution, name: str) -> float:
    state = solution.limits.get(name)
    return math.nan if state is None or state.elasticity is None else state.elasticity


def _binding(solution: Solution, name: str) -> int:
    if base_name(name) in solution.conflict or name in solution.conflict:
        return CONFLICTING
    state = solution.limits.get(name)
    if state is None or math.isnan(state.value):
        return NOT_APPLICABLE
    return BINDING if state.binding else SLACK


def to_dataset(plan: Layout, arrays: Mapping[str, np.ndarray[Any, Any]]) -> xr.Dataset:
    """Make a labelled dataset in memory from arrays of the whole grid."""
    import xarray as xr

    coordinates = {
        c.name: (c.dims, np.asarray(c.values, dtype=c.numpy_dtype), dict(c.attributes))
        for c in plan.coordinates
    }
    data = {v.name: (v.dims, arrays[v.name], dict(v.attributes)) for v in plan.variables}
    return xr.Dataset(data, coordinates, dict(plan.attributes))
