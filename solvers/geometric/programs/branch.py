"""Certified minima of structured problems by branch and bound: of one problem, or of many points together.

Both are the search of ``solvers.geometric.programs.tree``. One problem costs what its calls of the kernel cost, many
points what their programs cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids import quotients
from formulations.grids.divided import take
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_together import ITERATIONS, Programs
from solvers.geometric.programs import tree
from solvers.geometric.programs.tree import FEASIBLE, Reached, Searched, Wanted
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL
from solvers.patterns import groups

__all__ = [
    "FAILED",
    "FEASIBLE",
    "INFEASIBLE",
    "OPTIMAL",
    "Reached",
    "Searched",
    "closely",
    "dividing",
    "search",
]

MOST_NODES = 12000
"""Nodes of one problem."""
MOST_NODES_PER_POINT, MOST_NODES_OF_A_SET = 400, 1200
"""Nodes of one of many points: what is not closed by then is left over; and of some limits of one question."""
FEW_NODES_OF_A_SET = 100
"""The same of a question that intervals may tell sooner, before they are asked."""
CLOSE_OF_ONE = 1e-10
"""In logs of the goal, of one problem: what is closed to this is closed."""
NODES_BEFORE_DIVISION, FEW_NODES, WIDE_GAP = 40, 16, 1e-2
"""Nodes of a point after which its ratio is looked at, and after which that is so where the gap is wide."""
NODES_OF_ONE_BEFORE_DIVISION = 300
"""The same of one problem, of which nodes cost less than another search."""
NODE_GAP = 1e-8
"""In logs of the goal, at many points: what is closed to this is closed."""
PART_FOR_NODES = 0.1
"""Of the gap that a search closes: the gap to which the relaxation of a node is solved."""
ANY, EASIER, TIGHT = 10.0, 1e-7, 1e-9
"""Gaps that the kernel closes: where any design does, where only a value is wanted (what is proved closes it to
NODE_GAP all the same), and elsewhere."""


def closely(
    c: Canonical,
    *,
    gap: float = CLOSE_OF_ONE,
    reached: Reached | None = None,
    most: int = MOST_NODES,
    reach: bool = False,
) -> Searched:
    """Minimise the goal of one problem as closely as single questions are asked.

    ``gap``: absolute, in the logarithm of the goal. ``reached``: what this search and those beside it have found; only
    the best of all is looked for, so that what this one finds need not be its own best, but its bound holds up to the
    level that is reached. ``most``: nodes after which the search ends where it is. ``reach``: how far the designs reach
    that are as good as the best.
    """
    solve = side_by_side.solve
    before, few = NODES_OF_ONE_BEFORE_DIVISION, most
    return dividing(
        c, solve, most=most, before=before, few=few, value_only=not reach, gap=gap, reached=reached
    )


def search(
    c: Canonical,
    solve: Callable[..., gp.Result],
    *,
    any_design: bool = False,
    value_only: bool = False,
    most: int = MOST_NODES_PER_POINT,
    gap: float = NODE_GAP,
    start: Array | None = None,
    reached: Reached | None = None,
    few: int = MOST_NODES,
    wide: float = 0.0,
    strictly: bool = False,
) -> Searched:
    """Minimise the goal of every point of ``c``, which has a row of coefficients for each.

    ``any_design``: the first design found ends its search, proof or none. ``value_only``: nobody asks how far the
    designs reach that are as good as the best.
    ``start``: a feasible design of every point. ``reached``: see ``closely``, of one point. ``few``, ``wide``,
    ``strictly``: see ``tree.Wanted``.
    """
    if not c.divisors and not c.allowed:
        return _programs(
            c, solve(c.exponents, c.logc, c.ptr, c.low, c.high, **({"tol": ANY} if any_design else {}))
        )
    tol = ANY if any_design else EASIER if value_only and gap >= NODE_GAP else min(TIGHT, gap)

    def solved(p: Programs) -> gp.Result:
        # a node that jams is cut, or its point left over, sooner than it is solved
        content = np.ones(len(p.logc), bool)
        near = tol if any_design or p.enough is None else PART_FOR_NODES * gap
        return solve(
            p.A, p.logc, p.ptr, p.low, p.high,
            hurried=True, max_iterations=ITERATIONS, tol=near, content=content, enough=p.enough,
        )  # fmt: skip

    alone = solve is side_by_side.solve
    # what is asked beside a single question goes to the kernel in the same calls
    ask = side_by_side.solve_all if alone else lambda asked: [solved(p) for p in asked]
    reach = not (value_only or any_design)
    wanted = Wanted(
        gap,
        most,
        any_design=any_design,
        reach=reach,
        fewest_calls=alone,
        reached=reached,
        few=few,
        wide=wide,
        strictly=strictly,
    )
    return tree.search(c, ask, wanted, start)


def dividing(
    c: Canonical,
    solve: Callable[..., gp.Result],
    *,
    most: int = MOST_NODES_PER_POINT,
    before: int = NODES_BEFORE_DIVISION,
    few: int = FEW_NODES,
    **how: Any,
) -> Searched:
    """Do the same where ratios may hardly depend on the design, which takes many nodes.

    Where a few do not tell (``before``, or ``few`` where the gap is wide), what divides without a remainder is taken
    out of the ratios, which needs one more variable for each sum that divides, and fewer nodes. Where nothing does, or
    cuts make relaxations tight already, the search goes on as it began.
    """
    divides = np.array(quotients.taken(c).any(axis=1))
    if not divides.any() or c.tighter is not None:
        return search(c, solve, most=most, **how)
    found = search(c, solve, most=min(before, most // 2), few=few, wide=WIDE_GAP, **how)
    some = np.flatnonzero((found.status == FAILED) & (found.alone is None))
    for which, _ in groups(quotients.made_of(take(c, some))) if some.size else ():
        places, own = some[which], take(c, some[which])
        if not divides[places[0]]:
            found.put(places, search(own, solve, most=most, **how))
            continue
        parted, first = quotients.apart(own), found.take(places)
        start = quotients.with_divisors(parted, first.y)
        r = search(parted, solve, most=most, start=start, **how)
        y, low, high = (x[:, : len(c.names)] for x in (r.y, r.low, r.high))
        value = np.where(np.isnan(y[:, 0]), np.inf, canon.values(own, y)[:, 0])
        bound = np.minimum(np.maximum(first.bound, r.bound), value)
        found.put(
            places, replace(r, y=y, value=value, bound=bound, low=low, high=high, nodes=first.nodes + r.nodes)
        )
    return found


def _programs(c: Canonical, r: gp.Result) -> Searched:
    """What came of problems that are geometric programs as they stand."""
    met = (r.status != INFEASIBLE) & (r.violation <= FEASIBLE)
    y, value = np.where(met[:, None], r.y, np.nan), np.where(met, r.value, np.inf)
    return Searched(r.status, y, value, r.bound, c.low, c.high, np.ones(met.size, np.int64), r)
