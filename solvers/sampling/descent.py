"""Local search, from many designs at once.

A sequence of linear programs in log variables, each trusted only as far as the last one proved right.

Works on any question whose equations take arrays; gives designs, never proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.grids.divided import at
from formulations.row_keys import RowKey
from scenarios.question import Question
from solvers import boxes
from solvers.boxes import Space
from solvers.patterns import Rows
from solvers.sampling import small_programs
from solvers.sampling.small_programs import products

DIFFERENCE = 1e-5
"""Step of a central difference in logarithms: its error and that of rounding are then both about 1e-10."""
STEEPEST_SLOPE = 1e4  # a slope that only a step has
DESCENT_PENALTY = 1e3
FIRST_STEP = 0.5
LONGEST_STEP = 2.0
LAST_STEP = 1e-10
DESCENT_ROUNDS = 100
NO_GAIN = 1e-14
ROUNDED = 1e-14
"""A limit broken by less holds as far as floats tell: no step mends it."""
SHORTER_STEP, SHORTEST_STEP = 0.3, 1e-3
"""Parts of a step that led uphill: the next one, and the least where a parabola through the goal tells it."""
NOTHING_SHARE = 1e-3
BELOW_FLOATS = 1e-300

Numbers = Callable[[Question, Mapping[str, Any]], tuple[dict[RowKey, Any], Any]]
"""Limits as ratios, and what is to be small, at designs (see ``boxes.numbers``)."""


@dataclass(frozen=True, slots=True)
class _Designs(Rows):
    """Log variables (M, n), the logarithms of rows (M, limits, then the goal), their slopes there, and a merit."""

    u: Array
    value: Array
    slope: Array
    merit: Array

    def or_else(self, which: Bools, other: _Designs) -> _Designs:
        """These designs, and others ``which`` are better."""
        return _Designs(
            np.where(which[:, None], other.u, self.u),
            np.where(which[:, None], other.value, self.value),
            np.where(which[:, None, None], other.slope, self.slope),
            np.where(which, other.merit, self.merit),
        )


def tangents(question: Question, x: Array, numbers: Numbers = boxes.numbers) -> tuple[Array, Array]:
    """Return the logarithms of all limit ratios and of what is minimised at designs (M, n), and their slopes.

    The limits come first; (M, rows) and (M, rows, n). ``question``: with plain numbers, or arrays along the designs.
    ``numbers``: how ratios and objective are worked out, where not by the model's equations alone.

    Slopes by central differences in the logarithms of the variables, the mean of both sides at a kink; 0 along a
    variable that is 0, and where a step leaves nothing to say.
    """
    many, count = x.shape
    points = np.repeat(x[:, None], 2 * count + 1, axis=1)
    each = np.arange(count)
    points[:, 1 + each, each] *= math.exp(DIFFERENCE)
    points[:, 1 + count + each, each] *= math.exp(-DIFFERENCE)
    points = points.reshape(-1, count)
    asked = at(question, np.repeat(np.arange(many), 2 * count + 1))
    with np.errstate(all="ignore"):
        names = [d.name for d in question.decide]
        rows, goal = numbers(asked, {name: points[:, j].copy() for j, name in enumerate(names)})
        found = list(rows.values())
        if question.objectives:
            if question.objectives[0].maximize:
                # only what is positive has a logarithm
                goal = np.asarray(goal, float)
                goal = np.where(goal >= 0, 1.0 / goal, -goal)
            found.append(goal)
        table = np.empty((len(found), len(points)))
        for row, v in zip(table, found, strict=True):
            row[:] = v
        value = np.log(np.maximum(table, BELOW_FLOATS)).reshape(-1, many, 2 * count + 1).transpose(1, 0, 2)
        now, more, less = value[..., :1], value[..., 1 : 1 + count], value[..., 1 + count :]
        slope = (more - less) / (2 * DIFFERENCE)
        for side in ((more - now) / DIFFERENCE, (now - less) / DIFFERENCE):
            # beyond the end of a domain there is nothing
            slope = np.where(np.isfinite(slope), slope, side)
    slope = np.where(np.isfinite(slope) & (np.abs(slope) < STEEPEST_SLOPE), slope, 0.0)
    return np.clip(np.nan_to_num(now[..., 0], nan=700.0), -700.0, 700.0), slope


def descents(question: Question, where: Space, starts: Array, numbers: Numbers = boxes.numbers) -> Array:
    """Go downhill from designs ``starts`` (M, n) in SI within their boxes, discrete variables held.

    ``question`` and ``where`` hold plain numbers, or arrays along the designs. ``numbers``: see ``tangents``.

    Minimises the objective plus a penalty on the worst limit, so that a start outside the limits is led
    inside. What is found from a design depends on that design alone.
    """
    free = np.broadcast_to(~where.discrete & (where.low < where.high), starts.shape)
    if not free.any():
        return starts
    # a variable that may be 0 is followed down to next to nothing, and is 0 there
    least = np.where(where.low > 0, where.low, where.nothing * NOTHING_SHARE)
    with np.errstate(divide="ignore"):
        begun = np.log(starts)
        low, high = (np.where(free, np.log(side), begun) for side in (least, where.high))

    def look(some: Indices, u: Array) -> _Designs:
        value, slope = tangents(at(question, some), np.exp(u), numbers)
        if not question.objectives:
            value = np.concatenate([value, np.zeros((some.size, 1))], axis=1)
            slope = np.concatenate([slope, np.zeros((some.size, 1, u.shape[1]))], axis=1)
        return _Designs(u, value, slope, value[:, -1] + DESCENT_PENALTY * _broken(value[:, :-1]))

    u, going = np.clip(begun, low, high), np.flatnonzero(free.any(axis=1))
    now, step = look(going, u[going]), np.full(going.size, FIRST_STEP)
    for _ in range(DESCENT_ROUNDS):
        ends = low[going], high[going]
        move, expected = _moves(now, now.value[:, :-1], *ends, step)
        on = (step >= LAST_STEP) & (now.merit - expected > NO_GAIN)
        u[going[~on]] = now.u[~on]
        if not on.any():
            break
        going, now, step, move, expected = going[on], now.take(on), step[on], move[on], expected[on]
        then = look(going, now.u + move)
        short = np.flatnonzero(then.merit >= now.merit)
        if short.size:
            # curved limits: aim again from what they were at the far end
            part = now.take(short)
            seen = then.value[short, :-1] - products(part.slope[:, :-1], move[short])
            again, _ = _moves(part, seen, low[going[short]], high[going[short]], step[short])
            elsewhere = (again != move[short]).any(axis=1)
            short, ends_there = short[elsewhere], part.u[elsewhere] + again[elsewhere]
            second = look(going[short], ends_there) if short.size else then.take(short)
            then.put(short, second)
        good = (now.merit - then.merit) / (now.merit - expected)
        # a goal that no limit holds is a parabola near its least
        bent = (good < 0) & (_broken(then.value[:, :-1]) == 0) & (_broken(now.value[:, :-1]) == 0)
        turn = np.clip(0.5 / (1.0 - np.minimum(good, 0.0)), SHORTEST_STEP, SHORTER_STEP)
        step = np.select(
            [good > 0.75, good > 0.25, bent],
            [np.minimum(2 * step, LONGEST_STEP), step, turn * step],
            SHORTER_STEP * step,
        )
        now = now.or_else(then.merit < now.merit, then)
    else:
        u[going] = now.u
    with np.errstate(over="ignore"):
        x = np.where(free, np.clip(np.exp(u), where.low, where.high), starts)
    x[np.broadcast_to(where.low == 0, x.shape) & free & (x <= least * (1 + NOTHING_SHARE))] = 0.0
    return np.asarray(x)


def _broken(limits: Array) -> Array:
    """By how much the worst of limits (M, limits) is broken."""
    worst = limits.max(axis=1, initial=0.0)
    return np.where(worst <= ROUNDED, 0.0, worst)


def _moves(now: _Designs, limits: Array, low: Array, high: Array, step: Array) -> tuple[Array, Array]:
    """Find the best moves by the tangents, and the merits they expect there.

    The programs are in units of the step.
    """
    far = step[:, None]
    with np.errstate(invalid="ignore"):
        # what is held at 0 has no logarithm
        below = np.nan_to_num(np.maximum(low - now.u, -far) / far)
        above = np.nan_to_num(np.minimum(high - now.u, far) / far)
    move = far * small_programs.minimise(
        now.slope[:, -1], DESCENT_PENALTY, now.slope[:, :-1], limits / far, below, np.maximum(above, below)
    )
    worst = _broken(limits + products(now.slope[:, :-1], move))
    gained = products(now.slope[:, -1:], move)[:, 0]
    return move, now.value[:, -1] + gained + DESCENT_PENALTY * worst
