"""Boxes of decided variables: what a question's numbers can be on them, and what its limits leave of them.

A box is a pair of rows (low, high), SI; many boxes are arrays of shape (boxes, variables). All statements are
certain: they come from intervals rounded outwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse import models
from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.enclosures import Enclosure, centres, contract, enclosure
from formulations.arithmetics.slopes import Slope
from formulations.grids.divided import at
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios.define.composed import definitions_of
from scenarios.question import Decision, Question

LISTED_ROUNDING = 1e-9
SMALLEST = 1e-14
"""The width by ratio from which on a box can be cut."""
SLABS, MOST_ROUNDS = 32, 30
SLOPES_TOGETHER = 20_000_000
NEXT_TO_NOTHING = 1e-6
"""Of a quantity that may be 0: what part of one, or of its whole range, is next to nothing."""
DENSER_NEAR_ZERO = 5.0
"""How much denser samples of a quantity that may be 0 are near 0: about e to this power."""


@dataclass(frozen=True, slots=True)
class Space:
    """The decided variables of a question and the box that its bounds and domains leave.

    ``low``, ``high``: (variables,), or (points, variables) of a question with numbers of many points.
    ``values``: per variable the only values allowed (ascending), or None; ``integer``: whole numbers only;
    ``ends``: per variable whether its lower and upper end are the box's own, neither asked by the user nor
    mathematical, so that an optimum held by one of them is none (of many points an array along them).
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    integer: Bools
    values: tuple[Array | None, ...]
    ends: tuple[tuple[Any, Any], ...]

    def at(self, points: Indices | int) -> Space:
        """Return the boxes of some of many points, or that of one."""

        def own(end: Any) -> Any:
            return end[points] if isinstance(end, np.ndarray) else end

        ends = tuple((own(below), own(above)) for below, above in self.ends)
        low, high = self.low[points], self.high[points]
        return Space(self.names, low, high, self.integer, self.values, ends)

    @property
    def discrete(self) -> Bools:
        """Which variables have gaps between their values."""
        return np.asarray(self.integer | np.array([v is not None for v in self.values], dtype=bool))

    def up(self, j: int, x: Array) -> Array:
        """Return the least allowed value of variable ``j`` not below ``x`` (infinity: none)."""
        allowed = self.values[j]
        if allowed is not None:
            return np.append(allowed, np.inf)[np.searchsorted(allowed, x * (1 - LISTED_ROUNDING))]
        return np.ceil(x - _slack(x)) if self.integer[j] else x

    def down(self, j: int, x: Array) -> Array:
        """Return the largest allowed value of variable ``j`` not above ``x`` (minus infinity: none)."""
        allowed = self.values[j]
        if allowed is not None:
            return np.insert(allowed, 0, -np.inf)[
                np.searchsorted(allowed, x * (1 + LISTED_ROUNDING), side="right")
            ]
        return np.floor(x + _slack(x)) if self.integer[j] else x

    def snap(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Boxes shrunk to the allowed values inside (empty ones have low > high)."""
        low, high = low.copy(), high.copy()
        for j in map(int, np.flatnonzero(self.discrete)):
            low[:, j], high[:, j] = self.up(j, low[:, j]), self.down(j, high[:, j])
        return low, high

    def point(self, x: Array) -> Array:
        """Return the allowed points nearest to ``x`` (points, variables), by ratio."""
        x = np.clip(x, self.low, self.high)
        for j in map(int, np.flatnonzero(self.discrete)):
            below, above = self.down(j, x[:, j]), self.up(j, x[:, j])
            below, above = np.where(below >= 0, below, above), np.where(np.isfinite(above), above, below)
            nearer = x[:, j] <= np.where(below > 0, np.sqrt(below) * np.sqrt(above), above / 2)
            x[:, j] = np.where(nearer, below, above)
        return x

    @property
    def nothing(self) -> Array:
        """Below which size a variable that may be 0 counts as nothing; 0 for all others."""
        return np.where(
            self.low > 0, 0.0, NEXT_TO_NOTHING * np.minimum(np.where(self.high > 0, self.high, 1.0), 1.0)
        )

    def width(self, low: Array, high: Array) -> Array:
        """Return how wide boxes are along each variable: by ratio, but all that is nothing is alike."""
        near = self.nothing
        return np.asarray(np.log((high + near) / (low + near)))

    def spread(self, low: Array, high: Array, u: Array) -> Array:
        """Return points of a box for ``u`` from 0 to 1: even by ratio, or, where 0 is allowed, from 0 up."""
        ratio = np.log(np.where(low > 0, high / np.where(low > 0, low, 1.0), 1.0))
        return np.asarray(
            np.where(
                low > 0,
                low * np.exp(u * ratio),
                high * np.expm1(DENSER_NEAR_ZERO * u) / np.expm1(DENSER_NEAR_ZERO),
            )
        )


def _slack(x: Array) -> Array:
    return np.minimum(np.abs(x) * LISTED_ROUNDING, LISTED_ROUNDING * 1e3)


def cut_along(where: Space, low: Array, high: Array, steep: Array) -> Indices:
    """Return the variable that moves the numbers of each box most; one whose ends are as good as equal moves none."""
    width = where.width(low, high)
    with np.errstate(invalid="ignore"):
        moved = np.where(width > SMALLEST, steep * width, -np.inf)
    return np.asarray(np.argmax(moved, axis=1))


def halves(where: Space, low: Array, high: Array, along: Indices) -> tuple[Array, Array]:
    """Return both halves of every box, cut ``along`` a variable of its own."""
    every = np.arange(len(low))
    left, right = high.copy(), low.copy()
    near = where.nothing
    middle = np.clip(np.sqrt(low + near) * np.sqrt(high + near) - near, low, high)[every, along]
    left[every, along], right[every, along] = middle, middle
    for k in np.flatnonzero(where.discrete):
        mine = along == k
        below = np.maximum(where.down(int(k), middle[mine]), low[mine, k])
        left[mine, k] = below
        right[mine, k] = (
            below + 1 if where.integer[k] else where.up(int(k), below * (1 + 4 * LISTED_ROUNDING))
        )
    return np.concatenate([low, right]), np.concatenate([left, high])


def space(question: Question) -> Space:
    """Draw the box of a question; raises CannotTake where a decided variable is a choice among names."""
    return spaces(question, 1).at(0)


def searched_above(question: Question) -> bool:
    """Tell whether some decided number has an upper end that only a search has."""
    return any(np.any(_box(question, d)[2][1]) for d in question.decide)


def spaces(question: Question, count: int) -> Space:
    """Draw the boxes of a question at ``count`` points, along which its bounds may be arrays; see ``space``."""
    named = [d.name for d in question.decide if d.choices is not None]
    if named:
        raise CannotTake(f"{named[0]} is a choice among names: fix it before a box is drawn")
    drawn = [_box(question, d) for d in question.decide]
    none = np.empty((count, 0))
    low, high = (
        np.column_stack([none, *(np.broadcast_to(np.asarray(b[i], float), (count,)) for b in drawn)])
        for i in (0, 1)
    )
    found = Space(
        tuple(d.name for d in question.decide),
        low,
        high,
        np.array([d.integer for d in question.decide], dtype=bool),
        tuple(None if d.values is None else np.array(d.values, dtype=float) for d in question.decide),
        tuple(b[2] for b in drawn),
    )
    low, high = found.snap(low, high)
    return replace(found, low=low, high=high)


def _box(question: Question, d: Decision) -> tuple[Any, Any, tuple[Any, Any]]:
    ends: Any = (box := evaluation.box(question, d.name)).low, box.high, box.searched
    low, high, own = ends
    # no slack beyond the quantity's own ends, nor beside equations of a user: these may have no value there
    users = bool(definitions_of(question.model)) or not models.our_own(question.model)
    slack = 0.0 if users and not d.integer else HOLDS
    least, most = (0.0 if own[0] else low), (np.inf if own[1] else high)
    if d.minimum is not None:
        asked = np.asarray(d.minimum) > 0
        low = np.where(asked, np.maximum(d.minimum * (1 - slack), np.minimum(d.minimum, least)), low)
        own = own[0] & ~asked, own[1]
    if d.maximum is not None:
        high, own = np.minimum(d.maximum * (1 + slack), np.maximum(d.maximum, most)), (own[0], False)
    if d.values is not None:
        ends = (-np.inf if d.minimum is None else low, np.inf if d.maximum is None else high)
        low, high, own = np.maximum(ends[0], d.values[0]), np.minimum(ends[1], d.values[-1]), (False, False)
    low = np.where(d.integer & (np.asarray(low) > 0), np.maximum(low, 1.0), low)
    return low, high, own


def numbers(question: Question, x: Mapping[str, Any]) -> tuple[dict[RowKey, Any], Any]:
    """Ratios of all limits and the first objective (None without one) at ``x``, on any arithmetic."""
    at = evaluation.metrics(question, x)
    goal = evaluation.objective(question, x, at) if question.objectives else None
    return evaluation.ratios(question, x, at), goal


def measured(question: Question, x: Array) -> tuple[Array, Array]:
    """Return the largest limit ratio and what is minimised at designs ``x`` (designs, variables)."""
    names = [d.name for d in question.decide]
    with np.errstate(all="ignore"):
        rows, goal = numbers(question, {name: x[:, j] for j, name in enumerate(names)})
        worst = np.full(len(x), -np.inf)
        for value in rows.values():
            # a ratio that is not a number is not held
            worst = np.maximum(worst, np.where(np.isnan(value), np.inf, value))
        if goal is None:
            return worst, np.zeros(len(x))
        goal = np.broadcast_to(np.asarray(goal, dtype=float), worst.shape)
        return worst, evaluation.to_minimise(question, goal)


def enclose(question: Question, low: Array, high: Array) -> Enclosure:
    """Bound every limit and the objective over boxes, by plain intervals and by their slopes."""
    inputs = Slope.inputs(low, centres(low, high), high)
    x = {d.name: s for d, s in zip(question.decide, inputs, strict=True)}
    with np.errstate(all="ignore"):
        rows, goal = numbers(question, x)
        found = [inputs[0].of(v) for v in rows.values()]
        if question.objectives:
            found.append(evaluation.to_minimise(question, inputs[0].of(goal)))
    return enclosure(tuple(rows), found, low.shape)


def tighten(question: Question, where: Space, target: float = np.inf) -> tuple[Array, Array] | None:
    """Shrink the box of a question to what its limits leave (see ``tightened``); None: nothing is left, certainly."""
    one = replace(where, low=where.low[None], high=where.high[None])
    low, high = (ends[0] for ends in tightened(question, one, target=target))
    return None if np.any(low > high) else (low, high)


def tightened(
    question: Question, where: Space, *, target: float = np.inf, given_up: Sequence[RowKey] = ()
) -> tuple[Array, Array]:
    """Shrink boxes (N, variables) to what limits leave; where nothing is left, certainly, some low is above its high.

    ``target``: designs where what is minimised exceeds this are let go as well. ``given_up``: a limit of each box that
    counts for nothing. Slabs that certainly break a limit are cut off, again and again until little changes.
    """
    low, high = where.low.copy(), where.high.copy()
    left = np.flatnonzero(np.all(low <= high, axis=1))
    for _ in range(MOST_ROUNDS):
        if not left.size:
            break
        here = where.at(left)
        before = here.width(low[left], high[left])
        # each box by itself: so many at once that what bounds them fits in memory
        step = max(1, SLOPES_TOGETHER // slopes(question))
        for some in np.split(left, range(step, left.size, step)):
            own = [given_up[int(k)] for k in some] if given_up else []
            ends = low[some], high[some]
            low[some], high[some] = _kept_slabs(at(question, some), where.at(some), *ends, target, own)
        some = np.all(low[left] <= high[left], axis=1)
        left, before = left[some], before[some]
        after = where.at(left).width(low[left], high[left])
        left = left[np.any(before - after > 0.05 * before, axis=1)]
    return low, high


def slopes(question: Question) -> int:
    """Count the slopes, about, of which each round of ``tightened`` takes those of every limit over every slab."""
    rows = 2 * (len(question.decide) + len(question.limits)) + len(question.model.limits)
    return SLABS * len(question.decide) ** 2 * rows


def _kept_slabs(
    question: Question, where: Space, low: Array, high: Array, target: float, given_up: Sequence[RowKey]
) -> tuple[Array, Array]:
    """The ends of what is left of each box: of its slabs along one variable, and along every other one, too."""
    count, n = low.shape
    lo, hi = (np.tile(end[:, None, None], (1, n, SLABS, 1)) for end in (low, high))
    for k, j in np.ndindex(count, n):
        edges = _edges(float(low[k, j]), float(high[k, j]), bool(where.integer[j]))
        lo[k, j, :, j], hi[k, j, :, j] = edges[:-1], edges[1:]
    lo, hi = where.snap(lo.reshape(-1, n), hi.reshape(-1, n))
    some = np.flatnonzero(np.all(lo <= hi, axis=1))
    lo, hi, family = lo[some], hi[some], some // SLABS
    least, most = np.full((count * n, n), np.inf), np.full((count * n, n), -np.inf)
    if some.size:
        e = enclose(at(question, family // n), lo, hi)
        cut = np.tile(cutoffs(question, e, target)[:, None], some.size)
        for k, key in enumerate(given_up):
            if key in e.keys:
                cut[e.keys.index(key), family // n == k] = np.inf
        lo, hi = where.snap(*contract(e, lo, hi, cut))
        alive = np.all(lo <= hi, axis=1) & ~np.any(e.low > cut, axis=0)
        np.minimum.at(least, family[alive], lo[alive])
        np.maximum.at(most, family[alive], hi[alive])
    return least.reshape(count, n, n).max(axis=1), most.reshape(count, n, n).min(axis=1)


def _edges(low: float, high: float, integer: bool) -> Array:
    """Ends of slabs: even by ratio; from 0 first nothing but 0 itself (or next to it), then even by ratio."""
    edges = np.zeros(SLABS + 1)
    if low > 0:
        edges = np.geomspace(low, high, SLABS + 1)
    elif high > 0:
        first = min(0.5, high / 2) if integer else high * NEXT_TO_NOTHING
        edges = np.concatenate([[0.0], np.geomspace(first, high, SLABS)])
    edges[0], edges[-1] = low, high
    return edges


def cutoffs(question: Question, e: Enclosure, target: float = np.inf) -> Array:
    """Largest value each row may take: limits with their slack, what is minimised the target."""
    cut = np.full(len(e.low), 1.0 + HOLDS)
    if question.objectives:
        cut[-1] = target
    return cut
