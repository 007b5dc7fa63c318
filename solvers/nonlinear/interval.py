"""Certified global minimum over a few variables by interval branch and bound, for problems without structure.

Boxes are bounded by interval arithmetic and, in logarithms, by the mean-value form with interval slopes;
parts that certainly break a limit or cannot beat the best design are cut off; the rest is bisected, hundreds
of boxes at a time. Designs come from box centres and from a local search. Slow where it has to split many
variables; never wrong.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.evaluation import nearest
from formulations.tolerances import HOLDS
from results.solution import Status
from scenarios.question import Question
from solvers import beyond, boxes
from solvers.boxes import Array, Space
from solvers.outcome import Outcome
from solvers.sampling import descent

BOXES_AT_ONCE = 512
UNSUCCESSFUL_BOXES = 2000
SOLVER = "interval branch and bound"
SMALLEST = 1e-14
NARROWED = 1e3
AT_BOX_END = 1e-6
HELD_WITHIN = 1e-10


@dataclass(slots=True)
class _Search:
    """State of a search; ``best`` and ``keys`` are values of what is minimised.

    ``best_x`` holds its limits to rounding; ``slack_x`` is the best design that needs the slack of FEASIBLE.
    ``steep``: how much each variable moves the numbers of a box. ``margin`` is the slack that boxes are granted: all of
    it as long as infeasibility may have to be proved.
    """

    low: Array
    high: Array
    keys: Array
    steep: Array
    best: float = np.inf
    best_x: Array | None = None
    slack: float = np.inf
    slack_x: Array | None = None
    closed: float = np.inf
    work: int = 0
    margin: float = HOLDS

    def bound(self) -> float:
        return float(min(self.keys.min(initial=np.inf), self.closed, self.best))


def solve(
    question: Question, *, work: int = 200_000, seconds: float = 60.0, near: Outcome | None = None
) -> Outcome:
    """Minimise (or maximise) the first objective, certified, or prove that no design meets all limits.

    ``near``: the answer within the nearest ends of a search (``evaluation.nearest``); only the rest is searched.
    ``work``: boxes examined at most; ``seconds``: time at most. When either ends the search the outcome is
    ``feasible`` with the bound reached, or ``error`` where no design was found. Without an objective the
    outcome is ``feasible`` (any design) or ``infeasible``.
    """
    where = boxes.space(question)
    found = _interval_search(question, where, work, time.monotonic() + seconds, near)
    if found.best_x is None:
        if not found.keys.size and not np.isfinite(found.closed):
            if not beyond.nothing_beyond(question):
                # an end that only a search has proves nothing
                far = _farthest(question)
                if far is not None:
                    return solve(far, work=work, seconds=seconds)
                return Outcome(Status.ERROR, solver=SOLVER, message=beyond.searched(question))
            text = f"interval arithmetic: no part of the box can meet all limits ({found.work} boxes)"
            return Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
        text = f"neither a design nor a proof of infeasibility after {found.work} boxes"
        return Outcome(Status.ERROR, solver=SOLVER, message=text)
    x = dict(zip(where.names, map(float, found.best_x), strict=True))
    if not question.objectives:
        return Outcome(Status.FEASIBLE, x, certificate="a design that meets all limits", solver=SOLVER)
    runaway = _runaway_by_wider_box(question, where, found, work, seconds)
    if runaway:
        far = _farthest(question)
        farther = None if far is None else solve(far, work=work, seconds=seconds)
        if farther is not None and farther.status is Status.OPTIMAL:
            return farther
        return Outcome(
            Status.UNBOUNDED,
            x,
            certificate=f"{runaway} reaches the end of its search box",
            solver=SOLVER,
            runaway=runaway,
        )
    return _outcome(question, found, x)


def _farthest(question: Question) -> Question | None:
    """Return the question with the farthest ends; None where it has them already, or none that only a search has."""
    found = replace(question, reach=np.inf)
    near, far = boxes.space(question), boxes.space(found)
    same = np.array_equal(near.low, far.low) and np.array_equal(near.high, far.high)
    return None if same else found


def _outcome(question: Question, found: _Search, x: dict[str, float]) -> Outcome:
    low = found.bound()
    bound = low if not question.objectives[0].maximize else (1.0 / low if low > 0 else np.inf)
    value = found.best if not question.objectives[0].maximize else 1.0 / found.best
    gap = abs(value - bound) / max(abs(value), 1e-12)
    if gap <= question.gap:
        text = f"interval branch and bound: {found.work} boxes leave a gap of {gap:.1e}"
        return Outcome(Status.OPTIMAL, x, bound, text, SOLVER)
    text = f"interval branch and bound stopped after {found.work} boxes with a gap of {gap:.1e}"
    return Outcome(Status.FEASIBLE, x, bound if np.isfinite(bound) else None, text, SOLVER)


def _interval_search(
    question: Question, where: Space, work: int, deadline: float, near: Outcome | None = None
) -> _Search:
    none = np.empty((0, len(where.names)))
    s = _Search(none, none, np.empty(0), none)
    kept = boxes.tighten(question, where)
    first: list[tuple[Array, Array]] = [] if kept is None else [kept]
    if near is not None:
        _take_answer(question, where, s, near)
        first = [shell for part in first for shell in beyond.outside(boxes.space(nearest(question)), *part)]
    if not first:
        return s
    low, high = (np.array(side) for side in zip(*first, strict=True))
    _try(question, where, s, boxes.centres(low, high))
    _examine(question, where, s, low, high)
    polish_at = 1
    tolerance = 0.1 * question.gap
    while s.keys.size and s.work < work and time.monotonic() < deadline:
        if s.best_x is not None and not question.objectives:
            break
        if s.work >= polish_at:
            _polish(question, where, s, int(np.argmin(s.keys)))
            polish_at = 2 * s.work + BOXES_AT_ONCE
            _take_design_with_slack(s)
        order = np.argsort(s.keys, kind="stable")[:BOXES_AT_ONCE]
        parts = halves(where, s.low[order], s.high[order], s.steep[order])
        rest = np.ones(s.keys.size, dtype=bool)
        rest[order] = False
        _keep(s, rest)
        _examine(question, where, s, *parts)
        _let_go(s, tolerance if s.margin == HOLDS else 0.1 * tolerance)
    if s.best_x is None:
        s.best, s.best_x = s.slack, s.slack_x
    return s


def _take_answer(question: Question, where: Space, s: _Search, near: Outcome) -> None:
    """Begin with the design of an answer, whose bound stays in the proof."""
    if near.x is not None:
        _try(question, where, s, np.array([[near.x[name] for name in where.names]]))
        if s.best_x is None:
            s.best, s.best_x = s.slack, s.slack_x
    if near.x is not None and question.objectives:
        bound = -np.inf if near.bound is None else near.bound
        s.closed = (1.0 / bound if bound > 0 else -np.inf) if question.objectives[0].maximize else bound


def _take_design_with_slack(s: _Search) -> None:
    """Take the design that needs slack where the search has met no other.

    The designs may be a single point.
    """
    if s.best_x is None and s.work > UNSUCCESSFUL_BOXES:
        s.best, s.best_x = s.slack, s.slack_x


def _let_go(s: _Search, tolerance: float) -> None:
    """Drop boxes that cannot improve the best design by more than the tolerance.

    Their bounds stay in the proof.
    """
    if s.best_x is None:
        return
    open_ = s.keys < s.best - tolerance * max(abs(s.best), 1e-12)
    s.closed = min(s.closed, float(s.keys[~open_].min(initial=np.inf)))
    _keep(s, open_)


def _keep(s: _Search, which: NDArray[np.bool_]) -> None:
    """Leave some of the boxes."""
    s.low, s.high, s.keys, s.steep = s.low[which], s.high[which], s.keys[which], s.steep[which]


def halves(where: Space, low: Array, high: Array, steep: Array) -> tuple[Array, Array]:
    """Return both halves of every box, cut along the variable that moves its numbers most."""
    j = np.argmax(steep * where.width(low, high), axis=1)
    every = np.arange(len(low))
    left, right = high.copy(), low.copy()
    middle = boxes.centres(low, high)[every, j]
    left[every, j], right[every, j] = middle, middle
    for k in np.flatnonzero(where.discrete):
        mine = j == k
        below = where.down(int(k), middle[mine])
        left[mine, k] = below
        right[mine, k] = (
            below + 1 if where.integer[k] else where.up(int(k), below * (1 + 4 * boxes.LISTED_ROUNDING))
        )
    return np.concatenate([low, right]), np.concatenate([left, high])


def _examine(question: Question, where: Space, s: _Search, low: Array, high: Array) -> None:
    """Bound boxes, cut off what is certainly of no use, try their centres, and keep the rest open."""
    s.work += len(low)
    # a whole number is bounded where it is alone
    for _ in range(2 if where.discrete.any() else 1):
        low, high = where.snap(low, high)
        alive = np.all(low <= high, axis=1)
        low, high = low[alive], high[alive]
        if not len(low):
            return
        e = boxes.enclose(question, low, high)
        possible = ~np.any(e.low[: len(e.keys)] > 1 + s.margin, axis=0)
        target = s.best if question.objectives else np.inf
        cut_low, cut_high = boxes.contract(e, low, high, boxes.cutoffs(question, e, target, s.margin))
        low, high, keys = cut_low[possible], cut_high[possible], _node_priorities(question, e)[possible]
        steep = boxes.steepness(e)[possible]
    low, high = where.snap(low, high)
    alive = np.all(low <= high, axis=1)
    low, high, keys, steep = low[alive], high[alive], keys[alive], steep[alive]
    if not len(low):
        return
    _try(question, where, s, boxes.centres(low, high))
    splittable = np.any(where.width(low, high) > SMALLEST, axis=1)
    # a box too small to split stays in the proof by its bound
    s.closed = min(s.closed, float(keys[~splittable].min(initial=np.inf)))
    s.low = np.concatenate([s.low, low[splittable]])
    s.high = np.concatenate([s.high, high[splittable]])
    s.keys = np.concatenate([s.keys, keys[splittable]])
    s.steep = np.concatenate([s.steep, steep[splittable]])


def _node_priorities(question: Question, e: boxes.Enclosure) -> Array:
    return e.low[-1] if question.objectives else np.zeros(e.width.shape[-1])


def _try(question: Question, where: Space, s: _Search, x: Array) -> None:
    """Evaluate designs in plain floats and keep the best that holds all limits."""
    x = where.point(x.copy())
    worst, goal = boxes.measured(question, x)
    goal = np.where(np.isnan(goal) | (worst > 1 + HOLDS), np.inf, goal)
    strict = np.where(worst > 1 + HELD_WITHIN, np.inf, goal)
    i, j = int(np.argmin(strict)), int(np.argmin(goal))
    if strict[i] < s.best:
        s.best, s.best_x, s.margin = float(strict[i]), x[i], HELD_WITHIN
    if goal[j] < s.slack:
        s.slack, s.slack_x = float(goal[j]), x[j]


def _polish(question: Question, where: Space, s: _Search, i: int) -> None:
    """Search locally from the most promising box and from the best design, whole numbers held."""
    starts = [boxes.centres(s.low[i], s.high[i])]
    if s.best_x is not None:
        starts.append(s.best_x)
    for start in starts:
        x = descent.descend(question, where, where.point(start[None].copy())[0])
        if x is not None:
            _try(question, where, s, x[None])


def _runaway_by_wider_box(question: Question, where: Space, found: _Search, work: int, seconds: float) -> str:
    """Name the variable whose artificial box end alone holds the optimum (empty: none)."""
    assert found.best_x is not None, "only a design can run away"
    for j, (bottom, top) in enumerate(where.ends):
        low, high = where.low.copy(), where.high.copy()
        if bottom and found.best_x[j] <= low[j] * (1 + AT_BOX_END):
            low[j] *= NARROWED
        elif top and found.best_x[j] >= high[j] * (1 - AT_BOX_END):
            high[j] /= NARROWED
        else:
            continue
        inner = Space(where.names, low, high, where.integer, where.values, where.ends)
        again = _interval_search(question, inner, work, time.monotonic() + seconds)
        if again.best > found.best * (1 + question.gap):
            return where.names[j]
    return ""
