"""Which axes of a grid can stay open in one Pyomo model, as mutable parameters, and why the others cannot."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from dse.system.records import dataclass
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.problem import Problem, formulate
from formulations.programs.program import Program, program
from formulations.pyomo_models.log_data import Swept
from formulations.pyomo_models.log_program import log_program
from formulations.pyomo_models.user_model import Open, Slope
from formulations.row_keys import RowKey
from scenarios.axes.axes import Target
from scenarios.define import composed
from scenarios.question import combinations
from scenarios.sweep.grids import Grid

EQUAL_ROWS = 1e-9


@dataclass(frozen=True, slots=True)
class Axes:
    """``open``: the numbers of the axes that stay open; ``shut``: why each of the others does not."""

    open: tuple[int, ...] = ()
    shut: Mapping[str, str] = field(default_factory=dict)


def axes(grid: Grid) -> Axes:
    """Find the axes along which the structure of the model does not change."""
    shut = {axis.name: why for i, axis in enumerate(grid.axes) if (why := _shut(grid, i))}
    left = [i for i, axis in enumerate(grid.axes) if axis.name not in shut]
    first = next(combinations(grid.first))[1]
    for kept in (left[:n] for n in range(len(left), 0, -1)):
        why = _why_not_together(grid, kept, formulate(first))
        if not why:
            return Axes(tuple(kept), shut)
        shut[grid.axes[kept[-1]].name] = why
    return Axes((), shut)


def _shut(grid: Grid, i: int) -> str:
    """Say why an axis changes more than numbers, as far as the axis itself tells."""
    axis, aim = grid.axes[i], _aim(grid, i)
    if len(axis.parts) > 1:
        return "several numbers change together along it"
    if not axis.numeric:
        return "it goes through names"
    if aim.structural:
        return "other numbers of the file change their meaning along it"
    if aim.kind not in {"given", "limit"}:
        return "it moves an end of what is decided, or a limit that depends on an optimum"
    values = np.asarray(axis.values, dtype=float)
    if not (values > 0).all() or not np.isfinite(values).all():
        return "where it is not positive, terms vanish or change their sign"
    if aim.kind == "limit":
        question = grid.first
        if composed.may_be_negative(question.model, aim.name):
            return "what it limits may be negative"
        if aim.name in {d.name for d in question.decide}:
            return "it moves an end of what is decided"
        if aim.side == "min" and float(values.min()) <= grid.least(aim):
            return "at its lower end the limit says nothing"
    return ""


def _aim(grid: Grid, i: int) -> Target:
    """Return what one axis changes; of rows of several numbers the first."""
    return next(c.target for c in grid.changes if c.along == i)


def _why_not_together(grid: Grid, kept: Sequence[int], problem: Problem) -> str:
    """Say why these axes cannot all stay open, or nothing."""
    try:
        opened(grid, kept, problem)
    except NotPosynomial as refusal:
        return str(refusal)
    except (ArithmeticError, TypeError, ValueError):
        return "the model's equations compare it with other numbers"
    return ""


def opened(grid: Grid, kept: Sequence[int], problem: Problem) -> Open:
    """Return what stays open of a question on the grid; raises NotPosynomial where one of the axes cannot."""
    if not kept or not problem.variables or problem.question.model.black_box:
        return Open()
    named = {i: grid.axes[i] for i in kept}
    at = {a.name: float(a.values[0]) for a in named.values()}
    docs = {a.name: f"{a.path}: {a.long_name} [{a.unit or '1'}]" for a in named.values()}
    if problem.program is not None:
        return Open(slopes=_axis_slopes(grid, kept, problem), at=at, docs=docs)
    aims = [(_aim(grid, i), a.name) for i, a in named.items()]
    swept = Swept(
        {aim.name: name for aim, name in aims if aim.kind == "given"},
        {RowKey(aim.name, aim.side): name for aim, name in aims if aim.kind == "limit"},
        {a.name: (min(map(float, a.values)), max(map(float, a.values))) for a in named.values()},
    )
    log_program(problem.question, swept=swept, exact=False)
    return Open(swept, {}, at, docs)


def _axis_slopes(grid: Grid, kept: Sequence[int], problem: Problem) -> dict[str, Slope]:
    """How the rows of a program follow each axis; raises NotPosynomial where they do not follow straight lines."""
    base = problem.program
    assert base is not None, "only programs have rows that follow"
    found = {}
    for i in kept:
        values = np.asarray(grid.axes[i].values, dtype=float)
        ends = int(values.argmin()), int(values.argmax())
        # an upper limit divides what it limits
        upper = (_aim(grid, i).kind, _aim(grid, i).side) == ("limit", "max")
        slope = Slope(np.zeros_like(base.rows), upper)
        if values[ends[0]] != values[ends[1]]:
            low, high = (_program_of_same_form(base, _program_elsewhere(grid, problem, {i: k})) for k in ends)
            first, last = (slope.read(float(values[k])) for k in ends)
            slope = replace(slope, rows=(high.rows - low.rows) / (last - first))
        found[i] = slope
    for corner in itertools.product(*((0, len(grid.axes[i].values) // 2, -1) for i in kept)):
        places = {i: k % len(grid.axes[i].values) for i, k in zip(kept, corner, strict=True)}
        there = _program_of_same_form(base, _program_elsewhere(grid, problem, places))
        predicted = base.rows.copy()
        for i, k in places.items():
            here, first = (found[i].read(float(grid.axes[i].values[n])) for n in (k, 0))
            predicted += (here - first) * found[i].rows
        size = np.abs(there.rows).max(axis=1, keepdims=True, initial=0.0)
        if (np.abs(predicted - there.rows) > EQUAL_ROWS * np.maximum(size, 1e-300)).any():
            raise NotPosynomial("coefficients of the program do not follow it along straight lines")
    return {grid.axes[i].name: slope for i, slope in found.items()}


def _program_elsewhere(grid: Grid, problem: Problem, places: Mapping[int, int]) -> Program:
    """Return the program of a question with some axes at other places."""
    question = problem.question
    given, limits = dict(question.given), question.limits
    for i, k in places.items():
        aim, value = _aim(grid, i), float(grid.axes[i].values[k])
        if aim.kind == "given":
            given[aim.name] = value
        else:
            limits = tuple(grid.limited(x, aim, value) for x in limits)
    return program(replace(question, given=given, limits=limits))


def _program_of_same_form(one: Program, other: Program) -> Program:
    """Return the other program, where only its rows differ; raises NotPosynomial."""

    def same(a: Any, b: Any) -> bool:
        return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))

    shape = one.rows.shape == other.rows.shape and len(one.columns) == len(other.columns)
    pairs = ((one.low, other.low), (one.high, other.high), (one.goal, other.goal), (one.under, other.under))
    exact = len(one.exact) == len(other.exact) and all(
        same(a, b) for (_, a), (_, b) in zip(one.exact, other.exact, strict=True)
    )
    if not (shape and exact and all(same(a, b) for a, b in pairs)):
        raise NotPosynomial("the columns or the objective of the program change along it")
    return other


def loosest(grid: Grid, kept: Sequence[int], place: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the place at which the open limits leave most; None where what is open is not all limits."""
    found = list(place)
    for i in kept:
        aim, values = _aim(grid, i), np.asarray(grid.axes[i].values, dtype=float)
        if aim.kind != "limit":
            return None
        found[i] = int(values.argmax() if aim.side == "max" else values.argmin())
    return tuple(found)
