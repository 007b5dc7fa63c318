"""Answers of other solvers: a design out of a Pyomo model, checked against the scenario only, beside our own bound."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dse.quantities import show
from dse.system.records import dataclass
from formulations.problem import Kind, Problem, formulate
from formulations.tolerances import HOLDS
from results.solution import THROUGH, Alternative, Solution, Status
from results.wording import called_by_name, units_of
from scenarios.question import Question, combinations, fixed
from solvers import anchors, boxes, choices
from solvers.answer import answer
from solvers.certain import checked
from solvers.judgement import relative_gap
from solvers.others import pyomo_solvers
from solvers.others.solver_errors import SolverError
from solvers.outcome import Outcome
from solvers.sampling import descent

SHOWN_DIGITS = 6
SOLVER_WHOLE = 1e-4
"""How far from a whole number, or relative from a listed value, a solver may leave one."""
BEYOND = 2e-6
"""A design better than a proved bound by more than tolerances make (``dse.sweeping.audits.AGREES``) disproves it."""
LIMIT_MISSED = 1e-12
"""Of a limit: what is missed by less holds, but for rounding."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What came of one choice among names: the solver's claim, and its design as an answer, if there is one."""

    choice: Mapping[str, str]
    claim: str
    solution: Solution | None
    infeasible: bool = False


def box(question: Question) -> dict[str, tuple[float, float]] | None:
    """Return what the limits certainly leave of the box of a question; None where nothing is left."""
    where = boxes.space(question)
    kept = boxes.tighten(question, where)
    if kept is None:
        return None
    return {n: (float(low), float(high)) for n, low, high in zip(where.names, *kept, strict=True)}


def form_of(problem: Problem) -> str:
    """Return the form in which a solver gets a problem: in logarithms where there are any."""
    from formulations.pyomo_models.user_model import LOG, PLAIN

    return PLAIN if _is_linear_problem(problem) else LOG


def _is_linear_problem(problem: Problem) -> bool:
    return problem.program is not None or problem.kind in {Kind.LP, Kind.MILP}


def model_of(problem: Problem) -> Any:
    """Build the model that a solver gets: in logarithms where there are any, over what the limits leave.

    Raises ``formulations.pyomo_models.user_variables.NoModel``.
    """
    from formulations.pyomo_models.user_model import user_model

    refused = problem.kind in {Kind.EVALUATION, Kind.BLACK_BOX}
    kept = None if _is_linear_problem(problem) or refused else box(problem.question)
    return user_model(problem, form_of(problem), kept)


Build = Callable[[Mapping[str, str], Problem], Any]
"""Makes the Pyomo model of a problem, which a choice among names left."""


def answered(question: Question, solver: str, seconds: float, build: Build | None = None) -> Solution:
    """Answer a question by a solver that Pyomo knows, each choice within so many seconds.

    Its designs are re-evaluated; ``optimal`` is one only where our own bound says so too. ``build``: what makes the
    models (None: ``model_of``). Raises SolverError where there is no such solver or it takes no such model.
    """
    made = build or (lambda _choice, problem: model_of(problem))
    from formulations.pyomo_models.user_variables import NoModel

    began = time.perf_counter()
    pyomo_solvers.check(solver)
    at = anchors.anchored(question, _ours)
    if at.refusal is not None:
        return answer(question)
    try:
        tried = [_tried_choice(choice, q, solver, seconds, made) for choice, q in combinations(at.question)]
    except NoModel as refusal:
        raise SolverError(f"{solver} cannot be asked: {refusal}") from None
    ours = _ours(at.question)
    solution = _best_of_tried(at.question, tried, ours)
    solution = dataclasses.replace(solution, seconds=time.perf_counter() - began)
    return _as_asked(question, at, solution, f"{solver}{THROUGH}")


def _as_asked(question: Question, at: anchors.Anchored, solution: Solution, solver: str) -> Solution:
    """Return an answer under the names of a question, whose limits may be tied to optima."""
    solution = dataclasses.replace(anchors.promised(at, solution), solver=solver)
    return called_by_name(question, solution, units_of(question))


def _ours(question: Question) -> Solution:
    return answer(question, neighbours=False)


def _tried_choice(
    choice: Mapping[str, str], question: Question, solver: str, seconds: float, build: Build
) -> _Tried:
    problem = formulate(question)
    if problem.kind is Kind.EVALUATION:
        alone = _ours(question)
        return _Tried(
            choice, "evaluated; nothing was left to decide", alone, alone.status is Status.INFEASIBLE
        )
    model = build(choice, problem)
    claim = pyomo_solvers.run(model, solver, seconds)
    if not claim.design:
        return _Tried(choice, str(claim), None, claim.infeasible)
    return _Tried(choice, str(claim), judged(question, design(model, question)))


def design(model: Any, question: Question) -> dict[str, float]:
    """Read the decided quantities out of a model, SI; whole numbers and listed values exactly.

    Raises SolverError where one has no value.
    """
    found = {}
    for d in question.decide:
        named = model.decided[d.name]
        value = named.variable.value
        if value is None or not math.isfinite(value):
            raise SolverError(
                f"the model has no value of {d.name}: was it solved, and were its values loaded?"
            )
        x = float(value) * named.unit
        if d.integer and abs(x - round(x)) <= SOLVER_WHOLE:
            x = float(round(x))
        if d.values is not None:
            near = min(d.values, key=lambda v, x=x: abs(v - x))  # type: ignore[misc]
            x = near if abs(near - x) <= SOLVER_WHOLE * max(abs(near), 1e-300) + 0.0 else x
        found[d.name] = x
    return found


