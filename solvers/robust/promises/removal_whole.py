"""Whole numbers and listed values among the decided quantities of a sampled problem: branch and bound over boxes.

Each box is searched with its numbers real (``solvers.robust.promises.removal``), which bounds what is in it; the
allowed values next to that optimum, the others free, are tried as designs. The search is that of
``solvers.geometric.programs.tree``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace

import numpy as np

from dse.system.records import dataclass
from formulations.canonical import Canonical
from solvers.geometric.kernel.gp_terms import Array
from solvers.geometric.programs import nodes as parts
from solvers.geometric.programs import tree
from solvers.geometric.programs.nodes import Nodes, Relaxed
from solvers.robust.promises import removal
from solvers.robust.promises.removal import Removed, Sampled

MOST_REMOVAL_BOXES = 60
"""Boxes that are searched; each takes up to hundreds of programs."""
REMOVAL_CLOSED = 2e-7
Search = Callable[[Sampled, Array | None], Removed]
Discrete = Mapping[int, Array | None]


def search(problem: Sampled, discrete: Discrete, searched: Search) -> Removed:
    """Find the best design with allowed values.

    ``discrete``: the places of these variables, with the logarithms of what is listed (None: whole numbers).
    ``searched``: of a box. Where MOST_REMOVAL_BOXES boxes do not close it, the bound is that of the best box left.
    """
    s = _Boxes(problem, discrete, searched)
    n, none = problem.low.size, np.zeros((1, 0))
    c = Canonical(
        tuple(map(str, range(n))), np.zeros((0, n)), none, np.zeros(1, np.intp), (), problem.low[None],
        problem.high[None], (), np.zeros((0, n)), discrete,
    )  # fmt: skip
    wanted = tree.Wanted(REMOVAL_CLOSED, MOST_REMOVAL_BOXES, at_once=1)
    bound = min(s.open, float(tree.search(c, tree.Bounding(s.bounded, s.designs), wanted).bound[0]))
    whole = s.whole and (s.best.y is not None or math.isinf(bound))
    return replace(s.best, bound=min(bound, s.best.value), whole=whole, programs=s.programs)


@dataclass(slots=True)
class _Boxes:
    """The boxes searched so far: the best design, and ``open``, a bound of those where none was found."""

    problem: Sampled
    discrete: Discrete
    searched: Search
    best: Removed = field(default_factory=lambda: Removed(None, math.inf, math.inf, (), True, 0))
    last: Removed | None = None
    open: float = math.inf
    programs: int = 0
    whole: bool = True

    def bounded(self, nodes: Nodes, _enough: Array) -> tuple[Relaxed, Array]:
        """Search a box with its numbers real."""
        near = self.best.y if self.best.y is not None or self.last is None else self.last.y
        found = self.searched(replace(self.problem, low=nodes.low[0], high=nodes.high[0]), near)
        self.last, self.programs, self.whole = (
            found,
            self.programs + found.programs,
            self.whole and found.whole,
        )
        if found.y is None:
            self.open = min(self.open, found.bound)
        y = nodes.low if found.y is None else found.y[None]
        none = np.zeros((1, 0))
        return Relaxed(y, none, none.sum(1)), np.array([found.bound if found.y is not None else np.inf])

    def designs(self, nodes: Nodes, y: Array) -> tuple[Array, Array]:
        """Round the discrete numbers of a relaxed design down, and up; the others are free."""
        low, high, found = nodes.low[0], nodes.high[0], []
        places = list(self.discrete)
        beside = [parts.values_beside(logs, y[0, i], low[i], high[i]) for i, logs in self.discrete.items()]
        for side in (0, 1):
            at, ends = y[0].copy(), (low.copy(), high.copy())
            at[places] = [pair[side] for pair in beside]
            for end in ends:
                end[places] = at[places]
            if all(low[i] == high[i] for i in places) and self.last is not None:
                # the box is one choice of them
                tried = self.last
            else:
                tried = _design_by_violation(replace(self.problem, low=ends[0], high=ends[1]), at)
                self.programs += tried.programs
            found += [] if tried.y is None else [tried]
            self.best = tried if tried.value < self.best.value else self.best
        values = np.array([f.value for f in found])
        return np.array([f.y for f in found]).reshape(values.size, low.size), values


def _design_by_violation(problem: Sampled, y: Array) -> Removed:
    """A design that leaves out the samples that miss most at ``y``, without a bound."""
    out = removal.worst(problem, y)
    there, value, _ = removal.without(problem, out, y)
    return Removed(there, value, -math.inf, out, False, 1)
