"""The search behind a Pareto front: which questions to ask, and what their answers say about the rest.

Each point is stated in the same terms: the least of the first objective with limits on the others (the
epsilon-constraint method). Geometric programs are answered many at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dse.fronts import tied
from dse.fronts.bands import Band
from dse.fronts.enclosure import Box
from dse.system.arrays import Array
from dse.system.progress import Report
from dse.system.records import dataclass
from formulations.tolerances import HOLDS, TIE
from results.along_fronts.hypervolume import Growth
from results.solution import Solution, Status
from scenarios.question import Objective, Question
from solvers.answer import answer
from solvers.fronts import levels
from solvers.fronts.asking import Measure, Scale, at_level
from solvers.fronts.levels import Found, Levels, Support

PULLED = 1e-6
SHARP_GAP = 1e-8
NEARER = (1e-9, 1e-7, 1e-6, 5e-6, 1e-5, 2e-5, 5e-5)
# a step in the band has the width of its box and the gap of a solve
WITHIN_TOLERANCE = 1.0 - 1e-4
ANSWERED = (Status.OPTIMAL, Status.FEASIBLE)


@dataclass(frozen=True, slots=True)
class Front:
    """The designs found, by rising first objective (falling where it is maximised).

    ``refusal``: the answer that says why there is no front. ``jumps``: between how many
    neighbours nothing lies. ``solves``: questions asked, of which ``failed`` without an answer. Of an exact
    front ``kind`` says what it is, ``joined`` of every point whether a straight segment of the front joins it to the
    next one (None: not known), and ``straight_in`` in terms of what. ``band``: what is proved about the front between
    its points, where anything is. ``growth``: of a sampler's designs, their hypervolume after each trial.
    """

    question: Question
    points: tuple[Solution, ...] = ()
    refusal: Solution | None = None
    solves: int = 0
    failed: int = 0
    jumps: int = 0
    method: str = ""
    kind: str = ""
    joined: tuple[bool | None, ...] = ()
    straight_in: tuple[str, ...] = ()
    band: Band | None = None
    growth: Growth | None = None


def narrow(box: Box, scales: Sequence[Scale], tolerance: float) -> bool:
    """Whether a box is within a tolerance in the one objective or in the other."""
    for scale, (low, high) in zip(scales, (box.a, box.b), strict=True):
        measure = Measure(scale.objective.maximize)
        if (
            measure.apart(*(measure.small(scale.value(c)) for c in (low, high)))
            <= WITHIN_TOLERANCE * tolerance
        ):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Proved:
    """Of two objectives, no design is better than ``bound`` in number ``which`` that is within ``level`` in the other.

    ``level``: None where nothing was asked of the other.
    """

    which: int
    bound: float
    level: float | None


def _told_of(goal: Objective, refused: Solution) -> Solution:
    """Return an answer that forbids a front, which names its objective where that has no bound."""
    if refused.status is not Status.UNBOUNDED:
        return refused
    why = f": {refused.message}" if refused.message else ""
    return replace(refused, message=f"{goal.name} has no bound{why}")


class Search:
    """Asks the questions a front is made of, and keeps what was proved on the way.

    ``best``: the best design for each objective; ``scales``: the objectives as coordinates (both after ``ends``).
    ``by``: what answers every question in place of our own methods: it has no order of ties, and none together;
    ``share``: how far its objectives may be from the best.
    ``loose``: of its answers, whether another design may be as good and better for an objective (None: always).
    ``unproved``: how many answers are not proved to be best.
    """

    def __init__(
        self,
        question: Question,
        report: Report,
        expected: int,
        by: Callable[[Question], Solution] | None = None,
        loose: Callable[[Solution, Objective], bool] | None = None,
        share: float | None = None,
    ) -> None:
        self._by, self._loose, self.unproved = by, loose, 0
        self._share = share or (TIE if by is None else question.gap)
        self.question = question
        self.goals = question.objectives
        self.solves = self.failed = 0
        self.best: list[Solution] = []
        self.scales: list[Scale] = []
        self.proved: list[Proved] = []
        self.supports: list[Support] = []
        self._ways: dict[str, Levels | None] = {}
        self._report, self._expected = report, expected

    def ask(self, goal: Objective, at_worst: Mapping[str, float]) -> Solution:
        """Answer for one objective, with limits on others."""
        asked = at_level(self.question, goal, at_worst)
        # why an end has no design is told, a limit that nothing holds only says where the front is not
        found = answer(asked, neighbours=False, why=not at_worst) if self._by is None else self._by(asked)
        self.failed += found.status is Status.ERROR
        self.unproved += found.status is Status.FEASIBLE
        self.count()
        self._keep(goal, at_worst, found)
        return found

    def ask_all(self, goal: Objective, at_worst: Mapping[str, Sequence[float]]) -> list[Solution]:
        """Answer for one objective at many limits on the others (infinite: none), together where that is possible."""
        return [found.solution for found in self._all(goal, at_worst)]

    def _all(self, goal: Objective, at_worst: Mapping[str, Sequence[float]]) -> list[Found]:
        """Do so, and tell what is known beside the answers."""
        limits = {n: np.asarray(v, float) for n, v in at_worst.items()}
        way = self.way(goal)
        together: list[Found | None] = [None] * len(next(iter(limits.values())))
        all_limited = np.flatnonzero(np.isfinite(list(limits.values())).all(axis=0))
        if way is not None and all_limited.size:
            answers = way.at({n: v[all_limited] for n, v in limits.items()})
            for i, one in zip(all_limited.tolist(), answers, strict=True):
                together[i] = one
        found: list[Found] = []
        for i, one in enumerate(together):
            here = {n: float(v[i]) for n, v in limits.items() if math.isfinite(v[i])}
            if one is None or not self._settled_there(goal, one):
                found.append(Found(self.ask(goal, here), None))
                continue
            self.count()
            self._keep(goal, here, one.solution)
            if one.support is not None:
                self.supports.append(one.support)
            found.append(one)
        return found

    def seconds(self, at: Sequence[float]) -> list[Solution | None]:
        """The best designs for the second objective with limits on the first, in the terms of all: least first."""
        first, second = self.goals[:2]
        found = self._all(second, {first.name: at})
        told = [levels.stated(self.question, x, first, second) for x in found]
        rest = [i for i, x in enumerate(told) if x is None and found[i].solution.status in ANSWERED]
        if rest:
            answers = [found[i].solution for i in rest]
            again = self.ask_all(first, {second.name: [self._loosened(second, s) for s in answers]})
            for i, old, new in zip(rest, answers, again, strict=True):
                told[i] = new if new.status in ANSWERED else old
        return told

    def briefly(self) -> Search:
        """The same search by answers without what stands beside the optimum: any of the best designs, no conflicts."""
        by = partial(answer, brief=True)
        return Search(self.question, self._report, self._expected, by, tied.loose, TIE)

    @property
    def discrete(self) -> bool:
        """Whether there are only finitely many designs: nothing that is decided is divisible."""
        return all(d.integer or d.values is not None or d.choices for d in self.question.decide)

    def way(self, goal: Objective) -> Levels | None:
        """How an objective is answered at many limits on all the others together (None: one by one)."""
        if self._by is not None:
            return None
        if goal.name not in self._ways:
            others = tuple(g for g in self.goals if g is not goal)
            # the tie rule does not see to it that a discrete design is best for the others too
            settled = all(tied.goes_to(self.question, goal, g) for g in others)
            found = levels.levels(self.question, goal, others)
            self._ways[goal.name] = found if found is None or found.convex or settled else None
        return self._ways[goal.name]

    def _settled_there(self, goal: Objective, found: Found) -> bool:
        """Whether no other design with the same objective is better for the others."""
        if found.support is None or found.solution.status not in ANSWERED:
            return True
        others = [g for g in self.goals if g is not goal]
        if len(others) > 1:
            return True
        return all(
            found.support.weight[g.name] > PULLED or tied.goes_to(self.question, goal, g) for g in others
        )

    def _keep(self, goal: Objective, at_worst: Mapping[str, float], found: Solution) -> None:
        """Note what an answer proves about the front of two objectives."""
        if len(self.goals) != 2 or goal.name in at_worst or found.bound is None:
            return
        which = self.goals.index(goal)
        if found.status in ANSWERED and math.isfinite(found.bound):
            self.proved.append(Proved(which, found.bound, at_worst.get(self.goals[1 - which].name)))

    def ends(self) -> Solution | None:
        """Find the best design for each objective; returns an answer that forbids a front, if any does."""
        self.best, reached = [], list[float | None]()
        for goal in self.goals:
            found = self.ask(goal, {})
            if found.status not in ANSWERED:
                return _told_of(goal, found)
            reached.append(found.objective)
            self.best.append(self._settled(goal, found, held=0))
        self.scales = [Scale(g, *self._extent(i, reached[i])) for i, g in enumerate(self.goals)]
        return None

    def refusal(self) -> Solution | None:
        """Return the answer that forbids a front, if an objective has no end."""
        answers = ((goal, self.ask(goal, {})) for goal in self.goals)
        return next((_told_of(goal, found) for goal, found in answers if found.status not in ANSWERED), None)

    def count(self) -> None:
        """Note a solve."""
        self.solves += 1
        self._report(self.solves, max(self._expected, self.solves))

    def undominated(self, found: Solution) -> Solution:
        """Of the designs that are as good in all objectives, take one that none betters, in the terms of all."""
        best = self._settled(self.goals[0], found, held=len(self.goals))
        moved = [abs(value(g, best) - value(g, found)) > HOLDS * abs(value(g, found)) for g in self.goals]
        return self.final(best) if any(moved) else found

    def _settled(self, goal: Objective, found: Solution, held: int) -> Solution:
        """Among the designs that are best for ``goal``, take the one best for the other objectives, one by one.

        Those before it are kept as they are, and the first ``held`` of all.
        """
        for k, other in enumerate(self.goals):
            best = next(iter(self.best[k : k + 1]), None)
            as_good = best is not None and self._is_as_good(found, best, other)
            if other is goal or as_good or not self._tied(found, goal, other):
                continue
            kept = dict.fromkeys((*self.goals[: max(k, held)], goal))
            settled = self._kept_as_good(other, [g for g in kept if g is not other], found)
            if settled.status in ANSWERED and not self._is_as_good(found, settled, other):
                found = settled
            elif found.status is Status.OPTIMAL and not self._proves_as_good(settled, found, other):
                found = self._in_doubt(found, other)
        return found

    def _kept_as_good(self, goal: Objective, kept: Sequence[Objective], found: Solution) -> Solution:
        """Answer for one objective among designs as good as the one ``found`` for those ``kept``."""
        at_worst = {g.name: self._held_at(g, found) for g in kept}
        zero = self._by is None and 0.0 in at_worst.values()
        exact = tied.best_at_zero(at_level(self.question, goal, at_worst), found) if zero else None
        if exact is None:
            return self.ask(goal, at_worst)
        self.count()
        self._keep(goal, at_worst, exact)
        return exact

    def _held_at(self, goal: Objective, found: Solution) -> float:
        """The level of an objective at a design, with room for rounding where no limit of its own is what holds it."""
        loose = self._loosened(goal, found)
        limit = next((x for x in self.question.limits if x.name == goal.name), None)
        own = None if limit is None or self._by else limit.maximum if goal.maximize else limit.minimum
        # an equality is found far sooner than what is within a band as narrow as limits hold
        return own if own is not None and abs(loose - own) <= 2.0 * self._share * abs(own) else loose

    def _in_doubt(self, found: Solution, other: Objective) -> Solution:
        """Say of a design that is best for its own objective that it may be dominated."""
        self.unproved += 1
        text = f"{found.certificate}; whether a design as good is better for {other.name} is not known"
        return replace(found, status=Status.FEASIBLE, certificate=text)

    def _proves_as_good(self, settled: Solution, found: Solution, other: Objective) -> bool:
        """Whether an answer for ``other`` proves that no design is better for it than ``found``."""
        if settled.status is not Status.FEASIBLE or settled.bound is None:
            return settled.status is Status.OPTIMAL
        sign = -1.0 if other.maximize else 1.0
        at = value(other, found)
        return sign * (at - settled.bound) <= self.question.gap * abs(at)

    def _extent(self, place: int, reached: float | None) -> tuple[float, float]:
        values = [value(self.goals[place], s) for s in self.best]
        # what slack of a limit leaves of 0 is no end of a logarithm
        best = 0.0 if reached == 0.0 else values[place]
        return best, (min if self.goals[place].maximize else max)(values)

    def final(self, found: Solution) -> Solution:
        """State one design in the terms of all; of two objectives the best second one where several share the first."""
        first, *others = self.goals
        if found.objective_name == first.name:
            return self.undominated(found) if len(others) == 1 else found
        best = self.best[0]
        if best.objective_name == first.name and all(self._is_as_good(best, found, g) for g in self.goals):
            return self.final(best)
        near = self._near(found) if len(others) == 1 else None
        if near is not None:
            return near
        stated = self._kept_as_good(first, others, found)
        if stated.status not in ANSWERED:
            return found
        open_ones = [g for g in others if self._tied(stated, first, g)]
        if open_ones and found.status is Status.FEASIBLE and stated.status is Status.OPTIMAL:
            # nothing proves that it is the best for the objective that it was found for
            return self._in_doubt(stated, open_ones[0])
        return stated

    def _is_as_good(self, one: Solution, other: Solution, goal: Objective) -> bool:
        """Whether one design is as good as another for an objective, but for rounding."""
        sign = -1.0 if goal.maximize else 1.0
        return sign * value(goal, one) <= sign * self._loosened(goal, other)

    def _loosened(self, goal: Objective, found: Solution) -> float:
        """Return the value of an objective at a design, with room for rounding, and for tolerances of a solver."""
        at = value(goal, found)
        return at - self._share * abs(at) if goal.maximize else at + self._share * abs(at)

    def _tied(self, found: Solution, goal: Objective, other: Objective) -> bool:
        """Whether another design may be as good for ``goal``, and better for ``other``."""
        if tied.held(found, goal):
            return True
        if self._by is not None:
            return self._loose is None or self._loose(found, other)
        return tied.may_be_better(self.question, found, goal, other)

    def _near(self, found: Solution) -> Solution | None:
        """The best design for the second objective, or one that is so within ``TIE``, with a slope to state it by."""
        first, second = self.goals[:2]
        way, at, best = self.way(second), value(first, found), value(second, found)
        if way is None or not way.convex:
            return None
        better = np.array([at * (1.0 - s if not first.maximize else 1.0 + s) for s in NEARER])
        found_there = [x for x in way.at({first.name: better}) if x is not None]
        self.supports += [x.support for x in found_there if x.support is not None]
        self.count()
        told = [levels.stated(self.question, x, first, second) for x in found_there]
        within = [x for x in told if x is not None and abs(value(second, x) - best) <= TIE * abs(best)]
        gaps = [x.gap or 0.0 for x in within]
        # the nearest one whose slope is told well, else the one where it is told best
        sharp = next((x for x, gap in zip(within, gaps, strict=True) if gap <= SHARP_GAP), None)
        return sharp or (within[gaps.index(min(gaps))] if within else None)


def value(goal: Objective, solution: Solution) -> float:
    """Return the value of an objective at a design (NaN: there is none)."""
    found = solution.metrics.get(goal.name, solution.variables.get(goal.name))
    return float(found) if found is not None else math.nan


def undominated(values: Array, near: Array) -> list[int]:
    """Return which rows no other row betters, by rising first column; of equal ones the first.

    ``near``: by how much equal numbers differ, of rounding: of each number, or of all.
    """
    near = np.broadcast_to(near, values.shape)
    kept: list[int] = []
    for i in np.lexsort(values.T[::-1]):
        if not (kept and np.any(np.all(values[kept] <= values[i] + near[i], axis=1))):
            kept.append(int(i))
    others = values[kept]
    return [
        i
        for i in kept
        if not np.any(
            np.all(others <= values[i] + near[i], axis=1) & np.any(others < values[i] - near[i], axis=1)
        )
    ]
