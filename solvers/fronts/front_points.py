"""Points of exact fronts as answers: breakpoints of a front, and answers along one limit looked up in it.

Along a limit the exact front of the objective and what is limited is found once, and every answer is read off it.
Values of the limit that no design meets are known from the end of the front, without solving for each. All points are
re-evaluated in plain floats at once, with bound, limits and slopes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from formulations import evaluation
from formulations.programs.program import Program, is_linear, linear_cost
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from results.solution import LimitState, Solution, Status
from scenarios.question import Objective, Question
from solvers import choices
from solvers.certain import called_by_name, checked, units
from solvers.fronts import program_front
from solvers.fronts.asking import at_level
from solvers.fronts.envelope import Array, Vertex
from solvers.fronts.program_front import Owner, ProgramFront
from solvers.judgement import asked_limits, judge
from solvers.linear import milp, milp_conflicts, milp_ties
from solvers.linear.highs import SOLVER
from solvers.linear.linear_program import End, Result
from solvers.linear.programs import with_rates
from solvers.mechanisms.sensitivity import with_limit
from solvers.outcome import Outcome

FEWEST_POINTS_OF_SERIES = 6
# sets of whole numbers after which a front is given up: solving point by point is quicker
MOST_PIECES = 40
SAME_VERTEX = 1e-9
CERTIFICATE = "looked up in an exact front ({})"
OUT_OF_REACH = (
    "every design breaks {} by {:.1e} of its size or more: it is beyond the end of an exact front ({})"
)
# a design that ties go to must have the objectives to this
OBJECTIVES_KEPT = 1e-10
LEAST_SIZE = 1e-300
PROVEN = "point of an exact front: {}"


def front(question: Question, key: RowKey) -> ProgramFront | None:
    """The exact front of a question's objective and what one of its limits is on, that limit left aside.

    None where there is none, or nothing would be proved between its points. Raises ArithmeticError where HiGHS
    finds no answer.
    """
    goals = question.objectives
    metrics = {q.name for q in question.model.metrics}
    if len(goals) != 1 or goals[0].name == key.name or key.name not in metrics or not question.decide:
        return None
    if choices.categorical(question) or question.idle or not is_linear(question):
        return None
    both = (goals[0], Objective(key.name, maximize=key.side == "min"))
    found = program_front.front(replace(with_limit(question, key, None), objectives=both), MOST_PIECES)
    if found is None or not found.complete:
        return None
    return found if found.straight or all(p.single for p in found.pieces) else None


def along(
    front: ProgramFront, question: Question, key: RowKey, values: Sequence[float]
) -> list[Solution | None]:
    """The answer for each value of one limit, from the front of ``front``; None where it has to be solved for."""
    found = [program_front.look_up(front, v) for v in values]
    met = [(v, at) for v, at in zip(values, found, strict=True) if at is not None]
    solutions = iter(_solutions(front, question, key, met))
    missed = out_of_reach(front, question, key) if len(met) < len(values) else None
    return [
        next(solutions) if at is not None else missed(v) if missed is not None else None
        for v, at in zip(values, found, strict=True)
    ]


def _solutions(
    front: ProgramFront, question: Question, key: RowKey, met: list[tuple[float, Vertex]]
) -> list[Solution]:
    """All points at once: one evaluation of the model on arrays, then one answer each."""
    if not met:
        return []
    designs = [front.owners[at.owner].design(at) for _, at in met]
    x = {n: np.array([d[n] for d in designs]) for n in designs[0]}
    bounds = [front.bound(at, front.senses[1].coordinate(value)) for value, at in met]
    asked = with_limit(question, key, np.array([value for value, _ in met]))
    judged = judge(asked, x, np.array(bounds, dtype=float), (len(met),))
    by = "" if front.owners[0].pair is None else SOLVER
    stated = called_by_name(front.question, Solution(Status.OPTIMAL, solver=by), units(front.question))
    found = []
    for i, (one, good, closed) in enumerate(
        zip(judged.solutions(Status.OPTIMAL), judged.holds, judged.closed, strict=True)
    ):
        worst = min(s.slack for s in one.limits.values())
        assert one.objective is not None, "a front has objectives"
        found.append(
            replace(
                stated,
                status=Status.ERROR if not good else Status.OPTIMAL if closed else Status.FEASIBLE,
                objective=one.objective,
                bound=one.bound,
                gap=one.gap,
                variables=designs[i],
                metrics=one.metrics,
                limits=_with_rate(front, met[i][1], key, dict(one.limits), one.objective),
                certificate=CERTIFICATE.format(front.method),
                message="" if good else f"re-evaluation breaks a limit by {-worst:.1e}",
            )
        )
    return found


def _with_rate(
    front: ProgramFront, vertex: Vertex, key: RowKey, limits: dict[str, LimitState], objective: float
) -> dict[str, LimitState]:
    """The limits with the rate at which the objective moves along the front, where all is divisible.

    At a breakpoint it is the rate for relaxing. Nothing is said where another limit binds as well, or where the
    front is not straight.
    """
    name = evaluation.label(key, [key])
    divisible = not any(o.program is None or o.program.integer.any() for o in front.owners)
    others = any(s.binding for n, s in limits.items() if n != name)
    if not divisible or not front.straight or others or not front.owners[vertex.owner].pair or objective == 0:
        return limits
    state, found = limits[name], dict.fromkeys(limits, 0.0)
    one_sided = False
    if state.binding:
        before = [
            p
            for p in front.pieces
            if p.right.b < vertex.b * (1 + SAME_VERTEX) <= p.left.b * (1 + 2 * SAME_VERTEX)
        ]
        slope = 0.0
        for piece in before:
            one_sided = not piece.right.b < vertex.b < piece.left.b
            slope = (piece.left.a - piece.right.a) / (piece.left.b - piece.right.b)
        first, second = front.senses
        found[name] = slope * first.sign * second.sign * state.bound / objective
    return {n: replace(s, elasticity=found[n], one_sided=one_sided and n == name) for n, s in limits.items()}


def out_of_reach(
    front: ProgramFront, question: Question, key: RowKey
) -> Callable[[float], Solution | None] | None:
    """A function from a value of the limit to the answer that there is no design, and why.

    It returns None where the value has to be solved for: where not the limit alone is to blame (whole numbers or
    another limit have a part in it), or it is missed by no more than a solver allows. None altogether where no
    design meets the rest of the question, or the same name is limited on the other side as well.
    """
    program = front.owners[0].program
    other_end = any(
        x.name == key.name and (x.minimum, x.maximum) != (None, None) for x in front.question.limits
    )
    if program is None or not front.pieces or other_end:
        return None
    nearest = front.senses[1].value(front.pieces[-1].right.b)
    # of all designs that there are the limit is to blame alone where there is no other
    every = not (front.proofs or program.boxed.any())
    only = every and not milp_conflicts.limit_names(program.question, program.keys)
    alone = nearest if only else _with_nothing_else(program)

    def answer(value: float) -> Solution | None:
        free = alone / value if key.side == "max" else value / alone
        if value <= 0 or free <= 1.0 + HOLDS:
            return None
        asked = with_limit(question, key, value)
        missed = abs(alone / value - 1.0)
        return Solution(
            Status.INFEASIBLE,
            limits=asked_limits(asked),
            conflict={key.name: nearest},
            conflicts=((key.name,),),
            certificate=OUT_OF_REACH.format(key.name, missed, front.method),
            solver=SOLVER,
        )

    return answer


def _with_nothing_else(p: Program) -> float:
    """Proven end of what is limited where nothing else is: no other limit, and whole numbers divided."""
    goal, under, sign = p.others[0]
    # nor any end that only a search has
    free = replace(milp.numbers(p, drop=milp_conflicts.limit_names(p.question, p.keys)), high=p.endless)
    best = milp.least(p, free, goal, under)
    ratio = best.bound if best.u is not None else 0.0
    if sign > 0:
        return ratio
    return 1.0 / ratio if ratio > 0 else float("inf")


def solution(
    front: ProgramFront, vertex: Vertex, limit: float | None = None, *, slopes: bool = False
) -> Solution:
    """A vertex as the answer for the first objective with a limit on the second (default: its own value).

    ``slopes``: also the elasticities of the limits, where nothing but divisible quantities is decided.
    """
    owner = front.owners[vertex.owner]
    x = owner.design(vertex)
    first, second = owner.question.objectives
    level = {**x, **evaluation.metrics(owner.question, x)}[second.name] if limit is None else limit
    question = at_level(owner.question, first, {second.name: level})
    bound = front.bound(vertex, None if limit is None else front.senses[1].coordinate(limit))
    solver = SOLVER if owner.pair is not None else ""
    found = checked(question, Outcome(Status.OPTIMAL, x, bound, PROVEN.format(front.method), solver))
    if slopes and owner.pair is not None and owner.program is not None and not owner.program.integer.any():
        found = replace(found, limits=_sloped(owner, vertex, level, found.limits))
    return called_by_name(question, replace(found, variables={**x, **owner.chosen}), found.units)


def settled(front: ProgramFront, vertex: Vertex) -> tuple[Vertex, dict[str, tuple[float, float]]]:
    """Of the designs that have both objectives of a vertex (and its whole numbers) the one that ties go to.

    With it the lowest and highest value of every decided quantity that differs among them.
    """
    owner = front.owners[vertex.owner]
    p, pair = owner.program, owner.pair
    if p is None or pair is None or p.exact or p.integer.all():
        return vertex, {}
    u = vertex.at / vertex.at[-1]
    n = milp.numbers(p).fixed(u)
    rows = [pair.a.n - vertex.a * pair.d, pair.b.n - vertex.b * pair.d]
    held = n.with_rows(*rows)
    held = replace(held, equal=np.append(n.equal, [True, True]))
    chosen = milp_ties.on_face(p, held, u)
    other = pair.at(chosen.u, vertex.owner)
    moved = max(
        abs(other.a - vertex.a) / max(abs(vertex.a), LEAST_SIZE),
        abs(other.b - vertex.b) / max(abs(vertex.b), LEAST_SIZE),
    )
    if not chosen.ranges or moved > OBJECTIVES_KEPT:
        return vertex, chosen.ranges
    return other, chosen.ranges


def _sloped(
    owner: Owner, vertex: Vertex, level: float, limits: Mapping[str, LimitState]
) -> dict[str, LimitState]:
    """The limits with the rates at which the first objective moves, those of the second along the front."""
    p, side = owner.program, "min" if owner.question.objectives[1].maximize else "max"
    assert p is not None, "only a program has slopes"
    key = RowKey(owner.question.objectives[1].name, side)
    goal, under, _ = p.others[0]
    scale = 1.0 / level if side == "min" else level
    kept = [k != key for k in p.keys]
    held = replace(
        p,
        keys=(*(k for k in p.keys if k != key), key),
        numerators=np.vstack([p.numerators[kept], goal]),
        denominators=np.vstack([p.denominators[kept], scale * under]),
        equal=np.append(p.equal[kept], False),
    )
    return with_rates(held, _as_best(held, vertex.at / vertex.at[-1]), limits)


def _as_best(p: Program, u: Array) -> Result:
    """A design as what was found best, for what is asked of its neighbourhood."""
    goal, under = milp.objective(p)
    ratio = float(goal @ u) / float(under @ u)
    cost = linear_cost(goal, under, ratio)
    n = milp.numbers(p)
    if not math.isfinite(ratio):
        return Result(End.FAILED)
    return Result(End.FOUND, u, ratio, ratio, np.zeros(len(n.rows)), numbers=n, cost=cost)
