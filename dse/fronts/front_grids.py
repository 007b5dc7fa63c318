"""Fronts of three objectives and more: each objective in turn with limits on the others, far from what is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from dse.fronts.enclosure import COINCIDENT, PROBES_PER_POINT
from dse.fronts.front_search import ANSWERED, Front, Search, undominated, value
from dse.fronts.spacing import FREE, Spacing, Spot
from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations.tolerances import HOLDS, TIE
from results.solution import Solution, Status
from solvers.fronts.asking import Measure, Scale

NEAR_DISCRETE = 0.1
"""Of discrete decisions: how far an answer must seem to be from the designs found; levels next to them follow."""
NEXT_LEVEL = 2.0 * COINCIDENT
ALL_FOUND = "complete non-dominated set"
BEST_FOR_ALL = "one design is the best for all objectives"
SPREAD = "limits on all objectives but one, where the answer may be farthest from the points found"


def grid(search: Search, most: int) -> Front:
    """Ask for one objective with limits on the others, farthest from all known designs, until ``most`` are found.

    What is known answers already is left out; where that leaves nothing, there are fewer designs. Of
    discrete decisions the last levels are those just better than each design found: where they are all answered, no
    design is missing.
    """
    alone = next((x for x in search.best if _is_best_for_all(search, x)), None)
    if alone is not None:
        told = (search.final(alone),)
        return Front(search.question, told, None, search.solves, search.failed, 0, BEST_FOR_ALL)
    state = _Grid(search, most)
    state.spread(NEAR_DISCRETE if search.discrete else 0.0)
    method = SPREAD
    if search.discrete and not state.full:
        while not state.full and state.fill(state.next_to_found()):
            pass
        names = ", ".join(g.name for g in search.goals[1:])
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
    """What is known of a front: the designs found, and where others may be.

    ``asked``: limits that the least of the first objective was asked for with, and what it has in the others (None:
    nothing holds them); ``tried``: how many questions were asked.
    """

    search: Search
    most: int
    found: list[Solution] = field(default_factory=list)
    asked: list[tuple[Spot, Spot | None]] = field(default_factory=list)
    tried: int = 0
    space: Spacing = field(init=False)
    scales: list[Scale] = field(init=False)

    def __post_init__(self) -> None:
        self.scales = [
            # what differs by rounding only is the same
            replace(s, worst=s.best) if abs(s.worst - s.best) <= HOLDS * abs(s.best) else s
            for s in self.search.scales
        ]
        self.space = Spacing(len(self.search.goals))
        for k, best in enumerate(self.search.best):
            self._keep(self.search.final(best))
            at = self._at(best)
            self.space.answered(k, (FREE,) * len(self.search.goals), at, at[k])

    @property
    def full(self) -> bool:
        """Whether there are enough designs, or enough was asked."""
        return len(self.kept()) >= self.most or self.tried >= PROBES_PER_POINT * self.most

    def kept(self) -> list[Solution]:
        """The designs that no other one betters, in order (see ``in_order``)."""
        at = np.array([self._at(x) for x in self.found])
        best = [self.found[i] for i in undominated(at, np.array(COINCIDENT))]
        goals = [(s.objective, Measure(s.objective.maximize)) for s in self.search.scales]
        small = [[m.small(value(g, x)) for g, m in goals] for x in best]
        return [best[i] for i in in_order(list(range(len(best))), np.array(small))]

    def spread(self, least: float) -> None:
        """Ask for what may be farthest from the designs found, as long as it seems to be ``least`` from them."""
        while not self.full:
            place = self.space.farthest()
            finer = self.space.finer() if place is None or place.far < self.space.step / 2.0 else None
            if finer is not None and not least:
                self.space = finer
            elif place is not None and place.far >= least:
                self._ask(place.goal, [place.limits])
            else:
                break

    def fill(self, levels: Sequence[Sequence[float]]) -> bool:
        """Ask for all limits on these levels, as many at a time as designs are missing; false where all were known."""
        waiting, before = list(itertools.product(*levels)), self.tried
        while not self.full:
            waiting = [at for at in waiting if not self._known(at)]
            if not waiting:
                break
            chosen = self._farthest(waiting, self.most - len(self.kept()))
            self._ask(0, [(FREE, *at) for at in chosen])
        return self.tried > before

    def next_to_found(self) -> list[list[float]]:
        """Levels for each objective but the first: none, and just better than each design found."""
        return [
            sorted({FREE, *(s.coordinate(value(s.objective, x)) - NEXT_LEVEL for x in self.found)})
            for s in self.scales[1:]
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
        scales = self.scales[1:]
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

    def _ask(self, goal: int, chosen: Sequence[Spot]) -> None:
        """Ask for the least of one objective, at several limits on the others."""
        scales = self.scales
        limits = {
            s.objective.name: [
                math.inf if at[i] == FREE or s.best == s.worst else s.value(at[i]) for at in chosen
            ]
            for i, s in enumerate(scales)
            if i != goal
        }
        answers = self.search.ask_all(scales[goal].objective, limits)
        self.tried += len(chosen)
        for at, answer in zip(chosen, answers, strict=True):
            if answer.status in ANSWERED:
                here = self._kept_as(answer)
                reached: Spot | None = here
                self.space.answered(goal, at, here, self._proved(goal, answer, here))
            elif answer.status is Status.INFEASIBLE:
                reached = None
                self.space.answered(goal, at, None, FREE)
            else:
                # no answer says nothing of stricter limits
                reached = at
                self.space.failed(goal, at)
            if goal == 0:
                self.asked.append((at[1:], None if reached is None else reached[1:]))

    def _proved(self, goal: int, answer: Solution, reached: Spot) -> float:
        """The proved lower bound of a coordinate within the limits of an answer."""
        if answer.status is not Status.FEASIBLE:
            return reached[goal]
        return -FREE if answer.bound is None else self.scales[goal].coordinate(answer.bound)

    def _kept_as(self, answer: Solution) -> Spot:
        """Keep what was found, if it is new, in the terms of all; returns where it is."""
        here = self._at(answer)
        if any(math.dist(here, self._at(x)) <= COINCIDENT for x in self.found):
            return here
        design = self.search.undominated(self.search.final(answer))
        self._keep(design)
        return self._at(design)

    def _keep(self, design: Solution) -> None:
        """Keep a design, which is the best for the first objective within what it is in the others."""
        self.found.append(design)
        self.space.found(self._at(design))

    def _at(self, design: Solution) -> Spot:
        """The coordinates of a design."""
        return tuple(s.coordinate(value(s.objective, design)) for s in self.scales)
