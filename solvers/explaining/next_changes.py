"""Where the answer of a whole-number question next changes as a limit is relaxed, and the objective there.

Relaxing a limit moves the optimum of the discrete values chosen now, V(t), as the limit's logarithm goes t further. The
answer changes at the least t where other values are better than V(t). Trial limits go many at a time. Where one of them
has a better design, that design's discrete values are followed back to the t where they begin to be better, so that a
last round only has to prove that nothing is better before.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations import evaluation
from formulations.problem import Problem
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from results.solution import LimitState, Solution
from solvers import judgement, side_by_side
from solvers.explaining.moved_limits import limit_as_goal, of_difference, parts_with_limit_at
from solvers.geometric.programs import branch, ties

CHANGED = 1e-7
TRIALS = 16
"""Limits at which fixed discrete values are compared at once: the kernel takes them about as fast as one."""
SEARCHES = 4
"""Limits at which a round searches for better discrete values, each a branch and bound."""
CHANGE_ROUNDS = 9
RESOLVED = 1e-5
NARROWEST = 1e-5
BEYOND_LIMIT = 1e-9
"""How far (in logs) beyond the limit that it needs a design is tried."""
PROBE = 500
CHANGE_NODES, CALL_NODES, HELD_NODES = 2500, 10, 25_000
"""Nodes of all searches of an answer, those that one search takes at least, as it begins with programs of its own, and
nodes of programs whose discrete values are held, which are many at once.
"""


@dataclass(frozen=True, slots=True)
class _Found:
    """A minimum of one problem: ``status`` (0 optimal, 2 infeasible, 3 not closed), point in logs, log value."""

    status: int
    y: Array | None
    value: float


@dataclass(slots=True)
class Effort:
    """Nodes that may still be spent on what is only nice to know; ``ended``: limits of which nothing is proved.

    ``held``: those of programs whose discrete values are held.
    """

    left: int = CHANGE_NODES
    held: int = HELD_NODES
    ended: set[RowKey] = dataclasses.field(default_factory=set)

    @property
    def over(self) -> bool:
        """Whether nothing more is to be spent."""
        return self.left <= 0 or self.held <= 0

    def search(self, c: canon.Canonical, reached: branch.Reached | None = None) -> _Found:
        """Minimise, and take what it cost off the effort."""
        f = branch.closely(c, gap=1e-8, reached=reached, most=max(1, min(PROBE, self.left)))
        self.left -= max(int(f.nodes[0]), CALL_NODES)
        return _Found(int(f.status[0]), None if np.isnan(f.y).any() else f.y[0], float(f.value[0]))

    def least(self, parts: Sequence[Problem], reached: branch.Reached | None = None) -> _Found:
        """Minimise the goal over several problems; only designs below what is ``reached`` are looked for."""
        reached = reached or branch.Reached(0.0)
        arrays = [canon.canonical(p, p.goal) for p in parts]
        found = side_by_side.run([partial(self.search, c, reached=reached) for c in arrays])
        best = min(found, key=lambda f: f.value)
        unsure = best.y is None and any(f.status == branch.FAILED for f in found)
        return dataclasses.replace(best, status=branch.FAILED) if unsure else best


def next_change(
    problem: Problem, solution: Solution, state: LimitState, key: RowKey, effort: Effort
) -> tuple[float, float] | None:
    """Relax one limit until another choice of the discrete values is better.

    None where none ever is, or where finding out would take more than the effort left: ``effort.ended`` has it then.
    """
    if effort.over or key.name == "halvings" or state.bound <= 0:
        effort.ended.add(key)
        return None
    reached = branch.Reached(0.0)

    def without() -> tuple[dict[str, float], float] | None:
        # a design that is no better is not looked for
        level = branch.Reached(0.0, _log_value(problem, _no_better(problem, solution)))
        parts = parts_with_limit_at(problem, key, None)
        searched = effort.least(parts, level)
        found = _design_and_objective(problem, parts, searched)
        if found is not None and _is_better(problem, found[1], solution):
            return found
        if searched.status == branch.FAILED:
            effort.ended.add(key)
        # no limit makes a better design possible: the search beside this one need not prove that
        reached.by(-math.inf)
        return None

    def least_bound() -> float | None:
        told = state.binding or of_difference(problem, key)
        return None if told else _least_bound(problem, solution, key, effort, reached)

    tasks: list[Callable[[], Any]] = [without, least_bound]
    free, least = side_by_side.run(tasks)
    if free is None:
        return None
    sign = 1.0 if key.side == "max" else -1.0
    if least is None:
        far = {**free[0], **evaluation.metrics(problem.question, free[0])}.get(key.name, state.bound)
        if not float(far) > 0.0:
            effort.ended.add(key)
            return None
        reach = abs(math.log(float(far)) - math.log(state.bound)) + 1e-9
        return _Trials(problem, solution, key, state.bound, sign, effort).first(reach, free[0])
    parts = parts_with_limit_at(problem, key, least * math.exp(sign * 1e-9))
    searched = effort.least(parts)
    there = _design_and_objective(problem, parts, searched)
    if there is None or searched.status == branch.FAILED:
        # what a search that was ended has found may be worse than the answer itself
        effort.ended.add(key)
        return None
    return least, there[1]


def _least_bound(
    problem: Problem, solution: Solution, key: RowKey, effort: Effort, reached: branch.Reached
) -> float | None:
    """Where the limit has room now, the answer changes as soon as any better design fits: one more minimisation.

    ``reached``: see ``branch.closely``.
    """
    parts = problem.cases or (problem,)
    now = _log_value(problem, _objective(solution))
    below = now - 2 * TIE - CHANGED
    found = side_by_side.run([partial(_least_of_case, part, key, below, effort, reached) for part in parts])
    known = [value for value in found if value is not None]
    return float(judgement.relaxed(problem.question, key, math.exp(min(known)))) if known else None


def _objective(solution: Solution) -> float:
    assert solution.objective is not None, "an answer with a goal has an objective"
    return solution.objective


def _log_value(problem: Problem, objective: float) -> float:
    """What is minimised where the objective has this value, in logs."""
    aim = (problem.cases or (problem,))[0].aim
    return aim.sign * (objective * math.log(2.0) if aim.log2 else math.log(objective))


def _least_of_case(
    problem: Problem, key: RowKey, below: float, effort: Effort, reached: branch.Reached
) -> float | None:
    """The (log) factor that a limit needs for a design whose goal is under ``below``."""
    c = limit_as_goal(problem, key, extra=[ties.no_worse(problem.aim, below)])
    if c is None:
        return None
    found = effort.search(c, reached=reached)
    return None if found.y is None else found.value


@dataclass(frozen=True, slots=True)
class _Trials:
    """Trial values of one limit: ``bound`` is its value now, ``sign`` the way in which it is relaxed."""

    problem: Problem
    solution: Solution
    key: RowKey
    bound: float
    sign: float
    effort: Effort

    @property
    def now(self) -> Array:
        """The discrete values of the answer."""
        return self._discrete(self.solution.variables)

    @property
    def reached(self) -> float:
        """What is minimised at the answer (in logs), which may need the slack that limits are granted."""
        return _log_value(self.problem, _objective(self.solution))

    def first(self, reach: float, free: Mapping[str, float]) -> tuple[float, float] | None:
        """The value at which other discrete values first beat today's, each at their best, and the objective there.

        It is at most ``reach`` away.

        ``free``: the best design without the limit.
        """
        others = [self._discrete(free), *self._neighbours()]
        low, (high, value) = 0.0, self._begins(others, 0.0, (reach, math.nan))
        seen = high < reach - RESOLVED
        for i in range(CHANGE_ROUNDS):
            if self.effort.over:
                self.effort.ended.add(self.key)
                return None
            # what is followed back is the first change more often than not
            inside = low + (high - low) * np.arange(1, SEARCHES + 1) / (SEARCHES + 1) if i else np.zeros(0)
            at = sorted({*inside.tolist(), max(high - RESOLVED / 2, (low + high) / 2)})
            found = self._beaten(at)
            better = next((i for i, f in enumerate(found) if f.y is not None), len(at))
            if self.effort.over or any(f.status == branch.FAILED for f in found[:better]):
                self.effort.ended.add(self.key)
                return None
            low = at[better - 1] if better else low
            if better < len(at):
                seen = True
                high, value = at[better], found[better].value
                high, value = self._begins(
                    [self._discrete(_design(self.problem, found[better]))], low, (high, value)
                )
            if high - low < RESOLVED:
                break
        goal = (self.problem.cases or (self.problem,))[0].aim
        return (self.bound * math.exp(self.sign * high), float(goal.to_user(value))) if seen else None

    def _begins(self, others: Sequence[Array], low: float, known: tuple[float, float]) -> tuple[float, float]:
        """The least trial limit, from ``low`` on, at which one of the other discrete values beats today's.

        ``known``: a limit at which something does, and the least goal there (in logs), as in what is returned.
        """
        high, value = known
        others = [other for other in others if (other != self.now).any()]
        starts = self._needed(np.array(others)) + BEYOND_LIMIT if others else ()
        spans = [
            (other, _trial_limits(max(low, t), high))
            for other, t in zip(others, starts, strict=True)
            if t < high
        ]
        for last in (False, False, True):
            if self.effort.over:
                # nothing of it is told
                break
            closer = []
            for (other, at), (ahead, reached) in zip(spans, self._ahead(spans), strict=True):
                first = next((i for i, a in enumerate(ahead) if a >= 0), at.size)
                if first == at.size:
                    continue
                if at[first] <= high:
                    high, value = float(at[first]), float(reached[first])
                if first and at[first] - at[first - 1] > RESOLVED / 4:
                    closer.append(
                        (other, _trial_limits_near(at[first - 1 : first + 1], ahead[first - 1 : first + 1]))
                    )
            spans = closer
            if last or not spans:
                break
        return high, value

    def _needed(self, others: Array) -> Array:
        """How far the limit has to go before discrete values can be had at all; infinite where it does not help."""
        made = [limit_as_goal(p, self.key, points=len(others)) for p in self.problem.cases or (self.problem,)]
        some = [c for c in made if c is not None]
        # a case without the limit needs nothing of it, and how much one on a difference needs is tried
        if of_difference(self.problem, self.key):
            return np.zeros(len(others))
        none = np.full((len(made) - len(some), len(others)), 0.0)
        return np.asarray(np.concatenate([none, self._values(some, others)[0]]).min(axis=0))

    def _ahead(self, spans: Sequence[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
        """How much better (in logs) other discrete values are than today's at trial limits, less what is a change.

        And the goal with them there.
        """
        if not spans:
            return []
        at = np.concatenate([at for _, at in spans])
        others = np.concatenate([np.tile(other, (at.size, 1)) for other, at in spans])
        today = np.broadcast_to(self.now, others.shape)
        values, bounds = self._least(np.tile(at, 2), np.concatenate([today, others]))
        same, better = bounds[: at.size], values[at.size :]
        ahead = np.where(np.isfinite(better), np.minimum(same, self.reached) - CHANGED - better, -np.inf)
        ends = np.cumsum([at.size for _, at in spans])[:-1]
        return list(zip(np.split(ahead, ends), np.split(better, ends), strict=True))

    def _neighbours(self) -> list[Array]:
        """Today's discrete values with one of them a step up or down."""
        found = []
        for k, v in enumerate(v for v in self.problem.variables if v.discrete):
            now, listed = self.now[k], v.decision.values
            if listed is None:
                steps = [x for x in (now - 1.0, now + 1.0) if x >= 1.0]
            else:
                i = min((abs(x - now), k) for k, x in enumerate(listed))[1]
                steps = [float(x) for x in listed[max(i - 1, 0) : i + 2] if x != listed[i]]
            found += [np.where(np.arange(self.now.size) == k, x, self.now) for x in steps]
        return found

    def _least(self, at: Array, held: Array) -> tuple[Array, Array]:
        """The least goal (in logs) at limits (N,) with discrete values fixed, and a bound of it.

        Infinite where there is no design. Searches that end early leave the two apart: what is better than a value that
        was found need not be better than the values that it is compared with.
        """
        cases = [canon.canonical(p, p.goal, shape=at.shape) for p in self._parts(at)]
        values, bounds = self._values(cases, held).min(axis=1)
        return values, bounds

    def _values(self, cases: Sequence[canon.Canonical], held: Array) -> Array:
        """The least goals and their bounds (2, cases, N) with discrete values fixed."""
        at = [i for i, v in enumerate(self.problem.variables) if v.discrete]

        def one(c: canon.Canonical) -> Array:
            low, high = c.low.copy(), c.high.copy()
            low[:, at] = high[:, at] = np.log(held)
            fixed = dataclasses.replace(c, low=low, high=high, allowed={}, tighter=None)
            found = branch.closely(fixed, gap=1e-8, most=PROBE)
            self.effort.held -= int(found.nodes.sum())
            return np.stack([found.value, found.bound])

        return np.stack(side_by_side.run([partial(one, c) for c in cases]), axis=1)

    def _beaten(self, at: Sequence[float]) -> list[_Found]:
        """The best design at each limit, if it is better than today's discrete values are there.

        What these come to is worked out in the same call of the kernel as the first bounds.
        """
        levels, below = [branch.Reached(0.0) for _ in at], np.full(len(at), math.inf)

        def today() -> None:
            below[:] = np.minimum(self._least(np.array(at), self.now)[1], self.reached) - CHANGED
            for level, value in zip(levels, below, strict=True):
                level.by(float(value))

        searches = [
            partial(self.effort.least, self._parts(t), level) for t, level in zip(at, levels, strict=True)
        ]
        tasks: list[Callable[[], Any]] = [today, *searches]
        found = side_by_side.run(tasks)[1:]
        # what was found before the level was known may be above it
        return [
            f if f.value < most else dataclasses.replace(f, y=None)
            for f, most in zip(found, below, strict=True)
        ]

    def _parts(self, t: Any) -> Sequence[Problem]:
        return parts_with_limit_at(self.problem, self.key, self.bound * np.exp(self.sign * t))

    def _discrete(self, x: Mapping[str, Any]) -> Array:
        return np.array([float(x[v.name]) for v in self.problem.variables if v.discrete])


