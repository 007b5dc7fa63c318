"""Points of exact fronts as answers: re-evaluated in plain floats, with bound, slopes and the design ties go to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array
from formulations import evaluation
from formulations.programs.program import Program, linear_cost
from formulations.row_keys import RowKey
from results.solution import LimitState, Solution, Status
from results.wording import called_by_name
from solvers.certain import checked
from solvers.fronts.asking import at_level
from solvers.fronts.envelope import Vertex
from solvers.fronts.program_front import Owner, ProgramFront
from solvers.linear import milp, milp_ties
from solvers.linear.linear_program import End, Result, ratio_at
from solvers.linear.programs import SOLVER, with_rates
from solvers.outcome import Outcome

# a design that ties go to must have the objectives to this
OBJECTIVES_KEPT = 1e-10
LEAST_SIZE = 1e-300
PROVEN = "point of an exact front: {}"


def solution(front: ProgramFront, vertex: Vertex) -> Solution:
    """A vertex as the answer for the first objective with the second limited to its value there.

    With the elasticities of the limits, where nothing but divisible quantities is decided.
    """
    owner = front.owners[vertex.owner]
    x = owner.design(vertex)
    found = stated(owner, x, front.bound(vertex), front.method, SOLVER if owner.pair is not None else "")
    if owner.pair is not None and owner.program is not None and not owner.program.integer.any():
        second = owner.question.objectives[1].name
        level = {**found.metrics, **x}[second]
        found = replace(found, limits=_sloped(owner, vertex, level, found.limits))
    return found


def stated(owner: Owner, x: Mapping[str, float], bound: float, method: str, solver: str = "") -> Solution:
    """A design of a front as the answer for the first objective with all others limited to their values there."""
    first, *others = owner.question.objectives
    at = {**x, **evaluation.metrics(owner.question, x)}
    question = at_level(owner.question, first, {g.name: at[g.name] for g in others})
    found = checked(question, Outcome(Status.OPTIMAL, dict(x), bound, PROVEN.format(method), solver))
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
    ratio = float(ratio_at(goal, under, u))
    cost = linear_cost(goal, under, ratio)
    n = milp.numbers(p)
    if not math.isfinite(ratio):
        return Result(End.FAILED)
    return Result(End.FOUND, u, ratio, ratio, np.zeros(len(n.rows)), numbers=n, cost=cost)
