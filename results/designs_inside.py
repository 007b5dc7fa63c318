"""All numbers of designs by the names a scenario uses: what was given, what was decided, what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from dse.system.records import dataclass
from results import asked, flat
from results.axes import ANSWERED
from results.dataset import layout
from scenarios.question import Question, fixed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import xarray as xr

    from results.telling.facts import Facts

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Designs:
    """Designs that answer one question, up to the numbers on its axes.

    ``question``: with all choices among names made; ``places``: where the designs stand among all points of the
    dataset, in C order; ``numbers``: what is known of them by name, one number for all or one each; ``named``: the
    names that were chosen for them or stand on axes.
    """

    question: Question
    places: Array
    numbers: Mapping[str, Any]
    named: Mapping[str, str]

    def number(self, name: str) -> Any:
        """Return a number of every design; None where there is none of that name."""
        found = self.numbers.get(name, self.question.given.get(name))
        return None if isinstance(found, str) else found


def of_solution(solution: Facts) -> Designs | None:
    """Return the design of an answer; None where there is none, or its question can no longer be read."""
    grid = asked.grid(solution.scenario, asked.tables_of(solution.tables)) if solution.metrics else None
    if grid is None:
        return None
    question = _question_with_choices(grid.first, solution.variables)
    known = {**solution.given, **solution.variables, **solution.metrics}
    numbers = {n: v for n, v in known.items() if not isinstance(v, str)}
    named = {n: v for n, v in known.items() if isinstance(v, str)}
    return Designs(question, np.zeros(1, int), numbers, named)


def of_dataset(dataset: xr.Dataset) -> Iterator[Designs]:
    """Go through the answered points of a sweep or a front, those together that differ in numbers only.

    Nothing where the question of the dataset can no longer be read, or its axes are not those of the question.
    """
    grid = asked.grid_of(dataset)
    if grid is None:
        return
    dims = flat.points(dataset)
    shape = tuple(dataset.sizes[d] for d in dims)
    places = np.flatnonzero(flat.with_status(dataset)["status"].transpose(*dims).isin(ANSWERED))
    indices = dict(zip(dims, np.unravel_index(places, shape), strict=True)) if dims else {}
    at = [_positions(dataset, axis, indices.get(axis.name), places.size) for axis in grid.axes]
    if not places.size or any(a is None for a in at):
        return
    columns = _numbers_by_name(dataset, grid, dims)
    choices = {n: c.ravel()[places] for n, (c, about) in columns.items() if "choices" in about}
    texts = {n: columns[n][1]["choices"] for n in choices}
    changes = [(c, np.asarray(c.of.values)[at[c.along]]) for c in grid.changes]
    apart = [np.unique(values, return_inverse=True)[1] for c, values in changes if c.apart]
    keys = np.stack([*apart, *choices.values(), 0 * places])
    groups, member = np.unique(keys, axis=1, return_inverse=True)
    for number in range(groups.shape[1]):
        own = np.flatnonzero(member.ravel() == number)
        first = tuple(int(a[own[0]]) for a in at)
        chosen = {n: texts[n][int(c[own[0]])] for n, c in choices.items() if c[own[0]] >= 0}
        on_axes = {
            (c.of.name if grid.axes[c.along].columns else grid.axes[c.along].name): str(values[own[0]])
            for c, values in changes
            if not c.of.numeric
        }
        numbers: dict[str, Any] = {
            c.target.name: values[own] for c, values in changes if c.target.kind == "given" and not c.apart
        }
        numbers |= {n: c.ravel()[places[own]] for n, (c, _) in columns.items() if n not in choices}
        yield Designs(
            _question_with_choices(grid.question(first), chosen), places[own], numbers, chosen | on_axes
        )


def _question_with_choices(question: Question, variables: Mapping[str, Any]) -> Question:
    named = {d.name for d in question.decide if d.choices is not None}
    return fixed(question, {n: str(v) for n, v in variables.items() if n in named})


def _positions(dataset: xr.Dataset, axis: scenarios.GridAxis, index: Any, count: int) -> Any:
    """Return which value of an axis each point has; None where that cannot be told."""
    if axis.name not in dataset.coords:
        return None
    known = {value: i for i, value in enumerate(axis.values)}
    values = np.atleast_1d(dataset[axis.name].values).tolist()
    if any(v not in known for v in values):
        return None
    of_value = np.array([known[v] for v in values])
    return of_value[index] if index is not None else np.repeat(of_value, count)


def _numbers_by_name(
    dataset: xr.Dataset, grid: scenarios.Grid, dims: tuple[str, ...]
) -> dict[str, tuple[Array, Mapping[str, Any]]]:
    """Return every number of the dataset by the name it has in its model, one per point, and what is said of it."""
    import json

    found: dict[str, tuple[Array, Mapping[str, Any]]] = {}
    for v in layout(grid).variables:
        if v.role not in {"metric", "decided", "family"} or v.name not in dataset:
            continue
        array = dataset[v.name].transpose(*dims, ...)
        about = {"choices": json.loads(array.attrs["choices"])} if "choices" in array.attrs else {}
        if v.elements:
            found |= {name: (array.values[(..., *place)], about) for place, name in v.elements.items()}
        else:
            found[v.key] = (array.values, about)
    return found
