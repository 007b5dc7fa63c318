"""Whole numbers and menus of which limits and objective are sums: the designs that may be the best, at every point.

For questions that are mixed-integer programs to a single point (how many blocks of each kind, a setting per phase).
The designs that may be the best at any of the limits that are asked for are found once for each set of given numbers
(``solvers.counting.undominated``), and then looked up like those of a table
(``solvers.counting.tables``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array
from formulations.program import is_linear
from results.dataset import Arrays, Layout
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from solvers import designs, work
from solvers.counting import separable, sums_conflicts, tables, undominated
from solvers.counting.tables import Listing
from solvers.counting.terms import NotSums
from solvers.many_points import blocks
from solvers.many_points.offers import FEWEST_POINTS, OTHER_KIND, Offer, choices, too_few, too_many_choices

KIND = "whole numbers in sums"
LOOKED_UP_TOGETHER = 4096
"""Points that are looked up together."""
REMEMBERED = 4096
"""Sets of given numbers whose designs are kept."""

Mask = NDArray[np.bool_]


def way(grid: Grid) -> Offer:
    """Return this way where all that is decided are whole numbers and menus, in sums with one term for each."""
    if any(len(q.objectives) != 1 for q in grid.bases.values()):
        return OTHER_KIND
    asked = [q for q in blocks.kinds(grid) if q.decide]
    if not asked or not all(_decides_whole_affine(q) for q in asked):
        return OTHER_KIND
    if grid.size < FEWEST_POINTS:
        return too_few(KIND)
    refused = too_many_choices(KIND, grid)
    if refused is not None:
        return refused
    return blocks.offered(Sums(grid), Sums(blocks.thinned(grid)))


def _decides_whole_affine(question: Question) -> bool:
    """Whether a question decides whole numbers and entries of menus in affine forms, whatever is chosen by name."""
    first = next(asked for _, asked in combinations(question))
    if not first.decide or not all(d.integer or d.values is not None for d in first.decide):
        return False
    return is_linear(first) and designs.plain(first)


@dataclass(frozen=True, slots=True)
class Sums:
    """The way itself; see ``solvers.paths.Path``.

    ``known``: designs that were found, by what they were found for: all limits of the grid, so that other chunks need
    not look for them again.
    """

    grid: Grid
    method: str = "the designs that may be the best at any limit, found once for each set of given numbers"
    kind: str = "search"
    known: dict[object, Mapping[str, Array]] = field(default_factory=dict, compare=False)

    @property
    def work(self) -> float:
        """Declared seconds of a point: the designs of its given numbers found, for each number, and looked up.

        Those of each combination of names.
        """
        decided = max(choices(q) * len(q.decide) for q in blocks.kinds(self.grid))
        found = work.seconds("sums found", decided * work.given_share(self.grid))
        return work.seconds("sums point") + found

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, Mask]:
        """Answer a block."""
        answer = partial(tables.answered, listing=Listing(self.listed, sums_conflicts.why))
        return blocks.solved(self.grid, plan, region, answer, LOOKED_UP_TOGETHER, apart=True)

    def listed(self, question: Question) -> list[Mapping[str, Array]]:
        """The designs of each combination of names that may be the best somewhere in the grid.

        Raises NotSums where something else than sums is asked for, or nothing ends what is decided, and TooMany.
        """
        return [self._designs(asked) for _, asked in combinations(question)]

    def _designs(self, question: Question) -> Mapping[str, Array]:
        loose, tight = (
            self._anywhere(q, wide=w) for q, w in zip(separable.corners(question), (True, False), strict=True)
        )
        key = (tuple(sorted(loose.given.items())), loose.limits, tight.limits, loose.decide, tight.decide)
        if key not in self.known:
            read = separable.read(loose, tight)
            if not read.ended:
                raise NotSums("nothing ends what is decided")
            if len(self.known) >= REMEMBERED:
                self.known.clear()
            self.known[key] = separable.values_of(read, undominated.designs(read.sums))
        return self.known[key]

    def _anywhere(self, question: Question, *, wide: bool) -> Question:
        """The question with the widest or the narrowest of all limits of the grid."""
        limits = {x.name: x for x in question.limits}
        for change in self.grid.changes:
            aim = change.target
            limit = limits.get(aim.name) if aim.kind == "limit" else None
            values = [float(v) for v in change.of.values] if limit is not None else []
            if limit is not None and aim.side == "max" and limit.maximum is not None:
                limits[aim.name] = replace(limit, maximum=max(values) if wide else min(values))
            elif limit is not None and aim.side == "min" and limit.minimum is not None:
                # a lower limit that says nothing is none
                some = [v for v in values if v > self.grid.vacuous[aim.name]]
                limits[aim.name] = replace(limit, minimum=min(some) if wide else max(some))
        return replace(question, limits=tuple(limits.values()))
