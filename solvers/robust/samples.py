"""Grids of one design for many samples, where each sample is a geometric program: the masters of all points together.

The mean, the worst and the mean of the worst share of an objective over the samples, with limits that hold in each of
them, of numbers decided now (``solvers.robust.masters.at_points``). Limits may divide by sums (a cap on average power)
and maxima may harm. A single question is answered by the same master (``solvers.robust.masters.robust_geometric``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from formulations import handover
from formulations.arithmetics.many import Array, Differ, Points, plain
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.grids import divided, over_grid
from formulations.row_keys import RowKey
from formulations.uncertainty import robust
from formulations.uncertainty.measures import WORST, Weighing
from formulations.uncertainty.wanted import Chance
from formulations.uncertainty.worlds import Worlds
from scenarios.axes import chance_axes
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from scenarios.uncertainty.promises import promises
from solvers import work
from solvers.geometric.kernel import gp
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers, Mask
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import OTHER_KIND, Offer
from solvers.mechanisms import conflicts, sensitivity
from solvers.mechanisms.why import Why
from solvers.robust import decide_now, robust_conflicts, tables, validation
from solvers.robust.masters import at_points, ends, failing
from solvers.robust.masters.master import EASED, Master
from solvers.robust.robust_answers import weighing

METHOD = (
    "geometric programs that grow by the samples they need, at all points together; each has its own bound"
)
OPEN = "one design for many samples that is not proved to be the best, or is at an end of the search"
NUMBERS_TOGETHER = 2_000_000
"""Samples times points of one run of the equations: arrays of 16 MB."""


def way(grid: Grid) -> Offer:
    """Return this way where each sample of each point is a geometric program, of real or of discrete numbers."""
    every = list(blocks.kinds(grid))
    if any(c.target.kind == "decide" for c in grid.changes) or not all(map(_is_taken, every)):
        return OTHER_KIND
    return blocks.offered(_over_grid(grid), _over_grid(blocks.thinned(grid)))


def _is_taken(question: Question) -> bool:
    plain = bool(question.decide) and len(question.objectives) == 1 and not question.idle
    plain &= all(
        d.choices is None and not d.endless and all(v > 0 for v in d.values or ()) for d in question.decide
    )
    named = bool(question.measures) or question.model.black_box
    measure = weighing(question.measure or decide_now.AT_WORST)
    if not plain or named or not isinstance(measure, Weighing) or decide_now.over_box(question):
        return False
    try:
        asked = robust.posed(decide_now.sampled(question))
        # refuses what the measure has no cuts of
        exact = robust.exact_goal(asked, measure)
    except (NotPosynomial, CannotTake, ArithmeticError):
        return False
    plain = asked.goal is not None and asked.goal.denominator.is_monomial
    return plain and (not promises(question) or (exact is not None and failing.takes(asked, question)))


def _over_grid(grid: Grid) -> ByGroup:
    """Return the way over a grid; its declared work is that of all samples, fresh ones too, and of the programs."""
    first = next(blocks.kinds(grid))
    assert first.uncertain is not None, "only what is uncertain has samples"
    samples = first.uncertain.sampling.samples
    problem = work.first_problem(grid)
    terms = 0 if problem is None else work.terms(problem)
    units = {
        "table metric": float(work.metrics(first) * (PASSES * samples + validation.FRESH)),
        "geometric numpy term": float(PASSES * terms),
        "alone evaluation": 1.0,
    }
    together = max(NUMBERS_TOGETHER // max(samples, validation.FRESH), 1)
    most = 1 if any(c.target.kind in chance_axes.KINDS for c in grid.changes) else blocks.ANY_NUMBER
    return ByGroup(over_grid.spread(grid), _answered, together, METHOD, "batch", units, kinds=most)


PASSES = 6
"""Rounds of cuts and settling ties that a point takes as a rule."""


def _answered(into: BlockAnswers, block: Block, question: Question, points: Points) -> Mask:
    """Answer some points of a block: those whose optimum is sure."""
    uncertain = question.uncertain
    assert uncertain is not None, "only what is uncertain has samples"
    measure = weighing(question.measure or decide_now.AT_WORST)
    assert isinstance(measure, Weighing), "quantiles are others"
    first = replace(block.grid.question(block.place(int(points[0]))), uncertain=None, measure=None)
    worlds = decide_now.sampled(divided.before_axes(question, 1))
    asked = robust.posed_at_points(worlds, first)
    master = Master(asked, measure, robust.exact_goal(asked, measure))
    chances = _allowed_to_fail(block, points)
    found = _best(master, chances)
    shape = (len(points),)
    x = {n: np.where(found.known, v, 1.0) for n, v in found.x.items()}
    there = tables.judged_in_worlds(question, chances, x, found.bound, shape)
    good = found.known & there.good & ~_near_end(question, x)
    keys = list(found.multipliers)
    forces = np.stack([found.multipliers[key] for key in keys], axis=1)
    whole = any(d.integer or d.values is not None for d in question.decide)
    # whole numbers change by jumps
    rates = {} if whole else sensitivity.elasticities(there, keys, forces)
    into.put(points, there, good, rates)
    if good.any():
        tables.put_fresh(into, points[good], divided.at(question, good), {n: v[good] for n, v in x.items()})
    none = np.flatnonzero(found.refuted)
    if none.size:
        good[none] = into.conflicts(points[none], _why(worlds.at_some(none), first, chances))
        good[none] &= into.values_known(points[none])
    handover.hand_over(OPEN, int(np.count_nonzero(~good)))
    return good


def _near_end(question: Question, x: Mapping[str, Array]) -> Mask:
    """Which designs are at an end that only a search has."""
    return np.asarray(np.any([ends.near_end(question, name, values) for name, values in x.items()], axis=0))


def _allowed_to_fail(block: Block, points: Points) -> tuple[Chance, ...]:
    """In how many samples limits may fail, which may depend on what is given; raises Differ where it does."""
    kinds, which = block.alike_given(points)
    every = [tables.failing_allowed(block.grid.question(block.place(int(points[k])))) for k in kinds]
    alike = np.array([c == every[0] for c in every])
    if not alike.all():
        raise Differ(alike[which])
    return every[0]


def _best(master: Master, chances: tuple[Chance, ...]) -> at_points.Optima:
    return failing.minimise(master, chances, gp.solve) if chances else at_points.minimise(master, gp.solve)


def _why(worlds: Worlds, first: Question, chances: tuple[Chance, ...]) -> Why:
    """What tells why points have no design, which are those of ``worlds``; ``first``: as for ``posed_at_points``."""
    names = robust_conflicts.breakable_limits(worlds)
    asked = robust.posed_at_points(worlds, first)

    def met(some: Points, kept: Mask) -> conflicts.Codes:
        held = frozenset(n for n, k in zip(names, kept, strict=True) if k)
        own = robust.kept(asked.at(some), held)
        if not chances:
            return at_points.hold_together(Master(replace(own, goal=None), WORST), gp.solve)[0]
        return failing.hold_together(own, chances, gp.solve)

    def level(some: Points, name: str) -> Array:
        sides = robust_conflicts.ends_of(worlds, name)
        if len(sides) > 1:
            # which end gives is told point by point
            return np.full(some.size, np.nan)
        ((side, end),) = sides.items()
        try:
            loose = failing.eased(asked.at(some), RowKey(name, side), frozenset(names))
            best = _best(loose, chances)
        except NotPosynomial:
            return np.full(some.size, np.nan)
        sure = best.known & ~_near_end(first, {d.name: best.x[d.name] for d in first.decide})
        ends_at = np.broadcast_to(np.ravel(plain(end)), worlds.points)[some]
        factor = best.x[EASED] if side == "max" else 1.0 / best.x[EASED]
        return np.select([sure, best.refuted], [ends_at * factor, np.inf], np.nan)

    def values(some: Points, wanted: Sequence[str]) -> Mapping[str, Array]:
        return {n: level(some, n) for n in wanted}

    def question(some: Points) -> Question:
        return worlds.at_some(some).nominal

    return Why(names, conflicts.by_set(met), values, question, conflicts.FEW_SEARCHED)
