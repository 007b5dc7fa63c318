"""Why there is no design, and how far one limit would have to give, the others kept: geometric programs and ratios.

Of many points together, and of one question, which may have cases.

A limit is a row ``F(y) <= 0`` in logs; with the row as the goal, exp of its least value is the least ratio of the limit
(see ``conflicts.feasible_values``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import Many, plain
from formulations.canonical import Canonical
from formulations.grids import batch, divided
from formulations.grids.batch import Batch
from formulations.problem import Problem, formulate
from formulations.row_keys import RowKey
from scenarios.question import Question
from solvers import side_by_side
from solvers.geometric.explaining import geometric_conflicts
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch
from solvers.geometric.programs.nodes import allowed_ends
from solvers.geometric.programs.optimal_face import Solver
from solvers.geometric.programs.tree import LOOSE
from solvers.judgement import bound_of
from solvers.mechanisms import conflicts
from solvers.mechanisms.alike import apart_but_for_bound
from solvers.mechanisms.sensitivity import of_differences, off_zero, with_limit
from solvers.mechanisms.why import Why, any_of, of_each

Allowed = Mapping[int, Array | None]
Box = tuple[Array, Array, Allowed]
"""Ends, and what discrete variables may be."""
AT_OPEN_END = 1e-6
"""In logs: what is this near to an end of its box may be held by it."""
FEASIBLE_VALUE_GAP = LOOSE / 2
"""In logs of the feasible value: what is named is what a design has, and at most so much less might do, too. Half of
what a search of many nodes is content with, so that such a one ends, too."""

DIFFERENCE_ROUNDS, DIFFERENCE_MET = 20, 1e-12
"""Bounds of a limit on a difference that are tried, and the log of its row from which it is just met."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The limits of some ``points`` as rows; ``far``: the ends that are only there to have a box are far away.

    ``ended``: of one question, takes the names of limits for which a search ended early, so that less may do.
    """

    question: Question
    c: Canonical
    points: Indices
    near: Batch
    far: Batch
    solve: Solver
    ended: set[str] | None = None


def why(problem: Problem, *, most: int = branch.MOST_NODES_OF_A_SET) -> Why:
    """What tells why a structured problem, or one with cases, has no design.

    ``most``: nodes of a set of limits, over all cases.
    """
    names, solve, ended = geometric_conflicts.limit_names(problem), side_by_side.solve, set[str]()
    cases = [batch.alone(case, None) for case in batch.cases(problem)]
    every = [
        geometric_conflicts.Oracle(b, conflicts.ONE, names, solve, -(-most // len(cases))) for b in cases
    ]
    values = of_each(partial(_of_cases, problem, [_rows(b, conflicts.ONE, solve, ended) for b in cases]))
    met, few = any_of([ask.feasible for ask in every]), min(ask.few for ask in every)
    return Why(names, met, values, lambda _: problem.question, few, ended=lambda: frozenset(ended))


def _of_cases(problem: Problem, parts: Sequence[_Rows], name: str) -> float | None:
    """The feasible value of a limit of one question, over all its cases; None where another conflict remains.

    For a model's limit the factor by which it is missed.
    """
    asked = off_zero(problem.question, name)
    if asked is not problem.question:
        every = [batch.alone(case, None) for case in batch.cases(formulate(asked))]
        parts = [_rows(b, conflicts.ONE, parts[0].solve, parts[0].ended) for b in every]
    found = float(_of_rows(parts, name)[0])
    return found if math.isfinite(found) else None


def of_batch(cases: Sequence[Batch], names: tuple[str, ...], members: Bools, solve: Solver) -> Array:
    """The feasible values (points, names) at all points of a batch, which may have several cases.

    ``members``: which names are in conflict.
    """
    found = np.full(members.shape, np.nan)
    for i, name in enumerate(names):
        points = np.flatnonzero(members[:, i])
        if points.size:
            own, kinds, which = _merged(cases, name, points)
            if own:
                found[points, i] = _of_rows([_rows(b, kinds, solve) for b in own], name)[which]
    return found


def _merged(cases: Sequence[Batch], name: str, points: Indices) -> tuple[Sequence[Batch], Indices, Indices]:
    """The cases of points without those that differ in a limit of one end only, once (see ``apart_but_for_bound``).

    And the places of points in them, and which of these each point is like. No cases where they cannot be stated.
    """
    asked, none = divided.at(cases[0].question, points), (cases, points, np.arange(points.size))
    found = apart_but_for_bound(asked, name)
    above_0 = off_zero(asked, name)
    if found is None and above_0 is asked:
        return none
    loose, kinds, which = (above_0, none[2], none[2]) if found is None else found[1:]
    made = batch.of_question([b.problem for b in cases], divided.at(loose, kinds), (kinds.size,))
    if made is None:
        return none if above_0 is asked else ((), kinds, which)
    return made, np.arange(kinds.size), which


def _of_rows(parts: Sequence[_Rows], name: str) -> Array:
    """The feasible values of a limit at points, over all cases."""
    keys = tuple(dict.fromkeys(key for rows in parts for key in rows.c.keys))

    def least(of: Callable[[_Rows], Array], some: Sequence[_Rows]) -> Array:
        return np.asarray(np.min(side_by_side.run([partial(of, rows) for rows in some]), axis=0))

    def factor(k: int) -> Array:
        own = [rows for rows in parts if keys[k] in rows.c.keys]
        return least(lambda rows: _least_factor_of_rows(rows, rows.c.keys.index(keys[k])), own)

    if any(keys[k].name == name for k in of_differences(parts[0].near.problem, keys)):
        return _value_of_difference(parts, name)
    if any(key.name == name for key in keys):
        return conflicts.feasible_values(parts[0].question, keys, [name], factor, minded=True)[name]
    found = side_by_side.run([partial(_nearest_value, rows, name) for rows in parts])
    return _nearest_of_cases(np.array(found), *_listed_ends(parts[0].question, name))


def _value_of_difference(parts: Sequence[_Rows], name: str) -> Array:
    """The feasible value of a limit on a difference, by the side that has to give less.

    Its row ``P <= M + b`` says whether b will do, not by how much it is missed. So b is moved to what the best design
    of that row has, and again until the row is at best just met (Dinkelbach 1967).
    """
    question, count = parts[0].question, parts[0].points.size
    sides = sorted(key for key in {k for rows in parts for k in rows.c.keys} if key.name == name)
    best, found = np.full(count, np.inf), np.full(count, np.inf)
    for key in sides:
        now = np.resize(np.asarray(plain(bound_of(question, key)), float), count)
        first, left = np.full(count, np.inf), np.arange(count)
        for k in range(DIFFERENCE_ROUNDS):
            log, value = _least_of_difference(parts, key, left, now[left])
            first[left] = log if k == 0 else first[left]
            there = np.isfinite(value)
            now[left] = np.where(there, value, now[left])
            left = left[there & (log < -DIFFERENCE_MET)] if k else left[there]
            if not left.size:
                break
        found, best = np.where(first < best, now, found), np.fmin(first, best)
        found[np.isnan(first)] = np.nan
    return found


def _least_of_difference(
    parts: Sequence[_Rows], key: RowKey, points: Indices, bound: Array
) -> tuple[Array, Array]:
    """The least log of the row of a limit on a difference with these bounds, and what its best designs come to."""
    log, value = np.full(points.size, np.inf), np.full(points.size, np.nan)
    for sign in np.unique(np.sign(bound)):
        # of another sign the bound stands on the other side of the row
        own = np.flatnonzero(np.sign(bound) == sign)
        one = parts[0].near.shape == ()
        end: Any = float(bound[own[0]]) if one or sign == 0 else Many(bound[own])
        asked = with_limit(divided.at(parts[0].question, points[own]), key, end)
        made = _restated(parts, asked, own.size)
        for b in made:
            rows = _rows(b, np.arange(own.size), parts[0].solve, parts[0].ended)
            if key not in rows.c.keys:
                continue
            goal = divided.aimed(rows.c, rows.c.keys.index(key))
            least, y = _least_log_goal(rows, goal, np.arange(own.size), -1, key.name, any_value=False)
            x = {v.name: np.exp(y[:, j]) for j, v in enumerate(b.problem.variables) if not v.auxiliary}
            with np.errstate(all="ignore"):
                come_to = evaluation.metrics(divided.flat(asked), x)[key.name]
            better = least < log[own]
            log[own] = np.where(better, least, log[own])
            value[own] = np.where(better, come_to, value[own])
    return log, value


def _restated(parts: Sequence[_Rows], asked: Question, count: int) -> Sequence[Batch]:
    """The cases of a question with another bound."""
    if parts[0].near.shape == ():
        return [batch.alone(case, None) for case in batch.cases(formulate(asked))]
    return batch.of_question([rows.near.problem for rows in parts], asked, (count,)) or ()


def _rows(b: Batch, points: Indices, solve: Solver, ended: set[str] | None = None) -> _Rows:
    asked = divided.at(b.question, points)
    return _Rows(asked, divided.take(b.arrays, points), points, b, b.farther(), solve, ended)


def _least_factor_of_rows(rows: _Rows, which: int) -> Array:
    """The least ratio of a limit (see ``conflicts.Factor``).

    A limit on a decided variable takes its bounds with it, and only where no allowed value helps that it is discrete,
    which what is counted remains.
    """
    name = rows.c.keys[which].name
    own = rows.c.names.index(name) if name in rows.c.names else -1
    is_count = any(d.name == name and d.count and d.values is None for d in rows.question.decide)
    goal = divided.aimed(rows.c, which)
    found, open_ones = np.full(len(goal.logc), np.inf), np.arange(len(goal.logc))
    for any_value in (False, True):
        found[open_ones], _ = _least_log_goal(rows, goal, open_ones, own, name, any_value=any_value)
        open_ones = open_ones[np.isposinf(found[open_ones])]
        if own not in rows.c.allowed or is_count or not open_ones.size:
            break
    return np.asarray(np.exp(found))


def _nearest_value(rows: _Rows, name: str) -> Array:
    """The value that a variable, no more discrete, has in a design: between its ends, else nearest beyond them.

    Infinite where there is none.
    """
    own = rows.c.names.index(name)
    found = np.full(len(rows.c.logc), np.inf)
    low, high = _listed_ends(rows.question, name)
    for sign, ends in ((1.0, (low, high)), (1.0, (high, np.inf)), (-1.0, (0.0, low))):
        left = np.flatnonzero(np.isposinf(found))
        if not left.size or ends[0] == ends[1]:
            continue
        goal = divided.any_design(rows.c)
        goal.exponents[0, own] = sign
        log, _ = _least_log_goal(rows, goal, left, own, name, any_value=True, within=ends)
        found[left] = np.where(np.isposinf(log), np.inf, np.exp(sign * log))
    return found


def _listed_ends(question: Question, name: str) -> tuple[float, float]:
    """The least and the greatest value that is listed of a variable."""
    d = next(d for d in question.decide if d.name == name)
    return (0.0, np.inf) if d.values is None else (d.values[0], d.values[-1])


def _nearest_of_cases(found: Array, low: float, high: float) -> Array:
    """Of the values (cases, points) that are nearest in each case the nearest of all, as ``_nearest_value`` prefers.

    NaN where that of a case is not known.
    """
    with np.errstate(divide="ignore"):
        beyond = np.where(found < low, 1.0 / found, found)
    where = np.select([np.isposinf(found), found < low, found > high], [3, 2, 1], 0)
    best = np.lexsort((beyond, where), axis=0)[0]
    nearest = np.take_along_axis(found, best[None], axis=0)[0]
    return np.where(np.isnan(found).any(axis=0), np.nan, nearest)


def _least_log_goal(
    rows: _Rows,
    goal: Canonical,
    points: Indices,
    own: int,
    name: str,
    *,
    any_value: bool,
    within: tuple[float, float] = (0.0, np.inf),
) -> tuple[Array, Array]:
    """The least log goal at points and its design, variable ``own`` (-1: none) without bounds.

    With ``any_value`` that is not discrete either, but ``within`` two values.
    Infinite where there is no design. Where the search was not closed it is the best that is known, of many points NaN.
    Where an end that is only there to have a box may be to blame, it is searched again without such ends.
    """
    c = divided.take(goal, points)
    boxed = rows.points[points]
    near, far = (_box(b, boxed, own, any_value=any_value, within=within) for b in (rows.near, rows.far))
    status, value, y = _least_in_box(c, near, rows.solve)
    below, above = far[0] < near[0], far[1] > near[1]
    held = below & (y - near[0] < AT_OPEN_END) | above & (near[1] - y < AT_OPEN_END)
    again = np.flatnonzero(held.any(1) | np.isposinf(value) & (below | above).any(1))
    if again.size:
        there = far[0][again], far[1][again], far[2]
        status[again], least, design = _least_in_box(divided.take(c, again), there, rows.solve)
        y[again] = np.where((least < value[again])[:, None], design, y[again])
        value[again] = np.minimum(value[again], least)
    if rows.ended is not None:
        rows.ended.update([name] if gp.FAILED in status else [])
    if rows.ended is None:
        # of many points each of these is asked by itself
        return np.where(status == gp.FAILED, np.nan, value), y
    return value, y


def _box(b: Batch, points: Indices, own: int, *, any_value: bool, within: tuple[float, float]) -> Box:
    """The box of points, in which variable ``own`` has no bounds, and with ``any_value`` is not discrete."""
    low, high, allowed = b.low[points], b.high[points], dict(b.arrays.allowed)
    if own >= 0:
        least, most = (end[points, own] for end in b.box(own=False))
        with np.errstate(divide="ignore"):
            low[:, own], high[:, own] = (
                np.maximum(least, np.log(within[0])),
                np.minimum(most, np.log(within[1])),
            )
    if any_value and own in allowed and (d := b.problem.variables[own].decision).menu is None:
        # of what is counted any value is any whole number
        allowed[own] = None
        if not d.count:
            del allowed[own]
    if own in allowed:
        low[:, own], high[:, own] = allowed_ends(allowed[own], low[:, own], high[:, own])
    return low, high, allowed


def _least_in_box(c: Canonical, box: Box, solve: Solver) -> tuple[Codes, Array, Array]:
    """Status, the least log goal and a design of every point in a box; infinite where none is known."""
    c = replace(c, low=box[0], high=box[1], allowed=box[2])
    # what only the user's goal depends on plays no part
    first, which = divided.same_programs(c)
    r = branch.dividing(divided.take(c, first), solve, value_only=True, gap=FEASIBLE_VALUE_GAP)
    return r.status[which], r.value[which], r.y[which]
