"""Which vectorised way answers a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from formulations import handover
from formulations.grids import batch
from scenarios.sweep.grids import Grid
from solvers import anchors, work
from solvers.counting import tables, whole
from solvers.geometric.points import geometric, holding
from solvers.linear.points import linear
from solvers.many_points import by_anchor, by_choice, claims, effort, evaluated, no_choice
from solvers.many_points.offers import Choice, Offer, Path
from solvers.nonlinear.points import unstructured

Way = Callable[[Grid], Offer]
WAYS: tuple[Way, ...] = (
    evaluated.way,
    geometric.way,
    tables.way,
    whole.way,
    linear.way,
    tables.way_of_large,
    unstructured.way,
)
TABLES = (tables.way, tables.way_of_large)
STRUCTURED = (geometric.way, whole.way, linear.way)
STRUCTURE = no_choice.Structured(holding.can_hold, holding.why)


def _by_choice(grid: Grid) -> Offer:
    """Choose the best of all combinations of names, each of which has one of the other ways."""
    return by_choice.way(grid, WAYS, STRUCTURE, unstructured.why)


def _choices_with_structure(grid: Grid) -> Offer:
    """Choose the best of all combinations of names, each of which has a way that uses the structure of equations."""
    return by_choice.way(grid, STRUCTURED, STRUCTURE)


NO_WAY = "no way for many points at once takes this kind of question"
SEVERAL_OBJECTIVES = (
    "it has several objectives, of which a sweep answers the first; with one it may go at once"
)
IDLE = "how long processors idle is searched for at each point; without idle it may go at once"
MIXED = (
    "many whole numbers and numbers that can be divided are decided together in a linear program, which is searched at "
    "each point; with few whole numbers, or with these only, it may go at once"
)
SUMS = (
    "{}; it would go at once if such sums depended on at most {} decided numbers, or products of their powers"
)
NO_OBJECTIVE = (
    "any design within the limits is an answer, since there is no objective, and one is looked for point by point; "
    "with an objective many points may go at once"
)
SAMPLED = "a sampler searches at every point"
MANY_WORLDS = "one design for many samples is decided point by point"
LOOKED_AT = (
    "the equations look at a number that is swept (it {}), so that each point has its own; many points may go at once "
    "where they are arithmetic"
)
TIED_CHOICES = "the order of ties in the file decides between names too, which is done point by point"


def chosen(grid: Grid) -> Choice:
    """Choose the first way that is for the questions of a grid; what it leaves over goes to those after it in turn.

    Where the user asks for a search by sampling, or a model can only be run, what is decided is searched for.
    """
    if any(q.ties and any(d.choices is not None for d in q.decide) for q in grid.bases.values()):
        return Choice(reasons=(TIED_CHOICES,))
    if grid.at_a_point is not None:
        return Choice(reasons=(LOOKED_AT.format(next(iter(grid.bases.values())).model.black_box),))
    if any(q.uncertain is not None for q in grid.bases.values()):
        from solvers.robust import at_vertex  # slow to import, and most questions are certain

        return at_vertex.chosen(grid, chosen, MANY_WORLDS)
    if grid.tied is None and any(anchors.has_anchors(q) for q in grid.bases.values()):
        return by_anchor.chosen(grid, chosen)
    sampled = any(q.search is not None or q.model.black_box for q in grid.bases.values())
    ways = WAYS[:1] if sampled else (*WAYS, _by_choice)
    refused: list[Offer] = []
    with handover.collected() as tally:
        for k, way in enumerate(ways):
            offer = _offered(way, grid)
            if offer.path is None:
                refused.append(offer)
                continue
            taken = _cheaper_choices(grid, offer) if way in TABLES else offer
            found = claims.tried(taken)
            exceptions = (*tally.unexpected, *found.exceptions)
            rest = ways[k + 1 :] if taken is offer else (way, *ways[k + 1 : -1])
            return replace(found, exceptions=exceptions, later=cache(partial(_later, grid, rest)))
    exceptions = tuple(tally.unexpected)
    if sampled:
        return Choice(None, (SAMPLED,), exceptions)
    # with more points there would be a way, whatever others say
    few = min((o for o in refused if o.fewest), key=lambda o: o.fewest, default=None)
    reasons = dict.fromkeys(o.reason for o in ([few] if few else refused) if o.reason)
    return Choice(None, tuple(reasons) or (_no_way(grid),), exceptions)


def _later(grid: Grid, ways: Sequence[Way]) -> tuple[Path, ...]:
    """Return those of some ways that are for the questions of a grid."""
    with handover.collected() as tally:
        found = tuple(o.path for o in (_offered(way, grid) for way in ways) if o.path is not None)
    tally.log_unexpected()
    return found


def _cheaper_choices(grid: Grid, table: Offer) -> Offer:
    """Return the table of all designs, or choices among names by structure where the grid is declared less work so."""

    def declared(offer: Offer) -> float:
        return math.inf if offer.path is None else offer.path.work

    if declared(table) * grid.size <= effort.FEW_SECONDS:
        return table
    return min(table, _offered(_choices_with_structure, grid), key=declared)


def _no_way(grid: Grid) -> str:
    """Say why no way takes the question of a grid, and what would make it go at once."""
    question = grid.first
    if question.decide and not question.objectives:
        return NO_OBJECTIVE
    if len(question.objectives) > 1:
        return SEVERAL_OBJECTIVES
    if question.idle:
        return IDLE
    problem = work.first_problem(grid)
    if problem is None:
        return NO_WAY
    gaps = sum(v.discrete for v in problem.variables)
    if problem.program is not None and 0 < gaps < len(problem.variables):
        return MIXED
    refusals = [case.refusal for case in batch.cases(problem) if case.refusal]
    if refusals and all(case.rows is not None for case in batch.cases(problem)):
        return SUMS.format(refusals[0], batch.MOST_FORMS)
    return f"{NO_WAY}: {refusals[0]}" if refusals else NO_WAY


def _offered(way: Way, grid: Grid) -> Offer:
    """Ask a way; an exception is a refusal."""
    found = []
    name = way.__module__.rpartition(".")[2] if way in WAYS else "by_choice"
    what = f"{name} grids"
    with (
        handover.collected() as tally,
        handover.guarded(what, grid.size, handover.ARITHMETIC),
        np.errstate(all="ignore"),
    ):
        found.append(way(grid))
    tally.pass_on()
    return found[0] if found else Offer(reason=handover.words(tally.reasons))
