"""Linear and mixed-integer programs as numbers, solved by HiGHS.

An LP's bound is worked out again from its multipliers: a lower bound by weak duality needs no trust in the
solver, since any multipliers give one, bad ones a weak one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dse.system.arrays import Array
from formulations.programs.chosen_maxima import all_choices, at_largest
from solvers.linear import large_numbers, least_parts, linear_program, scaling, supports, whole_parts
from solvers.linear.linear_program import End, Numbers, Result
from solvers.linear.scaling import HIGHS_FEASIBLE, MIP_GAP, MIP_WHOLE, TOLERANCES

if TYPE_CHECKING:
    import highspy

RAY_ROUNDING = 1e-9
"""What of a direction without end, and of its product with a row, counts as 0, relative."""
OF_MAXIMA = 1e-12
"""Relative: a design whose maxima are put to their largest arguments is no worse by more than that."""
MOST_PARTS_REFUTED = 8
"""Whole parts of which each is shown to leave no point, where a search finds none."""
ROUGH_SHARE = 0.5
"""Relative gap at which the bound of a search is known to be above 0."""
MISSED_FOR_SURE = 1e-8
"""Of the size of every row: by so much all may give, and whole numbers still meet them nowhere."""
SEARCH_NODES, NODES_OF_ANY, TRIAL_NODES = 200_000, 20_000, 1000
"""Of a search, and of one for any point: whole numbers in a thin strip, as one sum held to one value, never end it."""


def minimise(
    n: Numbers, cost: Array, gap: float = 0.0, *, worse: float = math.inf, share: float = MIP_GAP
) -> Result:
    """Minimise ``cost . u``; ``gap``: absolute gap of the objective that is enough beside the relative one, ``share``.

    Whole numbers come back whole and everything else as the best vertex of the linear program that they leave; if no
    value is below ``worse``, as the search leaves it.
    """
    free = n.integer & (n.low < n.high)
    if not free.any():
        return _solved_linear_program(n.relaxed(), cost)
    if n.maxima:
        found = _with_loose_maxima(n, cost, gap, worse, share)
        return (
            minimise(replace(n, maxima=()), cost, gap, worse=worse, share=share) if found is None else found
        )
    few, whole = n.rows[supports.few_of_several(n)], partial(_searched_integers, share=share)
    chosen = of_sets(n, cost) if len(few) else None
    if chosen is None and len(few):
        chosen = supports.minimise(n, cost, gap, few, _solved_linear_program, whole)
    return _searched_integers(n, cost, gap, worse, share=share) if chosen is None else chosen


def _with_loose_maxima(n: Numbers, cost: Array, gap: float, worse: float, share: float) -> Result | None:
    """The same where what is best with maxima that may be larger than their arguments does not profit from it."""
    if cost[all_choices(n.maxima)].any():
        return None
    found = minimise(n.with_loose_maxima(), cost, gap, worse=worse, share=share)
    if found.u is None:
        return found if found.end is End.INFEASIBLE else None
    u = at_largest(n.maxima, found.u, n.low, n.high)
    value = float(cost @ u)
    if value > found.value + OF_MAXIMA * abs(found.value) or not meets(n, u):
        return None
    return Result(End.FOUND, u, value, min(found.bound, value))


def of_sets(n: Numbers, cost: Array) -> Result | None:
    """Minimise where each set of things that may be there has a least design: asks no solver. None elsewhere."""
    flags = n.integer & (n.low == 0.0) & (n.high == 1.0)
    parts = whole_parts.whole_parts(replace(n, integer=flags))
    return None if parts is None else least_parts.minimise(n, cost, np.where(flags, parts, np.nan))


def _searched_integers(
    n: Numbers,
    cost: Array,
    gap: float = 0.0,
    worse: float = math.inf,
    y: Array | None = None,
    share: float = MIP_GAP,
) -> Result:
    """One search of HiGHS over whole numbers, then the linear program that they leave (see ``minimise``).

    ``y``: multipliers of the rows at the optimum of divisible numbers, if these are known.
    """
    if not n.integer.any():
        return _solved_linear_program(n, cost)
    n = large_numbers.with_implied_ends(n, cost, lambda near: _point_that_meets(near, cost))
    whole = partial(_searched_integers, share=share)
    if (large := large_numbers.minimise(n, cost, gap, _solved_linear_program, whole)) is not None:
        return large
    found = _called_highs(n, cost, gap, share=share)
    if whole_parts.has_wide_lists(n):
        # presolve has lost the largest entry of a list, and numbers of 1e30 are lost without it
        found = _better(found, _called_highs(n, cost, gap, presolve=False, share=share))
    if found.end is End.INFEASIBLE:
        if _is_refuted_at_once(n):
            return found
        # presolve loses the points of programs that a limit leaves very few, where a short search finds one
        trial = _called_highs(n, cost, gap, presolve=False, share=share, nodes=TRIAL_NODES)
        # to search the least miss may take many times as long as the program itself, and a point bounds it, too
        if (trial.u is None or _misses(n, trial.u) > MISSED_FOR_SURE) and _is_missed_for_sure(n):
            return found
        found = trial
    # any point will do where nothing is to be small
    sought = found.u is not None and cost[:-1].any()
    # at tight tolerances maxima that are held to one of their terms have been called infeasible
    many = sought and whole_parts.has_many_values(n)
    listed = _least_listed(n, cost, found, y) if many and n.integer.all() else None
    if listed is not None:
        return listed
    if many or found.end is End.INFEASIBLE or found.end is End.FAILED:
        found = _better(found, _searched_loosely(n, cost, gap, share))
    if found.u is None:
        return Result(End.FAILED) if found.end is End.INFEASIBLE else _without_end(n, cost)
    if n.integer.all() or found.bound >= worse:
        u = np.where(np.append(n.integer, False), np.round(found.u), found.u)
        return Result(End.FOUND, u, float(cost @ u), found.bound)
    rest = _solved_linear_program(n.fixed(found.u), cost)
    if rest.u is None:
        return Result(End.FAILED)
    return Result(End.FOUND, rest.u, rest.value, min(found.bound, rest.value))


def _point_that_meets(n: Numbers, cost: Array) -> Result:
    """What one search finds, with whole numbers whole, if it meets the rows."""
    if (found := _called_highs(n, cost, 0.0, share=ROUGH_SHARE, nodes=TRIAL_NODES).u) is None:
        return Result(End.FAILED)
    u = np.where(np.append(n.integer, False), np.round(found), found)
    # of a flag before large numbers a share that counts as 0 lets some through
    flag = np.append(n.integer & (n.low == 0.0) & (n.high == 1.0), False)
    for point in (u, np.where(flag, 1.0, u)):
        if meets(n, point):
            return Result(End.FOUND, point, float(cost @ point))
    return Result(End.FAILED)


def _least_listed(n: Numbers, cost: Array, found: Result, y: Array | None) -> Result | None:
    """The least of all whole points that are as good as one of them, where these are few: no search has to be believed.

    ``y``: see ``held_to``.
    """
    as_good = linear_program.no_worse(cost, linear_program.constant_column(len(cost)), found.value)
    parts = whole_parts.whole_parts(held_to(n, as_good, y))
    every = [] if parts is None else list(np.insert(parts, len(cost) - 1, 1.0, axis=1))
    points = [u for u in every if meets(n, u)]
    if not points:
        return None
    best = min(points, key=lambda u: float(cost @ u))
    value = float(cost @ best)
    return Result(End.FOUND, best, value, value, sole=len(points) == 1)


def held_to(n: Numbers, row: Array, y: Array | None = None) -> Numbers:
    """The program with one more row, that its points are as good as one of them, and the ends that follow from it.

    ``y``: multipliers of the other rows, best those of the least of the row among divisible numbers (asked by default).
    """
    y = _solved_linear_program(n.relaxed(), row).multipliers if y is None else y
    return whole_parts.narrowed(n, row, y).with_rows(row)


def _searched_loosely(n: Numbers, cost: Array, gap: float, share: float) -> Result:
    """A search at the tolerances of HiGHS itself; its point is the best that its whole numbers leave at tight ones."""
    if (found := _called_highs(n, cost, gap, tight=False, share=share)).u is None:
        return found
    rest = _called_highs(n.fixed(found.u), cost, 0.0)
    return replace(rest, bound=min(found.bound, rest.value), multipliers=None)


def _without_end(n: Numbers, cost: Array) -> Result:
    """What became of a program with whole numbers that HiGHS calls neither solved nor infeasible."""
    free = _solved_linear_program(n.relaxed(), cost)
    if free.end is End.UNBOUNDED and _called_highs(n, np.zeros_like(cost), 0.0).u is not None:
        return free
    return Result(End.FAILED)


def _solved_linear_program(n: Numbers, cost: Array) -> Result:
    found = _called_highs(n, cost, 0.0)
    if found.end is End.INFEASIBLE and not _refuted(n, found.multipliers):
        return Result(End.FAILED)
    if found.end is End.UNBOUNDED and not _falls(n, cost, found.ray):
        return Result(End.FAILED)
    if found.u is None or found.multipliers is None:
        return found
    bound = weak_duality(n, cost, found.multipliers)
    return Result(End.FOUND, found.u, found.value, bound, found.multipliers)


def weak_duality(n: Numbers, cost: Array, multipliers: Array) -> float:
    """Least possible ``cost . u`` by weak duality (minus infinity where the multipliers prove nothing)."""
    return float(linear_program.weak_duality(n.rows, n.equal, n.low, n.high, cost, multipliers))


def _refutes(n: Numbers, multipliers: Array | None) -> bool:
    """Whether multipliers of the rows prove in floats that a linear program has no point (Farkas' lemma)."""
    if multipliers is None:
        return bool((n.low > n.high).any())
    nothing = np.zeros(n.rows.shape[1])
    return max(weak_duality(n, nothing, sign * multipliers) for sign in (1.0, -1.0)) > 0.0


def _refuted(n: Numbers, multipliers: Array | None) -> bool:
    """Whether a linear program is proved to have no point, by multipliers of HiGHS or of ``_least_miss``."""
    return _refutes(n, multipliers) or _refutes(n, _least_miss(n).multipliers)


def _is_refuted_at_once(n: Numbers) -> bool:
    """Whether no search is needed to prove that a program with whole numbers has no point.

    There is no whole part, or no whole part leaves a point, or even divisible numbers have none.
    """
    parts, nothing = whole_parts.whole_parts(n), np.zeros(n.rows.shape[1])
    if parts is not None and len(parts) > MOST_PARTS_REFUTED:
        parts = None
    left = [n.fixed(np.append(part, 1.0)) for part in parts] if parts is not None else [n.relaxed()]
    return all(_solved_linear_program(m, nothing).end is End.INFEASIBLE for m in left)


def _is_missed_for_sure(n: Numbers) -> bool:
    """Whether the bound of a search in which all rows may give shows that whole numbers have no point."""
    near, nothing = large_numbers.nearer(n), np.zeros(n.rows.shape[1])
    if (near.low > near.high).any():
        return True
    exact = large_numbers.may_be_searched(
        n, lambda near: _called_highs(near.relaxed(), nothing, 0.0).u is not None
    )
    return exact and _least_miss(near).bound > MISSED_FOR_SURE


def _misses(n: Numbers, u: Array) -> float:
    """By how much of its size a point with whole numbers misses the row that it misses most."""
    over = n.rows @ np.where(np.append(n.integer, False), np.round(u), u)
    return float((np.where(n.equal, np.abs(over), over) / n.sizes).max(initial=0.0))


def _least_miss(n: Numbers) -> Result:
    """The least multiple of their size by which all rows of a program have to give, and what its rows are worth."""
    size = n.sizes
    both = np.concatenate([np.arange(len(n.rows)), np.flatnonzero(n.equal)])
    sign = np.where(np.arange(len(both)) < len(n.rows), 1.0, -1.0)
    none = np.zeros(len(both), dtype=bool)
    split = replace(n, rows=n.rows[both] * sign[:, None], equal=none, indicators=None)
    # that there is a bound is enough
    found = _called_highs(*split.eased(size[both], np.inf), 0.0, share=ROUGH_SHARE)
    if found.multipliers is None:
        return found
    y = np.asarray(np.bincount(both, found.multipliers * sign, minlength=len(n.rows)), dtype=float)
    return replace(found, multipliers=y)


def _falls(n: Numbers, cost: Array, ray: Array | None) -> bool:
    """Whether a direction meets no row and no end of a linear program in floats, and lowers its costs."""
    if ray is None:
        return False
    step = np.where(np.abs(ray) <= RAY_ROUNDING * np.abs(ray).max(initial=0.0), 0.0, ray)
    if ((step < 0.0) & np.isfinite(n.low) | (step > 0.0) & np.isfinite(n.high)).any():
        return False
    lowers = cost[:-1] @ step < -RAY_ROUNDING * (np.abs(cost[:-1]) @ np.abs(step))
    return bool(lowers and n.holds(np.append(step, 0.0), RAY_ROUNDING))


def meets(n: Numbers, u: Array) -> bool:
    """Whether a point is one of a program, in plain floats."""
    at, whole = u[:-1], np.where(n.integer, np.round(u[:-1]), u[:-1])
    if ((at < n.low) | (at > n.high) | (np.abs(at - whole) > MIP_WHOLE)).any():
        return False
    return n.holds(u, HIGHS_FEASIBLE)


def _better(one: Result, other: Result) -> Result:
    """The first of two searches of one program, unless the other has a better point: the first bound is false then."""
    if one.u is None or other.u is None:
        return other if one.end is End.FAILED or other.u is not None else one
    if other.value >= one.value - MIP_GAP * abs(one.value):
        return one
    return replace(other, bound=min(one.bound, other.bound))


def _called_highs(
    n: Numbers,
    cost: Array,
    gap: float,
    *,
    tight: bool = True,
    presolve: bool = True,
    share: float = MIP_GAP,
    nodes: int = SEARCH_NODES,
    whole: bool = False,
) -> Result:
    """One call of HiGHS on balanced numbers, which must be numbers: it crashes on others.

    ``tight``: with tolerances far below its own; ``share``: relative gap that is enough, of costs without their
    constant unless ``whole``; ``nodes``: at most so many.
    """
    if not (np.isfinite(n.rows).all() and np.isfinite(cost).all()):
        return Result(End.FAILED)
    if large_numbers.in_a_strip(n):
        near = partial(_called_highs, gap=gap, tight=tight, presolve=presolve, share=share, nodes=TRIAL_NODES)
        return large_numbers.in_near_strip(n, cost, near, _solved_linear_program)
    import highspy  # only where there is a program to solve: it takes longer than most answers

    row, column = scaling.balance(n)
    row = scaling.raised(n, row, column, scaling.least_entry(n), HIGHS_FEASIBLE)
    size = scaling.unit_of_costs(np.abs(cost[:-1] * column)[n.low < n.high])
    size *= scaling.FINER if whole else 1.0
    h = scaling.model(n, cost, row, column, size, gap, share, presolve=presolve)
    constant = float(cost[-1])
    if whole:
        h.changeObjectiveOffset(constant / size)
    h.setOptionValue("mip_max_nodes", nodes if cost[:-1].any() else min(nodes, NODES_OF_ANY))
    if not tight:
        usual = highspy.Highs()
        for name in TOLERANCES:
            h.setOptionValue(name, usual.getOptionValue(name)[1])
    h.run()
    if (end := _end_of_highs(h)) is not End.FOUND:
        ray = _ray(h, n, cost, column) if end is End.UNBOUNDED else None
        return Result(end, ray=ray, multipliers=_dual_ray(h, row) if end is End.INFEASIBLE else None)
    solution = h.getSolution()
    u = np.append(np.clip(np.asarray(solution.col_value) * column, n.low, n.high), 1.0)
    value = float(cost @ u)
    if n.integer.any():
        told = float(h.getInfo().mip_dual_bound) * size
        bound = told if whole else told + constant
        # of a difference that is to be 0 (see ``milp.ratio``) an absolute gap is enough
        if gap > 0.0 or not scaling.cancels(bound, constant):
            return Result(End.FOUND, u, value, bound)
        if not whole:
            # the gap that is enough would be one of huge costs, of which next to nothing is left
            return _called_highs(
                n, cost, gap, tight=tight, presolve=presolve, share=share, nodes=nodes, whole=True
            )
        return Result(End.FOUND, u, value, bound - scaling.lost(constant, MIP_WHOLE * size))
    # HiGHS gives <= rows of a minimisation multipliers <= 0
    multipliers = -np.asarray(solution.row_dual) * row * size if len(row) else np.zeros(0)
    return Result(End.FOUND, u, value, multipliers=multipliers)


def _end_of_highs(h: highspy.Highs) -> End:
    import highspy

    ends = highspy.HighsModelStatus
    if (status := h.getModelStatus()) == ends.kUnboundedOrInfeasible:
        h.setOptionValue("presolve", "off")
        h.run()
        status = h.getModelStatus()
    if status == ends.kOptimal:
        return End.FOUND
    return {ends.kInfeasible: End.INFEASIBLE, ends.kUnbounded: End.UNBOUNDED}.get(status, End.FAILED)


def _dual_ray(h: highspy.Highs, row: Array) -> Array | None:
    """Multipliers of the rows of an infeasible linear program that HiGHS holds for a proof; None where it has none."""
    _, has, multipliers = h.getDualRay()
    return np.asarray(multipliers)[: len(row)] * row if has else None


def _ray(h: highspy.Highs, n: Numbers, cost: Array, column: Array) -> Array | None:
    _, has, direction = h.getPrimalRay()
    if has:
        return np.asarray(direction)[: len(column)] * column
    # where presolve alone, or a program without rows, ended the run: the steepest direction that meets no end
    free = np.where(np.isfinite(n.low), 0.0, -column), np.where(np.isfinite(n.high), 0.0, column)
    rows, slope = n.rows.copy(), cost.copy()
    rows[:, -1] = slope[-1] = 0.0
    found = _called_highs(Numbers(rows, n.equal, *free, np.zeros_like(n.integer)), slope, 0.0)
    return None if found.u is None else found.u[:-1]