def _trial_limits(low: float, high: float) -> Array:
    """Trial limits from one to another, closer together at the first, where changes are."""
    return low + (high - low) * np.append(0.0, np.geomspace(NARROWEST, 1.0, TRIALS - 1))


def _trial_limits_near(at: Array, ahead: Array) -> Array:
    """Trial limits close to where a straight line through two of them says that the change is."""
    share = -ahead[0] / (ahead[1] - ahead[0]) if np.isfinite(ahead[0]) else 0.5
    middle = at[0] + share * (at[1] - at[0])
    steps = RESOLVED / 4 * 8.0 ** np.arange(4)
    inside = np.linspace(at[0], at[1], TRIALS // 2)
    found = np.clip(np.concatenate([middle - steps, [middle], middle + steps, inside]), *at)
    return np.array(sorted(set(found.tolist())))  # np.unique would load numpy.ma


def _design(problem: Problem, found: _Found) -> dict[str, float]:
    """What is decided in a design, discrete values exactly."""
    assert found.y is not None, "only designs have values"
    # what stands for maxima comes after the decided numbers
    return {v.name: float(canon.si_values(v, t)) for v, t in zip(problem.variables, found.y, strict=False)}


def _is_better(problem: Problem, objective: float, solution: Solution) -> bool:
    return problem.question.sign * (_no_better(problem, solution) - objective) > 0.0


def _no_better(problem: Problem, solution: Solution) -> float:
    """The objective up to which a design counts as no better than the answer."""
    now = _objective(solution)
    return now - problem.question.sign * problem.question.gap * abs(now)


def _design_and_objective(
    problem: Problem, parts: Sequence[Problem], found: _Found
) -> tuple[dict[str, float], float] | None:
    """What is decided and the objective of a minimum of several problems; None where there is none."""
    return None if found.y is None else (_design(problem, found), float(parts[0].aim.to_user(found.value)))
