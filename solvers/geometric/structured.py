"""The path of every problem whose metrics are ratios of posynomials: bound, design, ties, and what it all rests on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE, joined
from formulations.arithmetics.posynomial import Posynomial, constant
from formulations.canonical import Array, Canonical
from formulations.problem import Goal, Kind, Problem, Row, farther
from formulations.row_keys import RowKey
from formulations.tolerances import SLACK
from results.solution import Status
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch, multipliers, ties
from solvers.geometric.programs.crossover import polish
from solvers.geometric.programs.unbounded import at_open_ends, held_by_box, runaway
from solvers.outcome import Outcome

PROOFS = {
    Kind.LP: "convex in log variables; lower bound from Lagrangian duality, independent of any solver's tolerance",
    Kind.GP: "convex in log variables; lower bound from Lagrangian duality, independent of any solver's tolerance",
    Kind.MILP: "branch and bound on discrete values; lower bounds from Lagrangian duality",
    Kind.MIGP: "branch and bound on discrete values; lower bounds from Lagrangian duality",
    Kind.NLP: "branch and bound, monomial secants; lower bounds from Lagrangian duality",
    Kind.MINLP: "branch and bound on discrete values, monomial secants; lower bounds from Lagrangian duality",
}
STRAINED = 1e3
INTERIOR_AT_LEAST = 1e-8
HELD = 1e-10
METHODS = {Kind.LP: "interior point", Kind.GP: "interior point"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a case of a problem with maxima attains its optimum, in log variables."""

    case: Problem
    y: Array
    known: gp.Result | None


@dataclass(frozen=True, slots=True)
class Optimum:
    """An outcome with what the explanations need: the design in log variables and its ranges.

    ``places``: of a problem with maxima, the same design in every case that attains the optimum there. ``tied``: where
    nobody asked which of the best designs it is, finds the one by the tie rule without another search.
    """

    outcome: Outcome
    y: Array | None = None
    ranges: dict[str, tuple[float, float]] | None = None
    known: gp.Result | None = None
    places: tuple[Place, ...] = ()
    tied: Callable[[], Optimum] | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """A search's end: ``done`` where that is the answer, else a design ``found`` among the optimal ones.

    ``value``: what is minimised there, in logs; infinite without a design. ``known``: what the kernel says of the
    program whose divisors are their tangents there.
    """

    problem: Problem
    goal: Goal | None
    c: Canonical
    outcome: Outcome
    found: branch.Found | None = None
    done: Optimum | None = None
    known: gp.Result | None = None

    @property
    def value(self) -> float:
        """Log of the goal at the design."""
        if self.done is not None and self.done.y is not None:
            return float(canon.values(self.c, self.done.y[None])[0, 0])
        return np.inf if self.found is None else self.found.value


def optimise(problem: Problem, *, ties: bool = True) -> Optimum:
    """Solve a structured problem; the design is unique by the tie rule, unless nobody asks for ``ties``."""
    found = search(problem)
    return (
        settle(found) if ties else dataclasses.replace(settle(found, tied=False), tied=partial(settle, found))
    )


def search(problem: Problem, reached: branch.Reached | None = None) -> Searched:
    """Find the optimum and its bound.

    What the search box alone forbids or holds is asked again in a far larger box, and with the slack that feasibility
    is granted, before it is called infeasible or unbounded. ``reached``: what is found beside this problem; only
    designs as good as that are looked for, and "infeasible" then means that there is none.
    """
    found = _searched_problem(problem, reached)
    if found.outcome.status is Status.INFEASIBLE or found.outcome.runaway:
        eased = _searched_problem(_eased(problem), reached)
        found = eased if np.isfinite(eased.value) or found.outcome.runaway else found
    if reached is not None:
        reached.by(found.value)
    return found


def _eased(problem: Problem) -> Problem:
    """The problem with the ends of the box that are only there to have a box far away, and the slack in its limits."""
    more = constant(1.0 + SLACK)
    # what says which number a maximum is stays exact: slack there would come on top of the limits' own
    rows = tuple(
        r if r.key.side == SIDE else dataclasses.replace(r, denominator=r.denominator * more)
        for r in problem.rows or ()
    )
    return dataclasses.replace(problem, variables=farther(problem.variables), rows=rows)


