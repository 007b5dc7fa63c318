"""Ratios of posynomials: all points of a block solved together, each with its own certificate.

The model runs once with many numbers for coefficients; an interior-point kernel then solves point after point. What
divides by sums of one or two variables' powers (a cap on average power) is searched by branch and bound over the same
kernel. Large grids are worth a compiler, smaller ones are solved by the same method in NumPy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools, Integers, Points
from formulations import handover
from formulations.arithmetics.many import Differ
from formulations.grids import batch, over_grid
from formulations.grids.batch import Batch
from formulations.grids.over_grid import Spread
from results.dataset import STATUS_CODES
from results.solution import Status
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import work
from solvers.geometric.explaining import relaxed_limits
from solvers.geometric.kernel import gp, put_in
from solvers.geometric.neighbours import neighbour_proofs
from solvers.geometric.neighbours.neighbour_proofs import Anchors, Found
from solvers.geometric.points import beside
from solvers.geometric.points.best_cases import best_case
from solvers.geometric.points.geometric_answers import (
    OTHER_TIES,
    Answers,
    answered,
    elasticities,
)
from solvers.geometric.programs import ties
from solvers.geometric.programs.optimal_face import Solver, Stages
from solvers.many_points import blocks, claims, effort
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import OF_A_STRUCTURE, OTHER_KIND, Offer, pays
from solvers.patterns import groups

KIND = "geometric program"
NOT_MANY = "the equations come out otherwise with many numbers at once"
SEARCH = "search"
OF_MONOMIALS = (
    "geometric {} {}",
    "{} over all points of a chunk, each with its own bound; what that leaves over one by one",
    "batch",
)
OF_SUMS = (
    "divided {} term",
    "branch and bound with monomial secants, {} over all nodes of all points of a chunk",
    SEARCH,
)
OF_WHOLE = ("divided {} term", "branch and bound, {} over all nodes of all points of a chunk", SEARCH)
"""What divides by monomials alone, what divides by sums, and several whole numbers: the name of the work that a term
is, how it is answered, and how a grid is cut into chunks."""
PIECE, SEARCHED_TOGETHER = 50_000, 2048
"""Points of a piece: setting up the arithmetic takes some ms, and two of them make a chunk; of a search each point has
a dozen nodes open, with exponents of their own."""
OF_DESIGNS = {"decided", "metric", "family"}
"""Roles of variables that depend on which of equally good designs is handed out: what limits are worth does not."""
FEWEST_NEAR = 8
"""Points for each that is answered in full from which the others start from those."""


def way(grid: Grid) -> Offer:
    """Return this way if every point's question is ratios of posynomials, which divide by sums of few variables only.

    Where they are searched a few points tell how long that takes.
    """
    spread = over_grid.spread(grid)
    if not all(batch.structure_at(spread, place) for place in grid.kinds()):
        return OTHER_KIND
    found = over(grid)
    if found.kind != SEARCH:
        return Offer(found)
    # a grid is put in order where its kernel is compiled
    return claims.offered(found, over(claims.thinned(grid), compiled=found.ordered))


def over(grid: Grid, *, compiled: bool | None = None) -> ByGroup:
    """Return the way over a grid, whose declared work is so much for each term of a point's program.

    ``compiled``: whether the kernel is, by default where that pays.
    """
    spread = over_grid.spread(grid)
    cases = batch.structure_at(spread, (0,) * len(grid.shape)) or ()
    whole = max((sum(v.discrete for v in case.variables) for case in cases), default=0)
    alone = OF_WHOLE if whole > 1 else OF_MONOMIALS
    name, text, kind = OF_SUMS if any(map(batch.divides, cases)) else alone
    term, terms = "whole term" if whole else "term", sum(map(work.terms, cases))
    in_numpy, by_compiler = ({name.format(how, term): float(terms)} for how in ("numpy", "compiled"))
    compiled = pays(work.total(in_numpy), grid) if compiled is None else compiled
    steps = _anchor_steps(spread) if compiled and kind != SEARCH else ()
    return ByGroup(
        spread,
        partial(answer, compiled=compiled, steps=steps),
        SEARCHED_TOGETHER if kind == SEARCH else PIECE,
        text.format("compiled interior point" if compiled else "interior point"),
        kind,
        by_compiler if compiled else in_numpy,
        ordered=compiled,
        threads=True,
        # of whole numbers a single answer tells where they next change, of cases what each of them says
        explains=not whole and len(cases) == 1,
    )


def _anchor_steps(spread: Spread) -> tuple[int, ...]:
    """Return how far anchors are from each other; none where starting from them is not worth it."""
    alike = blocks.alike_along(spread, made_of)
    apart = [a or n < OF_A_STRUCTURE for a, n in zip(spread.apart, alike, strict=True)]
    steps = neighbour_proofs.strides(spread.grid.shape, apart)
    return steps if math.prod(steps) >= FEWEST_NEAR else ()


def made_of(block: Block, question: Question, points: Points) -> tuple[Batch, ...] | None:
    """Run the model's arithmetic for some points, for each case; None where that has another structure."""
    first = batch.structure_at(block.spread, block.place(points[0]))
    return None if first is None else batch.of_question(first, question, (len(points),))


