"""The geometric master at many points at once: what ``robust_geometric.minimise`` does for one question.

Masters of points that hold as many limits and cuts, of the same terms, are the rows of one batch of programs. A point
at which nothing is left to add leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.grids import batch, divided
from formulations.problem import Goal, Problem
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from formulations.uncertainty import robust
from formulations.uncertainty.measures import WORST, Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.worlds import Array, judged
from results.solution import Status
from results.variables import STATUS_CODES
from solvers.geometric.points import geometric_answers
from solvers.geometric.points.geometric_answers import Answers, Part
from solvers.geometric.programs import branch, ties
from solvers.geometric.programs.geometric_conflicts import Oracle, limit_names
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts
from solvers.patterns import Bools, Indices
from solvers.robust.masters.master import Master, exact_at
from solvers.robust.masters.robust_geometric import MASTER_ROUNDS, grown, middle_design, still_met

OPTIMAL = STATUS_CODES[Status.OPTIMAL]


@dataclass(frozen=True, slots=True)
class Optima:
    """What is known of P points: designs ``x`` (P,) by name and bounds of the measure, NaN where nothing is proved.

    ``multipliers``: by limit, the least where they are not unique, summed over the worlds in which it is held.
    ``refuted``: where it is proved that no design meets all limits, with the slack that these are granted.
    """

    x: Mapping[str, Array]
    bound: Array
    multipliers: Mapping[RowKey, Array]
    refuted: Bools

    @property
    def known(self) -> Bools:
        """Where there is a design."""
        return np.isfinite(self.bound)


@dataclass(frozen=True, slots=True)
class _Solved:
    """The programs of some points (G,), and what is known of them; ``none``: those that surely have no design."""

    points: Indices
    problem: Problem
    answers: Answers
    part: Part
    none: Indices

    def settle(self, some: Indices, solve: Solver, *, tied: bool) -> None:
        """Settle the designs of ``some`` of its points; ``tied``: by the tie rule."""
        part = self.part.take(np.isin(self.part.points, some))
        self.answers.status[some] = 0
        geometric_answers.settle(self.answers, part, solve, tied=tied, sharp=True)

    @property
    def bound(self) -> Array:
        """Bounds in the user's sense, NaN where there is no optimum."""
        goal = self.problem.goal
        assert goal is not None, "a master has a goal"
        return np.where(self.answers.status == OPTIMAL, goal.to_user(self.answers.value), np.nan)


def minimise(asked: Posed, measure: Weighing, solve: Solver) -> Optima:
    """Find the designs whose objective has the least measure over the worlds, by the tie rule, with bounds.

    ``asked``: as ``robust.posed_at_points`` poses it, with an objective. Points without an optimum that is sure are
    left unknown. Raises NotPosynomial where the measure cannot be cut.
    """
    count, names = asked.worlds.points, [v.name for v in asked.variables]
    exact = robust.exact_goal(asked, measure)
    x = {n: np.full((count, 1), v) for n, v in middle_design(asked).items()}
    master, at = Master(asked, measure), judged(asked.worlds, x)
    master.add(x, at, first=True)
    if exact is None:
        master.cut(x, at, np.ones(count, bool))
    unweighed = {row.key: np.zeros(count) for row in asked.rows}
    found = Optima(
        {n: np.full(count, np.nan) for n in names}, np.full(count, np.nan), unweighed, np.zeros(count, bool)
    )
    points = np.arange(count)
    for _ in range(MASTER_ROUNDS):
        every = list(_solved(master, exact, solve))
        y, bound = np.full((points.size, len(names)), np.nan), np.full(points.size, np.nan)
        for one in every:
            one.settle(np.arange(one.points.size), solve, tied=False)
            y[one.points], bound[one.points] = one.answers.y[:, : len(names)], one.bound
            found.refuted[points[one.points[one.none]]] = True
        x = _designs(asked, y)
        at = judged(master.asked.worlds, x)
        met = np.isfinite(bound)
        more = grown(master, bound, x, at, exact) & met
        for one in every:
            _put(found, points, one, np.flatnonzero((met & ~more)[one.points]), master, exact, solve)
        rest = np.flatnonzero(more)
        if not rest.size:
            break
        points, master = points[rest], master.at(rest)
        exact = exact if exact is None else exact_at(exact, rest)
    return found


