"""One question whose metrics are ratios of posynomials: the block of one point of ``points.geometric_answers``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from formulations.arithmetics.posynomial import constant
from formulations.canonical import Canonical
from formulations.grids import batch
from formulations.grids.batch import Batch
from formulations.problem import Goal, Kind, Problem, Row
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from results.solution import Status
from results.variables import STATUS_CODES
from solvers import side_by_side
from solvers.geometric.explaining.geometric_conflicts import constant_product
from solvers.geometric.kernel import gp
from solvers.geometric.points import geometric_answers
from solvers.geometric.points.geometric_answers import NO_DESIGN, PROOFS, Answers, Part, of_search
from solvers.geometric.programs import branch, nudges, optima, ties
from solvers.geometric.programs.kinks import Place
from solvers.mechanisms.conflicts import ONE
from solvers.outcome import Outcome

HELD = 1e-10
METHODS = {Kind.LP: "interior point", Kind.GP: "interior point"}


@dataclass(frozen=True, slots=True)
class Optimum:
    """An outcome with what the explanations need: ranges, and the ``places`` where the optimum is attained.

    Of a problem with maxima these are the same design in every case that attains it. ``tied``: where nobody asked which
    of the best designs it is, finds the one by the tie rule without another search. ``beyond``: ends that nothing as
    good lies beyond, where those of ranges are not proved. ``settled``: the tie rule is known to have decided;
    where it is not, ``floors``: what that which ties go to, in order, is proved not to be below.
    """

    outcome: Outcome
    ranges: dict[str, tuple[float, float]] | None = None
    places: tuple[Place, ...] = ()
    tied: Callable[[], Optimum] | None = None
    beyond: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    settled: bool = True
    floors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Searched:
    """A search's end: the one point's ``answers`` so far, and its optimum before ties are broken (``part``).

    ``stated``: what was minimised is the objective, not only what ties go to. ``done``: what is the answer already.
    """

    problem: Problem
    stated: bool
    answers: Answers
    part: Part | None = None
    done: Optimum | None = None

    @property
    def value(self) -> float:
        """Log of the goal at the design; infinite without one."""
        if self.done is not None:
            c = canon.canonical(self.problem, self.problem.goal)
            return float(canon.values(c, self.done.places[0].y[None])[0, 0])
        return np.inf if self.part is None else float(self.part.found.value.min(initial=np.inf))

    @property
    def status(self) -> Status:
        """How the search ended: optimal where there is a design, error where it found neither one nor a proof."""
        if math.isfinite(self.value):
            return Status.OPTIMAL
        code = self.answers.status[0]
        return next((status for status, k in STATUS_CODES.items() if k == code), Status.ERROR)


def search(problem: Problem, reached: branch.Reached | None = None, *, tied: bool = True) -> Searched:
    """Find the optimum and its bound.

    What the search box alone forbids or holds is asked again in a far larger box, and with the slack that feasibility
    is granted, before it is called infeasible or unbounded. ``reached``: what is found beside this problem; only
    designs as good as that are looked for, and "infeasible" then means that there is none. ``tied``: find out how far
    the best designs reach, which only settling ties asks.
    """
    stated = problem.goal is not None and bool(problem.goal.numerator.terms)
    goal = problem.goal if stated else next(iter(ties.tie_goals(problem, "")), None)
    own = batch.alone(optima.granted(dataclasses.replace(problem, goal=goal)), goal)
    s = Searched(problem, stated, geometric_answers.blank(own))
    found = _searched_in_box(s, own, reached, tied=tied)
    if found.done is None and geometric_answers.to_ask_farther(s.answers, ONE).size:
        far = partial(
            _searched_in_box,
            s,
            batch.alone(optima.eased(dataclasses.replace(problem, goal=goal)), goal),
            reached,
            last=True,
        )
        found = far(tied=False)
        if tied and found.part is not None and found.part.points.size and found.part.found.alone is None:
            # as a rule there is no end: only where there is one it is worth finding out how far designs reach
            found = far(tied=True)
    if reached is not None:
        reached.by(found.value)
    return found


def _searched_in_box(
    s: Searched, own: Batch, reached: branch.Reached | None, *, tied: bool, last: bool = False
) -> Searched:
    goal, done = own.problem.goal, None
    if s.stated and goal is not None and own.arrays.divisors:
        if s.problem.kind in (Kind.LP, Kind.MILP):
            done = _linear_vertex(own.problem, goal, own.arrays)
        done = done or _at_its_limit(own.problem, goal)
    if done is not None:
        return dataclasses.replace(s, done=done)
    part, none = geometric_answers.searched(
        s.answers, own, None, ONE, side_by_side.solve,
        last=last, stated=s.stated, reached=reached, tied=tied,
    )  # fmt: skip
    if last:
        s.answers.status[none] = STATUS_CODES[Status.INFEASIBLE]
    return dataclasses.replace(s, part=part)


def _at_its_limit(problem: Problem, goal: Goal) -> Optimum | None:
    """The objective cannot pass a limit on itself; where some design attains it, that design is optimal.

    Such a limit is recognised by its ratio times the goal being constant (a least performance bounds a greatest time).
    Asked first, because a search would find all of a curve of equally good designs.
    """
    factors = [constant_product(r, goal) for r in problem.rows or () if r.key.side != SIDE]
    least = max((math.log(float(k)) for k in factors if k is not None), default=None)
    if least is None:
        return None
    held = Row(
        RowKey("optimum", "model"), goal.numerator * constant(math.exp(-least - HELD)), goal.denominator
    )
    rest = dataclasses.replace(problem, rows=(*(problem.rows or ()), held))
    first = next((g for g in ties.tie_goals(problem, goal.name) if g.name != goal.name), None)
    own = batch.alone(rest, first)
    found = branch.closely(own.arrays, gap=TIE, most=branch.MOST_NODES_OF_A_SET, reach=True)
    if np.isnan(found.y).any():
        return None
    stages = ties.tie_goals(rest, first.name if first else "")
    chosen = ties.choose(
        own, ONE, found.y, stages, side_by_side.solve, after=None, within=(found.low, found.high)
    )
    # all designs that attain the limit are as good, not only those that ties go to
    ends, outer = nudges.reach_of_all(batch.alone(rest, None), chosen.y, side_by_side.solve)
    x = _values_in_si(problem, chosen.y[0])
    text = f"a limit stops {goal.name} here, and this design attains it"
    settled = found.status[0] == gp.OPTIMAL and bool(chosen.sure[0])
    outcome = Outcome(Status.OPTIMAL, x, goal.to_user(least), text, "dse branch and bound")
    place = Place(problem, _logarithms(x), None)
    ranges, beyond = _ranges(problem, *ends[:, 0]), _outer_ends(problem, *outer[:, 0])
    return Optimum(outcome, ranges, (place,), beyond=beyond, settled=settled)


def settle(s: Searched, *, tied: bool = True) -> Optimum:
    """Settle which of the optimal designs is handed out; unless ``tied`` it is any of them."""
    problem, a = s.problem, s.answers
    goal, solver = problem.goal, f"dse {METHODS.get(problem.kind, 'branch and bound')}"
    if s.done is not None:
        return s.done
    if s.part is None or not s.part.points.size:
        return Optimum(_without_design(s, solver))
    # of any feasible design nobody is told how far the others range
    geometric_answers.settle(a, s.part, side_by_side.solve, ranged=s.stated, tied=tied)
    # lists of powers go on in a farther box
    x = _values_in_si(s.part.batch.problem, a.y[0])
    if goal is None:
        text = "all limits hold; nothing was to be optimised"
        return Optimum(Outcome(Status.FEASIBLE, x, certificate=text, solver=solver))
    if not s.stated:
        return Optimum(Outcome(Status.OPTIMAL, x, 0.0, f"{goal.name} is 0 at every design", solver))
    status = Status.OPTIMAL if a.status[0] == STATUS_CODES[Status.OPTIMAL] else Status.FEASIBLE
    bound = goal.to_user(a.value[0]) if math.isfinite(a.value[0]) else None
    text = of_search(PROOFS[problem.kind], int(a.nodes[0]))
    # of a program that the kernel solved the multipliers are known
    sure = s.part.found.alone is not None and s.part.found.status[0] == gp.OPTIMAL
    place = Place(problem, _logarithms(x), a.multipliers.copy() if sure else None)
    ranges, beyond = _ranges(problem, *a.ranges[:, 0]), _outer_ends(problem, *a.beyond[:, 0])
    outcome = Outcome(status, x, bound, text, solver)
    stages = (g.name for g in ties.tie_goals(problem, goal.name))
    floors = {n: float(least) for n, least in zip(stages, np.exp(a.floors[0]), strict=True)}
    settled = not tied or bool(a.tied[0])
    return Optimum(outcome, ranges, (place,), beyond=beyond, settled=settled, floors=floors)


def _without_design(s: Searched, solver: str) -> Outcome:
    if s.status is Status.INFEASIBLE:
        return Outcome(Status.INFEASIBLE, certificate=NO_DESIGN + PROOFS[s.problem.kind], solver=solver)
    if s.status is Status.UNBOUNDED:
        name, falls = s.answers.runs[0]
        found = Outcome(Status.UNBOUNDED, solver=solver, runaway=name, falls=falls)
        return dataclasses.replace(found, certificate=f"the objective keeps improving as {found.endless}")
    message = "the search ended before a design was found"
    return Outcome(Status.ERROR, solver=solver, message=message)


def _linear_vertex(problem: Problem, goal: Goal, c: Canonical) -> Optimum | None:
    """The vertex of a problem that is linear and divides by sums; None where there is none to build on."""
    from solvers.geometric import vertices

    found = vertices.optimum(problem, goal)
    if found is None or found.outcome.x is None:
        return None
    y = np.log(np.array([found.outcome.x[n] for n in c.names]))
    x = _values_in_si(problem, y)
    place = Place(problem, _logarithms(x), None)
    return Optimum(dataclasses.replace(found.outcome, x=x), found.ranges, (place,))


def _ranges(problem: Problem, low: Array, high: Array) -> dict[str, tuple[float, float]]:
    """The interval of optimal values of each variable that is not unique, from its ends in logs."""
    ends = zip(problem.variables, np.exp(low), np.exp(high), strict=True)
    return {v.name: (float(least), float(most)) for v, least, most in ends if least < most}


def _outer_ends(problem: Problem, low: Array, high: Array) -> dict[str, tuple[float, float]]:
    """Outer ends of decided numbers, from logs where there are any; an end that has none is nowhere far out."""
    least, most = np.where(np.isnan(low), np.inf, np.exp(low)), np.where(np.isnan(high), 0.0, np.exp(high))
    ends = zip(problem.variables, least, most, strict=True)
    return {v.name: (float(a), float(b)) for v, a, b in ends if not v.auxiliary and (a < np.inf or b > 0.0)}


def _logarithms(x: Mapping[str, float]) -> Array:
    return np.asarray(np.log(np.array(list(x.values()), dtype=float)))


def _values_in_si(problem: Problem, y: Array) -> dict[str, float]:
    """SI values of the design."""
    return {v.name: float(canon.si_values(v, y[[i]])[0]) for i, v in enumerate(problem.variables)}