def _searched_problem(problem: Problem, reached: branch.Reached | None) -> Searched:
    stated = _goal_that_varies(problem)
    goal = stated or next(iter(ties.tie_goals(problem, "")), None)
    c = canon.canonical(problem, goal)
    done: Optimum | None = None
    if stated is not None and problem.kind in (Kind.LP, Kind.MILP) and c.divisors:
        done = _linear_vertex(problem, stated, c)
    if done is None and stated is not None:
        done = _at_its_limit(problem, goal, c)
    if done is not None:
        return Searched(problem, goal, c, done.outcome, done=done)
    outcome, found = _outcome_of_search(problem, c, reached)
    if found is None or found.y is None:
        return Searched(problem, goal, c, outcome, done=Optimum(outcome))
    gone, known = "", None
    if stated is not None:
        gone = "" if c.divisors else runaway(c, problem.variables)
        box, y = (c.low[None], c.high[None]), found.y[None]
        # with whole numbers the multipliers are found again later: here they only tell what an open end holds
        if not gone and (not c.allowed or at_open_ends(problem.variables, box, y).any()):
            known = multipliers.at(c, found.y, found.alone)
            pull = np.maximum(known.lower_multipliers, known.upper_multipliers)
            held = held_by_box(problem.variables, box, y, pull)[0]
            gone = next((v.name for v, h in zip(problem.variables, held, strict=True) if h), "")
    if gone:
        outcome = _unbounded(gone, outcome.solver)
        return Searched(problem, goal, c, outcome, done=Optimum(outcome))
    return Searched(problem, goal, c, outcome, found, known=known)


def _goal_that_varies(problem: Problem) -> Goal | None:
    """The objective, unless it is 0 whatever is decided."""
    return problem.goal if problem.goal is not None and problem.goal.numerator.terms else None


def settle(s: Searched, *, tied: bool = True) -> Optimum:
    """Settle which of the optimal designs is handed out; unless ``tied`` it is any of them."""
    if s.done is not None or s.found is None or s.found.y is None:
        return s.done or Optimum(s.outcome)
    problem, goal, c = s.problem, s.goal, s.c
    y, known = _newton_polished(problem, goal, c, s.found.y, s.known)
    pinned = _pinned(problem, goal, c, known.multipliers[0]) if goal is not None else None
    chosen = pinned
    if chosen is None and not tied:
        chosen = ties.Chosen(y, {}, 0.0)
    if chosen is None:
        # of any feasible design nobody is told how far the others range
        chosen = ties.choose(problem, goal, y, known=known, ranged=_goal_that_varies(problem) is not None)
    x = _values_in_si(problem, chosen.y)
    if goal is None or _goal_that_varies(problem) is None:
        return Optimum(_any_design(problem, x, s.outcome.solver), chosen.y)
    log_bound = s.found.bound if pinned is None else pinned.first
    bound = goal.to_user(log_bound) if math.isfinite(log_bound) else None
    status = Status.OPTIMAL if pinned is not None else s.outcome.status
    outcome = dataclasses.replace(s.outcome, status=status, x=x, bound=bound)
    return Optimum(outcome, _logarithms(x), chosen.ranges, None if c.allowed or c.divisors else known)


def _logarithms(x: Mapping[str, float]) -> Array:
    return np.asarray(np.log(np.array(list(x.values()), dtype=float)))


def _any_design(problem: Problem, x: dict[str, float], solver: str) -> Outcome:
    """Without an objective any design will do; an objective that is 0 at every design is at its optimum."""
    if problem.goal is None:
        text = "all limits hold; nothing was to be optimised"
        return Outcome(Status.FEASIBLE, x, certificate=text, solver=solver)
    return Outcome(Status.OPTIMAL, x, 0.0, f"{problem.goal.name} is 0 at every design", solver)


def _at_its_limit(problem: Problem, goal: Goal | None, c: Canonical) -> Optimum | None:
    """The objective cannot pass a limit on itself; where some design attains it, that design is optimal.

    Such a limit is recognised by its ratio times the goal being constant (a least performance bounds a greatest time).
    Asked first, because a search would find all of a curve of equally good designs.
    """
    if goal is None or not c.divisors:
        return None
    factors = [
        _constant(joined(r.numerator * goal.numerator), joined(r.denominator * goal.denominator))
        for r in problem.rows or ()
        if r.key.side != SIDE
    ]
    least = max((math.log(k) for k in factors if k is not None), default=None)
    if least is None:
        return None
    held = Row(
        RowKey("optimum", "model"), goal.numerator * constant(math.exp(-least - HELD)), goal.denominator
    )
    rest = dataclasses.replace(problem, rows=(*(problem.rows or ()), held))
    first = next((g for g in ties.tie_goals(problem, goal.name) if g.name != goal.name), None)
    found = branch.minimise(canon.canonical(rest, first), most=ties.MOST_TIE_NODES)
    if found.y is None:
        return None
    chosen = ties.choose(rest, first, found.y)
    x = _values_in_si(problem, chosen.y)
    text = f"a limit stops {goal.name} here, and this design attains it"
    outcome = Outcome(Status.OPTIMAL, x, goal.to_user(least), text, "dse branch and bound")
    return Optimum(outcome, _logarithms(x), chosen.ranges)


