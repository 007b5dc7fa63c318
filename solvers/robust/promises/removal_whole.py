"""Whole numbers and listed values among the decided quantities of a sampled problem: branch and bound over boxes.

Each box is searched with its numbers real (``solvers.robust.promises.removal``), which bounds what is in it; the
allowed values next to that optimum, the others free, are tried as designs.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from formulations.problem import Variable
from solvers.geometric.kernel.gp_terms import Array
from solvers.robust.promises import removal
from solvers.robust.promises.removal import Removed, Sampled

MOST_REMOVAL_BOXES = 60
"""Boxes that are searched; each takes up to hundreds of programs."""
REMOVAL_CLOSED = 2e-7
AT = 1e-9
Search = Callable[[Sampled, Array | None], Removed]
Discrete = Sequence[tuple[int, Variable]]


def search(problem: Sampled, discrete: Discrete, searched: Search) -> Removed:
    """Find the best design with allowed values; ``discrete``: the places of these variables; ``searched``: of a box.

    Where MOST_REMOVAL_BOXES boxes do not close it, the bound is that of the best box left.
    """
    best = Removed(None, math.inf, math.inf, (), True, 0)
    number, programs, whole, bound = itertools.count(), 0, True, math.inf
    boxes: list[tuple[float, int, Array, Array]] = [(-math.inf, next(number), problem.low, problem.high)]
    near: Array | None = None
    for _ in range(MOST_REMOVAL_BOXES):
        if not boxes or boxes[0][0] >= best.value - REMOVAL_CLOSED:
            break
        _, _, low, high = heapq.heappop(boxes)
        found = searched(replace(problem, low=low, high=high), near)
        programs, whole = programs + found.programs, whole and found.whole
        if found.y is None or found.bound >= best.value - REMOVAL_CLOSED:
            bound = min(bound, found.bound)
            continue
        for y in _rounded_designs(discrete, found.y, low, high):
            if all(low[i] == high[i] for i, _ in discrete):
                tried = found
            else:
                held = replace(
                    problem,
                    low=_with_discrete_held(discrete, y, low),
                    high=_with_discrete_held(discrete, y, high),
                )
                tried = _design_by_violation(held, y)
                programs += tried.programs
            best = tried if tried.value < best.value else best
        near = found.y if best.y is None else best.y
        if found.bound >= best.value - REMOVAL_CLOSED:
            bound = min(bound, found.bound)
            continue
        for lo, hi in _halves_of_box(discrete, found.y, low, high):
            heapq.heappush(boxes, (found.bound, next(number), lo, hi))
    bound = min([bound, *(b for b, *_ in boxes)])
    if best.y is None:
        return Removed(None, math.inf, bound, (), whole and math.isinf(bound), programs)
    return Removed(best.y, best.value, min(bound, best.value), best.left_out, whole, programs)


def _design_by_violation(problem: Sampled, y: Array) -> Removed:
    """A design that leaves out the samples that miss most at ``y``, without a bound."""
    out = removal.worst(problem, y)
    there, value, _ = removal.without(problem, out, y)
    return Removed(there, value, -math.inf, out, False, 1)


def nearest(v: Variable, y: float, side: int) -> float:
    """Return the logarithm of the last allowed value not above exp(y) (-1) or of the first not below (1)."""
    x = math.exp(y)
    if v.decision.values is None:
        return math.log(max(math.floor(x * (1 + AT)) if side < 0 else math.ceil(x * (1 - AT)), 1))
    values = np.asarray(v.decision.values, dtype=float)
    if side < 0:
        place = int(np.searchsorted(values, x * (1 + AT), side="right")) - 1
    else:
        place = int(np.searchsorted(values, x * (1 - AT)))
    return math.log(values[min(max(place, 0), values.size - 1)])


def _rounded_designs(discrete: Discrete, y: Array, low: Array, high: Array) -> Iterator[Array]:
    """Go through the designs with each discrete number rounded down, and up; once where these are the same."""
    seen = set()
    for side in (-1, 1):
        at = y.copy()
        for i, v in discrete:
            at[i] = min(max(nearest(v, y[i], side), low[i]), high[i])
        if at.tobytes() not in seen:
            seen.add(at.tobytes())
            yield at


def _with_discrete_held(discrete: Discrete, y: Array, ends: Array) -> Array:
    found = ends.copy()
    for i, _ in discrete:
        found[i] = y[i]
    return found


def _halves_of_box(discrete: Discrete, y: Array, low: Array, high: Array) -> Iterator[tuple[Array, Array]]:
    """Cut a box at the number that is farthest from an allowed value; an allowed value becomes a box of its own."""
    open_ones = [(i, v) for i, v in discrete if high[i] > low[i]]
    if not open_ones:
        return
    i, v = max(
        open_ones,
        key=lambda p: min(y[p[0]] - nearest(p[1], y[p[0]], -1), nearest(p[1], y[p[0]], 1) - y[p[0]]),
    )
    down, up = nearest(v, y[i], -1), nearest(v, y[i], 1)
    cuts = [(low[i], down), (up, high[i])]
    if up - down <= AT:
        cuts = [(low[i], nearest(v, down - 3 * AT, -1)), (down, down), (nearest(v, up + 3 * AT, 1), high[i])]
    for a, b in cuts:
        # the ends of a list come back as themselves: nothing lies beyond them
        if a <= b + 1e-15 and (len(cuts) == 2 or (a, b) == (down, down) or not a <= down <= b):
            lo, hi = low.copy(), high.copy()
            lo[i], hi[i] = a, b
            yield lo, hi
