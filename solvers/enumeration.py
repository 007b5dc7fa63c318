"""Exact optimum by trying every design: the one home of enumeration, for one point and for many.

Arrays have a row for each point and a column for each design. One point is a batch of one: a question of plain numbers
goes through ``judged`` with ``ONE`` as its points. The least of the designs that hold all limits is the optimum and its
own bound, whatever the equations are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Indices, Points
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.later import Later, kept, later
from formulations.arithmetics.many import plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from results.solution import Status
from results.telling.facts import NextBest
from scenarios.question import Decision, Question
from solvers import beyond, boxes, designs
from solvers.designs import Grid, Table
from solvers.outcome import ENUMERATION, Outcome

MOST_ENUMERATED = 50_000_000
"""Designs that are still all tried, of one question."""
SMALL_SHARE = 0.25
"""Share of all designs that is less work as a list than all on a mesh; limits of no more numbers are asked first."""
LISTED_TOGETHER = 20_000
"""Listed designs that are evaluated together: their numbers stay near the processor."""
POOL = 500_000
FEWER_POWERS = 1e3
"""An optimum at the last of listed powers is none if without those within this factor of it nothing is as good."""
BEYOND = "no design has numbers that floats hold"
LOST = "a design that may hold leaves the range of floats"
ONE = np.zeros(1, dtype=np.intp)
"""The points of a question of plain numbers."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A table at N points.

    ``best`` (N,): which design is handed out; ``value`` (N,): what is minimised there (infinite: nothing holds);
    ``missed`` (N,): the least, over all designs, by which some limit is broken; ``tied`` (N, designs): which are as
    good; ``endless`` (N,): where something holds, but costs without end; ``reached`` (N, designs): what is minimised,
    infinite where a limit is broken; ``lost`` (N,): where a design may hold that overflow or underflow leaves without
    numbers to judge it by.
    """

    best: Points
    value: Array
    missed: Array
    tied: Bools
    endless: Bools
    reached: Array
    lost: Bools


def judged(t: Table, near: Question, which: Indices) -> Judged:
    """Judge all designs of a table at all points.

    ``near``: the question at the points that differ in what is given; ``which`` of these each point is like.

    Ties (within 1e-9 relative) go by the question's ``tie_order``, then to the smaller decided quantities in file
    order.
    """
    shape = (len(which), t.size)
    if not t.size:
        far, no = np.full(len(which), np.inf), np.zeros(len(which), dtype=bool)
        none = np.zeros(shape)
        return Judged(np.zeros(len(which), dtype=np.int64), far, far, none > 0, no, none, no)
    at, ratios = numbers(t, near, which)
    goal, worst = full(minimised(t, at), shape), excess(ratios, shape)
    held = (worst <= HOLDS) & ~np.isnan(goal)
    reached = np.where(held, goal, np.inf)
    low = reached.min(axis=1)
    tied = held & (reached <= designs.as_good_as(low)[:, None])
    best = _design_by_tie_rule(t, at, tied, np.argmin(reached, axis=1))
    lost = _certainly_lost(t, near, ratios, np.isposinf(worst) | np.isnan(goal))
    return Judged(best, low, worst.min(axis=1), tied, np.isinf(low) & held.any(axis=1), reached, lost)


def _certainly_lost(t: Table, near: Question, ratios: Mapping[RowKey, Any], unknown: Bools) -> Bools:
    """Tell at which points a design of ``unknown`` worth breaks no limit for sure, since floats end before it."""
    if not unknown.any():
        return np.zeros(len(unknown), dtype=bool)
    for ratio in ratios.values():
        own = full(ratio, unknown.shape)
        unknown = unknown & ~(np.isfinite(own) & (own > 1.0 + HOLDS))
    designs = np.flatnonzero(unknown.any(axis=0))
    # without a value by 0/0 or the logarithm of what is negative it is not a design
    if not designs.size or not evaluation.beyond_floats(near, t.take(designs).x):
        return np.zeros(len(unknown), dtype=bool)
    if len(unknown) == 1 and not divided.shape(near):
        unknown[:, designs] &= ~beyond.surely_broken(near, t.take(designs).x)
    return np.asarray(unknown.any(axis=1))


def check_floats(question: Question) -> None:
    """Raise OverflowError where a question lists few designs and none of them has numbers that floats hold."""
    every = None if designs.few(question) is None else designs.everything(question)
    if every is None:
        return
    for part in every.parts(question):
        at, ratios = numbers(part, question, ONE)
        goal, worst = full(minimised(part, at), (1, part.size)), excess(ratios, (1, part.size))
        if (np.isfinite(goal) & ~np.isposinf(worst)).any() or not evaluation.beyond_floats(question, part.x):
            return
    if every.size:
        raise OverflowError(BEYOND)


def numbers(t: Table, near: Question, which: Indices) -> tuple[Mapping[str, Any], dict[RowKey, Any]]:
    """What judges the designs of a table: metrics by name, and limits as ratios."""
    with np.errstate(all="ignore"):
        at = metrics(t, near, which)
        return at, evaluation.ratios(t.question, t.x, at)


def metrics(t: Table, near: Question, which: Indices) -> Mapping[str, Any]:
    """The metrics of the designs of a table, worked out when they are asked for."""
    mesh = t.x if t.mesh is None else t.mesh
    with np.errstate(all="ignore"):
        flat = np.broadcast_shapes((1,), *(v.shape for v in mesh.values()))
        return _Flat(_over_mesh(near, mesh, len(flat)), flat, which, {})


def _over_mesh(near: Question, mesh: Mapping[str, Array], axes: int) -> Mapping[str, Any]:
    """The metrics of all designs of a mesh of so many dimensions, worked out when asked for, but those of a black box.

    What depends on few of the decided quantities has few numbers.
    """
    x = mesh if near.model.black_box else {n: later(v) for n, v in mesh.items()}
    return kept(evaluation.metrics(divided.before_axes(near, axes), x))


@dataclass(frozen=True, slots=True)
class _Flat(Mapping[str, Any]):
    """Metrics over a mesh, along one dimension, each worked out when it is asked for, and ``kept``."""

    found: Mapping[str, Any]
    shape: tuple[int, ...]
    which: Indices
    kept: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        if name not in self.kept:
            self.kept[name] = _spread_to_points(_flat(plain(self.found[name]), self.shape), self.which)
        return self.kept[name]

    def __contains__(self, name: object) -> bool:
        return name in self.found

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def parts(question: Question, every: Grid, most: int = 0) -> Iterator[Table]:
    """Go through the designs of a question, a chunk at a time, but for those that surely do not count.

    Left out are those that break one of the model's own limits, or more than ``most`` others, where limits that only
    some of the decided quantities enter tell it.
    """
    left = _left_by_small_limits(question, every, most)
    if left is None:
        yield from every.parts(question)
        return
    for start in range(0, left.size, LISTED_TOGETHER):
        yield Table(question, every.designs(left[start : start + LISTED_TOGETHER]))


def _left_by_small_limits(question: Question, every: Grid, most: int) -> Indices | None:
    """Return the designs that limits of few numbers leave; None where so many are left that a mesh is less work."""
    if every.size <= LISTED_TOGETHER or max(every.shape) > designs.TRIED_TOGETHER:
        return None
    mesh = every.mesh()
    with np.errstate(all="ignore"):
        # two values of each quantity tell which of them a limit depends on
        two = {n: v[:2] for n, v in mesh.items()}
        of_two = evaluation.ratios(question, two, evaluation.metrics(question, two))
        small = [
            key
            for key, ratio in of_two.items()
            if _size_along(every.mesh_shape, np.shape(ratio)) <= SMALL_SHARE * every.size
        ]
        if not small:
            return None
        of_all = evaluation.ratios(question, mesh, _over_mesh(question, mesh, len(every.mesh_shape)))
        broken: Any = np.zeros((1,) * len(every.mesh_shape), np.int8)
        for key in small:
            own = np.asarray(of_all[key], float)
            weight = np.int8(most + 1 if key.side == "model" else 1)
            broken = broken + weight * (np.isfinite(own) & (own > 1.0 + HOLDS))
    left = np.broadcast_to(broken <= most, every.mesh_shape)
    return np.flatnonzero(left) if np.count_nonzero(left) <= SMALL_SHARE * every.size else None


def _size_along(every: tuple[int, ...], of_two: tuple[int, ...]) -> int:
    """Count the numbers of what has, of two values of each quantity, numbers of this shape."""
    return math.prod(n for n, values in zip(every[::-1], of_two[::-1], strict=False) if values > 1)


def _flat(values: Any, shape: tuple[int, ...]) -> Any:
    """Numbers over a mesh of this shape along one dimension."""
    values = values.values if isinstance(values, Later) else values
    if not np.ndim(values):
        return values
    ahead = np.shape(values)[: max(np.ndim(values) - len(shape), 0)]
    if np.size(values) == math.prod(ahead):
        return np.reshape(values, (*ahead, 1))
    return np.broadcast_to(values, (*ahead, *shape)).reshape(*ahead, -1)


def _spread_to_points(values: Any, which: Indices) -> Any:
    """The numbers of every point from those of the points that they are like."""
    return values[which] if np.ndim(values) == 2 and len(values) > 1 else values


def minimised(t: Table, at: Mapping[str, Any], which: int = 0) -> Any:
    """What is to be small: an objective, or minus one that is maximised; 0 where there is none."""
    if not t.question.objectives:
        return 0.0
    value = plain(evaluation.objective(t.question, t.x, at, which))
    return -value if t.question.objectives[which].maximize else value


def excess(ratios: Mapping[RowKey, Any], shape: tuple[int, int], but: RowKey | None = None) -> Array:
    """By how much each design breaks some limit at each point, ``but`` one limit; what is not a number is broken."""
    found: Array = np.array(-np.inf)
    # what few numbers tell comes first
    for own in sorted((_plain(r) for k, r in ratios.items() if k != but), key=np.size):
        found = np.maximum(found, own)
    over = found - 1.0
    return np.broadcast_to(np.where(np.isnan(over), np.inf, over), shape)


def full(values: Any, shape: tuple[int, int]) -> Array:
    """Numbers at every point of every design."""
    return np.broadcast_to(_plain(values), shape)


def _plain(values: Any) -> Array:
    return np.asarray(plain(values), dtype=float)


def _design_by_tie_rule(t: Table, at: Mapping[str, Any], tied: Bools, least: Points) -> Points:
    """The design handed out at each point: of those tied by the order of ties, then smaller numbers."""
    some = np.flatnonzero(tied.sum(axis=1) > 1)
    if not len(some):
        return least
    rows, columns = np.nonzero(tied[some])
    best = least.copy()
    named = (at[n] if n in at else t.x[n] for n in t.question.tie_order if n in at or n in t.x)
    order = (*named, *t.x.values())
    levels = (full(level, tied.shape)[some[rows], columns] for level in order)
    best[some] = columns[designs.first_of_tied(rows, len(some), levels)]
    return best


def optimum(question: Question, every: Grid | None = None) -> Outcome:
    """Try every design of one question: the exact optimum of the first objective, or infeasible.

    ``every``: what ``designs.grid`` says of the question, where that is known.
    Where very many designs are equally good (more than POOL), ranges may be too narrow. Raises CannotTake where the
    question is not enumerable (see ``designs.grid``), OverflowError where a design cannot be judged in floats.
    """
    every = designs.grid(question) if every is None else every
    if every is None or every.size > MOST_ENUMERATED:
        raise CannotTake("the decided quantities are not few whole numbers or listed values")
    every, target = promising(question, every)
    left, low = Table(question, {n: np.zeros(0) for n in every.names}), math.inf
    levels: list[Level] = []
    for part in parts(question, every):
        now = judged(part, question, ONE)
        if now.lost[0]:
            raise OverflowError(LOST)
        left, low = left.joined(part.take(now.tied[0])), min(low, float(now.value[0]))
        levels = _two_levels([*levels, *_two_least_levels(part, now.reached[0])])
        if left.size > POOL:
            left = left.take(judged(left, question, ONE).best)
    if not left.size:
        if not beyond.nothing_beyond(question):
            return Outcome(Status.ERROR, message=beyond.searched(question), solver=ENUMERATION)
        text = "every combination breaks a limit, by enumeration and interval bounds"
        return Outcome(Status.INFEASIBLE, certificate=text, solver=ENUMERATION)
    best = judged(left, question, ONE)
    x = {n: float(v[best.best[0]]) for n, v in left.x.items()}
    if not question.objectives:
        text = "a design that meets all limits"
        return Outcome(Status.FEASIBLE, x, certificate=text, solver=ENUMERATION)
    d = _runaway(question, every, x, low)
    if d is not None:
        text = f"{d.name} reaches the last power listed"
        falls = d.values is not None and x[d.name] == d.values[0]
        return Outcome(Status.UNBOUNDED, x, certificate=text, solver=ENUMERATION, runaway=d.name, falls=falls)
    whole = designs.everything(question)
    text = f"all {every.size} combinations enumerated" if every.size > 1 else "the only combination tried"
    if whole is None or every.size < whole.size:
        text = f"all combinations enumerated ({every.size} not excluded by interval bounds)"
    tied = {n: v[best.tied[0]] for n, v in left.x.items()}
    ranges = {n: (float(v.min()), float(v.max())) for n, v in tied.items() if v.size and v.min() < v.max()}
    other = None
    # beyond the target designs may have been left out
    if len(levels) > 1 and (
        target == math.inf
        or (levels[1][0] and evaluation.to_minimise(question, question.sign * levels[1][0]) <= target)
    ):
        other = NextBest(levels[1][1], question.sign * levels[1][0])
    return Outcome(Status.OPTIMAL, x, question.sign * low, text, ENUMERATION, ranges=ranges, next_best=other)


def promising(question: Question, every: Grid) -> tuple[Grid, float]:
    """Return the combinations among which the two best ones are, and beyond which value others were left out."""
    if every.size <= designs.OUTRIGHT or not question.objectives:
        return every, math.inf
    target = _target(question, every)
    return designs.grid(question, target) or every, target


def open_powers(question: Question) -> Iterator[tuple[Decision, tuple[float, ...]]]:
    """Go through what is decided among powers, with the first and last listed that neither user nor domain ends."""
    for d in question.decide:
        if d.values is not None and d.endless:
            searched = evaluation.box(question, d.name).searched
            bounds = (d.minimum, d.values[0]), (d.maximum, d.values[-1])
            ends = tuple(
                end for own, (user, end) in zip(searched, bounds, strict=True) if own and user is None
            )
            if ends:
                yield d, ends


def _runaway(question: Question, every: Grid, x: Mapping[str, float], low: float) -> Decision | None:
    """Find what is decided whose powers are better the farther they are listed."""
    for d, ends in open_powers(question):
        if x[d.name] not in ends:
            continue
        nearer = math.inf
        for part in every.parts(question):
            apart = np.abs(np.log(part.x[d.name] / x[d.name])) > math.log(FEWER_POWERS)
            nearer = min(nearer, float(judged(part.take(apart), question, ONE).value[0]))
        if nearer > low + question.gap * abs(low):
            return d
    return None


Level = tuple[float, dict[str, float]]
"""What is minimised, and a design that has it."""


def _two_least_levels(t: Table, reached: Array) -> Iterator[Level]:
    """Go through the least value of a table and the next one, each with its first design."""
    for _ in range(2):
        best = int(np.argmin(reached)) if reached.size else 0
        if not reached.size or not np.isfinite(reached[best]):
            return
        yield float(reached[best]), {n: float(v[best]) for n, v in t.x.items()}
        reached = np.where(reached <= designs.as_good_as(reached[best]), np.inf, reached)


def _two_levels(found: list[Level]) -> list[Level]:
    """Return the least of some levels, and the least of those that are not as good."""
    ordered = sorted(found, key=lambda level: level[0])
    return [
        *ordered[:1],
        *(x for x in ordered[1:] if x[0] > designs.as_good_as(ordered[0][0])),
    ][:2]


def _target(question: Question, every: Grid) -> float:
    """Find the second of the values that a sample of designs has, with room for ties: the next best is told, too.

    As ``boxes.measured`` has them (see ``evaluation.to_minimise``). Twice the value where the sample has only one.
    """
    even = np.linspace(0, every.size - 1, 1024)
    early = np.geomspace(1, every.size, 1024) - 1
    worst, goal = boxes.measured(question, every.at(np.concatenate([even, early]).astype(np.int64)))
    goal = goal[(worst <= 1 + HOLDS) & (goal > 0)]
    if not goal.size:
        return math.inf
    least = float(goal.min())
    return float(goal[goal > least * (1 + 1e-6)].min(initial=2.0 * least)) * (1 + 1e-6)