def _constant(top: Posynomial, bottom: Posynomial) -> float | None:
    """The factor between two posynomials; None where they are not proportional."""
    if set(top.terms) != set(bottom.terms):
        return None
    ratios = [c / bottom.terms[key] for key, c in top.terms.items()]
    return ratios[0] if max(ratios) <= min(ratios) * (1 + 1e-12) else None


def _outcome_of_search(
    problem: Problem, c: Canonical, reached: branch.Reached | None
) -> tuple[Outcome, branch.Found | None]:
    """Interior point, or branch and bound over it: its own result, a design before ties are broken."""
    solver = f"dse {METHODS.get(problem.kind, 'branch and bound')}"
    found = branch.minimise(c, reached=reached)
    if found.status == branch.INFEASIBLE:
        proof = "no design meets all limits; " + PROOFS[problem.kind]
        return Outcome(Status.INFEASIBLE, certificate=proof, solver=solver), None
    if found.y is None:
        message = "the search ended before a design was found"
        return Outcome(Status.ERROR, solver=solver, message=message), found
    text = PROOFS[problem.kind] + (f"; {found.nodes} nodes" if found.nodes > 1 else "")
    status = Status.OPTIMAL if found.status == branch.OPTIMAL else Status.FEASIBLE
    return Outcome(status, certificate=text, solver=solver), found


def _linear_vertex(problem: Problem, goal: Goal, c: Canonical) -> Optimum | None:
    """The vertex of a problem that is linear and divides by sums; None where there is none to build on."""
    from solvers.geometric import vertices

    found = vertices.optimum(problem, goal)
    if found is None or found.outcome.x is None:
        return None
    y = np.log(np.array([found.outcome.x[n] for n in c.names]))
    x = _values_in_si(problem, y)
    return Optimum(dataclasses.replace(found.outcome, x=x), _logarithms(x), found.ranges)


def _unbounded(name: str, solver: str) -> Outcome:
    proof = f"the objective keeps improving as {name} grows or falls without limit"
    return Outcome(Status.UNBOUNDED, certificate=proof, solver=solver, runaway=name)


def _newton_polished(
    problem: Problem, goal: Goal | None, c: Canonical, y: Array, known: gp.Result | None = None
) -> tuple[Array, gp.Result]:
    """Newton's polish with the whole numbers held, and the multipliers there."""
    if c.allowed:
        c = canon.canonical(problem, goal, fixed={c.names[i]: math.exp(y[i]) for i in c.allowed})
        known = None
    known = multipliers.at(c, y) if known is None else known
    start = known.y[0] if known.status[0] == gp.OPTIMAL else y
    if canon.values(c, start[None])[0, 1:].max(initial=-np.inf) > branch.FEASIBLE:
        start = y
    at_end = (known.lower_multipliers[0] > start - c.low) | (known.upper_multipliers[0] > c.high - start)
    return polish(c, start, known.multipliers[0], at_end), known


def _pinned(problem: Problem, goal: Goal, c: Canonical, rows: Array) -> ties.Chosen | None:
    """A limit set at the very least value it can have leaves only the designs that attain it.

    Its multiplier is then boundless, and the slack that feasibility is granted would show in the objective. So the
    limit's own metric is minimised first and the objective among the designs that attain it, exactly.
    """
    limits = np.array([key.side != SIDE for key in c.keys], dtype=bool)
    strained = np.flatnonzero((rows > STRAINED) & limits)
    if not strained.size or c.allowed:
        return None
    key = c.keys[int(strained[rows[strained].argmax()])]
    row = next(r for r in problem.rows or () if r.key == key)
    rest = dataclasses.replace(problem, rows=tuple(r for r in problem.rows or () if r is not row))
    least = Goal(key.name, row.numerator, row.denominator)
    found = branch.minimise(canon.canonical(rest, least))
    if found.y is None or found.value < -INTERIOR_AT_LEAST:
        return None
    y, _ = _newton_polished(rest, least, canon.canonical(rest, least), found.y)
    return ties.choose(rest, least, y, [goal, *ties.tie_goals(problem, goal.name)], after=1)


def _values_in_si(problem: Problem, y: Array) -> dict[str, float]:
    """SI values of the design."""
    return {v.name: float(canon.si_values(v, y[[i]])[0]) for i, v in enumerate(problem.variables)}
