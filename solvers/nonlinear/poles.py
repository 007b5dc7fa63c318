"""Designs beside a pole: where a definition of the file goes to infinity, nearer designs are better without end.

A search keeps a little away from where a definition has no value, and floats end there, too. What is best of such
designs alone is no best design. A design beside a pole is followed towards it, one decided number at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array
from formulations import evaluation
from formulations.tolerances import HOLDS
from results.solution import Status
from scenarios.define.compiling import compiled, plain_lift
from scenarios.define.composed import definitions_of
from scenarios.define.suspects import Suspect, beside_poles
from scenarios.question import Decision, Question
from solvers import boxes
from solvers.outcome import Outcome

FOUND = (Status.OPTIMAL, Status.FEASIBLE)
FROM_AFAR, NEAREST, FROM_POLE = 1, 52, np.arange(28.0, 41.0)
"""Powers of 1/2: between which distances, relative, a pole is looked for, and at which it is approached."""
OFF_BOUNDS, WORSE_OFF_BOUNDS = np.exp2(-np.arange(2.0, 41.0)), 0.1
"""Shares of its range by which a design is moved off bounds where a definition has no value, and what part of the gap
it may be worse by."""
NEXT_TO_BOUND = 1e-5
HALVINGS_TO_POLE = 60
AT_POLE = 1e-12
"""What is less than this share of what it is a little farther away is at its pole."""
STEADY_FALL = 0.5
"""To what share the steps of what goes to infinity shrink, at least, from the farthest distance to the nearest."""


def followed(question: Question, found: Outcome) -> Outcome:
    """Return an outcome; unbounded, or without a proof, where designs nearer to a pole than its own are better.

    Unbounded: as the distance halves again and again, the objective improves by steps that do not shrink.
    """
    if found.status not in FOUND or found.x is None or not question.objectives:
        return found
    free = [d for d in question.decide if d.choices is None and d.values is None and not d.integer]
    if not free or not definitions_of(question.model):
        return found
    with np.errstate(all="ignore"):
        asked = evaluation.unraised(question)
        found = _with_values(question, asked, found, free)
        x = {n: np.float64(v) for n, v in (found.x or {}).items()}
        ended = (
            _ended(asked, replace(found, x=start), d.name, path, s)
            for s in _approached(asked, x, found.status)
            for start in (x, _at_bounds(free, x))
            for d in free
            for path in _paths(asked, start, d, s)
        )
        return next((one for one in ended if one is not None), found)


def _with_values(raising: Question, question: Question, found: Outcome, free: Sequence[Decision]) -> Outcome:
    """Return an outcome; where a definition has no value at its design, with one off the bounds that is as good.

    This holds for every definition, also for one that neither the objective nor a limit uses, and for parts of one:
    ``raising`` is the question where what has no value raises, though ``minimum`` may pass over it.
    """
    assert found.x is not None, "it has a design"
    x = {n: np.float64(v) for n, v in found.x.items()}
    names = [d.name for d in definitions_of(question.model)]
    at = evaluation.metrics(question, x)
    lost = ", ".join(n for n in names if not np.isfinite(at[n])) or _undefined(raising, x)
    goal = evaluation.objective(question, x, at) if lost else math.nan
    if not np.isfinite(goal):
        return found
    text = f"{found.certificate}; off the bounds where {lost} has no value"
    paths = _off_bounds(free, x)
    for moved in (*({name: path} for name, path in paths.items()), paths):
        along = {n: np.full(OFF_BOUNDS.shape, v) for n, v in x.items()} | moved
        at = evaluation.metrics(question, along)
        worse = question.sign * (evaluation.objective(question, along, at) - goal)
        good = [worse <= WORSE_OFF_BOUNDS * question.gap * abs(goal), *(np.isfinite(at[n]) for n in names)]
        good += [ratio <= 1.0 + HOLDS for ratio in evaluation.ratios(question, along, at).values()]
        some = np.flatnonzero(np.all(np.broadcast_arrays(*good, np.ones(OFF_BOUNDS.shape, bool)), axis=0))
        if some.size:
            there = {n: float(v[some[0]]) for n, v in along.items()}
            if _undefined(raising, there):
                continue
            return replace(found, x=there, certificate=text, ranges={}, judged=None)
    return found


def _undefined(raising: Question, x: Mapping[str, Any]) -> str:
    """Say in plain numbers that a part of a definition has no value at a design; empty where all have one."""
    try:
        evaluation.metrics(raising, {n: float(v) for n, v in x.items()})
    except ArithmeticError:
        return "a part of a definition"
    return ""


def _off_bounds(free: Sequence[Decision], x: Mapping[str, Any]) -> dict[str, Array]:
    """Return for each number that is next to a bound values farther and farther in, the farthest first."""
    paths, near = {}, _at_bounds(free, x)
    for d in free:
        if d.minimum is not None and d.maximum is not None and near[d.name] in (d.minimum, d.maximum):
            other = d.maximum if near[d.name] == d.minimum else d.minimum
            paths[d.name] = near[d.name] + (other - near[d.name]) * OFF_BOUNDS
    return paths


def _at_bounds(free: Sequence[Decision], x: Mapping[str, Any]) -> dict[str, Any]:
    """Return a design with what is next to a bound there."""
    at = dict(x)
    for d in free:
        for end in (d.minimum, d.maximum):
            if end is not None and abs(at[d.name] - end) <= NEXT_TO_BOUND * abs(end):
                at[d.name] = np.float64(end)
    return at


def _approached(question: Question, x: Mapping[str, Any], status: Status) -> list[Suspect]:
    """Poles that a design is beside; where it is not proved to be the best, any pole may be where better ones are."""
    poles = beside_poles(question.model, _numbers(question, x))
    return [s for s, near in poles if near or status is Status.FEASIBLE]


def _numbers(question: Question, x: Mapping[str, Any]) -> dict[str, Any]:
    return {**question.given, **x, **evaluation.metrics(question, x)}


def _paths(question: Question, x: Mapping[str, Any], d: Decision, s: Suspect) -> Iterator[Array]:
    """Go through values of a decided number, ever nearer to a pole that it can reach from a design."""
    run = compiled(s.tree, plain_lift)

    def part(values: Array) -> Array:
        there = {n: np.full(values.shape, v) for n, v in x.items()} | {d.name: values}
        return np.broadcast_to(np.asarray(run(_numbers(question, there)), float), values.shape)

    low, high = (
        end if asked is None else asked
        for asked, end in zip((d.minimum, d.maximum), _ends_searched(question, d), strict=True)
    )
    for side in (-1.0, 1.0):
        pole = _pole(part, float(x[d.name]), side)
        if pole is not None:
            path = pole - pole * side * np.exp2(-FROM_POLE)
            if low <= path.min() and path.max() <= high:
                yield path


def _ends_searched(question: Question, d: Decision) -> tuple[float, float]:
    box = evaluation.box(question, d.name)
    return float(box.low), float(box.high)


def _pole(part: Callable[[Array], Array], at: float, side: float) -> float | None:
    """Return where a part of a definition becomes 0 near a value, above it (``side`` 1) or below; None: nowhere."""
    away = at + at * side * np.exp2(-np.arange(NEAREST, FROM_AFAR - 1.0, -1.0))
    here, there = float(part(np.array([at]))[0]), part(away)
    if abs(here) <= AT_POLE * abs(float(part(np.array([at * (1.0 - side * 0.5**FROM_AFAR)]))[0])):
        return at
    beyond = np.flatnonzero(~(there * here > 0.0))
    if not beyond.size:
        return None
    before = at if beyond[0] == 0 else float(away[beyond[0] - 1])
    behind = float(away[beyond[0]])
    for _ in range(HALVINGS_TO_POLE):
        middle = 0.5 * (before + behind)
        if float(part(np.array([middle]))[0]) * here > 0.0:
            before = middle
        else:
            behind = middle
    return behind


def _ended(question: Question, found: Outcome, name: str, path: Array, s: Suspect) -> Outcome | None:
    """Return what is told where the objective improves all along a path from a design; None where it does not."""
    assert found.x is not None, "it is followed from a design"
    along = np.concatenate([[found.x[name]], path])
    x = {n: np.full(along.shape, v) for n, v in found.x.items()} | {name: along}
    rows, goal = boxes.numbers(question, x)
    held = np.all([np.broadcast_to(r, along.shape) <= 1.0 + HOLDS for r in rows.values()], axis=0)
    value = question.sign * np.broadcast_to(np.asarray(goal, float), along.shape)
    falls = -np.diff(value[1:])
    # at the pole itself there may be none
    reached = -math.inf if math.isnan(value[0]) else float(value[0])
    if not held[1:].all() or not np.isfinite(falls).all() or not (falls > 0.0).all():
        return None
    # what is nearer than the whole path is its end, if it is better
    nearer = (along[0] - path[-1]) * (path[-1] - path[-2]) >= 0.0
    endless = falls[-1] >= STEADY_FALL * falls[0] and not (nearer and reached >= value[-1])
    improved = not math.isfinite(reached) or reached - value[-1] > question.gap * abs(reached)
    if not (endless if nearer else improved):
        return None
    text = (
        f"{question.objectives[0].name} keeps improving the nearer {name} comes to where "
        f"{s.definition.name} has no value"
    )
    nearest = dict(found.x) | {name: float(path[-1])}
    if not endless and found.status is Status.FEASIBLE:
        return None
    if endless:
        return Outcome(Status.UNBOUNDED, nearest, certificate=text, solver=found.solver)
    text = f"{text}: no design is the best"
    return replace(
        found, status=Status.FEASIBLE, x=nearest, bound=None, certificate=text, ranges={}, judged=None
    )