def hold_together(asked: Posed, solve: Solver) -> conflicts.Codes:
    """Whether some design meets all limits in all worlds, at each point; codes of ``conflicts``."""
    count = asked.worlds.points
    found, points = np.full(count, conflicts.NOT_KNOWN, np.int8), np.arange(count)
    x = {n: np.full((count, 1), v) for n, v in middle_design(asked).items()}
    master = Master(replace(asked, goal=None), WORST)
    master.add(x, judged(asked.worlds, x), first=True)
    for _ in range(MASTER_ROUNDS):
        y = np.full((points.size, len(asked.variables)), np.nan)
        for own in master.alike():
            made = batch.of_problem(master.problem(None, own), None, (own.size,))
            if made is None:
                # sums of too many numbers divide
                continue
            there = branch.search(divided.any_design(made.arrays), solve, any_design=True)
            y[own] = there.y
            lost = np.flatnonzero(np.isnan(there.y).any(1))
            if lost.size:
                ask = Oracle(made, lost, limit_names(made.problem), solve)
                code = ask.feasible(np.arange(lost.size), np.ones((lost.size, len(ask.names)), bool))
                # there may be designs of the master, of which nothing is known in other worlds
                found[points[own[lost]]] = np.where(code == conflicts.CAN_HOLD, conflicts.NOT_KNOWN, code)
        x = _designs(asked, y)
        at = judged(master.asked.worlds, x)
        more = master.add(x, at) & np.isfinite(y).all(1)
        found[points[~more & (master.worst(at) <= 1 + HOLDS) & np.isfinite(y).all(1)]] = conflicts.CAN_HOLD
        rest = np.flatnonzero(more)
        if not rest.size:
            break
        points, master = points[rest], master.at(rest)
    return found


def _designs(asked: Posed, y: Array) -> dict[str, Array]:
    """Designs (P, 1) by name, at logarithms (P, n), behind which others may stand."""
    return {v.name: canon.si_values(v, y[:, [i]]) for i, v in enumerate(asked.variables)}


def _solved(master: Master, exact: Goal | None, solve: Solver) -> Iterator[_Solved]:
    """Search the programs of all points, those that are alike together."""
    for points in master.alike():
        problem = master.problem(exact, points)
        made = batch.of_problem(problem, problem.goal, (points.size,))
        rule = None if made is None else ties.of_batch(made, solve)
        if made is None or rule is None:
            continue
        answers = geometric_answers.blank(made)
        there = np.flatnonzero(np.isfinite(made.table.logc).all(1))
        part, none = geometric_answers.searched(answers, made, rule, there, solve)
        if none.size:
            none = none[Oracle(made, none, limit_names(problem), solve).refuted(why=False)[0]]
        yield _Solved(points, problem, answers, part, none)


def _put(
    found: Optima,
    points: Indices,
    one: _Solved,
    ready: Indices,
    master: Master,
    exact: Goal | None,
    solve: Solver,
) -> None:
    """Settle the ties of points at which nothing is left to add, and put what is known of them into place."""
    if not ready.size:
        return
    untied, before = one.answers.y[ready].copy(), one.bound[ready]
    one.settle(ready, solve, tied=True)
    own, of = one.points[ready], points[one.points[ready]]
    y, there = one.answers.y[ready], master.at(own)
    x = _designs(master.asked, y)
    good = still_met(there, one.bound[ready], judged(there.asked.worlds, x), exact)
    y = np.where(good[:, None], y, untied)
    for name, values in _designs(master.asked, y).items():
        found.x[name][of] = values[:, 0]
    found.bound[of] = np.where(good, one.bound[ready], before)
    for k, row in enumerate(one.problem.rows or ()):
        if row.key in found.multipliers:
            found.multipliers[row.key][of] += one.answers.elasticity[ready, k]
