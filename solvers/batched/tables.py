"""Few designs, many points: every design of a table evaluated at every point, and the best of those that hold.

For questions in which all that is decided are names, entries of menus, or few whole numbers. What does not depend on
the axes is evaluated once for each design. Enumeration is exhaustive: the optimum is its own bound, and why a point
has no design follows from which limits each design breaks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.evaluation import RowKey
from formulations.many import Array, Points, plain
from formulations.problem import formulate
from formulations.program import is_linear
from formulations.tolerances import HOLDS, TIE, TIES
from results.dataset import Arrays, Layout
from scenarios.grids import Grid
from scenarios.question import Decision, Question, combinations
from solvers import conflicts
from solvers.batched import blocks, would_do
from solvers.batched.blocks import Block
from solvers.batched.offers import OTHER_KIND, Offer, too_few
from solvers.batched.told import Designs, Told

KIND = "table of designs"
FEWEST = 20
"""Points of a grid below which nothing is gained."""
LARGEST = 20_000
"""Designs of a table that is still worth evaluating at every point."""
CELLS = 400_000
"""Designs times points that are evaluated together."""
NOISE = 1e-12
SURE = 1e-7
"""What is missed by less is left to the single path."""

Mask = NDArray[np.bool_]


def way(grid: Grid) -> Offer:
    """Return this way where all that is decided comes from a table that is small enough."""
    if any(len(q.objectives) != 1 or q.idle for q in grid.bases.values()):
        return OTHER_KIND
    asked = [q for q in blocks.kinds(grid) if q.decide]
    if not asked or not all(_tabular(q) for q in asked):
        return OTHER_KIND
    if any(t.kind == "decide" for t in grid.targets):
        return Offer(
            reason=f"{KIND}: an axis changes a bound of what is decided; sweep a limit or a given number"
        )
    if grid.size < FEWEST:
        return too_few(FEWEST, KIND)
    return blocks.offered(Tables(grid), Tables(blocks.thinned(grid)))


def _tabular(question: Question) -> bool:
    """Whether a question's designs are few, and the single path would find the best as a whole-number program."""
    count = 0
    for _, asked in combinations(question):
        sides = [_values(asked, d) for d in asked.decide]
        if any(s is None for s in sides):
            return False
        count += math.prod(len(s) for s in sides if s is not None)
        if count > LARGEST:
            return False
    first = next(asked for _, asked in combinations(question))
    try:
        return not first.decide or (is_linear(first) and formulate(first).program is not None)
    except ArithmeticError:  # a cost that is 0: told of each point by itself
        return False


def _values(question: Question, d: Decision) -> range | tuple[float, ...] | None:
    """What a decided quantity may be whatever the limits say; None where that is not a short list."""
    if d.values is not None:
        return d.values
    q = evaluation.quantity(question.model, d.name)
    low = q.minimum if q.floor == 0.0 else max(q.minimum, q.floor)
    if not d.integer or not q.maximum - low <= LARGEST:
        return None
    return range(math.ceil(low), math.floor(q.maximum) + 1)


