"""Exact optimum by trying every combination of decided values, vectorised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.tolerances import TIE
from results.solution import Status
from scenarios.question import Question
from solvers import boxes
from solvers.boxes import FEASIBLE, Array, Space
from solvers.outcome import ENUMERATION, Outcome

CHUNK = 100_000
LARGEST = 50_000_000
POOL = 500_000
SOLVER = ENUMERATION


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of allowed values in a box, numbered with the last variable fastest."""

    names: tuple[str, ...]
    axes: tuple[Array | range, ...]

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(map(_count, self.axes))

    def at(self, number: NDArray[np.int64]) -> Array:
        """Return the combinations of these numbers as rows, SI."""
        columns: list[Array] = []
        for axis in reversed(self.axes):
            number, place = np.divmod(number, _count(axis))
            first = axis.start + place if isinstance(axis, range) else axis[place]
            columns.append(np.asarray(first, dtype=float))
        return np.stack(columns[::-1], axis=1)


def _count(axis: Array | range) -> int:
    """How many values an axis has; ``len`` of a range ends at 2**63."""
    return max(axis.stop - axis.start, 0) if isinstance(axis, range) else len(axis)


def grid(question: Question, target: float = math.inf) -> Grid | None:
    """All combinations that may meet the limits.

    None where a decided variable is continuous or a choice among names.

    Whole numbers are bounded by the user, by the quantity's domain, and, where that leaves more than one chunk, by
    what intervals prove about the limits: to try a few designs that break one costs less than such a proof.
    ``target``: combinations that are certainly worse are left out, too (of what is minimised, see boxes.enclose).
    """
    if not question.decide or any(d.choices is not None for d in question.decide):
        return None
    where = boxes.space(question)
    if not np.all(where.discrete):
        return None
    every = _every(where)
    if every is not None and every.size <= CHUNK:
        return every
    kept = boxes.tighten(question, where, target=target)
    return Grid(where.names, (range(0),) * len(where.names)) if kept is None else _between(where, *kept)


def _between(where: Space, low: Array, high: Array) -> Grid:
    """Every combination between two ends."""
    return Grid(where.names, tuple(_axis(where, j, low, high) for j in range(len(where.names))))


def _axis(where: Space, j: int, low: Array, high: Array) -> Array | range:
    allowed = where.values[j]
    if allowed is None:
        return range(int(low[j]), int(high[j]) + 1)
    return np.asarray(allowed[(allowed >= low[j]) & (allowed <= high[j])])


def few(question: Question) -> bool:
    """Whether there are so few combinations in all that trying them is the shortest way."""
    every = everything(question) if question.decide else None
    return every is not None and every.size <= CHUNK


def everything(question: Question) -> Grid | None:
    """Every combination there is, whatever limits say.

    None where something decided is continuous, a choice among names, or has an end that only a search has.
    """
    if any(d.choices is not None for d in question.decide):
        return None
    where = boxes.space(question)
    if not np.all(where.discrete) or any(own for _, own in where.ends):
        # an end that is only there to have one proves nothing
        return None
    return _every(where)


def _every(where: Space) -> Grid | None:
    """Every combination there is, whatever limits say; None where something has no end."""
    ends = where.low, where.high
    return _between(where, *ends) if np.isfinite(ends).all() else None


def enumerable(question: Question) -> int | None:
    """Count the combinations that ``scan`` would try; None where they cannot be enumerated at any price."""
    found = grid(question)
    return None if found is None else found.size


@dataclass(frozen=True, slots=True)
class Tried:
    """The answer of an enumeration, with the lowest and highest optimal value of what is not unique.

    Where very many designs are equally good (more than POOL), ranges may be too narrow.
    """

    outcome: Outcome
    ranges: dict[str, tuple[float, float]]


def scan(question: Question) -> Outcome:
    """Try every combination: see ``tried``."""
    return tried(question).outcome


def tried(question: Question) -> Tried:
    """Try every combination: the exact optimum of the first objective, or infeasible.

    Ties (within 1e-9 relative) go by the question's ``tie_order``, then to the smaller decided quantities in file
    order. Raises CannotTake where the question is not enumerable (see
    ``enumerable``).
    """
    combinations = grid(question)
    if combinations is None or combinations.size > LARGEST:
        raise CannotTake("the decided quantities are not few whole numbers or listed values")
    if combinations.size > CHUNK and question.objectives:
        combinations = grid(question, _target(question, combinations)) or combinations
    pool = np.empty((0, 0))
    for levels in _chunks(question, combinations):
        pool = levels if not pool.size else np.concatenate([pool, levels], axis=1)
        pool = pool[:, _least(pool[0])]
        if pool.shape[1] > POOL:
            pool = _first(pool)
    if not pool.size:
        text = "every combination breaks a limit, by enumeration and interval bounds"
        return Tried(Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER), {})
    best = _first(pool)[:, 0]
    x = dict(zip(combinations.names, map(float, best[-len(combinations.names) :]), strict=True))
    if not question.objectives:
        text = "a design that meets all limits"
        return Tried(Outcome(Status.FEASIBLE, x, certificate=text, solver=SOLVER), {})
    bound = float(pool[0].min()) * (-1.0 if question.objectives[0].maximize else 1.0)
    text = f"all combinations enumerated ({combinations.size} not excluded by interval bounds)"
    ends = zip(x, pool[-len(x) :].min(axis=1), pool[-len(x) :].max(axis=1), strict=True)
    ranges = {name: (float(low), float(high)) for name, low, high in ends if low < high}
    return Tried(Outcome(Status.OPTIMAL, x, bound, text, SOLVER), ranges)


def _chunks(question: Question, combinations: Grid) -> Iterator[Array]:
    """Yield, per chunk, the feasible combinations as columns: objective, tie breakers, decided values."""
    own = {*combinations.names, *(q.name for q in question.model.metrics)}
    order = [name for name in question.tie_order if name in own]
    for start in range(0, combinations.size, CHUNK):
        points = combinations.at(np.arange(start, min(start + CHUNK, combinations.size)))
        x = dict(zip(combinations.names, points.T, strict=True))
        with np.errstate(all="ignore"):
            at = evaluation.metrics(question, x)
            held = np.ones(len(points), dtype=bool)
            for value in evaluation.ratios(question, x, at).values():
                held &= np.asarray(value) <= 1 + FEASIBLE
            goal = _signed(question, evaluation.objective(question, x, at)) if question.objectives else 0.0
        levels = np.stack(
            [np.broadcast_to(v, held.shape) for v in [goal, *({**x, **at}[n] for n in order), *points.T]]
        )
        held &= ~np.isnan(levels[0])
        if held.any():
            yield levels[:, held]


def _signed(question: Question, goal: Array) -> Array:
    return -goal if question.objectives[0].maximize else goal


def _least(values: Array) -> Array:
    """Tell which values are the least, within the tolerance for ties."""
    low = values.min()
    return np.asarray(values <= low + TIE * abs(low))


def _first(pool: Array) -> Array:
    """Keep the columns that win level by level."""
    for level in range(len(pool)):
        pool = pool[:, _least(pool[level])]
    return pool


def _target(question: Question, combinations: Grid) -> float:
    """Find what a sample of combinations already reaches, with room for ties."""
    even = np.linspace(0, combinations.size - 1, 1024)
    early = np.geomspace(1, combinations.size, 1024) - 1
    points = combinations.at(np.concatenate([even, early]).astype(np.int64))
    worst, goal = boxes.measured(question, points)
    goal = goal[(worst <= 1 + FEASIBLE) & (goal > 0)]
    return float(goal.min()) * (1 + 1e-6) if goal.size else math.inf
