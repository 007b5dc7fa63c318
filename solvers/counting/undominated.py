"""Sums over decided quantities: of all designs those that no other one betters, however many there are.

Where everything that limits and objective are made of is a sum of one term for each decided quantity, designs are
built quantity by quantity (dynamic programming over several criteria; for one limit: Nemhauser and Ullmann 1969,
"Discrete dynamic programming and capital allocation"). Two partial designs go on in the same ways; one that is nowhere
smaller and has a larger goal than another is let go, and so is one that breaks a limit however it goes on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array
from solvers.counting.criteria import Stage, Sums, TooMany, Work
from solvers.counting.incumbents import After, Incumbents
from solvers.many_points import effort

MOST_PARTIAL = 20_000
"""Partial designs that are kept, at most."""
FOR_INFINITE = 1e300
"""In place of what is infinite."""
FIRST_COMPARED = 64
"""Partial designs that all others are compared with before anything is sorted."""
DOMINATED_BLOCK = 128
SORTED = 64
"""About so many comparisons does it cost to sort one."""

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _States:
    """Partial designs: criteria (K, C) and numbers (K, J)."""

    f: Array
    x: Array

    @property
    def size(self) -> int:
        """How many numbers these are."""
        return int(self.f.size + self.x.size)

    def take(self, which: Indices | Mask) -> _States:
        return _States(self.f[which], self.x[which])

    def moved(self, s: Sums, by: Array, j: int, n: float) -> _States:
        effort.spend(self.size * effort.NUMBER)
        x = self.x.copy()
        x[:, j] += n
        return _States(s.joined(self.f, by), x)


def _joined_states(a: _States, b: _States) -> _States:
    return _States(np.concatenate([a.f, b.f]), np.concatenate([a.x, b.x]))


def designs(s: Sums) -> Array:
    """All designs (K, J) that may be the best at some limits: between ``enough`` and ``cap``.

    Of designs that are as good all are kept. Raises TooMany.
    """
    ends = [stage.ends() for stage in s.stages]
    low, high = (np.array([e[k] for e in ends]) for k in (0, 1))
    at = _States(s.nothing[None], np.zeros((1, len(s.stages))))
    best, work = Incumbents(s) if s.goal.any() else None, Work()
    for j, stage in enumerate(s.stages):
        after = After(s.total(low[j + 1 :]), s.total(high[j + 1 :]), s.stages[j + 1 :], best, work)
        at = _with_menu(s, at, j, stage, after) if stage.step is None else _with_count(s, at, j, stage, after)
    return at.x


def _with_menu(s: Sums, at: _States, j: int, stage: Stage, after: After) -> _States:
    found = None
    for value, terms in zip(stage.values, stage.terms, strict=True):
        more = at.moved(s, terms, j, value)
        found = more if found is None else _joined_states(found, more)
    assert found is not None, "a menu has entries"
    return _still_best(s, found, after)


def _with_count(s: Sums, at: _States, j: int, stage: Stage, after: After) -> _States:
    """Add any number of one kind: one more or not, two more or not, four, and so on, and last what is left.

    Whatever is still to be added may be added to every state, as dominance supposes: none passes the upper end.
    """
    step, jump, low = stage.per, stage.beside, stage.low
    none = None
    if low == 0.0 and jump.any():
        if stage.high < 1.0:
            return _still_best(s, at, after)
        none, low = at, 1.0
    at = at.moved(s, low * step + (low > 0.0) * jump, j, low)
    left, power = stage.high - low, 1.0
    while left > 0.0:
        take = min(power, left)
        at = _joined_states(at, at.moved(s, take * step, j, take))
        left -= take
        effort.spend(SORTED * at.x.size * effort.PAIR)
        # with a last step that is not a power of two a number can be made in two ways
        at = at.take(np.sort(np.unique(at.x, axis=0, return_index=True)[1]))
        more = Stage(stage.name, stage.values, stage.terms, step, np.zeros_like(jump), 0.0, left)
        at = _still_best(s, at, after.before(more) if left else after)
        if not (at.x[:, j] >= low + take).any():
            # where so many more are never better, still more are not: less of them goes with what betters the rest
            at = _still_best(s, at, after)
            break
        power *= 2.0
    return at if none is None else _still_best(s, _joined_states(none, at), after)


def _still_best(s: Sums, at: _States, after: After) -> _States:
    """Partial designs that may still be the best."""
    effort.spend(at.size * effort.NUMBER)
    at = at.take(np.asarray((s.joined(at.f, after.low) <= s.cap).all(axis=1)))
    if after.best is not None:
        at = at.take(after.best.promising(at.f, after))
    f = np.maximum(
        at.f, s.enough - (after.high if s.largest is None else np.where(s.largest, 0.0, after.high))
    )
    at = _States(f, at.x).take(undominated(f, s.goal & s.ties, s.margin, after.work))
    if len(at.x) > MOST_PARTIAL:
        raise TooMany(f"more than {MOST_PARTIAL} designs are each the best in something")
    return at


def undominated(f: Array, goal: Mask, margin: Array, work: Work | None = None) -> Indices:
    """Places of the rows than which no other one is better.

    Better is what is nowhere larger and has a goal that is smaller by its margin; without a goal, what comes first of
    those that are nowhere larger. ``work`` is spent; raises TooMany.
    """
    work = Work() if work is None else work
    rows = np.arange(len(f))
    some = (f != f[:1]).any(axis=0) if len(f) else np.zeros(f.shape[1], dtype=bool)
    if not some.any():
        return rows if goal.any() else rows[:1]
    if goal.any() and not (goal & some).any():
        # nothing so far touches a goal: all are tied in it, and ties may want any of them
        return rows
    f, goal, margin = f[:, some], goal[some], margin[some]
    f = np.where(np.isinf(f), np.copysign(FOR_INFINITE, f), f)
    if not goal.any():
        rows = np.unique(f, axis=0, return_index=True)[1]
        rows = rows[_unbettered_by_few(f[rows], np.ones(f.shape[1], dtype=bool), np.zeros(f.shape[1]))]
        return rows[~_dominated_rows(f[rows], 0.0, work, other=True)]
    kept = _unbettered_by_few(f, goal, margin) if f.shape[1] > 2 else np.arange(len(f))
    for g in np.flatnonzero(goal):
        order = np.array([*(c for c in range(f.shape[1]) if c != g), g])
        kept = kept[~_dominated_rows(f[kept][:, order], float(margin[g]), work)]
    return rows[kept]


def _unbettered_by_few(f: Array, goal: Mask, margin: Array) -> Indices:
    """Rows that none of a few good ones betters."""
    kept = np.arange(len(f))
    if len(f) < 8 * FIRST_COMPARED:
        return kept
    span = np.ptp(f, axis=0)
    scaled = (f - f.min(axis=0)) / np.where(span > 0.0, span, 1.0)
    weights = np.random.default_rng(len(f)).dirichlet(np.ones(f.shape[1]), FIRST_COMPARED)
    for row in np.unique((scaled @ weights.T).argmin(axis=0)):
        smaller = (f[row] <= f[kept]).all(axis=1)
        less = (goal & (f[row] <= f[kept] - margin) & (f[row] < f[kept])).any(axis=1)
        kept = kept[~(smaller & less)]
    return kept


def _dominated_rows(f: Array, margin: float, work: Work, *, other: bool = False) -> Mask:
    """Rows than which another one is nowhere larger and in the last column smaller, by ``margin``.

    ``other``: of rows that are all different, those than which another one is nowhere larger.
    """
    last = f[:, -1] - margin
    if f.shape[1] == 1:
        return np.asarray((f[:, 0].min() <= last) & (f[:, 0].min() < f[:, 0]))
    work.spend(SORTED * len(f))
    order = np.lexsort(f.T[::-1])
    f, last = f[order], last[order]
    found = np.zeros(len(f), dtype=bool)
    if f.shape[1] == 2 and other:
        found[order[1:]] = np.minimum.accumulate(f[:-1, 1]) <= f[1:, 1]
        return found
    if f.shape[1] == 2:
        # the least so far, of those with the same first number too
        ends = np.searchsorted(f[:, 0], f[:, 0], side="right") - 1
        least = np.minimum.accumulate(f[:, 1])[ends]
        found[order] = (least <= last) & (least < f[:, 1])
        return found
    front = np.zeros((0, f.shape[1]))
    marked = np.zeros(len(f), dtype=bool)
    for start in range(0, len(f), DOMINATED_BLOCK):
        own = slice(start, start + DOMINATED_BLOCK)
        rivals = np.concatenate([front, f[own]])
        work.spend(len(rivals) * DOMINATED_BLOCK)
        mine, aim = f[own], last[own]
        smaller = np.ones((len(rivals), len(mine)), dtype=bool)
        for c in range(f.shape[1] - 1):
            smaller &= rivals[:, None, c] <= mine[None, :, c]
        smaller &= rivals[:, None, -1] <= aim[None]
        if other:
            np.fill_diagonal(smaller[len(front) :], False)
        else:
            smaller &= rivals[:, None, -1] < mine[None, :, -1]
        marked[own] = smaller.any(axis=0)
        front = np.concatenate([front, mine[~marked[own]]])
    found[order] = marked
    return found