def answer(
    answers: BlockAnswers,
    block: Block,
    question: Question,
    points: Points,
    *,
    compiled: bool,
    steps: tuple[int, ...],
) -> Bools:
    """Answer some points of a block; on a large grid from a few points around that are answered first.

    ``steps``: how far these are from each other; empty: there are none.
    """
    cases = made_of(block, question, points)
    if cases is None:
        handover.hand_over(NOT_MANY, points.size)
        return np.zeros(points.size, bool)
    full, divides = answers.plan.full, any(b.arrays.divisors for b in cases)
    told = any(v.role in OF_DESIGNS for v in answers.plan.variables)
    solve = solver(compiled=compiled)
    # a case that is worse than something else says nothing of the others
    below = block.below[points] if block.below is not None and len(cases) == 1 else None
    # near others it is proved what is optimal, not what else is
    places = np.stack(block.places(points)) if steps and not (full or divides) else None
    each = []
    for k, made in enumerate(cases):
        near = None if places is None else _anchors(block.spread, places, k, steps)
        alone = len(cases) == 1
        each.append(_answered(made, solve, near, ranged=full, alone=alone, below=below, tied=told)[0])
    if any(found is None for found in each):
        handover.hand_over(OTHER_TIES, points.size)
        return np.zeros(points.size, bool)
    found = best_case(cases, [one for one in each if one is not None], solve)
    if full:
        known = beside.put(answers, points, cases[0], found, solve)
        found.why[(found.status > 0) & ~known], found.status[~known] = beside.UNEXPLAINED, 0
    _put_answers(answers, points, cases, found, solve)
    good: Bools = found.status != 0
    for reason, count in Counter(found.why[~good]).items():
        handover.hand_over(reason, count)
    return good


def _anchors(spread: Spread, places: Points, case: int, steps: tuple[int, ...]) -> Anchors | None:
    """Answer a case at a few points around others, for these to start from; None where there are none.

    ``places`` (axes, N): where the others are, all of one structure. ``steps``: how far the anchors are from each
    other. They are settled from fewer ones still in their turn.
    """
    shape = spread.grid.shape
    along, which = neighbour_proofs.anchors(places, shape, steps)
    # the first of the others goes along: only anchors of its structure tell them anything
    along = [np.append(a, p[0]) for a, p in zip(along, places, strict=True)]
    part = spread.part(along)
    block = Block(part, over_grid.whole(part.grid))
    group = next(points for points in block.alike() if points[-1] == block.size - 1)
    counts = np.array(block.shape) - 1
    inside = (np.stack(np.unravel_index(group, block.shape)) < counts[:, None]).all(axis=0)
    group = group[inside | (group == group[-1])]
    every, group = _of_one_structure(block, group)
    if every is None or len(group) == 1 or every[case].arrays.allowed:
        return None
    at = np.stack(np.unravel_index(group, block.shape))
    number = np.full(int(counts.prod()), -1)
    number[np.ravel_multi_index(tuple(at[:, :-1]), tuple(counts))] = np.arange(len(group) - 1)
    made = every[case]
    farther = neighbour_proofs.farther(steps, shape)
    there = np.stack([a[i] for a, i in zip(along, at, strict=True)])
    start = None if farther is None else _anchors(spread, there, case, farther)
    solve = solver(compiled=True)
    found, rule, near = _answered(made, solve, start, alone=len(every) == 1)
    if found is None or rule is None:
        return None
    best, conflicting = (found.status == STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE))
    best &= found.plain
    conflict = found.conflict & conflicting[:, None]
    settled = None if start is None or near is None else (start, near)
    known = neighbour_proofs.known(rule, best, found.y, found.multipliers, conflict, settled)
    return Anchors(known, np.where(which >= 0, number[which], -1))


def _of_one_structure(block: Block, points: Points) -> tuple[tuple[Batch, ...] | None, Points]:
    """Run the model's arithmetic for those of some points that have the structure of the last one."""
    while True:
        try:
            return made_of(block, block.question(points), points), points
        except Differ as apart:
            points = points[apart.holds == apart.holds[-1]]


def _answered(
    made: Batch,
    solve: Solver,
    start: Anchors | None,
    *,
    ranged: bool = False,
    alone: bool = True,
    below: Array | None = None,
    tied: bool = True,
) -> tuple[Answers | None, Stages | None, Found | None]:
    """Answer a batch, as far as that goes from what is known near by."""
    rule = ties.of_batch(made, solve)
    if rule is None:
        return None, None, None
    near = None if start is None else neighbour_proofs.settled(rule, start)
    found = answered(
        made, rule.solve, rule=rule, near=near, ranged=ranged, alone=alone, below=below, tied=tied
    )
    return found, rule, near


def solver(*, compiled: bool) -> Solver:
    """Return the kernel, compiled or not; for whoever only asks nothing is compiled."""
    if not compiled or effort.only_asked():
        return partial(put_in.solve, gp.solve)
    from solvers.geometric.kernel import compiled_batch as kernel

    return partial(put_in.solve, kernel.solve)


def _put_answers(
    answers: BlockAnswers,
    points: Integers,
    cases: Sequence[Batch],
    found: Answers,
    solve: Solver,
) -> None:
    """Put the answers of a piece where they belong; what is left over stays blank."""
    best, endless, none = (
        found.status == STATUS_CODES[s] for s in (Status.OPTIMAL, Status.UNBOUNDED, Status.INFEASIBLE)
    )
    answers.put(points, found.judged, best, elasticities(cases[0], found))
    answers.bounds(points, found.judged.bound, found.status == 0)
    answers.status(points[endless], Status.UNBOUNDED)
    if not none.any():
        return
    members = found.conflict & none[:, None]
    values = np.full(members.shape, np.nan)
    if answers.wants_values:
        values = relaxed_limits.of_batch(cases, found.names, members, solve)
    for which, kind in groups(found.conflict[none]):
        own = np.flatnonzero(none)[which]
        answers.none(points[own], {found.names[i]: values[own, i] for i in np.flatnonzero(kind)})
