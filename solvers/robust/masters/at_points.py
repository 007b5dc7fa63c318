"""The geometric master at many points at once, in the loop that a single question has (``master.grow``).

Masters of points that hold as many limits and cuts, of the same terms, are the rows of one batch of programs. A point
at which nothing is left to add leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.grids import batch, divided
from formulations.problem import Problem
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.world_cuts import Point
from results.solution import Status
from results.variables import STATUS_CODES
from solvers.geometric.explaining.geometric_conflicts import Oracle, limit_names
from solvers.geometric.points import geometric_answers
from solvers.geometric.points.geometric_answers import Answers, Part
from solvers.geometric.programs import branch, ties
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts
from solvers.robust.masters.master import Master, Round, grow, middle_design

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
        return np.where(self.answers.status == OPTIMAL, self.problem.aim.to_user(self.answers.value), np.nan)


def nothing(asked: Posed) -> Optima:
    """Nothing is known yet of the points of a question."""
    count = asked.worlds.points
    x = {v.name: np.full(count, np.nan) for v in asked.variables}
    return Optima(
        x, np.full(count, np.nan), {r.key: np.zeros(count) for r in asked.rows}, np.zeros(count, bool)
    )


def minimise(master: Master, solve: Solver, *, near: Array | None = None, tied: bool = True) -> Optima:
    """Find the designs whose objective has the least measure over the worlds, with bounds; ``tied``: by the tie rule.

    ``master``: of what ``robust.posed_at_points`` poses, with an objective; it holds nothing yet. ``near``: logarithms
    of designs that the best ones may be near to. Points without an optimum that is sure are left unknown. Raises
    NotPosynomial where the measure cannot be cut.
    """
    asked = master.asked
    names, found = [v.name for v in asked.variables], nothing(asked)

    def search(master: Master) -> tuple[Point, Array, list[_Solved]]:
        every = list(_solved(master, solve))
        y, bound = np.full((master.count, len(names)), np.nan), np.full(master.count, np.nan)
        for one in every:
            one.settle(np.arange(one.points.size), solve, tied=False)
            bound[one.points] = one.bound
            y[one.points] = np.where(np.isfinite(one.bound)[:, None], one.answers.y[:, : len(names)], np.nan)
        return designs(asked, y), bound, every

    for now in grow(master, start(asked) if near is None else designs(asked, near), search):
        for one in now.told:
            found.refuted[now.points[one.points[one.none]]] = True
            _put(found, now, one, np.flatnonzero((now.there & ~now.more)[one.points]), solve, tied=tied)
    return found


def hold_together(master: Master, solve: Solver) -> tuple[Codes, Array]:
    """Whether some design meets all limits in all worlds, at each point: codes of ``conflicts``, and designs in logs.

    ``master``: without an objective; it holds nothing yet.
    """
    asked = master.asked
    found, best = (
        np.full(master.count, conflicts.NOT_KNOWN, np.int8),
        np.full((master.count, len(asked.variables)), np.nan),
    )

    def search(master: Master) -> tuple[Point, Array, tuple[Array, Array]]:
        y, codes = (
            np.full((master.count, len(asked.variables)), np.nan),
            np.full(master.count, conflicts.NOT_KNOWN),
        )
        for own in master.alike():
            made = batch.of_problem(master.problem(own), None, (own.size,))
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
                codes[own[lost]] = np.where(code == conflicts.CAN_HOLD, conflicts.NOT_KNOWN, code)
        return designs(asked, y), np.full(master.count, np.nan), (codes, y)

    for now in grow(master, start(asked), search):
        met = now.there & ~now.more & (now.master.worst(now.x, now.at) <= 1 + HOLDS)
        found[now.points] = np.select([met, ~now.there], [conflicts.CAN_HOLD, now.told[0]], found[now.points])
        best[now.points[met]] = now.told[1][met]
    return found, best


def start(asked: Posed) -> Point:
    """Return designs (P, 1) to begin with."""
    return {n: np.full((asked.worlds.points, 1), v) for n, v in middle_design(asked).items()}


def designs(asked: Posed, y: Array) -> dict[str, Array]:
    """Return designs (P, 1) by name, at logarithms (P, n), behind which others may stand."""
    return {v.name: canon.si_values(v, y[:, [i]]) for i, v in enumerate(asked.variables)}


def _solved(master: Master, solve: Solver) -> Iterator[_Solved]:
    """Search the programs of all points, those that are alike together."""
    for points in master.alike():
        problem = master.problem(points)
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
    found: Optima, now: Round[list[_Solved]], one: _Solved, ready: Indices, solve: Solver, *, tied: bool
) -> None:
    """Settle points at which nothing is left to add, and put what is known of them into place."""
    if not ready.size:
        return
    y, bound = one.answers.y[ready].copy(), one.bound[ready]
    own, of = one.points[ready], now.points[one.points[ready]]
    there = now.master.at(own)
    if tied:
        one.settle(ready, solve, tied=True)
        good = there.still_met(designs(there.asked, one.answers.y[ready]), one.bound[ready])
        y = np.where(good[:, None], one.answers.y[ready], y)
        bound = np.where(good, one.bound[ready], bound)
    for name, values in designs(there.asked, y).items():
        found.x[name][of] = values[:, 0]
    found.bound[of] = bound
    for k, row in enumerate(one.problem.rows or ()):
        if row.key in found.multipliers:
            found.multipliers[row.key][of] += one.answers.elasticity[ready, k]
