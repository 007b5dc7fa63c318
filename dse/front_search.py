"""The search behind a Pareto front: which questions to ask, and what their answers say about the rest.

Each point is stated in the same terms: the least of the first objective with limits on the others (the
epsilon-constraint method).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dse import enclosure
from dse.enclosure import LEAST_A, Box, Enclosure, Place
from dse.progress import Report
from results.solution import Solution, Status
from scenarios.question import Objective, Question
from solvers.answer import answer
from solvers.front_points import limited

COARSE = 9
PROBES_PER_POINT = 6
FINE = 1e-4
TIE = 1e-9
ANSWERED = (Status.OPTIMAL, Status.FEASIBLE)


@dataclass(frozen=True, slots=True)
class Front:
    """The designs found, by rising first objective (falling where it is maximised).

    ``refusal``: the answer that says why there is no front. ``jumps``: between how many
    neighbours nothing lies. ``solves``: questions asked, of which ``failed`` without an answer. Of an exact
    front ``kind`` says what it is, ``joined`` of every point whether a straight segment of the front joins it to the
    next one (None: not known), and ``straight_in`` in terms of what.
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


@dataclass(frozen=True, slots=True)
class Scale:
    """An objective as a coordinate that is to be small: 0 at its best end, 1 at its worst on the front."""

    objective: Objective
    best: float
    worst: float

    @property
    def log(self) -> bool:
        """Whether the coordinate is logarithmic."""
        return min(self.best, self.worst) > 0

    def coordinate(self, value: float) -> float:
        """Return the coordinate of a value (0 everywhere where the objective is the same along the front)."""
        if self.best == self.worst:
            return 0.0
        if self.log:
            return math.log(value / self.best) / math.log(self.worst / self.best) if value > 0 else -math.inf
        return (value - self.best) / (self.worst - self.best)

    def value(self, coordinate: float) -> float:
        """Return the value at a coordinate."""
        if self.log:
            return float(self.best * (self.worst / self.best) ** coordinate)
        return self.best + coordinate * (self.worst - self.best)

    def step(self, tolerance: float) -> float:
        """Return how much of the coordinate a relative difference is, at the best end."""
        if self.best == self.worst:
            return math.inf
        if self.log:
            return math.log1p(tolerance) / abs(math.log(self.worst / self.best))
        return tolerance * max(abs(self.best), abs(self.worst)) / abs(self.worst - self.best)


