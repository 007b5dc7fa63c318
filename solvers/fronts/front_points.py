"""Points of an exact front as answers: re-evaluated in plain floats, with bound, limits and slopes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from formulations import evaluation
from formulations.program import Program
from formulations.row_keys import RowKey
from results.solution import LimitState, Solution, Status
from scenarios.question import Limit, Question
from solvers import judgement
from solvers.certain import called_by_name
from solvers.fronts.envelope import Array, Vertex
from solvers.fronts.program_front import Owner, ProgramFront, look_up
from solvers.linear import milp, milp_explained, milp_ties
from solvers.linear.highs import SOLVER
from solvers.linear.linear_program import End, linear_cost
from solvers.linear.milp import Best

# a design that ties go to must have the objectives to this
OBJECTIVES_KEPT = 1e-10
LEAST_SIZE = 1e-300
PROVEN = "point of an exact front: {}"


def lookup(front: ProgramFront, limit: float) -> Solution | None:
    """The answer for the best first objective with the second no worse than ``limit``, from the front.

    None where no design has a second objective as good as that. The design has the objective that solving afresh
    finds; where several designs are equally good it may be another of them.
    """
    vertex = look_up(front, limit)
    return None if vertex is None else solution(front, vertex, limit)


def limited(question: Question, at_worst: Mapping[str, float]) -> tuple[Limit, ...]:
    """Return the limits of a question and those on objectives; the stricter one of each holds."""
    limits = {x.name: x for x in question.limits}
    for goal in question.objectives:
        if goal.name not in at_worst:
            continue
        own, value = limits.get(goal.name, Limit(goal.name)), at_worst[goal.name]
        if goal.maximize:
            own = replace(own, minimum=value if own.minimum is None else max(value, own.minimum))
        else:
            own = replace(own, maximum=value if own.maximum is None else min(value, own.maximum))
        limits[goal.name] = own
    return tuple(limits.values())


def solution(
    front: ProgramFront, vertex: Vertex, limit: float | None = None, *, slopes: bool = False
) -> Solution:
    """A vertex as the answer for the first objective with a limit on the second (default: its own value).

    ``slopes``: also the elasticities of the limits, where nothing but divisible quantities is decided.
    """
    owner = front.owners[vertex.owner]
    x = owner.design(vertex)
    first, second = owner.question.objectives
    at = evaluated(owner.question, x)
    level = _number_at(second.name, at, x) if limit is None else limit
    question = replace(
        owner.question, objectives=(first,), limits=limited(owner.question, {second.name: level})
    )
    bound = front.bound(vertex, None if limit is None else front.senses[1].coordinate(limit))
    judged = judgement.judge(question, {n: np.float64(v) for n, v in x.items()}, bound)
    fault = judged.fault()
    found = replace(
        judged.solutions(Status.ERROR if fault else Status.OPTIMAL if judged.closed[0] else Status.FEASIBLE)[
            0
        ],
        variables={**x, **owner.chosen},
        certificate=PROVEN.format(front.method),
        solver=SOLVER if owner.pair is not None else "",
        message=fault,
    )
    if slopes and owner.pair is not None and owner.program is not None and not owner.program.integer.any():
        found = replace(found, limits=_sloped(question, owner, vertex, level, found.limits))
    return named(front, found)


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


def evaluated(question: Question, x: Mapping[str, float]) -> dict[str, float]:
    """Every metric at a design, in plain floats."""
    with np.errstate(all="ignore"):
        return evaluation.metrics(question, {n: np.float64(v) for n, v in x.items()})


def _number_at(name: str, at: Mapping[str, float], x: Mapping[str, float]) -> float:
    return float(at[name] if name in at else x[name])


def named(front: ProgramFront, found: Solution) -> Solution:
    """With what is the same at all points: names, units, title."""
    return called_by_name(front.question, found, front.units)


def _sloped(
    question: Question, owner: Owner, vertex: Vertex, level: float, limits: Mapping[str, LimitState]
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
    u = vertex.at / vertex.at[-1]
    found = dict(limits)
    for at, rate in milp_explained.rates(held, _as_best(held, u)).items():
        label = evaluation.label(at, [k for k in held.keys if k is not None])
        if at.side != "model" and label in found:
            found[label] = replace(found[label], elasticity=rate.value, one_sided=rate.one_sided)
    return found


def _as_best(p: Program, u: Array) -> Best:
    """A design as what was found best, for what is asked of its neighbourhood."""
    goal, under = milp.objective(p)
    ratio = float(goal @ u) / float(under @ u)
    cost = linear_cost(goal, under, ratio)
    n = milp.numbers(p)
    if not math.isfinite(ratio):
        return Best(End.FAILED)
    return Best(End.FOUND, u, ratio, ratio, n, np.zeros(len(n.rows)), cost)