def judged(question: Question, x: Mapping[str, float]) -> Solution:
    """Return a design as an answer, re-evaluated in plain floats, without a bound.

    One that breaks a limit by no more than tolerances of solvers is first led back inside by a local search.
    """
    given = Outcome(Status.FEASIBLE, x, certificate="")
    solution = checked(question, given)
    if solution.status is not Status.ERROR:
        return solution
    led = _design_in_box(question, x)
    again = None if led is None else checked(question, dataclasses.replace(given, x=led))
    return solution if again is None or again.status is Status.ERROR else again


def _design_in_box(question: Question, x: Mapping[str, float]) -> dict[str, float] | None:
    where = boxes.space(question)
    start = np.array([x[name] for name in where.names], dtype=float)
    point = where.point(start[None])
    near = np.abs(point[0] - start) <= BEYOND * np.maximum(np.abs(start), where.nothing)
    worst, _ = boxes.measured(question, point)
    if not near.all() or not worst[0] <= 1 + BEYOND:
        return None
    if worst[0] > 1 + HOLDS:
        point = descent.descents(question, where, point)
    return dict(zip(where.names, map(float, point[0]), strict=True))


def _best_of_tried(question: Question, tried: list[_Tried], ours: Solution) -> Solution:
    none = (Status.ERROR, Status.INFEASIBLE)
    designs = [(t, t.solution) for t in tried if t.solution is not None and t.solution.status not in none]
    if not designs:
        return _answer_without_design(tried, ours)
    best, design = min(designs, key=lambda one: question.sign * (one[1].objective or 0.0))
    solution = beside(question, design, ours, best.claim)
    several = tuple(
        Alternative(t.choice, s.status, s.objective, s.conflict)
        for t in tried
        for s in (t.solution or Solution(Status.ERROR),)
        if choices.categorical(question)
    )
    variables = {**best.choice, **solution.variables}
    return dataclasses.replace(solution, variables=variables, alternatives=several)


def beside(
    question: Question, solution: Solution, ours: Solution, claim: str, *, changed: str = ""
) -> Solution:
    """Return a judged design beside our own bound: ``optimal`` only where that confirms it.

    ``claim``: what the solver said, which is quoted; ``changed``: how the model was changed, in which case it promises
    nothing.
    """
    if solution.status is Status.ERROR or not question.objectives:
        return dataclasses.replace(
            solution, certificate=_joined_claim(claim, changed, "checked against the scenario only")
        )
    bound = ours.bound
    if bound is None and ours.status in (Status.OPTIMAL, Status.EVALUATED):
        bound = ours.objective
    assert solution.objective is not None, "there is an objective"
    gap = None if bound is None else float(relative_gap(solution.objective, bound))
    beyond = bound is not None and (bound - solution.objective) * question.sign > BEYOND * abs(bound)
    closed = gap is not None and gap <= question.gap
    status = Status.OPTIMAL if closed and not changed else Status.FEASIBLE
    missed = {n: -s.slack for n, s in solution.limits.items() if s.slack < -LIMIT_MISSED}
    if beyond and not missed:
        message = "the design is better than our own bound"
        return dataclasses.replace(solution, status=Status.ERROR, bound=bound, gap=gap, message=message)
    if beyond:
        # where an objective changes without end with a limit, a hair of the limit is much of the objective
        hair = ", ".join(f"{name} by {share:.1e}" for name, share in missed.items())
        said = f"it is better than our own bound by the violation of limits within tolerance ({hair})"
        bound, gap, status = solution.bound, solution.gap, Status.FEASIBLE
    elif bound is None:
        said = f"our own search gives no bound ({ours.status.value})"
    elif closed:
        said = f"our own bound confirms it: {ours.certificate}"
    else:
        said = f"our own bound does not confirm it: {ours.certificate}"
    certificate = _joined_claim(claim, changed, said)
    return dataclasses.replace(solution, status=status, bound=bound, gap=gap, certificate=certificate)


def _joined_claim(claim: str, changed: str, said: str) -> str:
    model = f"the model was changed ({changed}), so nothing is promised of the scenario" if changed else ""
    return "; ".join(t for t in (claim, model, said) if t)


def _answer_without_design(tried: list[_Tried], ours: Solution) -> Solution:
    """Say that no design came back: infeasible only where our own proof says so."""
    claim = (
        tried[0].claim
        if len(tried) == 1
        else "; ".join(f"{', '.join(t.choice.values())}: {t.claim}" for t in tried)
    )
    if ours.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return dataclasses.replace(ours, certificate=f"{claim}; our own proof: {ours.certificate}")
    wrong = next((t.solution.message for t in tried if t.solution is not None and t.solution.message), "")
    best = ""
    if ours.objective is not None:
        value = show(ours.objective, ours.units.get(ours.objective_name, ""), SHOWN_DIGITS)
        best = f", while our own search has {ours.status.value} {value}"
    message = f"{claim}{best}" if not wrong else f"{claim}, but {wrong}{best}"
    return Solution(Status.ERROR, certificate=claim, message=message)


def brought_back(
    question: Question,
    choice: Mapping[str, str],
    read: Callable[[Question], Mapping[str, float]],
    claim: str,
    changed: str,
) -> Solution:
    """Return the design that a model holds as an answer to the whole question.

    ``read``: takes the design of the question that the ``choice`` leaves out of the model.
    """
    at = anchors.anchored(question, _ours)
    if at.refusal is not None:
        return answer(question)
    one = fixed(at.question, choice)
    solution = judged(one, read(one))
    solution = beside(at.question, solution, _ours(at.question), claim, changed=changed)
    solution = dataclasses.replace(solution, variables={**choice, **solution.variables})
    return _as_asked(question, at, solution, "a Pyomo model")
