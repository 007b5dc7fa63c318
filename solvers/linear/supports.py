"""Whole-number programs in which at most a few of several things may be there: branch and bound on which ones.

Rows "at most k of these indicators are 1" hold a relaxation back hardly at all, since an indicator of an amount
needs to be no more than the amount over the most it can be. So the choice is branched on here: a thing is taken in
or left out, what follows from that is fixed, and each part is bounded by its linear program. Only where all is
chosen does the mixed-integer solver see what is left, a few columns.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools
from formulations.programs.row_ends import FOR_OPEN, upper_ends
from solvers import designs
from solvers.linear import least_parts, linear_program
from solvers.linear.linear_program import End, Numbers, Result

MOST_SUPPORT_NODES = 800
MOST_SEARCHED = 3
"""Parts that the mixed-integer solver is asked for before it is asked for all of them at once."""
LARGE_AMOUNT = 1000.0
SUPPORT_WHOLE = 1e-6
SUPPORT_GAP = 1e-9

Solve = Callable[["Numbers", "Array"], "Result"]
Search = Callable[..., "Result"]


def few_of_several(n: Numbers) -> Bools:
    """Which rows allow some indicators but not all, if there are any of amounts so large that hardly any is needed."""
    flags = n.integer & (n.low == 0.0) & (n.high == 1.0)
    if n.indicators is not None:
        # what is no indicator of an amount bounds a relaxation well enough
        flags &= n.indicators
    of, size = n.rows[:, :-1], n.rows[:, :-1].max(axis=1, initial=0.0)
    alike = ~n.equal & ((of == 0.0) | (flags & (of == size[:, None]))).all(axis=1)
    with np.errstate(all="ignore"):
        most = np.floor(-n.rows[:, -1] / size + SUPPORT_WHOLE)
        amounts = np.where(of > 0.0, of * n.high, 0.0).sum(axis=1)[:, None]
    found: Bools = alike & (most > 0.0) & (most < np.count_nonzero(of, axis=1))
    hardly = ((of < 0.0) & (np.minimum(-of, amounts) > LARGE_AMOUNT)).any(axis=0)
    return found if (hardly & of[found].any(axis=0)).any() else np.zeros_like(found)


def minimise(
    n: Numbers, cost: Array, gap: float, few: Array, relaxation: Solve, whole: Search
) -> Result | None:
    """Minimise ``cost . u``; None where the parts are too many, or a relaxation has no end.

    ``few``: the rows that allow only some of several things. ``relaxation`` and ``whole`` solve one part, with and
    without divisible numbers; ``whole`` is told multipliers of its rows. Where many parts have nearly the same bound
    all are searched at once, unless what that finds is worse than a design of one of them.
    """
    found = _by_parts(n, cost, gap, few, relaxation, whole, MOST_SEARCHED)
    if found is None or found.end is not End.FAILED:
        return found
    every = whole(n, cost, gap)
    if every.u is not None and every.value <= found.value:
        return replace(every, known=found.known)
    found = _by_parts(n, cost, gap, few, relaxation, whole, MOST_SUPPORT_NODES)
    return None if found is None or found.end is End.FAILED else found


def _by_parts(
    n: Numbers, cost: Array, gap: float, few: Array, relaxation: Solve, whole: Search, most: int
) -> Result | None:
    """The same part by part; failed, with the best design so far, where ``whole`` has been asked ``most`` times."""
    best, bounds, number, searched = Result(End.INFEASIBLE), list[float](), itertools.count(), 0
    told, lines = [*n.known], _lines_below(n, cost)
    # the last part first of those with the same bound: a design is near, and what is left out may need no program then
    waiting: list[tuple[float, int, Array, Array, Result]]
    waiting = [(-math.inf, 0, n.low, n.high, Result(End.FAILED))]
    while waiting:
        # from this bound on a part has nothing better
        enough = best.value if best.u is None else best.value - max(gap, SUPPORT_GAP * abs(best.value))
        bound, _, low, high, found = heapq.heappop(waiting)
        if bound >= enough:
            bounds.append(bound)
            break
        if next(number) > MOST_SUPPORT_NODES or searched == most:
            return replace(best, end=End.FAILED, known=tuple(told))
        high = _ends(n, cost, low, high)
        near = replace(n, low=low, high=high)
        bound = _bound_between(lines, low, high)
        if bound >= enough:
            bounds.append(bound)
            continue
        if found.u is None or (found.u[:-1] > high).any():
            found = relaxation(near.relaxed(), cost)
            told += [found.multipliers] if found.multipliers is not None else []
        better = found.u is not None and found.bound < enough
        over = few[few[:, :-1] @ high + few[:, -1] > SUPPORT_WHOLE]
        if better and not len(over):
            # nothing is left to choose from
            found, searched = whole(near, cost, y=found.multipliers), searched + 1
        if found.u is None:
            if found.end is not End.INFEASIBLE:
                return None
        elif better and len(over):
            for part in _with_or_without(n, cost, found, over, (low, high)):
                heapq.heappush(waiting, (found.bound, -next(number), *part))
        else:
            bounds.append(found.bound)
            if better and found.value < best.value:
                best = replace(found, multipliers=None)
    return best if best.u is None else _best_of_parts(n, cost, best, bounds, told)


def _bound_between(lines: tuple[Array, Array], low: Array, high: Array) -> float:
    """What lines say that nothing between two ends is below; infinite where no point there meets the rows."""
    least = linear_program.least_between(*lines, low, high)
    # a sum of rows that is above 0 proves that no point meets them
    none = (high < low).any() or (least[1:] > 0.0).any()
    return math.inf if none else float(least[0].max(initial=-math.inf))


def _with_or_without(
    n: Numbers, cost: Array, found: Result, over: Array, ends: tuple[Array, Array]
) -> list[tuple[Array, Array, Result]]:
    """Both parts by the thing that a relaxation needs most: without it, and with it."""
    assert found.u is not None, "of an optimum a thing is taken in"
    low, high = ends
    several = over[:, :-1].any(axis=0) & (low < high)
    taken = np.arange(len(low)) == np.where(several, _needed(n, found.u), -1.0).argmax()
    without = low, np.where(taken, 0.0, high), Result(End.FAILED)
    return [without, (np.where(taken, 1.0, low), high, _with_taken(n, cost, found, taken))]


def _best_of_parts(n: Numbers, cost: Array, best: Result, bounds: list[float], told: list[Array]) -> Result:
    """The best of all parts, with their bound, and whether it is the only one that is as good."""
    most = designs.as_good_as(best.value)
    # what is not needed has been left out: it must cost more than what counts as a tie
    asked = n.low < n.high if n.indicators is None else (n.low < n.high) & ~n.indicators
    costly = (cost[:-1] > most - best.value)[asked].all()
    sole = best.sole and bool(costly) and sum(b <= most for b in bounds) == 1
    return replace(best, bound=min([*bounds, best.value]), sole=sole, known=tuple(told))


def _lines_below(n: Numbers, cost: Array) -> tuple[Array, Array]:
    """What multipliers that are known make of the costs, and to both sides of nothing (3, K, n + 1), with rounding."""
    y = np.array([y for y in n.known if len(y) == len(n.rows)]).reshape(-1, len(n.rows))
    none = np.zeros_like(cost)
    lines = [
        linear_program.reduced_costs(n.rows, n.equal, *way) for way in ((cost, y), (none, y), (none, -y))
    ]
    return np.stack([slope for slope, _ in lines]), np.stack([noise for _, noise in lines])


def _with_taken(n: Numbers, cost: Array, found: Result, taken: Bools) -> Result:
    """The optimum of a relaxation with an indicator at 1, where that is another optimum: nothing to be solved anew."""
    assert found.u is not None, "of an optimum a thing is taken in"
    u = np.where(np.append(taken, False), 1.0, found.u)
    is_another = not cost[:-1][taken].any() and n.holds(u, SUPPORT_GAP)
    return replace(found, u=u) if is_another else Result(End.FAILED)


def _ends(n: Numbers, cost: Array, low: Array, high: Array) -> Array:
    """The upper ends that rows imply, of what nothing gains from the lower ones; ends below these leave no design."""
    implied = upper_ends(n.rows, low, high, n.integer)
    # of what can be divided an end that is reached says more than rounding
    lost = implied < low - SUPPORT_GAP * np.maximum(1.0, np.abs(low))
    high = np.where(n.integer | lost, implied, np.where(implied <= low, low, high))
    ends = np.clip([low, high], -FOR_OPEN, FOR_OPEN)[..., None]
    most = least_parts.most(n.rows[:, :-1, None], n.rows[:, -1:], *ends)
    asking = n.rows[n.equal | ~(most[:, 0] <= 0.0), :-1]
    gains = (asking < 0.0).any(axis=0) | (n.rows[n.equal, :-1] != 0.0).any(axis=0) | (cost[:-1] < 0.0)
    return np.where(gains | lost | np.isinf(low), high, low)


def _needed(n: Numbers, u: Array) -> Array:
    """What each column has to be at least, by the rows that it can make room in, at a point of all others."""
    step = np.maximum(-n.rows[:, :-1], 0.0)
    missing = (n.rows @ u)[:, None] + step * u[:-1]
    return np.asarray(
        np.divide(missing, step, out=np.zeros_like(step), where=step > 0.0).max(axis=0, initial=0.0)
    )
