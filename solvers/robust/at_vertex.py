"""Grids of questions whose worst case is proved to be at one vertex of the box of uncertain numbers.

There each point is a certain question, with the numbers of that vertex, and any way for many points answers it. What an
answer says beside it is of other numbers: metrics are those of the file's own, and shares those of fresh samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Bools, Integers
from dse.system.records import dataclass
from formulations import handover
from formulations.grids import over_grid
from formulations.grids.over_grid import Region, Spread
from results.dataset import STATUS_CODES, Arrays, Layout, only
from results.solution import Status
from scenarios.distributions import Measure
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from scenarios.uncertainty.drawing import box
from scenarios.uncertainty.promises import promises
from solvers.judgement import judge
from solvers.many_points import claims
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block
from solvers.many_points.offers import Choice, Path
from solvers.robust import samples, tables
from solvers.robust.boxes import robust_box
from solvers.robust.boxes.robust_box import Boxed
from solvers.robust.masters import ends

ANOTHER_VERTEX = "a worst case that is not proved to be at the vertex of the others"
AT_SEARCH_END = "a design at an end of the search"
VALIDATED_TOGETHER = 256
"""Points of which the vertex is proved together, and whose designs are judged together in fresh samples."""
VALIDATED = 5e-4
"""Declared seconds in which a design is judged in fresh samples."""
CERTAIN = {"objective", "bound", "gap", "status", "binding", "elasticity", "would_do", "decided"}
"""Roles of variables that are those of the certain question."""
OPTIMAL, INFEASIBLE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]
Vertex = Mapping[str, float]


def chosen(grid: Grid, choose: Callable[[Grid], Choice], reason: str) -> Choice:
    """Choose the way of the certain questions at the vertex, where there is one; ``choose``: a way for a grid.

    ``reason``: why points go one by one otherwise.
    """
    first = grid.first
    certain_axes = all(
        c.target.kind in {"given", "limit", "decide"}
        and c.target.name not in (first.uncertain.marginals if first.uncertain else ())
        for c in grid.changes
    )
    vertex = _vertex(first) if certain_axes and len(grid.bases) == 1 else None
    if vertex is None:
        offers = [way(grid) for way in (tables.way, samples.way)]
        taken = next((o for o in offers if o.path is not None), None)
        if taken is not None:
            return claims.tried(taken)
        return Choice(reasons=(reason, *(o.reason for o in offers if o.reason)))
    found = choose(replace(grid, bases={k: _at_vertex(q, vertex) for k, q in grid.bases.items()}))
    if found.path is None:
        return replace(found, reasons=(reason, *found.reasons))
    # what else the certain questions have says nothing of the box
    return replace(found, path=AtVertex(over_grid.spread(grid), found.path, vertex), later=tuple)


def _vertex(question: Question) -> Vertex | None:
    """Return the one vertex at which all that is asked is worst; None where no such is proved.

    The question may hold arrays: the vertex is then that of all its points.
    """
    uncertain, measure = question.uncertain, question.measure or Measure("worst")
    if uncertain is None or measure.kind != "worst" or question.measures or promises(question):
        return None
    named = any(d.choices is not None for d in question.decide)
    if named or uncertain.tied or any(m.discrete for m in uncertain.marginals.values()):
        return None
    span = box(uncertain)
    if not all(math.isfinite(x) for e in span.values() for x in e):
        return None
    nominal = replace(question, uncertain=None, measure=None)
    try:
        _, proved, corners = robust_box.worst_vertices(Boxed(nominal, span))
    except CannotTake:
        return None
    if not proved or any(v.size != 1 for v in corners.values()):
        return None
    return {n: float(v[0]) for n, v in corners.items()}


def _at_vertex(question: Question, vertex: Vertex) -> Question:
    limits = tuple(replace(x, worst=False) for x in question.limits)
    return replace(question, uncertain=None, measure=None, limits=limits, given={**question.given, **vertex})


@dataclass(frozen=True, slots=True)
class AtVertex:
    """The way itself; see ``offers.Path``. ``path``: of the certain questions at the ``vertex``."""

    spread: Spread
    path: Path
    vertex: Vertex

    @property
    def method(self) -> str:
        """How, in words."""
        return f"the worst case, proved to be at one vertex of the box at each point: {self.path.method}"

    @property
    def kind(self) -> str:
        """As the certain questions are cut."""
        return self.path.kind

    @property
    def work(self) -> float:
        """Declared seconds of a point."""
        return self.path.work + VALIDATED

    def part(self, places: Sequence[Integers]) -> AtVertex:
        """Return the same way for some places along each axis of its grid."""
        return replace(self, spread=self.spread.part(places), path=self.path.part(places))

    @property
    def grid(self) -> Grid:
        """The grid that is answered."""
        return self.spread.grid

    def solve(self, plan: Layout, region: Region, asked: Bools | None = None) -> tuple[Arrays, Bools]:
        """Answer a block, all its points."""
        certain = only(plan, {v.name for v in plan.variables if v.role in CERTAIN})
        arrays, left = self.path.solve(certain, region)
        into = BlockAnswers(plan, left.shape)
        arrays |= {n: a for n, a in into.arrays.items() if n not in arrays}
        unlike = ~left & ~np.isin(arrays["status"], [OPTIMAL, INFEASIBLE])
        _leave(left, unlike, ANOTHER_VERTEX)
        numbers = np.arange(left.size).reshape(left.shape)
        for piece in self.spread.pieces(region, VALIDATED_TOGETHER):
            at = over_grid.within(piece, region)
            question = self.spread.question(piece)
            if _vertex(question) != self.vertex:
                _leave(left[at], ~left[at], ANOTHER_VERTEX)
                continue
            here = {n: a[at] for n, a in arrays.items()}
            _leave(left[at], ~left[at] & _at_end(question, here), AT_SEARCH_END)
            _put_nominal(plan, question, here, left[at])
            good = np.flatnonzero((here["status"] == OPTIMAL) & ~left[at])
            if good.size:
                designs = {d.name: here[d.name].reshape(-1)[good] for d in question.decide}
                tables.put_fresh(
                    into, numbers[at].reshape(-1)[good], Block(self.spread, piece).question(good), designs
                )
        return arrays, left


def _leave(left: Bools, some: Bools, reason: str) -> None:
    handover.hand_over(reason, int(np.count_nonzero(some)))
    left |= some


def _designs(question: Question, here: Arrays, good: Bools) -> dict[str, NDArray[Any]]:
    """The designs of a piece; 1 where there is none."""
    return {d.name: np.where(good, here[d.name], 1.0) for d in question.decide}


def _at_end(question: Question, here: Arrays) -> Bools:
    """Tell which designs lie at an end that only a search has: what is said of these rests on more than one search."""
    good: Bools = here["status"] == OPTIMAL
    found = np.zeros(good.shape, bool)
    for name, x in _designs(question, here, good).items():
        found |= ends.near_end(question, name, x)
    return found & good


def _put_nominal(plan: Layout, question: Question, here: Arrays, left: Bools) -> None:
    """Put the metrics of designs at the file's own numbers."""
    good = (here["status"] == OPTIMAL) & ~left
    nominal = replace(question, uncertain=None, measure=None)
    answers, points = BlockAnswers(plan, good.shape), np.arange(good.size)
    with np.errstate(all="ignore"):
        judged = judge(nominal, _designs(question, here, good), here["bound"], good.shape)
    answers.put(points, judged, good.reshape(-1), {})
    for v in plan.variables:
        if v.role in {"metric", "family"}:
            here[v.name][...] = answers.arrays[v.name]
