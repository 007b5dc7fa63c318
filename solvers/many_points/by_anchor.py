"""Grids with limits within a share of an optimum: that optimum is found at all points first, then the rest is asked.

Each metric that such a limit is tied to makes a grid of its own (the question with that metric as its objective), and
any way that takes this grid answers it. Its optima are then numbers of the limits, one for each point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Bools, Integers
from dse.system.records import dataclass
from formulations import handover
from formulations.grids import over_grid
from formulations.grids.over_grid import Region
from results.dataset import STATUS_CODES, Arrays, Layout, layout, only
from results.solution import Status
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import anchors
from solvers.many_points.offers import Choice, Path

NO_OPTIMUM = "a limit is within a share of an optimum that is not found"
BOTH = "a limit within a share of an optimum that has an end of its own, too"
OF_ANCHORS = frozenset({"objective", "bound", "gap", "status", "binding", "would_do"})
"""What is kept of the optima that limits are tied to."""
RATE = "elasticity"
"""What else is kept of them where it is kept of the answers."""
BLOCKS_KNOWN = 8
OPTIMAL, INFEASIBLE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]


@dataclass(frozen=True, slots=True)
class Anchor:
    """What answers the grid whose objective is the metric of one limit; ``plan``: all that can be kept of it."""

    path: Path
    plan: Layout

    def found(self, region: Region, names: frozenset[str]) -> tuple[Arrays, Bools]:
        """Return some variables of the answers of a block, and the points that are left over."""
        plan = only(self.plan, names)
        if all(s.step in (None, 1) for s in region):
            return self.path.solve(plan, region)
        part = self.path.part([np.arange(s.start, s.stop, s.step) for s in region])
        return part.solve(plan, tuple(slice(0, n) for n in over_grid.sides(region)))


@dataclass(frozen=True, slots=True)
class Anchors:
    """The optima that limits are within a share of, by the limits' names; see ``scenarios.sweep.grids.Tied``.

    ``known``: the last blocks that were asked for. ``first``: those of the first point, which stand for all of a grid
    of some ``shape`` while a way is chosen, for which only the structure of its questions counts; a part of it has its
    own.
    """

    every: Mapping[str, Anchor]
    known: dict[tuple[tuple[int, int, int], ...], tuple[frozenset[str], dict[str, tuple[Arrays, Bools]]]] = (
        field(default_factory=dict)
    )
    first: Mapping[str, float] = field(default_factory=dict)
    shape: tuple[int, ...] = ()

    def written(self, question: Question, region: Region, take: Callable[[NDArray[Any]], Any]) -> Question:
        """Return a question of a block with the optima in its limits; ``take``: makes numbers of those of a block."""
        return anchors.written(question, lambda name: take(self.optima(name, region)))

    def optima(self, name: str, region: Region) -> NDArray[Any]:
        """Return the optima that a limit is tied to; where there is none any number that keeps the structure."""
        if self.first:
            return np.full(over_grid.sides(region), self.first[name])
        arrays, left = self.found(region)[name]
        value, there = arrays["objective"], (arrays["status"] == OPTIMAL) & ~left
        return np.where(there, value, float(value[there].flat[0]) if there.any() else 1.0)

    def found(self, region: Region, names: frozenset[str] = OF_ANCHORS) -> dict[str, tuple[Arrays, Bools]]:
        """Return the optima of a block, at least these variables of their answers."""
        key = tuple((int(s.start), int(s.stop), int(s.step or 1)) for s in region)
        kept, found = self.known.get(key, (frozenset[str](), {}))
        if not names <= kept:
            found = {name: a.found(region, names) for name, a in self.every.items()}
            while len(self.known) >= BLOCKS_KNOWN:
                self.known.pop(next(iter(self.known)), None)
            self.known[key] = names, found
        return found

    def part(self, places: Sequence[Integers]) -> Anchors:
        """Return the optima at some places along each axis."""
        if self.first and all(
            np.array_equal(p, np.arange(n)) for p, n in zip(places, self.shape, strict=True)
        ):
            return replace(self, first={})
        return Anchors({n: replace(a, path=a.path.part(places)) for n, a in self.every.items()})


@dataclass(frozen=True, slots=True)
class ByAnchor:
    """The way itself; see ``offers.Path``. ``last``: what answers the grid whose limits have the optima."""

    tied: Anchors
    last: Path

    @property
    def method(self) -> str:
        """How, in words."""
        ways = dict.fromkeys([*(a.path.method for a in self.tied.every.values()), self.last.method])
        return f"first the optima that limits are within a share of, then the rest: {'; then '.join(ways)}"

    @property
    def kind(self) -> str:
        """As the last grid is cut."""
        return self.last.kind

    @property
    def work(self) -> float:
        """Declared seconds of a point: those of all its grids."""
        return self.last.work + sum(a.path.work for a in self.tied.every.values())

    def part(self, places: Sequence[Integers]) -> ByAnchor:
        """Return the same way for some places along each axis of its grid."""
        return ByAnchor(self.tied.part(places), self.last.part(places))

    @property
    def grid(self) -> Grid:
        """The last grid."""
        return self.last.grid

    def solve(self, plan: Layout, region: Region, asked: Bools | None = None) -> tuple[Arrays, Bools]:
        """Answer a block; the optima are those of all its points."""
        kept = OF_ANCHORS | ({RATE} & {v.name for v in plan.variables})
        found = self.tied.found(region, kept)
        arrays, left = self.last.solve(plan, region, asked)
        _put_rates(arrays, plan, {n: (a, only(self.tied.every[n].plan, kept)) for n, (a, _) in found.items()})
        for anchor, (own, missed) in zip(self.tied.every.values(), found.values(), strict=True):
            none = (own["status"] == INFEASIBLE) & ~missed
            _put_conflicts(arrays, plan, own, only(anchor.plan, kept), none)
            unknown = missed | ~np.isin(own["status"], [OPTIMAL, INFEASIBLE])
            handover.hand_over(NO_OPTIMUM, int(np.count_nonzero(unknown & ~left)))
            left = (left & ~none) | unknown
        return arrays, left


def _put_rates(arrays: Arrays, plan: Layout, optima: Mapping[str, tuple[Arrays, Layout]]) -> None:
    """Add to what limits are worth what goes through those that move with their optima; these by the limits' names.

    Whether a rate holds one way only is kept at full depth, at which points are answered by themselves.
    """
    if RATE not in arrays:
        return
    worth = _rates(arrays, plan, plan.limits)
    for name, (found, kept) in optima.items():
        moving = worth.at([plan.limits.index(name)])
        worth = anchors.through(worth, moving, _rates(found, kept, plan.limits), relaxed=True)
    arrays[RATE][...] = worth.value


def _rates(arrays: Arrays, plan: Layout, labels: Sequence[str]) -> anchors.Rates:
    """Return what is kept of rates of limits, 0 of those that are not there."""
    shape = arrays["status"].shape
    value = [arrays[RATE][..., plan.limits.index(n)] if n in plan.limits else np.zeros(shape) for n in labels]
    return anchors.Rates(np.stack(value, axis=-1), np.zeros((*shape, len(labels)), bool))


def _put_conflicts(arrays: Arrays, plan: Layout, own: Arrays, kept: Layout, none: Bools) -> None:
    """Say of points where an optimum that a limit is tied to is not there why: that is why there is no design."""
    fill = {v.name: v.fill for v in plan.variables}
    for name, values in arrays.items():
        if name == "status":
            values[none] = INFEASIBLE
        elif name not in ("binding", "would_do") or name not in own:
            values[none] = fill[name]
        else:
            values[none] = fill[name]
            for i, label in enumerate(plan.limits):
                j = next((j for j, n in enumerate(kept.limits) if n == label), None)
                if j is not None:
                    values[none, i] = own[name][none, j]


def chosen(grid: Grid, choose: Callable[[Grid], Choice]) -> Choice:
    """Choose ways for the optima that limits are tied to, and one for what is left; ``choose``: a way for a grid."""
    bases = list(grid.bases.values())
    tied = [x for q in bases for x in q.limits if x.within is not None]
    ends = [end for x in tied for end in (x.minimum, x.maximum) if end is not None]
    if any(map(math.isfinite, ends)):
        return Choice(reasons=(BOTH,))
    found: dict[str, Anchor] = {}
    choices = []
    for name in dict.fromkeys(x.name for x in tied):
        alone = replace(grid, bases={k: anchors.alone(q, name) for k, q in grid.bases.items()})
        choices.append(choose(alone))
        path = choices[-1].path
        if path is None:
            return choices[-1]
        found[name] = Anchor(path, layout(alone))
    optima = Anchors(found)
    first = tuple(slice(0, 1) for _ in grid.shape)
    start = {name: float(optima.optima(name, first).flat[0]) for name in found}
    alike = replace(optima, first=start, shape=grid.shape)
    choices.append(choose(replace(grid, tied=alike)))
    if choices[-1].path is None:
        return choices[-1]
    last = choices[-1].path.part([np.arange(n) for n in grid.shape])
    return Choice(
        ByAnchor(optima, last),
        (),
        tuple(e for c in choices for e in c.exceptions),
        left=max(c.left for c in choices),
        untried=any(c.untried for c in choices),
    )
