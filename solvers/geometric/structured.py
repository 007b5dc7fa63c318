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
from formulations.evaluation import LARGEST_CALCULABLE
from formulations.grids import batch
from formulations.grids.batch import Batch
from formulations.problem import Goal, Kind, Problem, Row
from formulations.row_keys import RowKey
from results.solution import Status
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch, multipliers, optima, ties
from solvers.geometric.programs.optimal_face import Chosen
from solvers.geometric.programs.unbounded import at_open_ends, held_by_box, runaway
from solvers.mechanisms.conflicts import ONE
from solvers.outcome import Outcome

PROOFS = {
    Kind.LP: "convex in log variables; lower bound from Lagrangian duality, independent of any solver's tolerance",
    Kind.GP: "convex in log variables; lower bound from Lagrangian duality, independent of any solver's tolerance",
    Kind.MILP: "branch and bound on discrete values; lower bounds from Lagrangian duality",
    Kind.MIGP: "branch and bound on discrete values; lower bounds from Lagrangian duality",
    Kind.NLP: "branch and bound, monomial secants; lower bounds from Lagrangian duality",
    Kind.MINLP: "branch and bound on discrete values, monomial secants; lower bounds from Lagrangian duality",
}
NO_DESIGN = "no design meets all limits; "
HELD = 1e-10
METHODS = {Kind.LP: "interior point", Kind.GP: "interior point"}


def of_search(proof: str, nodes: int) -> str:
    """Return what proves an optimum, with the nodes that it took if it was searched for."""
    return proof + (f"; {nodes} nodes" if nodes > 1 else "")


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
        eased = _searched_problem(optima.eased(problem), reached)
        # of what grows or falls for ever a design where floats end tells nothing
        at_end = bool(found.outcome.runaway) and _beyond_calculable(eased)
        found = eased if (np.isfinite(eased.value) or found.outcome.runaway) and not at_end else found
    if reached is not None:
        reached.by(found.value)
    return found


def _beyond_calculable(s: Searched) -> bool:
    y = None if s.found is None else s.found.y
    return y is not None and bool((np.abs(y) > math.log(LARGEST_CALCULABLE)).any())


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
    gone, known = None, None
    if stated is not None:
        gone = None if c.divisors else runaway(c, problem.variables)
        box, y = (c.low, c.high), found.y[None]
        # with whole numbers the multipliers are found again later: here they only tell what an open end holds
        if not gone and (not c.allowed or at_open_ends(problem.variables, box, y).any()):
            known = found.alone or multipliers.at(c, y, side_by_side.solve)[0]
            pull = np.maximum(known.lower_multipliers, known.upper_multipliers)
            held = held_by_box(problem.variables, box, y, pull)[0]
            falls = found.y - c.low[0] < c.high[0] - found.y
            ends = zip(c.names, falls.tolist(), held, strict=True)
            gone = next(((name, low) for name, low, h in ends if h), None)
    if gone:
        outcome = _unbounded(*gone, outcome.solver)
        return Searched(problem, goal, c, outcome, done=Optimum(outcome))
    return Searched(problem, goal, c, outcome, found, known=known)


def _goal_that_varies(problem: Problem) -> Goal | None:
    """The objective, unless it is 0 whatever is decided."""
    return problem.goal if problem.goal is not None and problem.goal.numerator.terms else None


def settle(s: Searched, *, tied: bool = True) -> Optimum:
    """Settle which of the optimal designs is handed out; unless ``tied`` it is any of them."""
    if s.done is not None or s.found is None or s.found.y is None:
        return s.done or Optimum(s.outcome)
    problem, goal, stated = s.problem, s.goal, _goal_that_varies(s.problem)
    # of any feasible design nobody is told how far the others range
    after = None if stated is None else 0
    batch = Batch(problem.question, dataclasses.replace(problem, goal=goal), (), s.c)
    there = optima.settled(batch, ONE, s.found.y[None], side_by_side.solve, s.known, tied=tied, after=after)
    y, ranges = there.chosen.y[0], _ranges(s.c, there.chosen)
    x = _values_in_si(problem, y)
    if goal is None or stated is None:
        return Optimum(_any_design(problem, x, s.outcome.solver), y)
    pinned = bool(there.pinned[0])
    log_bound = float(there.chosen.first[0]) if pinned else s.found.bound
    bound = goal.to_user(log_bound) if math.isfinite(log_bound) else None
    status = Status.OPTIMAL if pinned else s.outcome.status
    outcome = dataclasses.replace(s.outcome, status=status, x=x, bound=bound)
    return Optimum(outcome, _logarithms(x), ranges, None if s.c.allowed or s.c.divisors else there.known)


def _ranges(c: Canonical, chosen: Chosen) -> dict[str, tuple[float, float]]:
    """The interval of optimal values of each variable that is not unique."""
    ends = zip(c.names, np.exp(chosen.low[0]), np.exp(chosen.high[0]), strict=True)
    return {name: (float(low), float(high)) for name, low, high in ends if low < high}


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
    stages = ties.tie_goals(rest, first.name if first else "")
    chosen = ties.choose(batch.alone(rest, first), ONE, found.y[None], stages, side_by_side.solve)
    x = _values_in_si(problem, chosen.y[0])
    text = f"a limit stops {goal.name} here, and this design attains it"
    outcome = Outcome(Status.OPTIMAL, x, goal.to_user(least), text, "dse branch and bound")
    return Optimum(outcome, _logarithms(x), _ranges(c, chosen))


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
        proof = NO_DESIGN + PROOFS[problem.kind]
        return Outcome(Status.INFEASIBLE, certificate=proof, solver=solver), None
    if found.y is None:
        message = "the search ended before a design was found"
        return Outcome(Status.ERROR, solver=solver, message=message), found
    text = of_search(PROOFS[problem.kind], found.nodes)
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


def _unbounded(name: str, falls: bool, solver: str) -> Outcome:
    found = Outcome(Status.UNBOUNDED, solver=solver, runaway=name, falls=falls)
    return dataclasses.replace(found, certificate=f"the objective keeps improving as {found.endless}")


def _values_in_si(problem: Problem, y: Array) -> dict[str, float]:
    """SI values of the design."""
    return {v.name: float(canon.si_values(v, y[[i]])[0]) for i, v in enumerate(problem.variables)}
