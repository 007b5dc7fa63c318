"""Where a dataset comes from: what was asked, of which machines, and answered by which versions."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.models.model import MACHINE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from results.variables import AxisLike, GridLike
    from scenarios.question import Question

CONVENTIONS = "CF-1.12"
DRAWN_FROM = "uncertain_tables"
"""Attribute of a dataset: the columns of tables that its question draws worlds from, as JSON."""
CHECKED, SOURCES = "checked", "machine_sources"
"""Attributes of a dataset, as JSON: the metric that says whether times were checked, and its flags; kinds of number."""
LIBRARIES = ("dse", "numpy", "scipy", "pyomo", "highspy", "pyscipopt", "xarray", "zarr")


def attributes(grid: GridLike, question: Question) -> dict[str, Any]:
    """Title, scenario, machine parameters and versions: enough to know later what was asked and of what."""
    return {
        "Conventions": CONVENTIONS,
        "title": question.title or f"{question.model.name} design space",
        "source": question.model.source,
        "model": question.model.name,
        "objectives": json.dumps({o.name: "max" if o.maximize else "min" for o in question.objectives}),
        "scenario": question.scenario_text,
        "scenario_hash": question.scenario_hash,
        "machine_parameters": json.dumps(_machine_records(grid, question), sort_keys=True),
        "waived_limits": " ".join(sorted(question.waive)),
        "versions": json.dumps(versions(), sort_keys=True),
        **({DRAWN_FROM: json.dumps(rows, sort_keys=True)} if (rows := drawn_from(question)) else {}),
        **_sources(grid, question),
    }


def _sources(grid: GridLike, question: Question) -> dict[str, str]:
    """Return where the machines' numbers come from, and which metric says that times were checked near a point."""
    name = question.model.checked
    if not name:
        return {}
    kinds: dict[str, set[str]] = {}
    for _, asked in questions(grid):
        for own in asked.sources.values():
            for parameter, kind in own.items():
                kinds.setdefault(parameter, set()).add(kind)
    told = {n: " or ".join(sorted(of)) for n, of in kinds.items()}
    return {CHECKED: json.dumps([name, question.model.metric(name).flags]), SOURCES: json.dumps(told)}


def drawn_from(question: Question) -> Mapping[str, Mapping[str, Sequence[float]]]:
    """Return the columns of tables that uncertain numbers are drawn from, SI, by table and path; nothing without."""
    found: dict[str, dict[str, Sequence[float]]] = {}
    marginals = {} if question.uncertain is None else question.uncertain.marginals
    for path, marginal in marginals.items():
        if marginal.table:
            found.setdefault(marginal.table, {})[path] = marginal.numbers
    return found


def questions(grid: GridLike) -> Iterator[tuple[str, Question]]:
    """Go through the questions that differ in kind: one per named value of every axis of names."""
    start = [0] * len(grid.axes)
    yield "", grid.question(tuple(start))
    for place, part in _changes_along_axes(grid):
        for value, i in _first_places(part.values).items():
            at = [*start[:place], i, *start[place + 1 :]]
            yield value, grid.question(tuple(at))


def fullest(grid: GridLike) -> Iterator[Question]:
    """Go through questions in which every limit is there that is there at some point.

    A lower limit of 0 says nothing and is none, so these are the points with the greatest number on each axis that
    begins with 0, on all of them at once and on each alone; nothing where none does.
    """
    greatest = [
        (place, int(np.argmax(part.values)))
        for place, part in _changes_along_axes(grid)
        if next(iter(part.values), "") == 0
    ]
    if not greatest:
        return
    start = [0] * len(grid.axes)
    at = dict(reversed(greatest))
    yield grid.question(tuple(at.get(place, 0) for place in range(len(start))))
    for place, i in greatest:
        if at[place] != i:
            yield grid.question((*start[:place], i, *start[place + 1 :]))


def _changes_along_axes(grid: GridLike) -> Iterator[tuple[int, AxisLike]]:
    """Go through what changes along the axes, each with the number of its axis; of one of rows that is its columns."""
    for place, axis in enumerate(grid.axes):
        for part in getattr(axis, "columns", ()) or (axis,):
            yield place, part


def _first_places(values: Sequence[float | str]) -> dict[str, int]:
    """Return the first place of each name; nothing of numbers."""
    if not isinstance(next(iter(values), None), str):
        return {}
    return {str(value): i for i, value in reversed(list(enumerate(values)))}


def _machine_records(grid: GridLike, question: Question) -> dict[str, Any]:
    """Machine parameters used; one record per machine where whole machines are swept or chosen.

    Of a map of machines the entries swept or chosen have a record per machine, "cpu: NAME".
    """
    swept = {a.path for _, a in _changes_along_axes(grid)}
    if "machine" in swept:
        whole = {str(v) for _, a in _changes_along_axes(grid) if a.path == "machine" for v in a.values}
        return {name: _machine_parameters(q.given, swept) for name, q in questions(grid) if name in whole}
    if question.machines and any(d.name == "machine" for d in question.decide):
        return {name: dict(sorted(p.items())) for name, p in question.machines.items()}
    found: dict[str, Any] = _machine_parameters(question.given, swept)
    for entry, axis in _swept_entries(grid).items():
        own = f"{entry}."
        found = {n: v for n, v in found.items() if not n.startswith(own)}
        known = set(axis.values)
        of_each = {name: q for name, q in questions(grid) if name in known}
        for name, q in of_each.items():
            parameters = _machine_parameters(q.given, swept)
            found[f"{entry}: {name}"] = {n: v for n, v in parameters.items() if n.startswith(own)}
    return found | {name: _machine_parameters(p, swept) for name, p in question.machines.items()}


def _swept_entries(grid: GridLike) -> dict[str, AxisLike]:
    """Return the entries of a map of machines that are swept as a whole, with their axes."""
    found: dict[str, AxisLike] = {}
    for _, axis in _changes_along_axes(grid):
        entry = axis.path.removesuffix(".base").removeprefix(MACHINE_PREFIX)
        named = isinstance(next(iter(axis.values), None), str)
        if axis.path.startswith(MACHINE_PREFIX) and entry != "base" and named:
            found[entry] = axis
    return found


def _machine_parameters(given: Mapping[str, float | str], swept: set[str]) -> dict[str, float | str]:
    cut = len(MACHINE_PREFIX)
    return {n[cut:]: v for n, v in sorted(given.items()) if n.startswith(MACHINE_PREFIX) and n not in swept}


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
