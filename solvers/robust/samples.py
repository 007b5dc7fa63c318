"""Grids of one design for many samples, where each sample is a geometric program: the masters of all points together.

The mean, the worst and the mean of the worst share of an objective over the samples, with limits that hold in each of
them, of numbers decided now (``solvers.robust.masters.at_points``). Limits may divide by sums (a cap on average power)
and maxima may harm. A single question is answered by the same master (``solvers.robust.masters.robust_geometric``).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Bools, Points
from formulations import handover
from formulations.arithmetics.many import Differ
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.grids import divided, over_grid
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Measured, Quantile, Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.wanted import Chance
from formulations.uncertainty.worlds import Worlds
from scenarios.axes import chance_axes
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from scenarios.uncertainty import worst_cases
from scenarios.uncertainty.promises import promises
from solvers import work
from solvers.geometric.points.geometric import solver
from solvers.geometric.programs.optimal_face import Solver
from solvers.many_points import blocks, claims
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import OTHER_KIND, Offer, pays
from solvers.mechanisms import sensitivity
from solvers.mechanisms.gaps import with_gaps
from solvers.mechanisms.why import Why
from solvers.robust import decide_now, tables, validation
from solvers.robust.explaining import robust_conflicts
from solvers.robust.masters import ends, failing, levels
from solvers.robust.masters.at_points import Optima
from solvers.robust.robust_answers import weighing
from solvers.robust.searches import robust_ratios
from solvers.robust.searches.chances import is_convex

METHOD = (
    "geometric programs that grow by the samples they need, at all points together; each has its own bound"
)
OPEN = "one design for many samples that is not proved to be the best, or is at an end of the search"
NUMBERS_TOGETHER = 5_000_000
"""Samples times points of one run of the equations: arrays of 40 MB."""


def way(grid: Grid) -> Offer:
    """Return this way where each sample of each point is a geometric program, of real or of discrete numbers."""
    every = [*claims.kinds(grid), _at_last_levels(grid)]
    if not all(map(_is_taken, every)):
        return OTHER_KIND
    if (refused := claims.too_many_ends(grid)) is not None:
        return refused
    return claims.offered(_over_grid(grid, grid), _over_grid(claims.thinned(grid), grid))


def _at_last_levels(grid: Grid) -> Question:
    """Return the question at the other end of levels and spreads: the mean, a CVaR of 0, is simpler than a tail."""
    swept = {c.along for c in grid.changes if c.target.kind in chance_axes.KINDS}
    return grid.question(tuple(len(a.values) - 1 if i in swept else 0 for i, a in enumerate(grid.axes)))


def _is_taken(question: Question) -> bool:
    plain = bool(question.decide) and len(question.objectives) == 1 and not question.idle
    plain &= all(
        d.choices is None and not d.endless and all(v > 0 for v in d.values or ()) for d in question.decide
    )
    named = bool(question.measures) or question.model.black_box
    if not plain or named or worst_cases.over_box(question):
        return False
    try:
        asked = robust.posed(decide_now.sampled(question))
        if _divides(asked):
            robust_ratios.check(asked)
            return not promises(question) and isinstance(_measure_of(question), Weighing)
        # refuses what the measure has no cuts of
        promised = [Chance(p.names, 0) for p in promises(question)]
        stated = levels.stated(asked, _measure_of(question), promised)
        return asked.goal is not None and levels.takes(*stated)
    except (NotPosynomial, CannotTake, ArithmeticError):
        return False


def _divides(asked: Posed) -> bool:
    """Whether the objective divides by a sum."""
    return asked.goal is not None and not asked.goal.denominator.is_monomial


def _measure_of(question: Question) -> Measured:
    return weighing(question.measure or worst_cases.AT_WORST)


def _over_grid(grid: Grid, whole: Grid | None) -> ByGroup:
    """Return the way over a grid; its declared work is that of all samples, fresh ones too, and of the programs.

    The kernel is compiled where that pays for the ``whole`` grid (None: it is not).
    """
    first = next(claims.kinds(grid))
    samples = first.uncertainty.sampling.samples
    problem = work.first_problem(grid)
    terms = 0 if problem is None else work.terms(problem)
    measured = isinstance(_measure_of(first), Quantile)
    divided_by_sum = (
        problem is not None and problem.goal is not None and not problem.goal.denominator.is_monomial
    )

    # samples that differ between points are drawn, and answered, for each by itself
    most = 1 if any(c.target.kind in chance_axes.KINDS for c in grid.changes) else blocks.ANY_NUMBER

    def units(way: str) -> dict[str, float]:
        return {
            "alone worlds": (1.0 if most == 1 else SHARE_OF_ALONE_RATIO[way]) * divided_by_sum,
            "alone chance": (1.0 if most == 1 else SHARE_OF_ALONE[way]) * (len(promises(first)) + measured),
            "table metric": validation.WORKED_OUT
            * work.metrics(first)
            * (PASSES * samples + validation.FRESH),
            f"geometric {way} term": float(PASSES * terms),
            "alone evaluation": 1.0,
        }

    together = max(NUMBERS_TOGETHER // samples, 1)
    compiled = whole is not None and most > 1 and pays(work.total(units("numpy")), whole)
    return ByGroup(
        over_grid.spread(grid),
        partial(_answered, compiled=compiled),
        together,
        f"compiled {METHOD}" if compiled else METHOD,
        "batch",
        units("compiled" if compiled else "numpy"),
        kinds=most,
    )


SHARE_OF_ALONE = {"numpy": 0.08, "compiled": 0.012}
SHARE_OF_ALONE_RATIO = {"numpy": 0.08, "compiled": 0.02}
"""Of the time that what may fail, and a mean of ratios, takes by itself: that of a point beside others."""
PASSES = 6
"""Rounds of cuts and settling ties that a point takes as a rule."""


def _answered(
    into: BlockAnswers, block: Block, question: Question, points: Points, *, compiled: bool
) -> Bools:
    """Answer some points of a block: those whose optimum is sure."""
    # masters of one call have the bounds of one question
    block.of_one_end(points)
    question = replace(question, decide=block.grid.question(block.place(int(points[0]))).decide)
    first = decide_now.in_one_sample(block.grid.question(block.place(int(points[0]))))
    worlds = decide_now.sampled(divided.before_axes(question, 1))
    asked = robust.posed_at_points(worlds, first)
    chances, solve = _allowed_to_fail(block, points), solver(compiled=compiled)
    found = _optima(asked, question, chances, solve)
    shape = (len(points),)
    x = {d.name: np.where(found.known, found.x[d.name], 1.0) for d in question.decide}
    there = tables.judged_in_worlds(question, chances, x, found.bound, shape)
    good = found.known & there.good & ~ends.any_near(question, x)
    keys, whole = list(found.multipliers), any(d.integer or d.values is not None for d in question.decide)
    forces = np.stack([found.multipliers[key] for key in keys], axis=1)
    # whole numbers change by jumps, and with a limit the samples that lie above a level
    unweighed = whole or isinstance(_measure_of(question), Quantile)
    rates = {} if unweighed else sensitivity.elasticities(there, keys, forces)
    into.put(points, there, good, rates)
    if good.any():
        tables.put_fresh(into, points[good], divided.at(question, good), {n: v[good] for n, v in x.items()})
    none = np.flatnonzero(found.refuted)
    if none.size:
        good[none] = into.conflicts(points[none], _why(worlds.at_some(none), first, chances, solve))
        good[none] &= into.values_known(points[none])
    handover.hand_over(OPEN, int(np.count_nonzero(~good)))
    return good


def _why(worlds: Worlds, first: Question, chances: tuple[Chance, ...], solve: Solver) -> Why:
    """What tells why points have no design, whose listed and whole numbers are limits, too."""

    def of_free(names: Collection[str]) -> Why:
        loose = partial(robust_conflicts.without, names=names)
        asked = robust.posed_at_points(worlds.changed(loose), loose(first))
        return robust_conflicts.why_together(asked, loose(first), chances, solve)

    # which value of such a number would do is sought point by point
    return with_gaps(of_free(()), first, of_free, lambda _: math.nan)


def _optima(asked: Posed, question: Question, chances: tuple[Chance, ...], solve: Solver) -> Optima:
    measure = _measure_of(question)
    if _divides(asked) and isinstance(measure, Weighing):
        return robust_ratios.minimise_together(asked, measure, solve)
    return failing.best(*levels.stated(asked, measure, chances), solve)


def _allowed_to_fail(block: Block, points: Points) -> tuple[Chance, ...]:
    """In how many samples limits may fail, which may depend on what is given; raises Differ where it does."""
    kinds, which = block.alike_given(points)
    asked = [block.grid.question(block.place(int(points[k]))) for k in kinds]
    # all are of the form of the first
    convex = bool(promises(asked[0])) and is_convex(asked[0])
    every = [tables.failing_allowed(q, convex) for q in asked]
    alike = np.array([c == every[0] for c in every])
    if not alike.all():
        raise Differ(alike[which])
    return every[0]
