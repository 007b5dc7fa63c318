"""Fronts of three objectives and more: limits on all but the first, on levels that get ever closer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from dse.fronts.enclosure import COINCIDENT, PROBES_PER_POINT
from dse.fronts.front_search import ANSWERED, Front, Search, undominated, value
from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations.tolerances import HOLDS, TIE
from results.solution import Solution, Status
from solvers.fronts.asking import Measure

Spot = tuple[float, ...]

LEVEL_HALVINGS = 6
"""How often the distance of the levels is halved at most."""
DISCRETE_HALVINGS = 2
"""The same where the designs found give levels that leave none out."""
NEXT_LEVEL = 2.0 * COINCIDENT
FREE = math.inf
"""The level of no limit: some designs of a front are worse in one objective than all that are best in another."""
ALL_FOUND = "complete non-dominated set"
BEST_FOR_ALL = "one design is the best for all objectives"


def grid(search: Search, most: int) -> Front:
    """Limit all objectives but the first, farthest from all known designs first, until ``most`` of them are found.

    Levels that what is known answers already are left out; where that leaves none, there are fewer designs. Of
    discrete decisions the last levels are those just better than each design found: where they are all answered, no
    design is missing.
    """
    alone = next((x for x in search.best if _is_best_for_all(search, x)), None)
    if alone is not None:
        told = (search.final(alone),)
        return Front(search.question, told, None, search.solves, search.failed, 0, BEST_FOR_ALL)
    state, discrete = _Grid(search, most), search.discrete
    for power in range(1, (DISCRETE_HALVINGS if discrete else LEVEL_HALVINGS) + 1):
        state.fill([[*(i / 2**power for i in range(2**power)), FREE]] * (len(search.goals) - 1))
        if state.full:
            break
    names = ", ".join(g.name for g in search.goals[1:])
    finest = f"{2**power + 1} levels each, where they were not answered already"
    method = f"limits on {names} on a grid of up to {finest}"
    if discrete and not state.full:
        while not state.full and state.fill(state.next_to_found()):
            pass
        method = f"limits on {names} next to those of each design found"
        if not (state.full or search.unproved or search.failed):
            method = f"{ALL_FOUND}: {method}"
    return Front(search.question, tuple(state.kept()), None, search.solves, search.failed, 0, method)


def in_order(rows: list[int], values: Array) -> list[int]:
    """Sort rows by rising first column, where that is equal but for rounding by the second, and so on."""
    if len(rows) < 2 or not values.shape[1]:
        return rows
    groups = list[list[int]]()
    for i in sorted(rows, key=lambda i: float(values[i, 0])):
        if groups and values[i, 0] - (first := values[groups[-1][0], 0]) <= TIE * abs(first):
            groups[-1].append(i)
        else:
            groups.append([i])
    return [i for group in groups for i in in_order(group, values[:, 1:])]


def _is_best_for_all(search: Search, design: Solution) -> bool:
    """Whether a design is the best for every objective, as far as limits hold."""
    return all(
        abs(value(s.objective, design) - s.best) <= HOLDS * abs(s.best) for s in search.scales
    ) and all(x.status is Status.OPTIMAL for x in search.best)


@dataclass(slots=True)
class _Grid:
    """What is known of a front: the designs found, and the limits asked for with what came of them."""

    search: Search
    most: int
    found: list[Solution] = field(default_factory=list)
    asked: list[tuple[Spot, Spot | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.found = [self.search.final(x) for x in self.search.best]

    @property
    def full(self) -> bool:
        """Whether there are enough designs, or enough was asked."""
        return len(self.kept()) >= self.most or len(self.asked) >= PROBES_PER_POINT * self.most

    def kept(self) -> list[Solution]:
        """The designs that no other one betters, in order (see ``in_order``)."""
        at = [[s.coordinate(value(s.objective, x)) for s in self.search.scales] for x in self.found]
        best = [self.found[i] for i in undominated(np.array(at), np.array(COINCIDENT))]
        goals = [(s.objective, Measure(s.objective.maximize)) for s in self.search.scales]
        small = [[m.small(value(g, x)) for g, m in goals] for x in best]
        return [best[i] for i in in_order(list(range(len(best))), np.array(small))]

    def fill(self, levels: Sequence[Sequence[float]]) -> bool:
        """Ask for all limits on these levels, as many at a time as designs are missing; false where all were known."""
        waiting, before = list(itertools.product(*levels)), len(self.asked)
        while not self.full:
            waiting = [at for at in waiting if not self._known(at)]
            if not waiting:
                break
            self._ask(self._farthest(waiting, self.most - len(self.kept())))
        return len(self.asked) > before

    def next_to_found(self) -> list[list[float]]:
        """Levels for each objective but the first: none, and just better than each design found."""
        return [
            sorted({FREE, *(s.coordinate(value(s.objective, x)) - NEXT_LEVEL for x in self.found)})
            for s in self.search.scales[1:]
        ]

    def _known(self, at: Spot) -> bool:
        """Whether an answer says what comes of these limits: stricter ones that it meets, or none at all."""
        for limits, reached in self.asked:
            if at == limits:
                return True
            if all(x <= y + COINCIDENT for x, y in zip(at, limits, strict=True)) and (
                reached is None or all(y <= x + COINCIDENT for x, y in zip(at, reached, strict=True))
            ):
                return True
        return False

    def _farthest(self, waiting: list[Spot], count: int) -> list[Spot]:
        """The limits farthest from all designs found, and from each other."""
        scales = self.search.scales[1:]
        near = [tuple(s.coordinate(value(s.objective, x)) for s in scales) for x in self.found]
        spots = [tuple(1.0 if x == FREE else x for x in at) for at in waiting]
        distance = [min(math.dist(at, x) for x in near) for at in spots]
        chosen: list[Spot] = []
        while len(chosen) < min(count, len(waiting)):
            k = max(range(len(waiting)), key=distance.__getitem__)
            chosen.append(waiting[k])
            distance = [
                min(d, math.dist(spot, spots[k])) if at not in chosen else -1.0
                for d, at, spot in zip(distance, waiting, spots, strict=True)
            ]
        return chosen

    def _ask(self, chosen: list[Spot]) -> None:
        first, *others = self.search.scales
        limits = {
            s.objective.name: [math.inf if at[i] == FREE else s.value(at[i]) for at in chosen]
            for i, s in enumerate(others)
        }
        for at, answer in zip(chosen, self.search.ask_all(first.objective, limits), strict=True):
            if answer.status not in ANSWERED:
                # no answer says nothing of stricter limits
                self.asked.append((at, None if answer.status is Status.INFEASIBLE else at))
                continue
            best = self.search.undominated(answer)
            self.found.append(best)
            reached = tuple(s.coordinate(value(s.objective, best)) for s in others)
            self.asked.append((at, reached))
