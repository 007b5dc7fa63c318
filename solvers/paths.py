"""Which vectorised way answers a grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations import handover
from scenarios.sweep.grids import Grid
from solvers import anchors
from solvers.counting import sums, tables, whole
from solvers.designs import MANY_DESIGNS
from solvers.geometric.points import geometric, ratios
from solvers.linear.points import linear
from solvers.many_points import by_anchor, by_choice, evaluated
from solvers.many_points.offers import OTHER_KIND, Choice, Offer
from solvers.nonlinear.points import unstructured

Way = Callable[[Grid], Offer]
WAYS: tuple[Way, ...] = (
    evaluated.way,
    geometric.way,
    ratios.way,
    tables.way,
    whole.way,
    sums.way,
    linear.way,
    tables.way_of_large,
    unstructured.way,
)


def _by_choice(grid: Grid) -> Offer:
    """Choose the best of all combinations of names, each of which has one of the other ways."""
    return by_choice.way(grid, WAYS)


SHARE_ANSWERED = 0.5
"""Of points tried, those that a way must answer to be taken before the ways after it."""
NO_WAY = (
    "no way for many points at once takes this kind of question; it would go at once if at most one decided "
    f"number were whole or from a long list, or if all were from lists of at most {MANY_DESIGNS} combinations"
)
NO_OBJECTIVE = (
    "any design within the limits is an answer, since there is no objective, and one is looked for point by point; "
    "with an objective many points may go at once"
)
SAMPLED = "a sampler searches at every point"
MANY_WORLDS = "one design for many samples is decided point by point"
TIED_CHOICES = "the order of ties in the file decides between names too, which is done point by point"


def chosen(grid: Grid) -> Choice:
    """Choose the first way that answers at least half of the points tried, else the one that answers the most.

    Where the user asks for a search by sampling, or a model can only be run, what is decided is searched for.
    """
    if any(q.ties and any(d.choices is not None for d in q.decide) for q in grid.bases.values()):
        return Choice(reasons=(TIED_CHOICES,))
    if any(q.uncertain is not None for q in grid.bases.values()):
        from solvers.robust import at_vertex  # slow to import, and most questions are certain

        return at_vertex.chosen(grid, chosen, MANY_WORLDS)
    if grid.tied is None and any(anchors.has_anchors(q) for q in grid.bases.values()):
        return by_anchor.chosen(grid, chosen)
    sampled = any(q.search is not None or q.model.black_box for q in grid.bases.values())
    offers: list[Offer] = []
    with handover.collected() as tally:
        for way in WAYS[:1] if sampled else (*WAYS, _by_choice):
            offer = _offered(way, grid)
            if offer.path is not None and offer.share >= SHARE_ANSWERED:
                break
            offers.append(offer)
        else:
            offer = max(
                (o for o in offers if o.path is not None and o.share > 0),
                key=lambda o: o.share,
                default=OTHER_KIND,
            )
    exceptions = tuple(tally.unexpected)
    if offer.path is not None:
        return Choice(offer.path, (), exceptions, left=1.0 - offer.share, untried=offer.untried)
    reasons = [SAMPLED] if sampled else [o.reason for o in offers if o.reason]
    aimless = any(q.decide and not q.objectives for q in grid.bases.values())
    return Choice(None, tuple(reasons or [NO_OBJECTIVE if aimless else NO_WAY]), exceptions)


def _offered(way: Way, grid: Grid) -> Offer:
    """Ask a way; an exception is a refusal."""
    found = []
    name = "by_choice" if way is _by_choice else way.__module__.rpartition(".")[2]
    what = f"{name} grids"
    with (
        handover.collected() as tally,
        handover.guarded(what, grid.size, handover.ARITHMETIC),
        np.errstate(all="ignore"),
    ):
        found.append(way(grid))
    tally.pass_on()
    return found[0] if found else Offer(reason=handover.words(tally.reasons))
