"""Elasticities, ranges and next changes: what stands beside an optimal design."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from formulations import canonical as canon
from formulations import evaluation
from formulations.evaluation import RowKey
from formulations.problem import Goal, Problem, formulate
from formulations.tolerances import TIE
from results.solution import LimitState, Solution, Status
from scenarios.question import Question
from solvers import branch, kinks, methods, sensitivity, ties
from solvers.structured import Optimum

CHANGED = 1e-7
STEPS = 20
RESOLVED = 1e-5
PROBE = 500
NODES = 2500


def explained(problem: Problem, solution: Solution, found: Optimum, neighbours: bool) -> Solution:
    """The solution with what its limits and parameters are worth."""
    solution = dataclasses.replace(solution, ranges=found.ranges or {})
    if not problem.question.objectives or solution.status is not Status.OPTIMAL:
        return solution
    if not found.places:
        # whatever answered went another way
        problem = dataclasses.replace(problem, cases=())
    goals = [c.goal for c in (problem, *problem.cases) if c.goal is not None]
    if any(not goal.numerator.terms for goal in goals):
        return solution
    if any(v.discrete for v in problem.variables):
        return _with_next_changes(problem, solution) if neighbours else solution
    if found.places:
        return _with_worth(
            problem.question, solution, kinks.worth(problem.question, _numbers(solution), found.places)
        )
    if problem.rows is None and not all(_numbers(solution).values()):
        # percent of nothing is no rate
        return solution
    if problem.rows is None or found.y is None:
        d = sensitivity.numeric_duals(problem.question, _numbers(solution))
        return _with_elasticities(problem, solution, d) if d.known else solution
    c = canon.canonical(problem, problem.goal)
    return _with_elasticities(problem, solution, sensitivity.duals(c, found.y, found.known))


def _with_worth(question: Question, solution: Solution, known: kinks.Worth) -> Solution:
    solution = _with_limits(question, solution, known.duals)
    return dataclasses.replace(solution, parameters=known.parameters, one_sided=known.one_sided)


def _with_elasticities(problem: Problem, solution: Solution, d: sensitivity.Duals) -> Solution:
    parameters = sensitivity.parameter_elasticities(problem.question, _numbers(solution), d)
    return dataclasses.replace(_with_limits(problem.question, solution, d), parameters=parameters)


def _with_limits(question: Question, solution: Solution, d: sensitivity.Duals) -> Solution:
    x, limits = _numbers(solution), dict(solution.limits)
    for key, lam, one_sided in zip(d.keys, d.value, d.one_sided, strict=True):
        label = evaluation.label(key, d.keys)
        if key.side == "model" or not d.known:
            continue
        e = sensitivity.limit_elasticity(question, x, key, float(lam)) if limits[label].binding else 0.0
        limits[label] = dataclasses.replace(limits[label], elasticity=e, one_sided=bool(one_sided))
    return dataclasses.replace(solution, limits=limits)


def _numbers(solution: Solution) -> dict[str, float]:
    return {n: float(v) for n, v in solution.variables.items()}


def _with_next_changes(problem: Problem, solution: Solution) -> Solution:
    """For whole-number problems: the limit value at which the answer next changes, and the objective there."""
    limits = dict(solution.limits)
    asked = evaluation.bounds(problem.question)
    keys = [
        RowKey(n, side)
        for n, ends in asked.items()
        for side, end in zip(("min", "max"), ends, strict=True)
        if end
    ]
    effort = Effort()
    for key in keys:
        label = evaluation.label(key, keys)
        if problem.rows is None and not problem.cases:
            changed = methods.next_change(problem, solution, limits[label], key)
        else:
            changed = next_change(problem, solution, limits[label], key, effort)
        if changed is not None:
            limits[label] = dataclasses.replace(
                limits[label], next_change=changed[0], next_objective=changed[1]
            )
    return dataclasses.replace(solution, limits=limits)


@dataclasses.dataclass(slots=True)
class Effort:
    """Nodes that may still be spent on what is only nice to know."""

    left: int = NODES

    def search(self, c: canon.Canonical, gap: float = 1e-10, below: float = math.inf) -> branch.Found:
        """Minimise, and take what it cost off the effort."""
        found = branch.minimise(c, gap=gap, below=below, most=max(1, min(PROBE, self.left)))
        self.left -= max(found.nodes, 1)
        return found

    def least(
        self,
        parts: Sequence[Problem],
        *,
        fixed: Mapping[str, float] | None = None,
        gap: float = 1e-10,
        below: float = math.inf,
    ) -> branch.Found:
        """Minimise the goal over several problems, with some variables held where ``fixed`` says so."""
        found = [self.search(canon.canonical(p, p.goal, fixed=fixed), gap, below) for p in parts]
        best = min(found, key=lambda f: f.value)
        unsure = best.y is None and any(f.status == branch.FAILED for f in found)
        return dataclasses.replace(best, status=branch.FAILED) if unsure else best


def next_change(
    problem: Problem, solution: Solution, state: LimitState, key: RowKey, effort: Effort
) -> tuple[float, float] | None:
    """Relax one limit until another choice of the discrete values is better.

    None where none ever is, or where finding out would take more than the effort left.
    """
    if effort.left <= 0:
        return None
    question = problem.question
    free = _best(sensitivity.with_limit(question, key, None), effort)
    if (
        free is None
        or key.name == "halvings"
        or state.bound <= 0
        or not _better(problem, free[1], solution.objective)
    ):
        return None
    far = free[0].get(key.name, state.bound)
    sign = 1.0 if key.side == "max" else -1.0
    least = _least_bound(problem, key, free[1], effort) if not state.binding else None
    if least is None:
        reach = abs(math.log(far) - math.log(state.bound)) + 1e-9
        least = _bisected(problem, solution, key, state.bound, sign * reach, effort)
    if least is None:
        return None
    there = _best(sensitivity.with_limit(question, key, least * math.exp(sign * 1e-9)), effort)
    return None if there is None else (least, there[1])


def _least_bound(problem: Problem, key: RowKey, free: float, effort: Effort) -> float | None:
    """Where the limit has room now, the answer changes as soon as any better design fits: one more minimisation."""
    parts = problem.cases or (problem,)
    now = effort.least(parts)
    below = now.value - 2 * TIE - CHANGED * max(1.0, abs(now.value))
    found = [_least_of_case(part, key, below, effort) for part in parts]
    reached = [value for value in found if value is not None]
    bound = sensitivity.bound_of(problem.question, key)
    if not reached or bound is None or not math.isfinite(free):
        return None
    return bound * math.exp(min(reached) if key.side == "max" else -min(reached))


def _least_of_case(problem: Problem, key: RowKey, below: float, effort: Effort) -> float | None:
    """The (log) factor that a limit needs for a design whose goal is under ``below``."""
    assert problem.rows is not None, "only structured problems get here"
    assert problem.goal is not None, "only problems with a goal get here"
    row = next((r for r in problem.rows if r.key == key), None)
    if row is None:
        return None
    others = [r for r in problem.rows if r.key.name == key.name and r.key != key]
    c = canon.canonical(
        problem,
        Goal(key.name, row.numerator, row.denominator),
        extra=[*others, ties.no_worse(problem.goal, below)],
        drop=frozenset([key.name]),
        relax_sets=False,
    )
    found = effort.search(c)
    return None if found.y is None else found.value


def _bisected(
    problem: Problem, solution: Solution, key: RowKey, bound: float, reach: float, effort: Effort
) -> float | None:
    """Bisect the limit's logarithm for where another choice first beats today's discrete values, each at its best."""
    fixed = {v.name: float(solution.variables[v.name]) for v in problem.variables if v.discrete}
    low, high, seen = 0.0, reach, False
    for _ in range(STEPS):
        middle = (low + high) / 2
        moved = formulate(sensitivity.with_limit(problem.question, key, bound * math.exp(middle)))
        parts = moved.cases or (moved,)
        same = effort.least(parts, fixed=fixed, gap=1e-8)
        better = effort.least(parts, gap=1e-8, below=same.value - CHANGED)
        if effort.left <= 0 or (better.y is None and better.status == branch.FAILED):
            return None
        if better.y is not None:
            high, seen = middle, True
        else:
            low = middle
        if abs(high - low) < RESOLVED:
            break
    return bound * math.exp(high) if seen else None


def _better(problem: Problem, objective: float, now: float | None) -> bool:
    assert now is not None, "an answer with a goal has an objective"
    sign = -1 if problem.question.objectives[0].maximize else 1
    return sign * (now - objective) > problem.question.gap * max(abs(now), 1e-12)


def _best(question: Question, effort: Effort) -> tuple[dict[str, float], float] | None:
    """All named values and the objective of an optimal design; None where there is none."""
    problem = formulate(question)
    parts = problem.cases or (problem,)
    goal = parts[0].goal
    assert goal is not None, "only problems with a goal get here"
    found = effort.least(parts)
    if found.y is None:
        return None
    # what stands for maxima comes after the decided numbers
    x = {v.name: math.exp(t) for v, t in zip(problem.variables, found.y, strict=False)}
    at = evaluation.metrics(question, x)
    return x | {n: float(v) for n, v in at.items()}, goal.to_user(found.value)