@dataclass(frozen=True, slots=True)
class Tables:
    """The way itself; see ``solvers.batched.path.Path``."""

    grid: Grid
    method: str = "a table of all designs, evaluated at every point"
    kind: str = "batch"

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, Mask]:
        """Answer a block."""
        block = Block(self.grid, region)
        told = Told(plan, block.shape)

        def answer(question: Question, points: Points) -> Mask:
            return answered(told, question, block.question(points, 1), points)

        return told.arrays, block.answered(answer, max(64, CELLS // max(self._width(), 1)))

    def _width(self) -> int:
        return max(
            (len(t.x[next(iter(t.x))]) if t.x else 1 for q in blocks.kinds(self.grid) for t in tables(q)),
            default=1,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """All designs of one combination of names: the value of every decided quantity in each."""

    chosen: Mapping[str, str]
    question: Question
    x: Mapping[str, Array]


def tables(question: Question) -> Iterator[Table]:
    """Go through the combinations of names, each with its table; the last quantity changes fastest."""
    for chosen, asked in combinations(question):
        listed = [_values(asked, d) for d in asked.decide]
        if any(values is None for values in listed):
            raise ValueError("something decided is no short list")
        sides = [np.asarray(values, dtype=float) for values in listed]
        mesh = np.meshgrid(*sides, indexing="ij")
        yield Table(chosen, asked, {d.name: a.ravel() for d, a in zip(asked.decide, mesh, strict=True)})


@dataclass(frozen=True, slots=True)
class Judged:
    """A table at many points: which design is the best at each, what it reaches (infinite: nothing holds).

    ``missed``: the least, over all designs, by which some limit is broken; ``unsure``: where rounding may decide.
    """

    best: Points
    value: Array
    missed: Array
    unsure: Mask


def answered(told: Told, question: Question, wide: Question, points: Points) -> Mask:
    """Answer some points; ``wide`` is the question with room for designs behind the points."""
    every = list(tables(question))
    judged = [_judged(t, len(points)) for t in tables(wide)]
    unsure = np.any([j.unsure for j in judged], axis=0)
    values = np.stack([j.value for j in judged])
    # of the same value the first combination, as for a single point
    which, some = np.argmin(values, axis=0), np.isfinite(values).any(axis=0)
    sign = -1.0 if question.objectives[0].maximize else 1.0
    good = np.zeros(len(points), dtype=bool)
    for k, (table, j) in enumerate(zip(every, judged, strict=True)):
        own = some & (which == k) & ~unsure
        if own.any():
            x = {n: a[j.best[own]] for n, a in table.x.items()}
            designs = Designs(x, sign * j.value[own], table.chosen)
            good[own] = told.best(blocks.part(table.question, own), points[own], designs)
    missed = np.min([j.missed for j in judged], axis=0) > SURE
    none = np.flatnonzero(~some & ~unsure & missed)
    if len(none) and every[0].x:
        good[none] = True
        first = next(tables(wide))
        for left in blocks.together(none, lambda now: _none(told, first, points, now)):
            good[left] = False
    return good


def _numbers(t: Table, count: int) -> tuple[Mapping[str, Any], dict[RowKey, Array]]:
    """Metrics, and limits as ratios, of every design at every point."""
    shape = (count, max((len(a) for a in t.x.values()), default=1))
    with np.errstate(all="ignore"):
        at = evaluation.metrics(t.question, t.x)
        ratios = evaluation.ratios(t.question, t.x, at)
    return at, {k: _full(r, shape) for k, r in ratios.items()}


def _judged(t: Table, count: int) -> Judged:
    at, ratios = _numbers(t, count)
    shape = (count, max((len(a) for a in t.x.values()), default=1))
    with np.errstate(all="ignore"):
        goal = _full(evaluation.objective(t.question, t.x, at), shape)
    worst = np.full(shape, -np.inf)
    for ratio in ratios.values():
        worst = np.maximum(worst, np.where(np.isnan(ratio), np.inf, ratio) - 1.0)
    goal = -goal if t.question.objectives[0].maximize else goal
    broken = worst > NOISE
    reached = np.where(broken | np.isnan(goal), np.inf, goal)
    low = reached.min(axis=1)
    # a design that breaks a limit by a hair may do for another method, whose tolerances are not ours
    close = broken & (worst <= HOLDS) & ~(goal > (low + TIE * np.abs(low))[:, None])
    best = _first(t, at, reached, low)
    # the best of those that are tied is not always the least of them
    return Judged(best, low, worst.min(axis=1), close.any(axis=1))


def _first(t: Table, at: Mapping[str, Any], reached: Array, low: Array) -> Points:
    """The design handed out at each point: of those tied by less time, energy, cost, then smaller numbers."""
    with np.errstate(invalid="ignore"):
        pool = reached <= (low + TIE * np.abs(low))[:, None]
    tied = np.flatnonzero(pool.sum(axis=1) > 1)
    best: Points = np.argmin(reached, axis=1)
    if not len(tied):
        return best
    left = pool[tied]
    for level in (*(at[n] for n in TIES if n in at), *t.x.values()):
        values = np.where(left, _full(level, reached.shape)[tied], np.inf)
        first = values.min(axis=1)
        left &= values <= (first + TIE * np.abs(first) + TIE * 1e-3)[:, None]
    best[tied] = np.argmax(left, axis=1)
    return best


def _none(told: Told, first: Table, points: Points, own: Points) -> Mask:
    """Tell why points ``own`` have no design: the first minimal set of limits of each; tells for which."""
    t = Table(first.chosen, blocks.some(first.question, own, len(points)), first.x)
    _, ratios = _numbers(t, len(own))
    names, keys = _names(t.question, ratios), list(ratios)
    broken = {
        n: np.any([~(r <= 1.0 + HOLDS) for k, r in ratios.items() if k.name == n], axis=0)
        for n in dict.fromkeys(k.name for k in ratios)
    }

    def met(some: Points, kept: Mask) -> Mask:
        free = {n for n, k in zip(names, kept, strict=True) if not k}
        held = [b[some] for n, b in broken.items() if n not in free]
        return ~np.any(held, axis=0).all(axis=1) if held else np.ones(len(some), dtype=bool)

    found = conflicts.minimal_conflicts(len(own), len(names), conflicts.by_set(met), every=False)
    good = np.zeros(len(own), dtype=bool)
    for some, conflict in found.certain(names):
        good[some] = True
        here = {k: r[some] for k, r in ratios.items()}
        asked = blocks.some(t.question, some, len(own))
        values = would_do.of_limits(asked, keys, conflict, partial(_least_factor, here, keys))
        told.none(points[own[some]], values)
    return good


def _least_factor(ratios: Mapping[RowKey, Array], keys: Sequence[RowKey], which: int) -> Array:
    """The least ratio of a limit over the designs that meet all others (see ``would_do.Factor``)."""
    key = keys[which]
    others = [r <= 1.0 + HOLDS for k, r in ratios.items() if k != key]
    held = np.all(others, axis=0) if others else np.ones_like(ratios[key], dtype=bool)
    return np.asarray(np.where(held & ~np.isnan(ratios[key]), ratios[key], np.inf).min(axis=1))


def _names(question: Question, ratios: Collection[RowKey]) -> tuple[str, ...]:
    """Names of the limits that may be in conflict; raises ValueError where designs outside the table may matter."""
    model = question.model
    kept = {limit.name for limit in model.limits if limit.always}
    kept |= {u.name for u in model.unknowns if u.integer}
    for d in question.decide:
        if (d.integer and d.name not in kept) or d.minimum is not None or d.maximum is not None:
            raise ValueError("what the user says of a decided quantity may be in conflict")
    return tuple(dict.fromkeys(k.name for k in ratios if k.name not in kept))


def _full(values: Any, shape: tuple[int, int]) -> Array:
    return np.broadcast_to(np.asarray(plain(values), dtype=float), shape)