class Search:
    """Asks the questions a front is made of."""

    def __init__(self, question: Question, report: Report, expected: int) -> None:
        self.question = question
        self.goals = question.objectives
        self.solves = self.failed = 0
        self._report, self._expected = report, expected

    def ask(self, goal: Objective, at_worst: dict[str, float]) -> Solution:
        """Answer for one objective, with limits on others."""
        asked = replace(self.question, objectives=(goal,), limits=limited(self.question, at_worst))
        found = answer(asked, neighbours=False)
        self.solves += 1
        self.failed += found.status is Status.ERROR
        self._report(self.solves, max(self._expected, self.solves))
        return found

    def ends(self) -> Solution | None:
        """Find the best design for each objective; returns an answer that forbids a front, if any does."""
        self.best: list[Solution] = []
        for goal in self.goals:
            found = self.ask(goal, {})
            if found.status not in ANSWERED:
                return found
            self.best.append(self._settled(goal, found))
        self.scales = [Scale(g, *self._extent(i)) for i, g in enumerate(self.goals)]
        return None

    def refusal(self) -> Solution | None:
        """Return the answer that forbids a front, if an objective has no end."""
        answers = (self.ask(goal, {}) for goal in self.goals)
        return next((found for found in answers if found.status not in ANSWERED), None)

    def count(self) -> None:
        """Note a solve made elsewhere."""
        self.solves += 1
        self._report(self.solves, max(self._expected, self.solves))

    def _settled(self, goal: Objective, found: Solution) -> Solution:
        """Among the designs that are best for ``goal``, take the one best for the other objectives."""
        for other in self.goals:
            if other is goal or not found.ranges or _tie_goes_to(goal, other):
                continue
            kept = {g.name: _loosened(g, found) for g in self.goals[: self.goals.index(other)]}
            settled = self.ask(other, kept | {goal.name: _loosened(goal, found)})
            if settled.status in ANSWERED:
                found = settled
        return found

    def _extent(self, place: int) -> tuple[float, float]:
        values = [_value(self.goals[place], s) for s in self.best]
        best = values[place]
        return best, (min if self.goals[place].maximize else max)(values)

    # Two objectives

    def curve(self, most: int, tolerance: float | None) -> Front:
        """Find the front of two objectives."""
        first, last = (self._place(self._final(s)) for s in self.best)
        if first.same(last) or min(first.b, last.a) <= enclosure.SAME:
            return self._front([first], "one design is the best for both objectives")
        if all(d.integer or d.values is not None or d.choices for d in self.question.decide):
            every = enclosure.step_through(first, last, self.probe, most)
            if every is not None:
                return self._front(every, "complete: stepped from design to design")
        shape = Enclosure(first, last, self.probe)
        if tolerance is not None:
            steps = [s.step(tolerance) for s in self.scales]
            shape.refine(most, PROBES_PER_POINT * most, lambda x: _narrow(x, steps))
            return self._front(shape.places, self._reached(shape, tolerance, steps, most), shape)
        if most == 2:
            return self._front(shape.places, "the two ends", shape)
        shape.refine(max(COARSE, most // 2), PROBES_PER_POINT * most, _tiny)
        if not any(x.empty for x in shape.boxes):
            between = [self.probe(which, level) for which, level in enclosure.spread(shape.places, most)]
            return self._front([first, *(p for p in between if p), last], "spread evenly along the curve")
        if len(shape.places) > most:
            shape = Enclosure(first, last, self.probe)
        shape.refine(most, PROBES_PER_POINT * most, _tiny)
        return self._front(shape.places, "the largest gap halved again and again", shape)

    def _reached(self, shape: Enclosure, tolerance: float, steps: list[float], most: int) -> str:
        """Say how near neighbours came, which is what was asked only where nothing stopped the search."""
        wide = sum(not _narrow(x, steps) for x in shape.boxes)
        if not wide:
            jumps = sum(not _narrow(x.whole, steps) for x in shape.boxes)
            but = f", but for {jumps} jumps with nothing between" if jumps else ""
            return f"refined to neighbours within {tolerance:g}{but}"
        stop = f"{most} points" if len(shape.boxes) + 1 >= most else f"{shape.probes} attempts"
        of = f"{wide} of {len(shape.boxes)} neighbours are"
        return f"stopped at {stop}: {of} not yet within {tolerance:g}"

    def probe(self, which: int, level: float) -> Place | None:
        """Find the design of least first objective with the second limited, or the other way round."""
        bounded, goal = (1, self.goals[0]) if which == LEAST_A else (0, self.goals[1])
        found = self.ask(goal, {self.goals[bounded].name: self.scales[bounded].value(level)})
        if found.status not in ANSWERED:
            return None
        return self._place(self._final(found))

    def _final(self, found: Solution) -> Solution:
        """State a design in the terms of all: least first objective, given the second."""
        second = self.goals[1]
        if found.objective_name == self.goals[0].name:
            return found if not found.ranges or _tie_goes_to(self.goals[0], second) else self._polished(found)
        stated = self.ask(self.goals[0], {second.name: _loosened(second, found)})
        return stated if stated.status in ANSWERED else found

    def _polished(self, found: Solution) -> Solution:
        """Of several designs with the same first objective, take the one best for the second."""
        first, second = self.goals[:2]
        better = self.ask(second, {first.name: _loosened(first, found)})
        if better.status not in ANSWERED:
            return found
        stated = self.ask(first, {second.name: _loosened(second, better)})
        return stated if stated.status in ANSWERED else found

    def _place(self, found: Solution) -> Place:
        a, b = (s.coordinate(_value(g, found)) for s, g in zip(self.scales, self.goals, strict=False) if g)
        return Place(a, b, found)

    def _front(self, places: list[Place], method: str, shape: Enclosure | None = None) -> Front:
        kept = enclosure.efficient(places)
        jumps = sum(x.empty for x in shape.boxes) if shape else 0
        return Front(
            self.question,
            tuple(p.design for p in kept),
            solves=self.solves,
            failed=self.failed,
            jumps=jumps,
            method=method,
        )

    # Three objectives and more

    def grid(self, most: int) -> Front:
        """Limit all objectives but the first on a grid of levels; keep what is not dominated."""
        steps = max(2, round(most ** (1 / (len(self.goals) - 1))))
        levels = [[i / (steps - 1) for i in range(steps)]] * (len(self.goals) - 1)
        found = list(self.best)
        for at in itertools.product(*levels):
            limits = {g.name: s.value(u) for g, s, u in zip(self.goals[1:], self.scales[1:], at, strict=True)}
            solution = self.ask(self.goals[0], limits)
            if solution.status in ANSWERED:
                found.append(solution)
        kept = sorted(
            _undominated(found, self.scales), key=lambda s: self.scales[0].coordinate(self._first(s))
        )
        method = f"limits on {', '.join(g.name for g in self.goals[1:])} on a grid of {steps} levels each"
        return Front(self.question, tuple(kept), None, self.solves, self.failed, 0, method)

    def _first(self, solution: Solution) -> float:
        return _value(self.goals[0], solution)


def _tie_goes_to(goal: Objective, other: Objective) -> bool:
    """Whether ties of ``goal`` already go to ``other``: to least time, or of time to least energy."""
    return not other.maximize and other.name == ("energy" if goal.name == "time" else "time")


def _loosened(goal: Objective, found: Solution) -> float:
    """Return the value of an objective at a design, with room for rounding."""
    value = _value(goal, found)
    return value - TIE * abs(value) if goal.maximize else value + TIE * abs(value)


def _value(goal: Objective, solution: Solution) -> float:
    found = solution.metrics.get(goal.name, solution.variables.get(goal.name))
    return float(found) if found is not None else math.nan


def _tiny(box: Box) -> bool:
    return box.size <= FINE


def _narrow(box: Box, steps: list[float]) -> bool:
    return box.a[1] - box.a[0] <= steps[0] and box.b[1] - box.b[0] <= steps[1]


def _undominated(found: list[Solution], scales: list[Scale]) -> Iterator[Solution]:
    at = [[s.coordinate(_value(s.objective, x)) for s in scales] for x in found]
    for i, mine in enumerate(at):
        if not any(_betters(theirs, mine, j < i) for j, theirs in enumerate(at) if j != i):
            yield found[i]


def _betters(theirs: list[float], mine: list[float], earlier: bool) -> bool:
    """Whether another design is as good in all and better in one, or the same and found earlier."""
    same = enclosure.SAME
    if any(t > m + same for t, m in zip(theirs, mine, strict=True)):
        return False
    return earlier or any(t < m - same for t, m in zip(theirs, mine, strict=True))
